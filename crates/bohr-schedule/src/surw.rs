//! Selectively uniform random walk: Zhao, Wolff, Mathur, Roychoudhury,
//! "Selectively Uniform Concurrency Testing", ASPLOS 2025.
//!
//! Where the number of interesting events of each thread is known, picking the
//! thread of the next one in proportion to what each has left makes every
//! interleaving of the interesting events equally likely. Other events are
//! ordered by chance, and a thread about to do an interesting event waits until
//! it is the one that was picked.
//!
//! Deviations: the counts come from earlier runs of the same hunt, by thread
//! path, and a thread that has more events than foreseen has to wait until the
//! others have none left. Where the picked thread cannot get to its event since it is blocked,
//! the pick is drawn again among those that can go on. A thread that is not
//! created yet lends its count to its closest living ancestor, as in the paper.

use crate::{
    Decision, Grant, Random, Strategy, View,
    walk::{pick_enabled, pick_outcome},
};
use alloc::vec::Vec;
use bohr_event::{ChoiceKind, PlaceNumber, ThreadIndex, ThreadPath};
use serde::{Deserialize, Serialize};

/// What is known about the program before the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// Sorted. Events at these places are interesting; if empty, all events are.
    pub interesting: Vec<PlaceNumber>,
    /// How many interesting events each thread executes, sorted by path.
    pub counts: Vec<(ThreadPath, u64)>,
}

impl Profile {
    /// The count of `thread` and all that are created below it.
    fn below(&self, thread: &ThreadPath) -> u64 {
        let within = |entry: &&(ThreadPath, u64)| entry.0.is_within(thread);
        self.counts.iter().filter(within).map(|entry| entry.1).sum()
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct SelectivelyUniform<'a> {
    random: Random,
    profile: &'a Profile,
    /// By thread index: path and interesting events left, those of children
    /// that are not created yet included.
    threads: Vec<(ThreadPath, u64)>,
    /// Whose interesting event comes next.
    intended: Option<ThreadIndex>,
}

impl<'a> SelectivelyUniform<'a> {
    /// The walk of this seed over a program with this profile.
    #[must_use]
    pub fn new(seed: u64, profile: &'a Profile) -> SelectivelyUniform<'a> {
        SelectivelyUniform {
            random: Random::new(seed),
            profile,
            threads: Vec::new(),
            intended: None,
        }
    }

    fn is_interesting(&self, view: &View<'_>, thread: ThreadIndex) -> bool {
        let places = &self.profile.interesting;
        places.is_empty() || places.binary_search(&view.operation(thread).place).is_ok()
    }

    /// One enabled thread, in proportion to what each has left; any of them if
    /// none has anything left.
    fn draw(&mut self, view: &View<'_>) -> ThreadIndex {
        let weigh = |thread: ThreadIndex| match view.spins(thread) {
            true => 0,
            false => self.threads[thread.position()].1,
        };
        let total: u64 = view.enabled.iter().map(|&thread| weigh(thread)).sum();
        if total == 0 {
            return pick_enabled(&mut self.random, view);
        }
        let mut ticket = self.random.below(total);
        for &thread in view.enabled {
            match ticket.checked_sub(weigh(thread)) {
                Some(rest) => ticket = rest,
                None => return thread,
            }
        }
        unreachable!("the ticket is below the sum of all weights")
    }

    /// Keeps the intended thread as long as it can go on.
    fn intend(&mut self, view: &View<'_>) -> ThreadIndex {
        let kept = self
            .intended
            .filter(|&thread| view.is_enabled(thread) && !view.spins(thread));
        let intended = kept.unwrap_or_else(|| self.draw(view));
        self.intended = Some(intended);
        intended
    }

    /// A child takes its share of what its parent held for it. If the parent was
    /// picked, that pick may have meant the child: the same odds decide.
    fn borrow_from_parent(&mut self, child: ThreadIndex, path: &ThreadPath, share: u64) {
        let Some(parent) = path.parent() else {
            return;
        };
        let Some(position) = self.threads.iter().rposition(|entry| entry.0 == parent) else {
            return;
        };
        let held = self.threads[position].1;
        self.threads[position].1 = held.saturating_sub(share);
        let intended = self
            .intended
            .is_some_and(|thread| thread.position() == position);
        if intended && held > 0 && self.random.below(held) < share {
            self.intended = Some(child);
        }
    }

    fn count_down(&mut self, thread: ThreadIndex) {
        let left = &mut self.threads[thread.position()].1;
        *left = left.saturating_sub(1);
        self.intended = None;
    }
}

impl Strategy for SelectivelyUniform<'_> {
    fn thread_started(&mut self, thread: ThreadIndex, path: &ThreadPath) {
        let share = self.profile.below(path);
        self.borrow_from_parent(thread, path, share);
        let needed = self.threads.len().max(thread.position() + 1);
        self.threads.resize(needed, (ThreadPath::MAIN, 0));
        self.threads[thread.position()] = (path.clone(), share);
    }

