//! Mutexes. The engine waits until the mutex is free, and then takes it for
//! real without blocking: its state is where the C library keeps it, so kinds,
//! owners, counts and errors are the C library's own.

use super::{caller, interpose, object};
use crate::{
    clock::CLOCK,
    control,
    engine::{ENGINE, Woken, operation},
    layout::Mutex,
    policy,
    real::real,
    thread::Wait,
};
use bohr_event::{ChoiceKind, EventKind};

/// A mutex of the program.
pub type Raw = *mut libc::pthread_mutex_t;

/// Locks; the error number of the C library, or that the time is up.
pub fn lock(mutex: Raw, place: u64, deadline: u64) -> i32 {
    let address = mutex as usize;
    let thread = ENGINE.current();
    let again = Mutex::at(address).is_held_by(thread.owner_number.get());
    if again && Mutex::at(address).can_be_taken_by(thread.owner_number.get()) {
        // Changes a count, or is an error: nobody else can notice.
        return try_lock(mutex);
    }
    let deadline = expiry(deadline);
    let acquire = operation(EventKind::Acquire, address, place);
    match object::announce(acquire, Wait::Mutex(address), deadline) {
        Woken::Expired => libc::ETIMEDOUT,
        // Locking a mutex is not a cancellation point.
        Woken::Ready | Woken::Cancelled | Woken::Interrupted => try_lock(mutex),
    }
}

/// A deadline that may come early if the policy lets it.
pub fn expiry(deadline: u64) -> u64 {
    let early = deadline != u64::MAX
        && policy::get().early_timeouts
        && ENGINE.choose(ChoiceKind::TimeOut, 2) == 1;
    if early { 0 } else { deadline }
}

fn try_lock(mutex: Raw) -> i32 {
    let try_lock = real!(fn pthread_mutex_trylock(Raw) -> i32);
    let lock = real!(fn pthread_mutex_lock(Raw) -> i32);
    // SAFETY: the program's mutex. What the owner gets from locking again
    // differs from trying, and trying one that is lost leaves it locked; neither
    // call blocks.
    unsafe {
        let number = ENGINE.current().owner_number.get();
        let state = Mutex::at(mutex as usize);
        if state.is_held_by(number) || state.is_lost() {
            lock(mutex)
        } else {
            try_lock(mutex)
        }
    }
}

/// Locks until a deadline; without one, only if nobody has it.
fn lock_until(mutex: Raw, place: u64, deadline: Option<u64>) -> i32 {
    let number = ENGINE.current().owner_number.get();
    match deadline {
        None if !Mutex::at(mutex as usize).can_be_taken_by(number) => libc::EINVAL,
        deadline => lock(mutex, place, deadline.unwrap_or(u64::MAX)),
    }
}

/// Unlocks.
pub fn unlock(mutex: Raw, place: u64) -> i32 {
    let number = ENGINE.current().owner_number.get();
    let state = Mutex::at(mutex as usize);
    if state.is_held_by(number) && state.depth() > 1 {
        return real_unlock(mutex);
    }
    let release = operation(EventKind::Release, mutex as usize, place);
    object::attempt(release, Wait::Held(mutex as usize));
    real_unlock(mutex)
}

/// Locks, if that does not take waiting: announces it, and leaves the rest to the
/// C library, by whatever name the program knows it.
pub fn attempt(mutex: Raw, place: u64) {
    let address = mutex as usize;
    let number = ENGINE.current().owner_number.get();
    let state = Mutex::at(address);
    if state.is_held_by(number) {
        // Counts, or is refused: nobody else can notice, but whoever tries again and
        // again has to let others go on.
        if !state.is_recursive() {
            ENGINE.step(operation(EventKind::Look, address, place));
        }
        return;
    }
    object::attempt(
        operation(EventKind::Acquire, address, place),
        Wait::Mutex(address),
    );
}

fn real_unlock(mutex: Raw) -> i32 {
    let unlock = real!(fn pthread_mutex_unlock(Raw) -> i32);
    // SAFETY: the program's mutex.
    unsafe { unlock(mutex) }
}

interpose! {
    fn pthread_mutex_lock(mutex: Raw) -> i32 {
        if !control::is_on() {
            let lock = real!(fn pthread_mutex_lock(Raw) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { lock(mutex) };
        }
        lock(mutex, caller(), u64::MAX)
    }

    fn pthread_mutex_trylock(mutex: Raw) -> i32 {
        if !control::is_on() {
            let try_lock = real!(fn pthread_mutex_trylock(Raw) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { try_lock(mutex) };
        }
        attempt(mutex, caller());
        let try_lock = real!(fn pthread_mutex_trylock(Raw) -> i32);
        // SAFETY: the program's mutex.
        unsafe { try_lock(mutex) }
    }

    fn pthread_mutex_unlock(mutex: Raw) -> i32 {
        if !control::is_on() {
            return real_unlock(mutex);
        }
        unlock(mutex, caller())
    }

    fn pthread_mutex_timedlock(mutex: Raw, time: *const libc::timespec) -> i32 {
        if !control::is_on() {
            let lock = real!(fn pthread_mutex_timedlock(Raw, *const libc::timespec) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { lock(mutex, time) };
        }
        let place = caller();
        // SAFETY: the program passes a time.
        let deadline = CLOCK.valid_deadline(libc::CLOCK_REALTIME, unsafe { &*time });
        lock_until(mutex, place, deadline)
    }

    fn pthread_mutex_clocklock(mutex: Raw, clock: libc::clockid_t, time: *const libc::timespec) -> i32 {
        if !control::is_on() {
            let lock = real!(fn pthread_mutex_clocklock(
                Raw,
                libc::clockid_t,
                *const libc::timespec,
            ) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { lock(mutex, clock, time) };
        }
        let place = caller();
        // SAFETY: the program passes a time.
        let deadline = CLOCK.valid_deadline(clock, unsafe { &*time });
        lock_until(mutex, place, deadline)
    }
}
