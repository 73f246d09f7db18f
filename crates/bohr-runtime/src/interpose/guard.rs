//! Guards of C++ statics that are initialised at first use. Programs test them
//! inline; who initialises sets them in the language's library, where no hook
//! sees it, though it orders what comes after.

use super::{caller, interpose};
use crate::{
    control,
    engine::{ENGINE, operation},
    real::real,
};
use bohr_event::{EventKind, MemoryOrder};

/// The access to a guard that the library makes.
fn step(kind: EventKind, order: MemoryOrder, guard: *mut u8, place: u64) {
    let mut access = operation(kind, guard as usize, place);
    access.order = order;
    access.size = 1;
    ENGINE.step(access);
}

interpose! {
    fn __cxa_guard_acquire(guard: *mut u8) -> i32 {
        let acquire = real!(fn __cxa_guard_acquire(*mut u8) -> i32);
        let place = caller();
        // SAFETY: passes on what the program passed.
        let is_ours = unsafe { acquire(guard) };
        if is_ours == 0 && control::is_on() {
            step(EventKind::Read, MemoryOrder::Acquire, guard, place);
        }
        is_ours
    }

    fn __cxa_guard_release(guard: *mut u8) {
        if control::is_on() {
            step(EventKind::Write, MemoryOrder::Release, guard, caller());
        }
        let release = real!(fn __cxa_guard_release(*mut u8));
        // SAFETY: passes on what the program passed.
        unsafe { release(guard) };
    }
}
