//! Variables of which a failing state differs from a good one, and the accesses to
//! them in the good run, the likeliest to matter first.

use super::Passing;
use bohr_event::{EventKind, Operation};
use std::cmp::Reverse;

/// A variable of which a failing state differs from a good one, by where it is in
/// the good run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Critical {
    /// First address.
    pub address: u64,
    /// How many bytes.
    pub size: u64,
}

/// Critical variables by address.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// First address, size and position, ascending.
    by_address: Vec<(u64, u64, usize)>,
    /// Bytes of the largest.
    largest: u64,
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
        }
    }

    /// The positions of the variables that an operation touches: that it accesses, or
    /// of the locks that it takes.
    pub fn touched(&self, operation: &Operation) -> impl Iterator<Item = usize> + '_ {
        let start = operation.object;
        let size = match operation.kind {
            EventKind::Acquire | EventKind::AcquireShared => 1,
            kind if kind.is_access() => u64::from(operation.size),
            _ => 0,
        };
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
    /// point; those from which none does come last. `distance` tells how many.
    #[must_use]
    pub fn by_dependence(
        &self,
        places: &Places,
        distance: impl Fn(usize) -> Option<u32>,
    ) -> Vec<Ranked> {
        let mut ranked = self.by_time(places);
        ranked.sort_by_key(|access| {
            let distance = distance(access.event).unwrap_or(u32::MAX);
            (distance, Reverse(access.event))
        });
        for (rank, access) in (1..).zip(&mut ranked) {
            access.rank = rank;
        }
        ranked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bohr_event::{EventKind, PlaceNumber};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_touched_overlaps(
            variables in proptest::collection::vec((0u64..60, 0u64..12), 0..12),
            start in 0u64..60,
            size in 0u32..12,
        ) {
            let critical: Vec<Critical> = variables
                .iter()
                .map(|&(address, size)| Critical { address, size })
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
