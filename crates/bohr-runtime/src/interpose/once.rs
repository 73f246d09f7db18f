//! `pthread_once`: waits while another thread is at it, then calls the real one,
//! which either does the work on this thread or finds it done.

use super::{caller, interpose};
use crate::{
    control,
    engine::{ENGINE, operation},
    real::real,
    thread::Wait,
    waiting::read_word,
};
use bohr_event::EventKind;

/// What `pthread_once` and `call_once` call.
pub type Routine = unsafe extern "C-unwind" fn();

/// The control word of work that is done.
const DONE: u32 = 2;

/// Does the work once; exceptions of the routine pass through.
///
/// # Safety
/// The control word must be one, and the routine what the program passed.
pub unsafe fn once(word: *mut i32, routine: Routine, place: u64) -> i32 {
    let address = word as usize;
    let acquire = operation(EventKind::Acquire, address, place);
    ENGINE.announce(acquire, Wait::Once(address), u64::MAX);
    let done = read_word(address) == DONE;
    let real = real!(fn pthread_once(*mut i32, Routine) -> i32);
    // SAFETY: nobody is at work on it, so this does not wait.
    let result = unsafe { real(word, routine) };
    if !done {
        ENGINE.step(operation(EventKind::Release, address, place));
    }
    result
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
