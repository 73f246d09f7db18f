//! Refuses traces in which threads wait for each other in a circle and come back all
//! the same: each is woken by one who does that only after it has come back itself.
//!
//! That nobody has signalled what a wait returns from is no reason to refuse by itself.
//! Handlers of signals, cancellation and other processes end waits, too. So does chance
//! where somebody let it, and then nothing is refused.

use crate::error::{Malformed, SimplifyError};
use crate::order::Execution;
use bohr_event::{EventKind, ThreadIndex};
use bohr_trace::Sequence;
use std::collections::{HashMap, HashSet};

/// A wait that returns before anybody has signalled its object.
struct Unfounded {
    event: usize,
    object: u64,
    /// The one before it of the same thread.
    before: Option<usize>,
}

/// How far the search for circles is with a wait.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Unseen,
    OnTheWay,
    Over,
}

/// All such waits of a trace.
#[derive(Default)]
struct Waits {
    /// In the order in which they returned.
    unfounded: Vec<Unfounded>,
    /// By object: who wakes first, and that one's last unfounded wait before.
    wakes: HashMap<u64, (ThreadIndex, Option<usize>)>,
    /// By thread: its last unfounded wait.
    last: HashMap<ThreadIndex, usize>,
    /// Threads that have run a handler, which may have ended their waits.
    handlers: HashSet<ThreadIndex>,
}

/// Checks a whole trace; linear in its length.
pub(crate) fn check(execution: Execution<'_>) -> Result<(), SimplifyError> {
    if execution.wakes_by_chance {
        return Ok(());
    }
    let steps = execution.steps;
    let mut waits = Waits::default();
    for (event, step) in steps.iter().enumerate() {
        waits.watch(
            event,
            step.thread,
            step.operation.kind,
            step.operation.object,
        );
    }
    let Some(event) = waits.circle(|event| steps[event].thread) else {
        return Ok(());
    };
    let step = &steps[event];
    Err(SimplifyError::Malformed {
        event: Sequence(event as u64),
        kind: step.operation.kind,
        thread: step.thread,
        path: execution.threads.get(step.thread.position()).cloned(),
        reason: Malformed::Circle,
    })
}

impl Waits {
    fn watch(&mut self, event: usize, thread: ThreadIndex, kind: EventKind, object: u64) {
        match kind {
            EventKind::Handle => drop(self.handlers.insert(thread)),
            EventKind::Signal | EventKind::Broadcast => {
                let before = self.last.get(&thread).copied();
                self.wakes.entry(object).or_insert((thread, before));
            }
            EventKind::Wait
                if !self.wakes.contains_key(&object) && !self.handlers.contains(&thread) =>
            {
                let number = self.unfounded.len();
                self.unfounded.push(Unfounded {
                    event,
                    object,
                    before: self.last.insert(thread, number),
                });
            }
            _ => {}
        }
    }

    /// The first event of a circle of waits, if there is one.
    fn circle(&self, thread_of: impl Fn(usize) -> ThreadIndex) -> Option<usize> {
        // What has to come before a wait: the one before it of its thread, and the
        // last one of whoever wakes it, unless it wakes itself: then somebody from
        // outside has done so before.
        let needs = |number: usize| {
            let wait = &self.unfounded[number];
            let waker = self.wakes.get(&wait.object);
            let waker = waker.filter(|(waker, _)| *waker != thread_of(wait.event));
            let woken_after = waker.and_then(|(_, before)| *before);
            [wait.before, woken_after].into_iter().flatten()
        };
        let mut states = vec![State::Unseen; self.unfounded.len()];
        for start in 0..self.unfounded.len() {
            let mut way = Vec::new();
            if states[start] == State::Unseen {
                states[start] = State::OnTheWay;
                way.push((start, needs(start)));
            }
            while let Some((number, rest)) = way.last_mut() {
                let Some(next) = rest.next() else {
                    states[*number] = State::Over;
                    way.pop();
                    continue;
                };
                match states[next] {
                    State::Over => {}
                    State::Unseen => {
                        states[next] = State::OnTheWay;
                        way.push((next, needs(next)));
                    }
                    State::OnTheWay => {
                        let circle = way.iter().map(|(number, _)| *number);
                        let circle = circle.skip_while(|&number| number != next);
                        return circle.min().map(|number| self.unfounded[number].event);
                    }
                }
            }
        }
        None
    }
}
