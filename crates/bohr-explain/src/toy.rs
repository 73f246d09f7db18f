//! Small runs for the tests of the analyses.

use bohr_event::control::{Failure, Recorded, Step, ThreadState};
use bohr_event::{
    EventKind, FailureKind, MemoryOrder, Operation, PlaceNumber, Segment, ThreadIndex, ThreadPath,
};

/// An operation at a place of its own.
pub fn operation(kind: EventKind, object: u64, size: u32) -> Operation {
    Operation {
        kind,
        order: MemoryOrder::Plain,
        size,
        object,
        place: PlaceNumber(object),
    }
}

/// A run of these events: thread, kind, object, size.
pub fn recorded(events: &[(u32, EventKind, u64, u32)]) -> Recorded {
    let path = |thread: u32| match thread {
        0 => ThreadPath::MAIN,
        _ => ThreadPath::MAIN.child(thread),
    };
    let last = events.iter().map(|event| event.0).max().unwrap_or(0);
    let step = |&(thread, kind, object, size): &(u32, EventKind, u64, u32)| Step {
        thread: ThreadIndex(thread),
        operation: operation(kind, object, size),
    };
    let mut run = Recorded {
        threads: (0..=last).map(path).collect(),
        steps: events.iter().map(step).collect(),
        ..Recorded::default()
    };
    for event in events {
        run.schedule.push(Segment {
            thread: path(event.0),
            events: 1,
            end: None,
        });
    }
    run
}

/// A thread that waits at the end of a run.
pub fn waiting(thread: u32, kind: EventKind, object: u64, holder: Option<u32>) -> ThreadState {
    ThreadState {
        thread: ThreadIndex(thread),
        operation: operation(kind, object, 0),
        enabled: false,
        holder: holder.map(ThreadIndex),
        frames: Vec::new(),
    }
}

/// A failure of a thread over an address.
pub fn failure(kind: FailureKind, thread: u32, address: u64) -> Failure {
    Failure {
        kind,
        thread: ThreadIndex(thread),
        place: Some(PlaceNumber(1)),
        address,
        message: String::new(),
        states: Vec::new(),
    }
}
