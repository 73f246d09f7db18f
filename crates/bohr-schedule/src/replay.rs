//! Replay: follow a schedule that somebody else made.
//!
//! *Exact* replay goes by the counts of events and checks the place at which
//! each segment ends: the first difference is a divergence. *Tolerant* replay
//! is for a program or an execution that has changed: a segment ends where its
//! anchor says, with the count as a bound that may be overrun by the slack, and
//! a segment whose thread is not there is left out.

use crate::{Decision, Divergence, Grant, Stop, Strategy, Used, View};
use alloc::{boxed::Box, collections::BTreeMap, vec::Vec};
use bohr_event::{ChoiceKind, PlaceNumber, Schedule, Segment, ThreadIndex, ThreadPath};
use serde::{Deserialize, Serialize};

/// How closely a schedule is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fidelity {
    /// Counts and checks.
    Exact,
    /// Anchors; a segment may have this many events more than recorded.
    Tolerant {
        /// The bound on what is tolerated.
        slack: u64,
    },
}

/// How far a replay came; what its strategy reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Followed {
    /// Segments that ended as recorded.
    pub matched: u64,
    /// Segments that ended elsewhere, too early or too late.
    pub bent: u64,
    /// Segments left out since their thread was not there or could not go on.
    pub skipped: u64,
}

/// See the module.
pub struct Replay<'a> {
    schedule: &'a Schedule<PlaceNumber>,
    fidelity: Fidelity,
    /// Goes on where the schedule ends or is left; without it, that stops the run.
    then: Option<Box<dyn Strategy + 'a>>,
    /// Position of the segment that is being executed or comes next.
    segment: usize,
    /// Events of it executed so far.
    executed: u64,
    /// Visits of its anchor so far.
    visits: u32,
    /// Set once the schedule is left behind.
    left: bool,
    indices: BTreeMap<ThreadPath, ThreadIndex>,
    /// By thread index: path, and how many questions it has asked.
    threads: Vec<(ThreadPath, u32)>,
    /// A choice that did not fit, told at the next decision.
    misfit: Option<Divergence>,
    followed: Followed,
    report: Vec<u8>,
}

