//! Seldom: nobody is preempted but at a few moments, drawn from a list; who comes
//! next, there and wherever a thread has to wait, is left to chance.
//!
//! For whoever knows a failing run and looks for one with fewer preemptions: most
//! programs have far too many schedules with one or two of them to try all, but
//! most of those differ at moments where nobody would notice. Moments belong to a
//! thread and count its own events, so that they stay what they are when others
//! come in another order.
//!
//! A thread that spins, or runs for very long, gives way as in
//! [sequential](crate::sequential) runs.

use crate::sequential::STUBBORN;
use crate::walk::pick_outcome;
use crate::{Decision, Grant, Random, Strategy, View};
use alloc::vec::Vec;
use bohr_event::{ChoiceKind, ThreadIndex, ThreadPath};
use serde::{Deserialize, Serialize};

/// Before the event of a thread that has so many of its own before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Moment {
    /// Whose, by its place among those that are named.
    pub thread: u32,
    /// How many events it has executed.
    pub events: u64,
}

/// Moments to draw from. Long runs have many, and each batch of runs is told of them:
/// a thread is named once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moments {
    /// Whose they are.
    pub threads: Vec<ThreadPath>,
    /// Lists of them, and the weight of each.
    pub lists: Vec<(u32, Vec<Moment>)>,
}

