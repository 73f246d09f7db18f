//! Nobody is preempted but at a few given points: before or after an event that is
//! no access to memory, named by its thread and its number among such events of
//! that thread. The blocks between those points are never split, unless accesses
//! are to be points as well.
//!
//! Preemption points: M. Musuvathi, S. Qadeer, "Iterative Context Bounding for
//! Systematic Testing of Multithreaded Programs", PLDI 2007, as D. Weeratunge et
//! al., "Analyzing Multicore Dumps to Facilitate Concurrency Bug Reproduction",
//! ASPLOS 2010, section 5, use them.
//!
//! Events are counted from the first decision of a run on: before there is a second
//! thread nobody decides anything.

use crate::{
    Decision, Grant, Strategy, View,
    sequential::{STUBBORN, next_in_turn},
};
use alloc::vec::Vec;
use bohr_event::{ChoiceKind, ThreadIndex, ThreadPath};
use serde::{Deserialize, Serialize};

/// A point at which a thread gives way.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Preemption {
    /// Who.
    pub thread: ThreadPath,
    /// Which of its events that count, from 0.
    pub number: u64,
    /// Whether it gives way behind the event rather than before it.
    pub after: bool,
    /// Who goes on.
    pub to: ThreadPath,
}

/// See the module.
pub struct Preempting<'a> {
    preemptions: &'a [Preemption],
    /// Whether accesses to memory count as well.
    accesses: bool,
    /// Which of them have been.
    done: Vec<bool>,
    threads: Vec<ThreadPath>,
    /// By thread: events counted.
    counted: Vec<u64>,
    /// Who was let go for an event that counts, at the last decision.
    executes: Option<ThreadIndex>,
    begun: bool,
}

impl<'a> Preempting<'a> {
    /// With these preemptions.
    #[must_use]
    pub fn new(preemptions: &'a [Preemption], accesses: bool) -> Preempting<'a> {
        Preempting {
            preemptions,
            accesses,
            done: preemptions.iter().map(|_| false).collect(),
            threads: Vec::new(),
            counted: Vec::new(),
            executes: None,
            begun: false,
        }
    }

    /// Whether what a thread is about to do counts.
    fn counts(&self, view: &View<'_>, thread: ThreadIndex) -> bool {
        let is_access = view.operation(thread).kind.is_access();
        !view.is_buffer(thread) && (self.accesses || !is_access)
    }

    /// Whom the thread gives way to here, if it does.
    fn instead(&mut self, view: &View<'_>, thread: ThreadIndex) -> Option<ThreadIndex> {
        let path = self.threads.get(thread.position())?;
        let counted = self.counted[thread.position()];
        let stands_before = self.counts(view, thread);
        let here = |preemption: &Preemption| {
            preemption.thread == *path
                && match preemption.after {
                    true => preemption.number + 1 == counted,
                    false => stands_before && preemption.number == counted,
                }
        };
        let open = self.preemptions.iter().zip(&mut self.done);
        for (preemption, done) in open {
            if *done || !here(preemption) {
                continue;
            }
            let to = self.threads.iter().position(|path| *path == preemption.to);
            let to = to.map(|position| ThreadIndex(position as u32));
            if let Some(to) = to.filter(|&to| view.is_enabled(to)) {
                *done = true;
                return Some(to);
            }
        }
        None
    }
}

impl Strategy for Preempting<'_> {
    fn thread_started(&mut self, thread: ThreadIndex, path: &ThreadPath) {
        let position = thread.position();
        if self.threads.len() <= position {
            self.threads.resize(position + 1, ThreadPath::MAIN);
            self.counted.resize(position + 1, 0);
        }
        self.threads[position] = path.clone();
        self.counted[position] = 0;
    }

    fn decide(&mut self, view: &View<'_>) -> Decision {
        self.begun = true;
        if let Some(thread) = self.executes.take() {
            self.counted[thread.position()] += 1;
        }
        let mut thread = next_in_turn(view);
        // Who goes on instead may stand at a point of its own.
        for _ in 0..self.preemptions.len() {
            match self.instead(view, thread) {
                Some(other) => thread = other,
                None => break,
            }
        }
        self.executes = self.counts(view, thread).then_some(thread);
        Decision::Run(match self.accesses {
            true => Grant::once(thread),
            false => Grant::accesses(view, thread, STUBBORN),
        })
    }

    /// Events that nobody asks about cannot be counted.
    fn is_asked_alone(&self) -> bool {
        self.begun
    }

    fn choose(&mut self, _: ThreadIndex, _: ChoiceKind, _: u32) -> u32 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{lost_update, run};
    use alloc::vec;

    #[test]
    fn a_point_that_nobody_comes_to_changes_nothing() {
        let program = lost_update();
        let [one, two] = [1, 2].map(|child| ThreadPath::MAIN.child(child));
        let never = vec![Preemption {
            thread: one,
            number: 1_000,
            after: false,
            to: two,
        }];
        let plain = run(&program, &mut Preempting::new(&[], false))
            .machine
            .trace;
        let same = run(&program, &mut Preempting::new(&never, false))
            .machine
            .trace;
        assert_eq!(plain, same);
    }
}
