//! `pthread_once`: waits while another thread is at it, then calls the real one,
//! which either does the work on this thread or finds it done.

use super::{caller, interpose, object};
use crate::{
    carrier::CarrierOnly,
    control,
    engine::{ENGINE, operation},
    real::real,
    thread::Wait,
};
use bohr_event::EventKind;
use core::cell::Cell;

/// What `pthread_once` and `call_once` call.
pub type Routine = unsafe extern "C-unwind" fn();

/// Does the work once; exceptions of the routine pass through.
///
/// # Safety
/// The control word must be one, and the routine what the program passed.
pub unsafe fn once(word: *mut i32, routine: Routine, place: u64) -> i32 {
    let address = word as usize;
    let acquire = operation(EventKind::Acquire, address, place);
    object::announce(acquire, Wait::Once(address), u64::MAX);
    WORK.set(Some(Work {
        routine,
        address,
        place,
    }));
    let real = real!(fn pthread_once(*mut i32, Routine) -> i32);
    // SAFETY: nobody is at work on it, so this does not wait.
    unsafe { real(word, work) }
}

/// What is to be done, from the decision to do it to its beginning.
#[derive(Clone, Copy)]
struct Work {
    routine: Routine,
    address: usize,
    place: u64,
}

static WORK: CarrierOnly<Cell<Option<Work>>> = CarrierOnly::new(Cell::new(None));

/// What the C library calls. It marks the work as done when this returns, and as still
/// to be done when an exception or the end of the thread leaves it, so this is the last
/// moment to say that others may go on.
unsafe extern "C-unwind" fn work() {
    let Some(work) = WORK.take() else {
        return;
    };
    let _end = End(work);
    // SAFETY: what the program passed.
    unsafe { (work.routine)() };
}

/// The end of the work, however it comes: whoever is at it next knows of it.
struct End(Work);

impl Drop for End {
    fn drop(&mut self) {
        let End(work) = self;
        ENGINE.step(operation(EventKind::Release, work.address, work.place));
    }
}

interpose! {
    fn pthread_once(word: *mut i32, routine: Routine) -> i32 {
        if !control::is_on() {
            let real = real!(fn pthread_once(*mut i32, Routine) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { real(word, routine) };
        }
        // SAFETY: passes on what the program passed.
        unsafe { once(word, routine, caller()) }
    }
}
