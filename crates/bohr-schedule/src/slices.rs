//! Time slices: a thread runs for a random number of events, then another one
//! does, as under an operating system that knows nothing of the program.
//!
//! Not made for finding bugs: what a recorder sees in production looks like
//! this, with runs of hundreds of events between two switches, so this is what
//! simplification is measured on. A thread that blocks or spins loses the rest
//! of its slice.

use crate::walk::{pick_enabled, pick_outcome};
use crate::{Decision, Grant, Random, Strategy, View};
use bohr_event::{ChoiceKind, ThreadIndex, ThreadPath};

/// See the module.
#[derive(Clone, Debug)]
pub struct Slices {
    random: Random,
    /// Events of a slice, on average; at least 1.
    mean: u64,
}

impl Slices {
    /// Slices of this seed and so many events on average.
    #[must_use]
    pub fn new(seed: u64, mean: u64) -> Slices {
        Slices {
            random: Random::new(seed),
            mean: mean.clamp(1, u64::MAX / 2),
        }
    }
}

impl Strategy for Slices {
    fn thread_started(&mut self, _: ThreadIndex, _: &ThreadPath) {}

    fn decide(&mut self, view: &View<'_>) -> Decision {
        let thread = pick_enabled(&mut self.random, view);
        let events = 1 + self.random.below(2 * self.mean - 1);
        Decision::Run(Grant::events(thread, events))
    }

    fn choose(&mut self, _: ThreadIndex, kind: ChoiceKind, options: u32) -> u32 {
        pick_outcome(&mut self.random, kind, options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pending;
    use bohr_event::{EventKind, Operation, PlaceNumber};

    #[test]
    fn slices_are_as_long_as_asked_on_average() {
        let read = Operation::plain(EventKind::Read, 8, 0x1000, PlaceNumber(1));
        let view = View {
            pending: &[Pending::new(read); 2],
            enabled: &[ThreadIndex(0), ThreadIndex(1)],
            last: None,
        };
        for mean in [1, 2, 500] {
            let mut slices = Slices::new(3, mean);
            let mut longest = 0;
            let mut total = 0;
            for _ in 0..10_000 {
                let Decision::Run(grant) = slices.decide(&view) else {
                    panic!("nothing to stop for");
                };
                longest = longest.max(grant.events);
                total += grant.events;
            }
            let average = total as f64 / 1e4;
            assert!((average / mean as f64 - 1.0).abs() < 0.05, "{average}");
            assert!(longest < 2 * mean, "{longest}");
        }
    }
}