    fn decide(&mut self, view: &View<'_>) -> Decision {
        let intended = self.intend(view);
        let mut thread = pick_enabled(&mut self.random, view);
        if thread != intended && self.is_interesting(view, thread) {
            thread = intended;
        }
        if self.is_interesting(view, thread) {
            self.count_down(thread);
        }
        Decision::Run(Grant::once(thread))
    }

    fn choose(&mut self, _: ThreadIndex, kind: ChoiceKind, options: u32) -> u32 {
        pick_outcome(&mut self.random, kind, options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Program, Step::*, path, run};
    use alloc::{collections::BTreeMap, vec};

    /// Threads that write a variable of their own: all interleavings are possible.
    fn program(lengths: [usize; 2], noise: usize) -> Program {
        let body = |length, variable| {
            let quiet = core::iter::repeat_n(Set(7, 0), noise);
            quiet
                .chain(core::iter::repeat_n(Set(variable, 1), length))
                .collect()
        };
        vec![
            vec![Fork(1), Fork(2)],
            body(lengths[0], 1),
            body(lengths[1], 2),
        ]
    }

    fn interesting(program: &Program) -> Vec<PlaceNumber> {
        let mut places = Vec::new();
        for (thread, steps) in (0u16..).zip(program).skip(1) {
            for (line, step) in (1u64..).zip(steps) {
                if matches!(step, Set(1 | 2, _)) {
                    places.push(PlaceNumber::new(thread, line));
                }
            }
        }
        places
    }

    fn is_uniform(program: &Program, profile: &Profile, ways: usize, limit: f64) {
        let mut counts = BTreeMap::<Vec<u32>, u32>::new();
        let runs = 500 * ways as u64;
        for seed in 0..runs {
            let outcome = run(program, &mut SelectivelyUniform::new(seed, profile));
            let events = outcome.machine.trace.iter();
            let order = events
                .filter(|event| profile.interesting.contains(&event.1.place))
                .map(|event| event.0.0);
            *counts.entry(order.collect()).or_default() += 1;
        }
        assert_eq!(counts.len(), ways, "every interleaving is seen");
        let chi: f64 = counts
            .values()
            .map(|&n| (f64::from(n) - 500.0).powi(2) / 500.0)
            .sum();
        assert!(chi < limit, "chi-square {chi}: {counts:?}");
    }

    fn counted(program: &Program) -> Profile {
        let interesting = interesting(program);
        let mut counts = vec![(path(ThreadIndex(0)), 0)];
        for thread in [1, 2] {
            let own = interesting
                .iter()
                .filter(|place| u32::from(place.object()) == thread);
            counts.push((path(ThreadIndex(thread)), own.count() as u64));
        }
        Profile {
            interesting,
            counts,
        }
    }

    #[test]
    fn interleavings_of_unequal_threads_are_equally_likely() {
        // 4 and 2 events: 15 interleavings, 14 degrees of freedom, p = 0.001 at 36.1.
        let program = program([4, 2], 0);
        is_uniform(&program, &counted(&program), 15, 36.1);
    }

    #[test]
    fn uninteresting_events_do_not_bend_the_distribution() {
        let program = program([4, 2], 9);
        is_uniform(&program, &counted(&program), 15, 36.1);
    }
}
