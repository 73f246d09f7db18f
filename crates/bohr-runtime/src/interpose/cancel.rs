//! Cancellation: a request that its target honours when it is ready to.

use super::{caller, interpose};
use crate::{
    carrier::CarrierOnly,
    control,
    engine::{ENGINE, operation},
    real::real,
};
use bohr_event::EventKind;
use core::{cell::Cell, ffi::c_void};

/// What joining a cancelled thread gives: `PTHREAD_CANCELED`.
const CANCELLED: usize = usize::MAX;

/// Ends the running thread, with its cleanup handlers.
pub fn act() -> ! {
    let thread = ENGINE.current();
    thread.cancel.acting.set(true);
    thread.cancel.at_point.set(false);
    thread.result.set(CANCELLED);
    let exit = real!(fn pthread_exit(*mut c_void) -> !);
    // SAFETY: unwinds to the entry of the fiber; the runtime's frames on the
    // way hold nothing to drop.
    unsafe { exit(CANCELLED as *mut c_void) }
}

/// The program cancels threads, or is prepared for it.
static USED: CarrierOnly<Cell<bool>> = CarrierOnly::new(Cell::new(false));

/// Whether threads may be cancelled.
pub fn is_used() -> bool {
    USED.get()
}

/// A cancellation point that does not wait.
pub fn point() {
    if control::is_on() && ENGINE.current().cancel.is_due() {
        act();
    }
}

interpose! {
    fn pthread_cancel(handle: libc::pthread_t) -> i32 {
        if !control::is_on() {
            let cancel = real!(fn pthread_cancel(libc::pthread_t) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { cancel(handle) };
        }
        let place = caller();
        let Some(target) = ENGINE.by_handle(handle) else {
            return libc::ESRCH;
        };
        ENGINE.step(operation(EventKind::Signal, target.object(), place));
        USED.set(true);
        target.cancel.requested.set(true);
        ENGINE.disturb(target);
        if target.index == ENGINE.current().index && target.cancel.asynchronous.get() {
            point();
        }
        0
    }

    // Cleanup handlers: the macro for C comes down to this.
    fn __pthread_register_cancel(buffer: *mut c_void) {
        USED.set(true);
        let register = real!(fn __pthread_register_cancel(*mut c_void));
        // SAFETY: passes on what the program passed.
        unsafe { register(buffer) }
    }

    fn pthread_testcancel() {
        if !control::is_on() {
            let test = real!(fn pthread_testcancel());
            // SAFETY: passes on the call.
            return unsafe { test() };
        }
        ENGINE.step(operation(EventKind::Yield, 0, caller()));
        point();
    }

    fn pthread_setcancelstate(state: i32, old: *mut i32) -> i32 {
        if !control::is_on() {
            let set = real!(fn pthread_setcancelstate(i32, *mut i32) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { set(state, old) };
        }
        const DISABLE: i32 = 1;
        if !(0..=DISABLE).contains(&state) {
            return libc::EINVAL;
        }
        let cancel = &ENGINE.current().cancel;
        let before = cancel.disabled.replace(state == DISABLE);
        if !old.is_null() {
            // SAFETY: the program wants the old state there.
            unsafe { *old = i32::from(before) };
        }
        0
    }

    fn pthread_setcanceltype(kind: i32, old: *mut i32) -> i32 {
        if !control::is_on() {
            let set = real!(fn pthread_setcanceltype(i32, *mut i32) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { set(kind, old) };
        }
        const ASYNCHRONOUS: i32 = 1;
        if !(0..=ASYNCHRONOUS).contains(&kind) {
            return libc::EINVAL;
        }
        let cancel = &ENGINE.current().cancel;
        let before = cancel.asynchronous.replace(kind == ASYNCHRONOUS);
        if !old.is_null() {
            // SAFETY: the program wants the old type there.
            unsafe { *old = i32::from(before) };
        }
        if cancel.asynchronous.get() {
            point();
        }
        0
    }
}
