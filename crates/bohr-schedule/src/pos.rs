//! Partial order sampling: Yuan, Yang, Gu, "Partial Order Aware Concurrency
//! Sampling", CAV 2018.
//!
//! Every pending event has a random priority and the highest enabled one is
//! executed. Afterwards the events that race with it draw anew, so that the
//! orders of independent pairs are decided independently of each other.
//!
//! Deviations: a spinning thread's event stays below all others while it spins.
//! An event that has been passed over very often draws anew: threads that wait in
//! loops which nobody recognises as spinning draw at every turn, and would keep a
//! thread with an unlucky draw from ever ending that wait.

use crate::{Decision, Grant, Random, Strategy, View, walk::pick_outcome};
use alloc::vec::Vec;
use bohr_event::{ChoiceKind, Operation, ThreadIndex, ThreadPath};

/// How often an event is passed over before it draws anew.
const STUBBORN: u64 = 10_000;

/// See the module.
#[derive(Clone, Debug)]
pub struct PartialOrderSampling {
    random: Random,
    /// Of the pending event of each thread, by index; never 0.
    priorities: Vec<u64>,
    /// How often each has been passed over since it drew, by index.
    passed_over: Vec<u64>,
    /// What was granted last, and to whom.
    last: Option<(ThreadIndex, Operation)>,
    /// Events of that thread in a row.
    in_a_row: u64,
}

impl PartialOrderSampling {
    /// The sample of this seed.
    #[must_use]
    pub fn new(seed: u64) -> PartialOrderSampling {
        PartialOrderSampling {
            random: Random::new(seed),
            priorities: Vec::new(),
            passed_over: Vec::new(),
            last: None,
            in_a_row: 0,
        }
    }

    fn redraw(&mut self, view: &View<'_>) {
        let Some((executor, executed)) = self.last else {
            return;
        };
        let events = view.last.map_or(1, |last| last.events);
        for &thread in view.enabled {
            let passed_over = &mut self.passed_over[thread.position()];
            *passed_over += events;
            let draws = thread == executor
                || *passed_over >= STUBBORN
                || view.operation(thread).conflicts(&executed);
            if draws {
                *passed_over = 0;
                self.priorities[thread.position()] = self.random.bits() | 1;
            }
        }
    }

    /// What a thread's pending event competes with: spinning ones come after all
    /// others, unless one thread has had more than its share.
    fn standing(&self, view: &View<'_>, thread: ThreadIndex) -> (bool, u64) {
        let useful = !view.spins(thread) || self.in_a_row >= STUBBORN;
        (useful, self.priorities[thread.position()])
    }

    /// Whose event is first by its priority, among those that `admit` lets through.
    pub(crate) fn first(
        &mut self,
        view: &View<'_>,
        admit: impl Fn(ThreadIndex) -> bool,
    ) -> Option<ThreadIndex> {
        self.redraw(view);
        let admitted = view.enabled.iter().copied().filter(|&thread| admit(thread));
        let thread = admitted.max_by_key(|&thread| self.standing(view, thread))?;
        self.in_a_row = match view.last {
            Some(last) if last.thread == thread && self.in_a_row < STUBBORN => {
                self.in_a_row + last.events
            }
            _ => 0,
        };
        self.last = Some((thread, *view.operation(thread)));
        Some(thread)
    }
}

impl Strategy for PartialOrderSampling {
    fn thread_started(&mut self, thread: ThreadIndex, _: &ThreadPath) {
        let needed = self.priorities.len().max(thread.position() + 1);
        self.priorities.resize(needed, 0);
        self.passed_over.resize(needed, 0);
        self.priorities[thread.position()] = self.random.bits() | 1;
    }

    fn decide(&mut self, view: &View<'_>) -> Decision {
        let first = self.first(view, |_| true);
        Decision::Run(Grant::once(first.unwrap_or(view.enabled[0])))
    }

    fn choose(&mut self, _: ThreadIndex, kind: ChoiceKind, options: u32) -> u32 {
        pick_outcome(&mut self.random, kind, options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Outcome, Step::*, run};
    use alloc::vec;
    use bohr_event::EventKind;

    /// Two threads wait for the third, whose event has the lowest of all priorities.
    #[test]
    fn an_unlucky_draw_is_not_for_ever() {
        let operation = |object| Operation::plain(EventKind::Read, 8, object, Default::default());
        let pending = [1, 2, 3].map(|object| crate::Pending::new(operation(object)));
        let enabled = [0, 1, 2].map(ThreadIndex);
        let mut strategy = PartialOrderSampling::new(3);
        for thread in enabled {
            strategy.thread_started(thread, &crate::machine::path(thread));
        }
        strategy.priorities[2] = 1;
        let mut last = None;
        let picked = (0..10 * STUBBORN).position(|_| {
            let view = View {
                pending: &pending,
                enabled: &enabled,
                last,
            };
            let thread = strategy.first(&view, |_| true).unwrap();
            last = Some(crate::Used {
                thread,
                running: thread,
                events: 1,
                place: operation(1).place,
            });
            thread == enabled[2]
        });
        assert!(picked.is_some());
    }

    /// Two threads that both spin take turns; neither is picked for ever.
    #[test]
    fn spinners_take_turns() {
        let operation = crate::machine::Machine::new(&vec![vec![]]).pending(ThreadIndex(0));
        let pending = [crate::Pending {
            spins: true,
            ..crate::Pending::new(operation)
        }; 2];
        let enabled = [ThreadIndex(0), ThreadIndex(1)];
        let mut strategy = PartialOrderSampling::new(3);
        let mut turns = [0; 2];
        let mut last = None;
        for thread in enabled {
            strategy.thread_started(thread, &crate::machine::path(thread));
        }
        for _ in 0..200 {
            let view = View {
                pending: &pending,
                enabled: &enabled,
                last,
            };
            let Decision::Run(grant) = strategy.decide(&view) else {
                unreachable!()
            };
            turns[grant.thread.position()] += 1;
            last = Some(crate::Used {
                thread: grant.thread,
                running: grant.thread,
                events: 1,
                place: operation.place,
            });
        }
        assert!(turns.iter().all(|&count| count > 20), "{turns:?}");
    }

    /// The paper's motivating shape: one order of two events among many that
    /// have nothing to do with it. A random walk would have to keep one thread
    /// back for ten events; here the two events compete once.
    #[test]
    fn independent_events_do_not_dilute_an_order() {
        let busy: Vec<_> = (0..10)
            .map(|_| Set(1, 1))
            .chain([Read(0), FailIf(0)])
            .collect();
        let program = vec![vec![Fork(1), Fork(2)], vec![Set(0, 1)], busy];
        let fails = |seed: &u64| {
            let outcome = run(&program, &mut PartialOrderSampling::new(*seed)).outcome;
            matches!(outcome, Outcome::Failed(_))
        };
        let hits = (0..2_000).filter(fails).count();
        // Thread 1's event is drawn once and thread 2 has to draw higher eleven
        // times and main's end is irrelevant: 1/12 is the share of the maximum.
        assert!(hits > 2_000 / 12 / 2, "{hits}");
    }
}
