//! POSIX semaphores: a permit is received once there is one.

use super::{caller, cancel, interpose, mutex, object};
use crate::{
    clock::CLOCK,
    control,
    engine::{ENGINE, Woken, operation},
    hooks,
    real::real,
    thread::{Interruptible, Wait},
};
use bohr_event::{EventKind, Operation};

type Semaphore = *mut libc::sem_t;

fn fail(error: i32) -> i32 {
    // SAFETY: `errno` is always there.
    unsafe { *libc::__errno_location() = error };
    -1
}

/// That a permit is given or taken, which is more than a transfer: see
/// [`Operation::is_permit`].
fn permit(kind: EventKind, semaphore: Semaphore, place: u64) -> Operation {
    Operation {
        size: 1,
        ..operation(kind, semaphore as usize, place)
    }
}

fn take(semaphore: Semaphore, place: u64, deadline: u64) -> i32 {
    let address = semaphore as usize;
    let receive = permit(EventKind::Receive, semaphore, place);
    let wait = Wait::Semaphore(address);
    object::refuse_dead(&receive);
    let (deadline, by) = (mutex::expiry(deadline), Interruptible::Unrestarted);
    let woken = ENGINE.announce_interruptible(receive, wait, deadline, by);
    hooks::refuse_freed(&receive);
    match woken {
        Woken::Interrupted => fail(libc::EINTR),
        Woken::Expired => fail(libc::ETIMEDOUT),
        Woken::Cancelled => cancel::act(),
        Woken::Ready => real_try(semaphore),
    }
}

fn take_until(semaphore: Semaphore, place: u64, deadline: Option<u64>) -> i32 {
    match deadline {
        Some(deadline) => take(semaphore, place, deadline),
        None => fail(libc::EINVAL),
    }
}

fn real_try(semaphore: Semaphore) -> i32 {
    let try_wait = real!(fn sem_trywait(Semaphore) -> i32);
    // SAFETY: the program's semaphore.
    unsafe { try_wait(semaphore) }
}

interpose! {
    fn sem_wait(semaphore: Semaphore) -> i32 {
        if !control::is_on() {
            let wait = real!(fn sem_wait(Semaphore) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { wait(semaphore) };
        }
        take(semaphore, caller(), u64::MAX)
    }

    fn sem_trywait(semaphore: Semaphore) -> i32 {
        if control::is_on() {
            let receive = permit(EventKind::Receive, semaphore, caller());
            object::attempt(receive, Wait::Semaphore(semaphore as usize));
        }
        real_try(semaphore)
    }

    fn sem_timedwait(semaphore: Semaphore, time: *const libc::timespec) -> i32 {
        if !control::is_on() {
            let wait = real!(fn sem_timedwait(Semaphore, *const libc::timespec) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { wait(semaphore, time) };
        }
        // SAFETY: the program passes a time.
        let deadline = CLOCK.valid_deadline(libc::CLOCK_REALTIME, unsafe { &*time });
        take_until(semaphore, caller(), deadline)
    }

    fn sem_clockwait(semaphore: Semaphore, clock: libc::clockid_t, time: *const libc::timespec) -> i32 {
        if !control::is_on() {
            let wait = real!(
                fn sem_clockwait(Semaphore, libc::clockid_t, *const libc::timespec) -> i32
            );
            // SAFETY: passes on what the program passed.
            return unsafe { wait(semaphore, clock, time) };
        }
        // SAFETY: the program passes a time.
        let deadline = CLOCK.valid_deadline(clock, unsafe { &*time });
        take_until(semaphore, caller(), deadline)
    }

    fn sem_post(semaphore: Semaphore) -> i32 {
        if control::is_on() {
            object::step(permit(EventKind::Send, semaphore, caller()));
        }
        let post = real!(fn sem_post(Semaphore) -> i32);
        // SAFETY: passes on what the program passed.
        unsafe { post(semaphore) }
    }
}
