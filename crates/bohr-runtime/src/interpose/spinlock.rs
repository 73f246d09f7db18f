//! Spin locks: waiting for one does not spin here.

use super::{caller, interpose, object};
use crate::{control, engine::operation, real::real, thread::Wait};
use bohr_event::EventKind;

type Lock = *mut libc::pthread_spinlock_t;

fn real_try(lock: Lock) -> i32 {
    let try_lock = real!(fn pthread_spin_trylock(Lock) -> i32);
    // SAFETY: the program's lock.
    unsafe { try_lock(lock) }
}

interpose! {
    fn pthread_spin_lock(lock: Lock) -> i32 {
        if !control::is_on() {
            let real = real!(fn pthread_spin_lock(Lock) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { real(lock) };
        }
        let address = lock as usize;
        let acquire = operation(EventKind::Acquire, address, caller());
        object::announce(acquire, Wait::SpinLock(address), u64::MAX);
        real_try(lock)
    }

    fn pthread_spin_trylock(lock: Lock) -> i32 {
        if control::is_on() {
            let acquire = operation(EventKind::Acquire, lock as usize, caller());
            object::attempt(acquire, Wait::SpinLock(lock as usize));
        }
        real_try(lock)
    }

    fn pthread_spin_unlock(lock: Lock) -> i32 {
        if control::is_on() {
            object::step(operation(EventKind::Release, lock as usize, caller()));
        }
        let unlock = real!(fn pthread_spin_unlock(Lock) -> i32);
        // SAFETY: passes on what the program passed.
        unsafe { unlock(lock) }
    }
}
