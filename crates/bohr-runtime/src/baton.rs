//! The second back end: real threads that pass a baton. Only who has it runs, so
//! the engine, the strategy and the events are those of fibers; a debugger sees
//! threads.
//!
//! A thread of the system runs the very fiber that the carrier would run: the same
//! stack, the same thread-local storage, the same handle. So a program finds the
//! same addresses with both back ends, also when they are used again.

use crate::{carrier::CarrierOnly, dispatch, faults, system, thread::Thread, unwind, verdict};
use bohr_event::ThreadIndex;
use bohr_fiber::{FiberError, Successor};
use core::{
    cell::Cell,
    sync::atomic::{AtomicU32, Ordering},
};

static USED: CarrierOnly<Cell<bool>> = CarrierOnly::new(Cell::new(false));

/// Whether threads pass a baton in this run.
pub fn is_used() -> bool {
    USED.get()
}

/// Chooses the back end of this run.
pub fn use_for_run(used: bool) {
    USED.set(used);
    if used {
        system::stay_on_this_processor();
    }
}

/// A thread's side of the baton.
#[derive(Debug, Default)]
pub struct Baton {
    /// 1 when it is this thread's turn.
    turn: AtomicU32,
    /// Where it waits, for the stacks of a failing run.
    registers: Cell<Option<unwind::Registers>>,
}

impl Baton {
    /// Notes where this thread is going to wait; before it passes the baton on,
    /// since from then on another may look.
    pub fn note(&self, registers: unwind::Registers) {
        self.registers.set(Some(registers));
    }

    /// Waits for it.
    pub fn wait(&self) {
        while self.turn.load(Ordering::Acquire) == 0 {
            futex(&self.turn, libc::FUTEX_WAIT, 0);
        }
        self.turn.store(0, Ordering::Relaxed);
    }

    /// Where the thread waits.
    pub fn registers(&self) -> Option<unwind::Registers> {
        self.registers.get()
    }
}

/// Gives the baton to this thread; at its first turn it gets a thread of the system.
pub fn pass(to: &'static Thread) {
    let fiber = to.fiber();
    if fiber.is_suspended() {
        return fiber
            .continue_beside()
            .unwrap_or_else(|error| no_thread(error));
    }
    to.baton.turn.store(1, Ordering::Release);
    futex(&to.baton.turn, libc::FUTEX_WAKE, 1);
}

/// Gives the baton to another thread and ends the running one.
pub fn pass_and_end(from: &'static Thread, to: &'static Thread) -> ! {
    if from.index == ThreadIndex::MAIN {
        // A process without its first thread has no memory to look at.
        pass(to);
        rest();
    }
    let fiber = to.fiber();
    let successor = if fiber.is_suspended() {
        Successor::Suspended(fiber)
    } else {
        Successor::Waiting(&to.baton.turn)
    };
    match from.fiber().end_thread(successor) {
        Ok(never) => match never {},
        Err(error) => no_thread(error),
    }
}

fn no_thread(error: FiberError) -> ! {
    verdict::broken(&alloc::format!("{error}"))
}

/// First code of a thread of the system: it has the baton.
pub fn arrive() {
    faults::use_own_stack();
    dispatch::begin();
}

fn futex(word: &AtomicU32, operation: i32, value: usize) {
    let operation = (operation | libc::FUTEX_PRIVATE_FLAG) as usize;
    // SAFETY: waits or wakes on a word that stays.
    unsafe {
        system::call(
            libc::SYS_futex,
            [word.as_ptr() as usize, operation, value, 0, 0, 0],
        )
    };
}

/// Waits until the process ends.
fn rest() -> ! {
    static NEVER: AtomicU32 = AtomicU32::new(0);
    loop {
        futex(&NEVER, libc::FUTEX_WAIT, 0);
    }
}