impl<'a> Replay<'a> {
    /// Follows `schedule`, and goes on by `then` where it ends or is left.
    #[must_use]
    pub fn new(
        schedule: &'a Schedule<PlaceNumber>,
        fidelity: Fidelity,
        then: Option<Box<dyn Strategy + 'a>>,
    ) -> Replay<'a> {
        Replay {
            schedule,
            fidelity,
            then,
            segment: 0,
            executed: 0,
            visits: 0,
            left: false,
            indices: BTreeMap::new(),
            threads: Vec::new(),
            misfit: None,
            followed: Followed::default(),
            report: Vec::new(),
        }
    }

    fn next_segment(&mut self) {
        self.segment += 1;
        self.executed = 0;
        self.visits = 0;
    }

    /// Enters what the last grant did into the account of its segment.
    fn settle(&mut self, segment: &Segment<PlaceNumber>, used: Used) {
        self.executed += used.events;
        let anchored = segment
            .end
            .as_ref()
            .is_some_and(|end| end.place == used.place);
        self.visits += u32::from(anchored);
    }

    /// Whether the segment whose thread has just run is over; in exact replay,
    /// how it differs from what was recorded.
    fn finish(
        &mut self,
        segment: &Segment<PlaceNumber>,
        used: Used,
        view: &View<'_>,
    ) -> Result<bool, Divergence> {
        match self.fidelity {
            Fidelity::Exact => self.finish_exact(segment, used, view),
            Fidelity::Tolerant { slack } => Ok(self.finish_tolerant(segment, slack, used, view)),
        }
    }

    fn finish_exact(
        &mut self,
        segment: &Segment<PlaceNumber>,
        used: Used,
        view: &View<'_>,
    ) -> Result<bool, Divergence> {
        let number = self.segment as u64;
        let thread = segment.thread.clone();
        if self.executed < segment.events {
            // Asked early, as for a thread that spins: it goes on.
            if view.is_enabled(used.thread) {
                return Ok(false);
            }
            return Err(Divergence::TooShort {
                segment: number,
                thread,
                expected: segment.events,
                executed: self.executed,
            });
        }
        match &segment.end {
            Some(end) if end.place != used.place => Err(Divergence::OtherPlace {
                segment: number,
                thread,
                expected: end.place,
                found: used.place,
            }),
            _ => Ok(true),
        }
    }

    fn finish_tolerant(
        &mut self,
        segment: &Segment<PlaceNumber>,
        slack: u64,
        used: Used,
        view: &View<'_>,
    ) -> bool {
        let (reached, bound) = match &segment.end {
            Some(end) => (
                self.visits >= end.visits,
                segment.events.saturating_add(slack),
            ),
            None => (self.executed >= segment.events, segment.events),
        };
        let over = reached || self.executed >= bound || !view.is_enabled(used.thread);
        self.followed.bent += u64::from(over && !reached);
        self.followed.matched += u64::from(reached);
        over
    }

    /// The grant that the schedule asks for, or why there is none.
    fn follow(&mut self, view: &View<'_>) -> Result<Grant, Divergence> {
        if let Some(misfit) = self.misfit.take() {
            return Err(misfit);
        }
        let schedule = self.schedule;
        if let (Some(used), Some(segment)) = (view.last, schedule.segments().get(self.segment)) {
            self.settle(segment, used);
            if self.finish(segment, used, view)? {
                self.followed.matched += u64::from(self.fidelity == Fidelity::Exact);
                self.next_segment();
            }
        }
        while let Some(segment) = schedule.segments().get(self.segment) {
            match self.grant(segment, view) {
                Err(_) if self.fidelity != Fidelity::Exact => {
                    self.followed.skipped += 1;
                    self.next_segment();
                }
                answer => return answer,
            }
        }
        Err(Divergence::PastEnd {
            segments: schedule.segments().len() as u64,
        })
    }

    fn grant(&self, segment: &Segment<PlaceNumber>, view: &View<'_>) -> Result<Grant, Divergence> {
        let number = self.segment as u64;
        let Some(&thread) = self.indices.get(&segment.thread) else {
            return Err(Divergence::NoThread {
                segment: number,
                thread: segment.thread.clone(),
            });
        };
        if !view.is_enabled(thread) {
            return Err(Divergence::NotEnabled {
                segment: number,
                thread: segment.thread.clone(),
                pending: view
                    .pending
                    .get(thread.position())
                    .map(|pending| pending.operation),
            });
        }
        let events = match self.fidelity {
            Fidelity::Exact => segment.events - self.executed,
            Fidelity::Tolerant { .. } => 1,
        };
        Ok(Grant::events(thread, events))
    }

    fn recorded(&mut self, thread: ThreadIndex, kind: ChoiceKind, options: u32) -> Option<u32> {
        let (path, asked) = self.threads.get_mut(thread.position())?;
        let number = *asked;
        *asked += 1;
        let choices = self.schedule.choices();
        let key = (&*path, number);
        let found = choices
            .binary_search_by(|choice| (&choice.thread, choice.number).cmp(&key))
            .ok()?;
        let choice = &choices[found];
        if choice.kind == kind && choice.picked < options {
            return Some(choice.picked);
        }
        self.misfit = Some(Divergence::OtherChoice {
            thread: path.clone(),
            number,
            expected: choice.kind,
            found: kind,
        });
        None
    }
}

