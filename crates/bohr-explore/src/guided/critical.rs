//! Variables of which a failing state differs from a good one, and the accesses to
//! them in the good run, the likeliest to matter first.

use super::Passing;
use bohr_event::{EventKind, Operation, PlaceNumber, ThreadIndex};
use std::cmp::Reverse;
use std::collections::HashMap;

/// A variable of which a failing state differs from a good one, by where it is in
/// the good run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Critical {
    /// First address.
    pub address: u64,
    /// How many bytes.
    pub size: u64,
    /// Whether threads wait for it or wake each other by it, so that whatever they do to
    /// it counts as an access.
    pub synchronises: bool,
}

/// Critical variables by address.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// First address, size and position, ascending.
    by_address: Vec<(u64, u64, usize)>,
    /// Bytes of the largest.
    largest: u64,
    /// Those by which threads wait and are woken.
    synchronise: Vec<bool>,
}

impl Places {
    /// Of these.
    #[must_use]
    pub fn new(critical: &[Critical]) -> Places {
        let places = critical.iter().enumerate();
        let mut by_address: Vec<(u64, u64, usize)> = places
            .map(|(position, variable)| (variable.address, variable.size, position))
            .collect();
        by_address.sort_unstable();
        let sizes = critical.iter().map(|variable| variable.size);
        Places {
            by_address,
            largest: sizes.max().unwrap_or_default(),
            synchronise: { critical.iter() }.map(|one| one.synchronises).collect(),
        }
    }

    /// The positions of the variables that an operation touches: that it accesses, of
    /// the locks that it takes, and of what it waits for or wakes others by.
    pub fn touched(&self, operation: &Operation) -> impl Iterator<Item = usize> + '_ {
        use EventKind::{Acquire, AcquireShared, Arrive, Broadcast, Receive, Send, Signal, Wait};
        let start = operation.object;
        let (size, of_all) = match operation.kind {
            Acquire | AcquireShared => (1, true),
            Wait | Signal | Broadcast | Send | Receive | Arrive => (1, false),
            kind if kind.is_access() => (u64::from(operation.size), true),
            _ => (0, true),
        };
        let there = self.within(start, size);
        there.filter(move |&position| of_all || self.synchronise[position])
    }

    /// The positions of the variables that lie there, in whole or in part.
    pub fn within(&self, start: u64, size: u64) -> impl Iterator<Item = usize> + '_ {
        let end = start.saturating_add(size);
        let lowest = start.saturating_sub(self.largest);
        let first = self.by_address.partition_point(|one| one.0 < lowest);
        let near = self.by_address[first..].iter();
        near.take_while(move |one| one.0 < end)
            .filter(move |one| start.max(one.0) < end.min(one.0.saturating_add(one.1)))
            .map(|one| one.2)
    }
}

/// An access to a critical variable in the good run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranked {
    /// Which event.
    pub event: usize,
    /// Which variable, by its position.
    pub variable: usize,
    /// From 1, the best.
    pub rank: u64,
}

