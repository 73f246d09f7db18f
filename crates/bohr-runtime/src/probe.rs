//! Stacks of events that somebody asked for: a trace tells where every event
//! was, and of a few of them one wants to know who had called.

use crate::{carrier::CarrierOnly, thread::Thread, unwind, verdict};
use alloc::vec::Vec;
use bohr_event::PlaceNumber;
use core::cell::{Cell, RefCell};

struct Probe {
    /// Positions of events, ascending.
    wanted: RefCell<Vec<u64>>,
    /// The next one; `u64::MAX` if there is none.
    next: Cell<u64>,
    taken: RefCell<Vec<Vec<PlaceNumber>>>,
}

#[unsafe(link_section = "bohr_hot")]
static PROBE: CarrierOnly<Probe> = CarrierOnly::new(Probe {
    wanted: RefCell::new(Vec::new()),
    next: Cell::new(u64::MAX),
    taken: RefCell::new(Vec::new()),
});

/// Sets the events of a run whose stacks are kept.
pub fn begin(positions: &[u64]) {
    *PROBE.wanted.borrow_mut() = positions.to_vec();
    PROBE
        .next
        .set(positions.first().copied().unwrap_or(u64::MAX));
}

/// The running thread executes the event at this position.
#[inline]
pub fn look(position: u64, thread: &Thread) {
    if position == PROBE.next.get() {
        take(thread);
    }
}

#[cold]
fn take(thread: &Thread) {
    let frames = verdict::program_frames(unwind::Registers::here(), thread);
    let mut taken = PROBE.taken.borrow_mut();
    taken.push(frames);
    let next = PROBE.wanted.borrow().get(taken.len()).copied();
    PROBE.next.set(next.unwrap_or(u64::MAX));
}

/// What was kept.
pub fn taken() -> Vec<Vec<PlaceNumber>> {
    PROBE.taken.borrow().clone()
}
