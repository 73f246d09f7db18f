//! Preemption only where it can matter: at memory accesses that are known to
//! conflict with another thread's, and at every event that is not an access.
//!
//! Most accesses of most programs never conflict. Leaving them out makes the
//! space that a random strategy draws from smaller by the same factor, without
//! losing an order of conflicting events. A thread that makes very many private
//! accesses in a row is asked about all the same: it may wait in a loop for
//! something that no earlier run has shown to conflict.

use crate::{Decision, Grant, Strategy, Used, View};
use alloc::boxed::Box;
use bohr_event::{ChoiceKind, PlaceNumber, ThreadIndex, ThreadPath};

/// Private accesses in a row after which the strategy is asked.
const STUBBORN: u32 = 1_000;

/// See the module.
pub struct Restricted<'a> {
    /// Sorted.
    points: &'a [PlaceNumber],
    strategy: Box<dyn Strategy + 'a>,
    /// Private accesses since the strategy was asked.
    unasked: u32,
}

impl<'a> Restricted<'a> {
    /// Asks `strategy` only where a preemption can matter.
    #[must_use]
    pub fn new(points: &'a [PlaceNumber], strategy: Box<dyn Strategy + 'a>) -> Restricted<'a> {
        Restricted {
            points,
            strategy,
            unasked: 0,
        }
    }
}

impl Strategy for Restricted<'_> {
    fn thread_started(&mut self, thread: ThreadIndex, path: &ThreadPath) {
        self.strategy.thread_started(thread, path);
    }

    fn decide(&mut self, view: &View<'_>) -> Decision {
        if let Some(thread) = view.current() {
            let operation = view.operation(thread);
            let private =
                operation.kind.is_access() && self.points.binary_search(&operation.place).is_err();
            if private && !view.spins(thread) && self.unasked < STUBBORN {
                self.unasked += 1;
                return Decision::Run(Grant::once(thread));
            }
        }
        let unasked = core::mem::take(&mut self.unasked);
        let last = view.last.map(|last| Used {
            events: last.events + u64::from(unasked),
            ..last
        });
        self.strategy.decide(&View { last, ..*view })
    }

    fn is_asked_alone(&self) -> bool {
        self.strategy.is_asked_alone()
    }

    fn choose(&mut self, thread: ThreadIndex, kind: ChoiceKind, options: u32) -> u32 {
        self.strategy.choose(thread, kind, options)
    }

    fn report(&mut self, end: &View<'_>) -> &[u8] {
        self.strategy.report(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Program, Step::*, run};
    use crate::walk::RandomWalk;
    use alloc::vec;

    #[test]
    fn threads_switch_at_points_and_other_events_only() {
        let program: Program = vec![
            vec![Fork(1), Fork(2)],
            vec![Set(1, 1), Set(1, 1), Set(0, 1), Set(1, 1)],
            vec![Set(2, 1), Set(2, 1), Set(0, 2), Set(2, 1)],
        ];
        let points = [PlaceNumber::new(1, 3), PlaceNumber::new(2, 3)];
        for seed in 0..200 {
            let inner = Box::new(RandomWalk::new(seed));
            let trace = run(&program, &mut Restricted::new(&points, inner))
                .machine
                .trace;
            for (position, (thread, operation)) in trace.iter().enumerate() {
                let private = operation.kind.is_access() && !points.contains(&operation.place);
                assert!(!private || trace[position - 1].0 == *thread, "seed {seed}");
            }
        }
    }
}
