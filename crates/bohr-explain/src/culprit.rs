//! The variable at the heart of a window: what the interrupted thread did with
//! it before, what another did with it in between, what the first does with it
//! afterwards.
//!
//! The edges of a window are often the ends of critical sections; what is
//! wrong is what happens inside of them. Of all variables that both threads
//! touch around the window, the one is taken whose three accesses no serial
//! order explains (the four patterns of Lu, Tucek, Qin and Zhou, "AVIO:
//! Detecting Atomicity Violations via Access Interleaving Invariants", ASPLOS
//! 2006), and of those the one closest to the edges.

use crate::moment::Moment;
use bohr_event::control::Recorded;
use bohr_event::{EventKind, Operation, ThreadPath};
use serde::Serialize;

/// Events of the interrupted thread that are looked at on either side.
pub(crate) const REACH: usize = 64;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Culprit {
    /// The last access before the interruption.
    pub before: Option<Moment>,
    /// The one in between, by another thread.
    pub between: Moment,
    /// The first access afterwards, done or still to be done.
    pub after: Option<Moment>,
}

/// How well three accesses explain a failure; more is better.
type Merit = (u8, i64);

/// What is around an interruption.
pub(crate) struct Surroundings<'a> {
    pub run: &'a Recorded,
    pub thread: &'a ThreadPath,
    /// The events of others that are needed.
    pub between: std::ops::Range<usize>,
    /// What the interrupted thread does from its window on: its own events, or
    /// those of a run in which it was not interrupted.
    pub after: Vec<Moment>,
}

impl Surroundings<'_> {
    /// The best explanation, among data if there is one, else among locks.
    pub fn culprit(&self) -> Option<Culprit> {
        let data = self.best(|kind| kind.is_access());
        data.or_else(|| self.best(|kind| matches!(kind, EventKind::Acquire | EventKind::Free)))
    }

    fn best(&self, counts: impl Fn(EventKind) -> bool) -> Option<Culprit> {
        let before = self.before();
        let mut best: Option<(Merit, Culprit)> = None;
        for event in self.between.clone() {
            let between = &self.run.steps[event].operation;
            if !counts(between.kind) || self.run.path(event) == self.thread {
                continue;
            }
            let touches = |moment: &&Moment| same_object(&moment.operation, between);
            let first = before.iter().rev().find(touches);
            let second = self.after.iter().find(touches);
            let distance = |moment: Option<&Moment>, edge: Option<&Moment>| {
                let numbers = moment
                    .zip(edge)
                    .map(|(one, two)| one.number.abs_diff(two.number));
                numbers.unwrap_or(REACH as u64) as i64
            };
            let far = distance(first, before.last()) + distance(second, self.after.first());
            let merit = (weight(first, between, second), -far);
            if merit.0 > 0 && best.as_ref().is_none_or(|(known, _)| merit >= *known) {
                let culprit = Culprit {
                    before: first.cloned(),
                    between: Moment::at(self.run, event),
                    after: second.cloned(),
                };
                best = Some((merit, culprit));
            }
        }
        best.map(|(_, culprit)| culprit)
    }

    /// The last events of the interrupted thread before it was interrupted.
    fn before(&self) -> Vec<Moment> {
        let own = self.run.events_of(self.thread);
        let count = own.take_while(|event| event.0 < self.between.start).count();
        let numbers = count.saturating_sub(REACH)..count;
        numbers
            .filter_map(|number| Moment::of(self.run, self.thread, number as u64))
            .collect()
    }
}

fn same_object(one: &Operation, two: &Operation) -> bool {
    one.kind.is_access() == two.kind.is_access()
        && one.object < two.object + u64::from(two.size.max(1))
        && two.object < one.object + u64::from(one.size.max(1))
}

/// How much three accesses to one variable explain.
fn weight(first: Option<&Moment>, between: &Operation, second: Option<&Moment>) -> u8 {
    let writes = |moment: &Moment| moment.operation.kind != EventKind::Read;
    let intruder_writes = between.kind != EventKind::Read;
    match (first.map(writes), second.map(writes)) {
        // Read-write-read, write-write-read, read-write-write, write-read-write.
        (Some(one), Some(two)) => match (one, intruder_writes, two) {
            (false, true, _) | (true, true, false) | (true, false, true) => 3,
            (_, true, _) => 2,
            _ => 0,
        },
        (Some(other), None) | (None, Some(other)) => u8::from(other || intruder_writes),
        (None, None) => 0,
    }
}