impl Passing<'_> {
    /// The accesses to critical variables before the aligned point, the nearest to it
    /// ranked first.
    #[must_use]
    pub fn by_time(&self, places: &Places) -> Vec<Ranked> {
        let before = self.steps[..self.aligned.min(self.steps.len())].iter();
        let touched = before.enumerate().rev().flat_map(|(event, step)| {
            let variables = places.touched(&step.operation);
            variables.map(move |variable| (event, variable))
        });
        let ranked = (1..).zip(touched);
        ranked
            .map(|(rank, (event, variable))| Ranked {
                event,
                variable,
                rank,
            })
            .collect()
    }

    /// The same, those first from which the fewest dependences lead to the aligned
    /// point; those from which none does come last. `distance` tells how many. Of what a
    /// thread has done again and again in one place, as often as it has looked whether
    /// there is something to do, each time counts as one dependence more than the time
    /// that is nearer: otherwise nothing else would have its turn.
    #[must_use]
    pub fn by_dependence(
        &self,
        places: &Places,
        distance: impl Fn(usize) -> Option<u32>,
    ) -> Vec<Ranked> {
        let mut ranked = self.by_time(places);
        let mut keyed: Vec<(u32, Ranked)> = ranked
            .drain(..)
            .map(|access| (distance(access.event).unwrap_or(u32::MAX), access))
            .collect();
        keyed.sort_by_key(|(distance, access)| (*distance, Reverse(access.event)));
        let mut times: HashMap<(ThreadIndex, PlaceNumber, usize), u32> = HashMap::new();
        for (distance, access) in &mut keyed {
            let step = &self.steps[access.event];
            let place = (step.thread, step.operation.place, access.variable);
            let again = times.entry(place).or_default();
            *distance = distance.saturating_add(*again);
            *again = again.saturating_add(1);
        }
        keyed.sort_by_key(|(distance, _)| *distance);
        ranked.extend(keyed.into_iter().map(|(_, access)| access));
        for (rank, access) in (1..).zip(&mut ranked) {
            access.rank = rank;
        }
        ranked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bohr_event::control::Step;
    use proptest::prelude::*;

    /// A thread looks three times before another one writes, all of it as near.
    #[test]
    fn what_is_done_again_and_again_lets_others_have_their_turn() {
        let step = |thread: u32, kind: EventKind, place: u64| Step {
            thread: ThreadIndex(thread),
            operation: Operation::plain(kind, 4, 100, PlaceNumber(place)),
        };
        let steps = [
            step(2, EventKind::Write, 9),
            step(1, EventKind::Read, 5),
            step(1, EventKind::Read, 5),
            step(1, EventKind::Read, 5),
        ];
        let passing = Passing {
            steps: &steps,
            threads: &[],
            aligned: steps.len(),
        };
        let places = Places::new(&[Critical {
            address: 100,
            size: 4,
            synchronises: false,
        }]);
        let order = |distance: &dyn Fn(usize) -> Option<u32>| -> Vec<usize> {
            let ranked = passing.by_dependence(&places, distance);
            ranked.iter().map(|access| access.event).collect()
        };
        assert_eq!(order(&|_| Some(1)), [3, 0, 2, 1]);
        // What nothing leads from stays last, however often the others come.
        assert_eq!(order(&|event| (event > 0).then_some(1)), [3, 2, 1, 0]);
    }

    /// Somebody who is woken by a condition is close to it; a variable that lies there by
    /// chance is not.
    #[test]
    fn what_threads_wait_for_is_touched_by_whoever_wakes_them() {
        let touched = |synchronises: bool, kind: EventKind| {
            let places = Places::new(&[Critical {
                address: 100,
                size: 1,
                synchronises,
            }]);
            let operation = Operation::plain(kind, 0, 100, PlaceNumber(1));
            places.touched(&operation).count()
        };
        for kind in [EventKind::Wait, EventKind::Signal, EventKind::Broadcast] {
            assert_eq!(touched(true, kind), 1);
            assert_eq!(touched(false, kind), 0);
        }
        assert_eq!(touched(false, EventKind::Acquire), 1);
        assert_eq!(touched(true, EventKind::Release), 0);
    }

    proptest! {
        #[test]
        fn what_is_touched_overlaps(
            variables in proptest::collection::vec((0u64..60, 0u64..12), 0..12),
            start in 0u64..60,
            size in 0u32..12,
        ) {
            let critical: Vec<Critical> = variables
                .iter()
                .map(|&(address, size)| Critical { address, size, synchronises: false })
                .collect();
            let operation = Operation::plain(EventKind::Write, size, start, PlaceNumber(1));
            let mut found: Vec<usize> = Places::new(&critical).touched(&operation).collect();
            found.sort_unstable();
            let overlaps = |variable: &Critical| {
                let own = variable.address..variable.address + variable.size;
                own.clone().any(|byte| (start..start + u64::from(size)).contains(&byte))
            };
            let expected: Vec<usize> = critical
                .iter()
                .enumerate()
                .filter(|(_, variable)| overlaps(variable))
                .map(|(position, _)| position)
                .collect();
            prop_assert_eq!(found, expected);
        }
    }
}
