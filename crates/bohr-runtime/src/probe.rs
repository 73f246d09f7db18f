//! Stacks of moments that somebody asked for: a trace tells where every event
//! was, and of a few of them one wants to know who had called.

use crate::{carrier::CarrierOnly, engine::ENGINE, unwind, verdict};
use alloc::vec::Vec;
use bohr_event::control::{Probed, Probes, Sighting};
use core::cell::{Cell, RefCell};

struct Probe {
    wanted: RefCell<Probes>,
    /// The next event; `u64::MAX` if there is none.
    next: Cell<u64>,
    /// The address whose block is watched, or 0.
    block: Cell<usize>,
    seen: RefCell<Probed>,
}

#[unsafe(link_section = "bohr_hot")]
static PROBE: CarrierOnly<Probe> = CarrierOnly::new(Probe {
    wanted: RefCell::new(Probes {
        events: Vec::new(),
        block: None,
    }),
    next: Cell::new(u64::MAX),
    block: Cell::new(0),
    seen: RefCell::new(Probed {
        events: Vec::new(),
        allocated: None,
        freed: None,
    }),
});

/// Sets what a run is asked for.
pub fn begin(probes: &Probes) {
    let first = probes.events.first().copied();
    PROBE.next.set(first.unwrap_or(u64::MAX));
    PROBE.block.set(probes.block.unwrap_or(0) as usize);
    *PROBE.wanted.borrow_mut() = probes.clone();
}

/// The running thread executes the event at this position of the trace.
#[inline]
pub fn look(position: u64) {
    if position == PROBE.next.get() {
        note_event();
    }
}

/// The running thread has been given a heap block.
#[inline]
pub fn allocated(start: usize, size: usize) {
    if PROBE.block.get().wrapping_sub(start) < size {
        note_block(true);
    }
}

/// The running thread gives a heap block back.
#[inline]
pub fn freed(start: usize, size: usize) {
    if PROBE.block.get().wrapping_sub(start) < size {
        note_block(false);
    }
}

#[cold]
fn note_event() {
    let ran = ENGINE.thread(ENGINE.last_ran());
    let sighting = match ran.queue {
        None => sighting(),
        // A store buffer has no stack.
        Some(_) => Sighting {
            thread: ran.index,
            frames: Vec::new(),
        },
    };
    let mut seen = PROBE.seen.borrow_mut();
    seen.events.push(sighting);
    let wanted = PROBE.wanted.borrow();
    let next = wanted.events.get(seen.events.len()).copied();
    PROBE.next.set(next.unwrap_or(u64::MAX));
}

#[cold]
fn note_block(begins: bool) {
    let sighting = Some(sighting());
    let mut seen = PROBE.seen.borrow_mut();
    if begins {
        seen.allocated = sighting;
        seen.freed = None;
    } else {
        seen.freed = sighting;
    }
}

#[inline(never)]
fn sighting() -> Sighting {
    let thread = ENGINE.current();
    Sighting {
        thread: thread.index,
        frames: verdict::program_frames(unwind::Registers::here(), thread),
    }
}

/// What has been seen.
pub fn seen() -> Probed {
    PROBE.seen.borrow().clone()
}
