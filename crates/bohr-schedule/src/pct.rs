//! Probabilistic concurrency testing: Burckhardt, Kothari, Musuvathi,
//! Nagarakatte, "A Randomized Scheduler with Probabilistic Guarantees of
//! Finding Bugs", ASPLOS 2010.
//!
//! Threads get random priorities and the highest enabled one runs. At d − 1
//! random events the running thread falls below all that came before. A bug of
//! depth d among n threads and k events is found with probability at least
//! 1 / (n · k^(d−1)).
//!
//! Deviations: a new thread draws its priority when it starts (the paper knows
//! the number of threads beforehand; random 63-bit numbers are as good as a
//! random permutation). A thread that spins falls below all others, as the
//! paper's implementation does at a yield: otherwise it would starve the one
//! that it waits for. So does one that executes more events in a row than whole
//! runs were foreseen to have. A thread that is passed over for as many events
//! rises above all others: two that wake each other in turn neither spin nor run
//! long in a row, and may wait for a third.

use crate::{Decision, Grant, Random, Strategy, View, walk::pick_outcome};
use alloc::vec::Vec;
use bohr_event::{ChoiceKind, ThreadIndex, ThreadPath};

/// Priorities of threads that have not been lowered lie above this.
const UNLOWERED: i64 = 1 << 62;

/// And below this, unless they have risen.
const RISEN: i64 = UNLOWERED + (1 << 61);

/// Fewest events in a row that count as waiting in a loop, however short runs are.
const STUBBORN: u64 = 10_000;

/// See the module.
#[derive(Clone, Debug)]
pub struct Pct {
    random: Random,
    /// By thread index; the highest goes first.
    priorities: Vec<i64>,
    /// Event numbers before which the running thread is lowered; descending, so
    /// that the next one is at the end.
    changes: Vec<u64>,
    /// Events executed.
    executed: u64,
    /// The priority that the last spinner fell to.
    lowest: i64,
    /// The priority that the next starved thread rises to.
    highest: i64,
    /// By thread index: how many events had been executed when it was first passed
    /// over since it last ran.
    passed_over: Vec<Option<u64>>,
    /// Events of the last thread in a row.
    in_a_row: u64,
    /// How many events, in a row or passed over, are too many.
    too_many: u64,
}

impl Pct {
    /// For bugs of this depth, in runs of about `length` events.
    #[must_use]
    pub fn new(seed: u64, depth: u32, length: u64) -> Pct {
        let mut random = Random::new(seed);
        let mut changes: Vec<u64> = (1..depth).map(|_| random.below(length.max(1))).collect();
        changes.sort_unstable_by(|a, b| b.cmp(a));
        Pct {
            random,
            priorities: Vec::new(),
            changes,
            executed: 0,
            lowest: 0,
            highest: RISEN,
            passed_over: Vec::new(),
            in_a_row: 0,
            too_many: length.max(STUBBORN),
        }
    }

    fn highest(&self, view: &View<'_>) -> ThreadIndex {
        let mut best = view.enabled[0];
        for &thread in &view.enabled[1..] {
            if self.priorities[thread.position()] > self.priorities[best.position()] {
                best = thread;
            }
        }
        best
    }

    /// Raises who has been passed over for too long.
    fn raise_starved(&mut self, view: &View<'_>) {
        if let Some(last) = view.last {
            self.passed_over[last.thread.position()] = None;
        }
        for thread in view.enabled.iter().map(|thread| thread.position()) {
            let since = *self.passed_over[thread].get_or_insert(self.executed);
            if self.executed - since > self.too_many {
                self.passed_over[thread] = Some(self.executed);
                self.priorities[thread] = self.highest;
                self.highest += 1;
            }
        }
    }

    /// How many events may pass before somebody else has starved.
    fn patience(&self, view: &View<'_>, thread: ThreadIndex) -> u64 {
        let others = view.enabled.iter().filter(|&&other| other != thread);
        let waits = others.filter_map(|other| self.passed_over[other.position()]);
        let longest = waits.min().map_or(0, |since| self.executed - since);
        self.too_many.saturating_sub(self.in_a_row.max(longest)) + 1
    }

    fn lower_spinners(&mut self, view: &View<'_>) {
        if let Some(last) = view.last
            && (view.spins(last.thread) || self.in_a_row > self.too_many)
        {
            self.in_a_row = 0;
            self.lowest -= 1;
            self.priorities[last.thread.position()] = self.lowest;
        }
    }
}

impl Strategy for Pct {
    fn thread_started(&mut self, thread: ThreadIndex, _: &ThreadPath) {
        let needed = self.priorities.len().max(thread.position() + 1);
        self.priorities.resize(needed, 0);
        self.passed_over.resize(needed, None);
        self.passed_over[thread.position()] = None;
        self.priorities[thread.position()] = UNLOWERED + (self.random.bits() >> 3) as i64;
    }