impl Strategy for Replay<'_> {
    fn thread_started(&mut self, thread: ThreadIndex, path: &ThreadPath) {
        let needed = self.threads.len().max(thread.position() + 1);
        self.threads.resize(needed, (ThreadPath::MAIN, 0));
        self.threads[thread.position()] = (path.clone(), 0);
        self.indices.insert(path.clone(), thread);
        if let Some(then) = &mut self.then {
            then.thread_started(thread, path);
        }
    }

    fn decide(&mut self, view: &View<'_>) -> Decision {
        if !self.left {
            match (self.follow(view), &self.then) {
                (Ok(grant), _) => return Decision::Run(grant),
                (Err(divergence), None) => return Decision::Stop(Stop::Diverged(divergence)),
                (Err(_), Some(_)) => self.left = true,
            }
        }
        match &mut self.then {
            Some(then) => then.decide(view),
            None => unreachable!("a replay without a rule stops where it leaves its schedule"),
        }
    }

    /// A schedule ends where it ends, and the run with it.
    fn is_asked_alone(&self) -> bool {
        !self.left || self.then.as_ref().is_some_and(|then| then.is_asked_alone())
    }

    fn choose(&mut self, thread: ThreadIndex, kind: ChoiceKind, options: u32) -> u32 {
        match (&mut self.then, self.left) {
            (Some(then), true) => then.choose(thread, kind, options),
            _ => self.recorded(thread, kind, options).unwrap_or(0),
        }
    }

    fn report(&mut self, _: &View<'_>) -> &[u8] {
        self.report = crate::report::write(&self.followed);
        &self.report
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Outcome, Program, Step::*, lost_update, run};
    use crate::walk::RandomWalk;
    use alloc::vec;
    use proptest::prelude::*;

    fn waiters() -> Program {
        let waiter = vec![
            Lock(0),
            Wait {
                condition: 0,
                lock: 0,
            },
            Read(1),
            Add(1, 1),
            Unlock(0),
        ];
        let signaller = vec![Signal(0), Signal(0), Set(1, 3)];
        vec![
            vec![Fork(1), Fork(2), Fork(3)],
            waiter.clone(),
            waiter,
            signaller,
        ]
    }

    proptest! {
        #[test]
        fn a_recorded_run_is_reproduced_event_for_event(seed: u64, wait: bool) {
            let program = if wait { waiters() } else { lost_update() };
            let recorded = run(&program, &mut RandomWalk::new(seed));
            let schedule = recorded.machine.schedule();
            for fidelity in [Fidelity::Exact, Fidelity::Tolerant { slack: 0 }] {
                let replayed = run(&program, &mut Replay::new(&schedule, fidelity, None));
                prop_assert_eq!(&replayed.machine.trace, &recorded.machine.trace);
                prop_assert_eq!(&replayed.outcome, &recorded.outcome);
            }
        }

        #[test]
        fn any_schedule_is_followed_or_refused(
            runs in prop::collection::vec((0u32..5, 1u64..6, prop::option::of((0u64..6, 1u32..3))), 0..12),
            exact: bool,
        ) {
            let segment = |&(child, events, end): &(u32, u64, Option<(u64, u32)>)| Segment {
                thread: crate::machine::path(ThreadIndex(child)),
                events,
                end: end.map(|(offset, visits)| bohr_event::Anchor {
                    place: PlaceNumber::new(child as u16, offset),
                    visits,
                }),
            };
            let schedule: Schedule<PlaceNumber> = runs.iter().map(segment).collect();
            let fidelity = if exact { Fidelity::Exact } else { Fidelity::Tolerant { slack: 2 } };
            let program = lost_update();
            let outcome = run(&program, &mut Replay::new(&schedule, fidelity, None));
            prop_assert_eq!(outcome.stop.is_some(), outcome.outcome == Outcome::Stopped);
            let rule = Box::new(RandomWalk::new(1));
            let continued = run(&program, &mut Replay::new(&schedule, fidelity, Some(rule)));
            prop_assert!(continued.stop.is_none());
        }
    }

    #[test]
    fn a_changed_program_diverges_at_its_first_difference() {
        let program = lost_update();
        let schedule = run(&program, &mut crate::sequential::Sequential)
            .machine
            .schedule();
        let mut changed = program.clone();
        changed[1].pop();
        let stop = run(&changed, &mut Replay::new(&schedule, Fidelity::Exact, None)).stop;
        let Some(Stop::Diverged(Divergence::TooShort {
            segment,
            expected,
            executed,
            ..
        })) = stop
        else {
            panic!("{stop:?}");
        };
        assert_eq!((segment, expected, executed), (1, 4, 3));
    }

    #[test]
    fn tolerant_replay_survives_the_removal_of_a_thread() {
        // Thread 1 only makes noise; the lost update is between 2 and 3.
        let adder = vec![Read(0), Add(0, 1)];
        let main = |noisy: bool| {
            let noise = noisy.then_some(Fork(1));
            let rest = [Fork(2), Fork(3), Join(2), Join(3), Read(0), FailIf(1)];
            noise.into_iter().chain(rest).collect::<Vec<_>>()
        };
        let program = vec![main(true), vec![Set(5, 1)], adder.clone(), adder.clone()];
        // The noisy thread is never forked; places of main shift by one.
        let reduced = vec![main(false), vec![], adder.clone(), adder];
        let moved = |place: &PlaceNumber| match place.object() {
            0 => Some(PlaceNumber(place.0.saturating_sub(1))),
            _ => Some(*place),
        };
        let kept = |fidelity, schedule: &Schedule<PlaceNumber>| {
            let rule = Box::new(crate::sequential::Sequential);
            let run = run(&reduced, &mut Replay::new(schedule, fidelity, Some(rule)));
            u32::from(matches!(run.outcome, Outcome::Failed(_)))
        };
        let (mut failing, mut by_anchor, mut by_count) = (0, 0, 0);
        for seed in 0..400 {
            let run = run(&program, &mut RandomWalk::new(seed));
            if matches!(run.outcome, Outcome::Failed(_)) {
                let schedule = run.machine.schedule().with_places(moved);
                failing += 1;
                by_anchor += kept(Fidelity::Tolerant { slack: 2 }, &schedule);
                by_count += kept(Fidelity::Exact, &schedule);
            }
        }
        assert!(failing > 100, "the bug is not rare: {failing}");
        assert!(by_anchor > failing * 3 / 4, "{by_anchor} of {failing}");
        assert!(
            by_anchor > by_count,
            "{by_anchor} by anchor, {by_count} by count"
        );
    }
}
