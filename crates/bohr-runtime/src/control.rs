//! Whether the program is under control. It is not before `main`, in processes
//! that it starts itself, and if nobody asked for it. Nor are threads that it makes past
//! the C library: they come into the runtime from outside of the engine, and are let by.

use crate::{dispatch, faults, footprint, grant::GRANT, hooks};
use core::sync::atomic::{AtomicBool, Ordering};

#[unsafe(link_section = "bohr_hot")]
static ON: AtomicBool = AtomicBool::new(false);
#[unsafe(link_section = "bohr_hot")]
static DISPATCHING: AtomicBool = AtomicBool::new(false);
#[unsafe(link_section = "bohr_hot")]
static WATCHING: AtomicBool = AtomicBool::new(false);

#[unsafe(link_section = "bohr_hot")]
static SHARED: AtomicBool = AtomicBool::new(false);

/// Whether control will come: an explorer is there.
#[inline]
pub fn is_watching() -> bool {
    WATCHING.load(Ordering::Relaxed)
}

/// An explorer is there.
pub fn expect() {
    WATCHING.store(true, Ordering::Relaxed);
}

/// Whether interposed calls and hooks go to the engine.
#[inline]
pub fn is_on() -> bool {
    ON.load(Ordering::Relaxed) && (!is_shared() || faults::has_own_stack())
}

/// Whether threads that nobody controls may use this memory beside the engine.
#[inline]
pub fn is_shared() -> bool {
    SHARED.load(Ordering::Relaxed)
}

/// The program makes such a thread. From now on whoever comes by is asked who it is, which
/// takes a system call, and no access uses up leave before that.
pub fn share() {
    SHARED.store(true, Ordering::Relaxed);
    hooks::announce_all();
}

/// Whether hidden system calls go to the engine, too.
#[inline]
pub fn is_dispatching() -> bool {
    DISPATCHING.load(Ordering::Relaxed)
}

/// From here on the engine decides.
pub fn begin() {
    ON.store(true, Ordering::Relaxed);
    DISPATCHING.store(dispatch::begin(), Ordering::Relaxed);
}

/// From here on the program runs as it was written.
pub fn end() {
    ON.store(false, Ordering::Relaxed);
    WATCHING.store(false, Ordering::Relaxed);
    DISPATCHING.store(false, Ordering::Relaxed);
    dispatch::end();
    GRANT.set(0);
    hooks::switch(false);
}

/// What was left of the running thread's leave when control ended for a while.
pub struct Pause(u64);

/// A process that uses our memory begins, while this one waits: it runs as it was
/// written.
pub fn pause() -> Pause {
    footprint::leave();
    let left = GRANT.get();
    end();
    Pause(left)
}

impl Pause {
    /// The process has ended, or has become another program.
    pub fn end(self) {
        hooks::switch(true);
        expect();
        begin();
        GRANT.set(self.0);
    }
}
