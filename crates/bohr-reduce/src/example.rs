//! Events for tests: only what matters differs.

use bohr_event::control::Step;
use bohr_event::{EventKind, MemoryOrder, Operation, PlaceNumber, ThreadIndex};

/// An event of four bytes at no particular place.
pub fn step(thread: u32, kind: EventKind, object: u64) -> Step {
    Step {
        thread: ThreadIndex(thread),
        operation: Operation {
            kind,
            order: MemoryOrder::Plain,
            size: 4,
            object,
            place: PlaceNumber(0),
        },
    }
}