impl Moments {
    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lists.iter().all(|(_, list)| list.is_empty())
    }

    /// One of them: a list by its weight, and any in that.
    fn draw(&self, random: &mut Random) -> Option<Moment> {
        let lists = self.lists.iter().filter(|(_, list)| !list.is_empty());
        let all: u64 = lists.clone().map(|(weight, _)| u64::from(*weight)).sum();
        let mut drawn = random.below(all.max(1));
        for (weight, list) in lists {
            match drawn.checked_sub(u64::from(*weight)) {
                None => return random.pick(list),
                Some(rest) => drawn = rest,
            }
        }
        None
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Seldom<'a> {
    random: Random,
    /// The moments that were drawn, and whose they are.
    drawn: Vec<(&'a ThreadPath, u64)>,
    threads: Vec<Progress>,
    /// Events of the last thread in a row.
    in_a_row: u64,
}

/// How far a thread is.
#[derive(Clone, Debug, Default)]
struct Progress {
    executed: u64,
    /// Before which of its events it is interrupted, descending.
    interruptions: Vec<u64>,
}

impl<'a> Seldom<'a> {
    /// Interrupts somebody at so many of the moments, at most.
    #[must_use]
    pub fn new(seed: u64, preemptions: u32, moments: &'a Moments) -> Seldom<'a> {
        let mut random = Random::new(seed);
        let draw = |_| {
            let moment = moments.draw(&mut random)?;
            Some((moments.threads.get(moment.thread as usize)?, moment.events))
        };
        let drawn = (0..preemptions).filter_map(draw).collect();
        Seldom {
            random,
            drawn,
            threads: Vec::new(),
            in_a_row: 0,
        }
    }

    /// Enters what the last grant did.
    fn settle(&mut self, view: &View<'_>) {
        let Some(last) = view.last else {
            return;
        };
        if let Some(progress) = self.threads.get_mut(last.thread.position()) {
            progress.executed += last.events;
        }
        self.in_a_row += last.events;
    }

    /// Who ran last, if nothing speaks against going on.
    fn stays(&mut self, view: &View<'_>) -> Option<ThreadIndex> {
        let current = view.current()?;
        let progress = self.threads.get_mut(current.position())?;
        let interrupted = progress.is_interrupted();
        let tired = view.spins(current) || self.in_a_row >= STUBBORN;
        (!interrupted && !tired).then_some(current)
    }

    fn another(&mut self, view: &View<'_>) -> ThreadIndex {
        let last = view.last.map(|last| last.running);
        let others = view.enabled.iter().copied();
        let others: Vec<ThreadIndex> = others.filter(|&one| Some(one) != last).collect();
        let useful = others.iter().copied().filter(|&one| !view.spins(one));
        let useful: Vec<ThreadIndex> = useful.collect();
        let picked = self.random.pick(&useful).or(self.random.pick(&others));
        picked.unwrap_or(view.enabled[0])
    }
}

impl Progress {
    /// Whether it stands before an event where it is interrupted. Each such
    /// moment counts once, and is over once it was passed.
    fn is_interrupted(&mut self) -> bool {
        let executed = self.executed;
        while self.interruptions.pop_if(|at| *at < executed).is_some() {}
        self.interruptions.pop_if(|at| *at == executed).is_some()
    }

    /// Events up to the next interruption.
    fn until_interrupted(&mut self) -> u64 {
        // It has just been away.
        self.is_interrupted();
        let next = self.interruptions.last();
        next.map_or(STUBBORN, |at| (at - self.executed).min(STUBBORN))
    }
}

impl Strategy for Seldom<'_> {
    fn thread_started(&mut self, thread: ThreadIndex, path: &ThreadPath) {
        let needed = self.threads.len().max(thread.position() + 1);
        self.threads.resize(needed, Progress::default());
        let own = self.drawn.iter().filter(|(thread, _)| *thread == path);
        let mut interruptions: Vec<u64> = own.map(|(_, events)| *events).collect();
        interruptions.sort_unstable_by(|a, b| b.cmp(a));
        interruptions.dedup();
        self.threads[thread.position()] = Progress {
            executed: 0,
            interruptions,
        };
    }

    fn decide(&mut self, view: &View<'_>) -> Decision {
        self.settle(view);
        let (thread, events) = match self.stays(view) {
            Some(current) => (current, None),
            None => (self.another(view), Some(0)),
        };
        self.in_a_row = events.unwrap_or(self.in_a_row);
        let progress = self.threads.get_mut(thread.position());
        let events = progress.map_or(1, Progress::until_interrupted);
        Decision::Run(Grant::events(thread, events))
    }

    fn choose(&mut self, _: ThreadIndex, kind: ChoiceKind, options: u32) -> u32 {
        pick_outcome(&mut self.random, kind, options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Outcome, crossed_locks, lost_update, path, run};
    use alloc::vec;

    /// Of threads by their numbers, all as likely.
    fn moments(list: &[(u32, u64)]) -> Moments {
        let moment = |&(thread, events)| Moment { thread, events };
        Moments {
            threads: (0..3).map(|number| path(ThreadIndex(number))).collect(),
            lists: vec![(1, list.iter().map(moment).collect())],
        }
    }

    #[test]
    fn without_preemptions_nothing_is_lost_whoever_comes_first() {
        let moments = moments(&[(1, 1), (2, 1)]);
        for seed in 0..50 {
            for program in [lost_update(), crossed_locks()] {
                let outcome = run(&program, &mut Seldom::new(seed, 0, &moments)).outcome;
                assert!(matches!(outcome, Outcome::Ended(_)), "seed {seed}");
            }
        }
    }

    #[test]
    fn one_moment_is_enough_for_a_lost_update() {
        let program = lost_update();
        // Thread 1 has started and read what it will write back.
        let moments = moments(&[(1, 2)]);
        let mut failures = 0;
        for seed in 0..50 {
            let run = run(&program, &mut Seldom::new(seed, 1, &moments));
            failures += u32::from(matches!(run.outcome, Outcome::Failed(_)));
            let segments = run.machine.schedule().segments().len();
            assert!(segments <= 5, "somebody else was interrupted: {segments}");
        }
        assert!(failures > 10, "{failures} of 50");
    }

    #[test]
    fn lists_are_drawn_from_by_their_weights() {
        let list = |events: u64, length: usize| vec![Moment { thread: 0, events }; length];
        let moments = Moments {
            threads: vec![path(ThreadIndex(0))],
            lists: vec![(1, list(1, 100)), (7, Vec::new()), (3, list(2, 1))],
        };
        let mut random = Random::new(1);
        let drawn = (0..1000).filter_map(|_| moments.draw(&mut random));
        let (few, many): (Vec<Moment>, Vec<Moment>) = drawn.partition(|one| one.events == 1);
        assert_eq!(few.len() + many.len(), 1000);
        assert!((200..300).contains(&few.len()), "{}", few.len());
        assert_eq!(Moments::default().draw(&mut random), None);
    }
}