    fn decide(&mut self, view: &View<'_>) -> Decision {
        self.executed += view.last.map_or(0, |last| last.events);
        self.lower_spinners(view);
        self.raise_starved(view);
        let mut thread = self.highest(view);
        while let Some(at) = self.changes.pop_if(|at| *at <= self.executed) {
            let lowered = match view.last {
                // Went by while that thread was alone and nobody asked.
                Some(last) if at < self.executed => last.thread,
                _ => thread,
            };
            // The change points still to come are below this one's priority.
            self.priorities[lowered.position()] = 1 + self.changes.len() as i64;
            thread = self.highest(view);
        }
        self.in_a_row = match view.last {
            Some(last) if last.thread == thread => self.in_a_row + last.events,
            _ => 0,
        };
        let next_change = self
            .changes
            .last()
            .map_or(u64::MAX, |&at| at - self.executed);
        let patience = self.patience(view, thread);
        Decision::Run(Grant::accesses(view, thread, next_change.min(patience)))
    }

    fn choose(&mut self, _: ThreadIndex, kind: ChoiceKind, options: u32) -> u32 {
        pick_outcome(&mut self.random, kind, options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Outcome, Program, Step::*, lost_update, run};
    use alloc::vec;
    use bohr_event::EventKind;
    use proptest::{prop_assert_eq, proptest};

    fn found(program: &Program, depth: u32, length: u64, seeds: u64) -> u64 {
        let fails = |seed: &u64| {
            let outcome = run(program, &mut Pct::new(*seed, depth, length)).outcome;
            matches!(outcome, Outcome::Failed(_) | Outcome::Deadlock)
        };
        (0..seeds).filter(fails).count() as u64
    }

    /// Asks the strategy at every event, whatever it grants.
    struct Impatient(Pct);

    impl Strategy for Impatient {
        fn thread_started(&mut self, thread: ThreadIndex, path: &ThreadPath) {
            self.0.thread_started(thread, path);
        }

        fn decide(&mut self, view: &View<'_>) -> Decision {
            match self.0.decide(view) {
                Decision::Run(grant) => Decision::Run(Grant::once(grant.thread)),
                stop => stop,
            }
        }

        fn is_asked_alone(&self) -> bool {
            true
        }

        fn choose(&mut self, thread: ThreadIndex, kind: ChoiceKind, options: u32) -> u32 {
            self.0.choose(thread, kind, options)
        }
    }

    proptest! {
        #[test]
        fn leave_for_many_events_changes_nothing(seed: u64, depth in 1u32..5, busy in 1usize..9) {
            let worker = |own: u8| {
                let private = (0..busy).map(move |_| Set(own, 1));
                let locked = [Lock(0), Read(0), Add(0, 1), Unlock(0)];
                private.clone().chain(locked).chain(private).collect::<Vec<_>>()
            };
            let program = vec![vec![Set(3, 1), Set(3, 2), Fork(1), Fork(2), Read(0)], worker(1), worker(2)];
            let length = 20 + 4 * busy as u64;
            let bulk = run(&program, &mut Pct::new(seed, depth, length)).machine.trace;
            let single = run(&program, &mut Impatient(Pct::new(seed, depth, length))).machine.trace;
            prop_assert_eq!(bulk, single);
        }
    }

    /// The guarantee, tested where the bound is a sizeable number. Three
    /// standard deviations below the bound still counts as holding it.
    fn holds(program: &Program, depth: u32, threads: u64, events: u64) {
        let seeds = 4_000;
        let bound = 1.0 / (threads as f64 * (events as f64).powi(depth as i32 - 1));
        let expected = bound * seeds as f64;
        let slack = 3.0 * expected.sqrt();
        let hits = found(program, depth, events, seeds) as f64;
        assert!(
            hits >= expected - slack,
            "{hits} of {seeds}, bound {expected}"
        );
    }

    #[test]
    fn depth_one_is_an_order_of_two_threads() {
        // Fails only if thread 2 runs before thread 1 and after main's end.
        let program = vec![
            vec![Fork(1), Fork(2)],
            vec![Set(0, 1)],
            vec![Read(0), FailIf(0)],
        ];
        holds(&program, 1, 3, 9);
    }

    #[test]
    fn depth_two_is_a_preemption_between_two_events() {
        holds(&lost_update(), 2, 3, 16);
        assert_eq!(
            found(&lost_update(), 1, 16, 500),
            0,
            "depth 1 never preempts"
        );
    }

    #[test]
    fn two_that_wake_each_other_do_not_starve_a_third() {
        let rounds = 20_000;
        let turn = |own, other| {
            [
                Signal(other),
                Wait {
                    condition: own,
                    lock: 0,
                },
            ]
        };
        let partner = |own: u8, other: u8| {
            let turns = (0..rounds).flat_map(move |_| turn(own, other));
            [Lock(0)].into_iter().chain(turns).chain([Unlock(0)])
        };
        let third = vec![Set(0, 1)];
        let program = vec![
            vec![Fork(1), Fork(2), Fork(3)],
            partner(1, 2).collect(),
            partner(2, 1).collect(),
            third,
        ];
        for seed in 0..20 {
            let trace = run(&program, &mut Pct::new(seed, 3, 20)).machine.trace;
            let third = trace
                .iter()
                .position(|(_, operation)| operation.kind == EventKind::Write);
            assert!(
                third.is_some_and(|at| at < 4 * STUBBORN as usize),
                "seed {seed}: {third:?}"
            );
        }
    }

    #[test]
    fn depth_three_needs_two_preemptions() {
        let program = vec![
            vec![Fork(1), Fork(2)],
            vec![Set(0, 1), Set(0, 2), Set(1, 1)],
            vec![Set(1, 0), Read(0), FailIf(9), Read(1), FailIf(1)],
        ];
        holds(&program, 3, 3, 13);
    }
}
