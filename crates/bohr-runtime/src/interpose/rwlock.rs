//! Reader-writer locks, taken for real once the engine knows that they can be.

use super::{caller, interpose, mutex, object};
use crate::{
    clock::CLOCK,
    control,
    engine::{ENGINE, Woken, operation},
    layout::ReadWriteLock,
    real::real,
    thread::Wait,
    waiting,
};
use bohr_event::EventKind;

type Lock = *mut libc::pthread_rwlock_t;

fn real_read(lock: Lock) -> i32 {
    let try_lock = real!(fn pthread_rwlock_tryrdlock(Lock) -> i32);
    // SAFETY: the program's lock.
    unsafe { try_lock(lock) }
}

fn real_write(lock: Lock) -> i32 {
    let try_lock = real!(fn pthread_rwlock_trywrlock(Lock) -> i32);
    // SAFETY: the program's lock.
    unsafe { try_lock(lock) }
}

fn holds_for_writing(lock: Lock) -> bool {
    let number = ENGINE.current().owner_number.get();
    ReadWriteLock::at(lock as usize).writer() == number
}

fn read(lock: Lock, place: u64, deadline: u64) -> i32 {
    if holds_for_writing(lock) {
        return libc::EDEADLK;
    }
    let address = lock as usize;
    let acquire = operation(EventKind::AcquireShared, address, place);
    match object::announce(acquire, Wait::ReadLock(address), mutex::expiry(deadline)) {
        Woken::Expired => libc::ETIMEDOUT,
        Woken::Ready | Woken::Cancelled | Woken::Interrupted => real_read(lock),
    }
}

fn write(lock: Lock, place: u64, deadline: u64) -> i32 {
    if holds_for_writing(lock) {
        return libc::EDEADLK;
    }
    let address = lock as usize;
    if ReadWriteLock::at(address).prefers_writers() {
        // From when on it keeps readers out is up to the schedule.
        ENGINE.step(operation(EventKind::Look, address, place));
    }
    let acquire = operation(EventKind::Acquire, address, place);
    match object::announce(acquire, Wait::WriteLock(address), mutex::expiry(deadline)) {
        Woken::Expired => libc::ETIMEDOUT,
        Woken::Ready | Woken::Cancelled | Woken::Interrupted => real_write(lock),
    }
}

/// Takes the lock by `take` until this time.
unsafe fn until(
    clock: libc::clockid_t,
    time: *const libc::timespec,
    take: impl FnOnce(u64) -> i32,
) -> i32 {
    // SAFETY: the program passes a time.
    let deadline = CLOCK.valid_deadline(clock, unsafe { &*time });
    deadline.map_or(libc::EINVAL, take)
}

interpose! {
    fn pthread_rwlock_rdlock(lock: Lock) -> i32 {
        if !control::is_on() {
            let real = real!(fn pthread_rwlock_rdlock(Lock) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { real(lock) };
        }
        read(lock, caller(), u64::MAX)
    }

    fn pthread_rwlock_wrlock(lock: Lock) -> i32 {
        if !control::is_on() {
            let real = real!(fn pthread_rwlock_wrlock(Lock) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { real(lock) };
        }
        write(lock, caller(), u64::MAX)
    }

    fn pthread_rwlock_tryrdlock(lock: Lock) -> i32 {
        if control::is_on() {
            let acquire = operation(EventKind::AcquireShared, lock as usize, caller());
            object::attempt(acquire, Wait::ReadLock(lock as usize));
            if !waiting::can_be_read(lock as usize) {
                return libc::EBUSY;
            }
        }
        real_read(lock)
    }

    fn pthread_rwlock_trywrlock(lock: Lock) -> i32 {
        if control::is_on() {
            let acquire = operation(EventKind::Acquire, lock as usize, caller());
            object::attempt(acquire, Wait::WriteLock(lock as usize));
        }
        real_write(lock)
    }

    fn pthread_rwlock_timedrdlock(lock: Lock, time: *const libc::timespec) -> i32 {
        if !control::is_on() {
            let real = real!(fn pthread_rwlock_timedrdlock(Lock, *const libc::timespec) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { real(lock, time) };
        }
        let place = caller();
        // SAFETY: the program's time.
        unsafe { until(libc::CLOCK_REALTIME, time, |deadline| read(lock, place, deadline)) }
    }

    fn pthread_rwlock_timedwrlock(lock: Lock, time: *const libc::timespec) -> i32 {
        if !control::is_on() {
            let real = real!(fn pthread_rwlock_timedwrlock(Lock, *const libc::timespec) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { real(lock, time) };
        }
        let place = caller();
        // SAFETY: the program's time.
        unsafe { until(libc::CLOCK_REALTIME, time, |deadline| write(lock, place, deadline)) }
    }

    fn pthread_rwlock_clockrdlock(lock: Lock, clock: libc::clockid_t, time: *const libc::timespec) -> i32 {
        if !control::is_on() {
            let real = real!(
                fn pthread_rwlock_clockrdlock(Lock, libc::clockid_t, *const libc::timespec) -> i32
            );
            // SAFETY: passes on what the program passed.
            return unsafe { real(lock, clock, time) };
        }
        let place = caller();
        // SAFETY: the program's time.
        unsafe { until(clock, time, |deadline| read(lock, place, deadline)) }
    }

    fn pthread_rwlock_clockwrlock(lock: Lock, clock: libc::clockid_t, time: *const libc::timespec) -> i32 {
        if !control::is_on() {
            let real = real!(
                fn pthread_rwlock_clockwrlock(Lock, libc::clockid_t, *const libc::timespec) -> i32
            );
            // SAFETY: passes on what the program passed.
            return unsafe { real(lock, clock, time) };
        }
        let place = caller();
        // SAFETY: the program's time.
        unsafe { until(clock, time, |deadline| write(lock, place, deadline)) }
    }

    fn pthread_rwlock_unlock(lock: Lock) -> i32 {
        let unlock = real!(fn pthread_rwlock_unlock(Lock) -> i32);
        if control::is_on() {
            let kind = match ReadWriteLock::at(lock as usize).writer() {
                0 => EventKind::ReleaseShared,
                _ => EventKind::Release,
            };
            object::step(operation(kind, lock as usize, caller()));
        }
        // SAFETY: passes on what the program passed.
        unsafe { unlock(lock) }
    }
}
