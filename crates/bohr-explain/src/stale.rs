//! Reads that missed a store: it had been made, and still waited in the store
//! buffer of its thread. They are told as they were seen in the failing run.

use crate::moment::Moment;
use bohr_event::control::Recorded;
use bohr_event::{EventKind, Operation, PlaceNumber, ThreadIndex};
use bohr_reduce::buffer_owners;
use serde::Serialize;
use std::collections::HashSet;

/// Pairs of places that are told; what follows repeats them in a longer run.
const MOST: usize = 6;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stale {
    /// The read.
    pub read: Moment,
    /// The store that it missed.
    pub store: Moment,
}

/// The first reads of a run that missed a store, one per pair of places.
#[must_use]
pub fn stale_reads(run: &Recorded) -> Vec<Stale> {
    let owners = buffer_owners(&run.threads);
    let mut waiting: Vec<(ThreadIndex, usize)> = Vec::new();
    let mut known: HashSet<(PlaceNumber, PlaceNumber)> = HashSet::new();
    let mut found = Vec::new();
    for (event, step) in run.steps.iter().enumerate() {
        let operation = &step.operation;
        let at = |event: usize| &run.steps[event].operation;
        match (operation.kind, owners.get(&step.thread)) {
            (EventKind::Store, _) => waiting.push((step.thread, event)),
            (EventKind::Write, Some(owner)) => {
                let is_it = |(thread, store): &(ThreadIndex, usize)| {
                    thread == owner && same_bytes(at(*store), operation)
                };
                if let Some(position) = waiting.iter().position(is_it) {
                    waiting.remove(position);
                }
            }
            (EventKind::Read, _) if found.len() < MOST => {
                let missed = waiting.iter().find(|(thread, store)| {
                    *thread != step.thread && overlap(at(*store), operation)
                });
                let Some(&(_, store)) = missed else { continue };
                if known.insert((operation.place, at(store).place)) {
                    found.push(Stale {
                        read: Moment::at(run, event),
                        store: Moment::at(run, store),
                    });
                }
            }
            _ => {}
        }
    }
    found
}

fn same_bytes(store: &Operation, write: &Operation) -> bool {
    (store.object, store.size, store.place) == (write.object, write.size, write.place)
}

fn overlap(one: &Operation, other: &Operation) -> bool {
    let end = |operation: &Operation| operation.object + u64::from(operation.size.max(1));
    one.object < end(other) && other.object < end(one)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy::recorded;
    use bohr_event::EventKind::{Read, Store, Write};

    #[test]
    fn reads_between_a_store_and_its_write_miss_it() {
        let mut run = recorded(&[
            (0, Store, 0x10, 4),
            (0, Read, 0x10, 4), // its own
            (1, Read, 0x20, 4), // of something else
            (1, Read, 0x12, 1),
            (2, Write, 0x10, 4),
            (1, Read, 0x10, 4),
        ]);
        run.threads[2] = run.threads[0].buffer(0);
        let found = stale_reads(&run);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].read, Moment::at(&run, 3));
        assert_eq!(found[0].store, Moment::at(&run, 0));
    }
}
