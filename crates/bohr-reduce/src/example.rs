//! Events for tests: only what matters differs.

use bohr_event::control::Step;
use bohr_event::{EventKind, Operation, PlaceNumber, ThreadIndex};

/// An event of four bytes at no particular place.
pub fn step(thread: u32, kind: EventKind, object: u64) -> Step {
    Step {
        thread: ThreadIndex(thread),
        operation: Operation::plain(kind, 4, object, PlaceNumber(0)),
    }
}
