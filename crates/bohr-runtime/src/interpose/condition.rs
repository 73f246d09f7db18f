//! Condition variables. The engine keeps who waits; the objects themselves are
//! only names, except for the clock that their attributes chose.

use super::{caller, cancel, interpose, mutex, object};
use crate::{
    clock::CLOCK,
    control,
    engine::{ENGINE, Woken, operation},
    layout::condition_is_shared,
    neighbours, policy,
    real::real,
    thread::{Thread, Wait},
    waiting::read_word,
};
use alloc::vec::Vec;
use bohr_event::{ChoiceKind, EventKind};

type Condition = *mut libc::pthread_cond_t;

/// The clock of a condition: bit 1 of its reference word.
fn clock_of(condition: Condition) -> libc::clockid_t {
    const REFERENCES: usize = 36;
    match read_word(condition as usize + REFERENCES) & 2 {
        0 => libc::CLOCK_REALTIME,
        _ => libc::CLOCK_MONOTONIC,
    }
}

/// Unlocks the mutex, waits for a wake-up, locks the mutex again.
pub fn wait(condition: usize, mutex: mutex::Raw, place: u64, deadline: u64) -> i32 {
    let waiting = operation(EventKind::Wait, condition, place);
    object::refuse_dead(&waiting);
    let error = mutex::unlock(mutex, place);
    if error != 0 {
        return error;
    }
    let wait = Wait::Wake(condition);
    let spurious = policy::get().spurious_wakes && ENGINE.choose(ChoiceKind::SpuriousWake, 2) == 1;
    let deadline = mutex::expiry(deadline);
    let woken = if spurious {
        ENGINE.step(waiting);
        Woken::Ready
    } else {
        ENGINE.announce_cancellable(waiting, wait, deadline)
    };
    // A cancelled thread holds the mutex in its cleanup handlers, too.
    match (mutex::lock(mutex, place, u64::MAX), woken) {
        (_, Woken::Cancelled) => cancel::act(),
        (0, Woken::Expired) => libc::ETIMEDOUT,
        (error, _) => error,
    }
}

/// Whether somebody outside the run may wait on the condition, or signal it. Then who
/// waits stands in the object, and the waits behind it come to the engine.
fn has_neighbours(condition: Condition) -> bool {
    control::is_dispatching() && neighbours::may_share(condition_is_shared(condition as usize))
}

/// Waits by the C library's own call. The mutex is given back and taken again in there.
fn wait_as_it_is(mutex: mutex::Raw, place: u64, wait: impl FnOnce() -> i32) -> i32 {
    ENGINE.step(operation(EventKind::Release, mutex as usize, place));
    let answer = wait();
    ENGINE.step(operation(EventKind::Acquire, mutex as usize, place));
    answer
}

/// Those who wait on an object, the longest first.
pub fn waiters(object: usize) -> Vec<&'static Thread> {
    let mut waiters = Vec::new();
    ENGINE.each_live(|thread| {
        if thread.awaits(object) {
            waiters.push(thread);
        }
    });
    waiters.sort_unstable_by_key(|thread| thread.since.get());
    waiters
}

/// Wakes up to `most` waiters, chosen by the strategy; says how many.
pub fn wake(object: usize, most: usize) -> usize {
    wake_matching(object, most, u64::MAX)
}

/// The same among those whose token has one of these bits.
pub fn wake_matching(object: usize, most: usize, bits: u64) -> usize {
    let mut waiters = waiters(object);
    if bits != u64::MAX {
        waiters.retain(|thread| thread.token.get() & bits != 0);
    }
    let mut count = 0;
    while count < most && !waiters.is_empty() {
        let all = most - count >= waiters.len();
        let picked = if all {
            0
        } else {
            ENGINE.choose(ChoiceKind::Waiter, waiters.len() as u32)
        };
        let waiter = waiters.remove(picked as usize);
        waiter.wake(object);
        ENGINE.disturb(waiter);
        count += 1;
    }
    count
}

interpose! {
    fn pthread_cond_wait(condition: Condition, mutex: mutex::Raw) -> i32 {
        if !control::is_on() {
            let wait = real!(fn pthread_cond_wait(Condition, mutex::Raw) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { wait(condition, mutex) };
        }
        let place = caller();
        if has_neighbours(condition) {
            let wait = real!(fn pthread_cond_wait(Condition, mutex::Raw) -> i32);
            // SAFETY: passes on what the program passed.
            return wait_as_it_is(mutex, place, || unsafe { wait(condition, mutex) });
        }
        wait(condition as usize, mutex, place, u64::MAX)
    }

    fn pthread_cond_timedwait(
        condition: Condition,
        mutex: mutex::Raw,
        time: *const libc::timespec,
    ) -> i32 {
        if !control::is_on() {
            let wait = real!(fn pthread_cond_timedwait(
                Condition,
                mutex::Raw,
                *const libc::timespec,
            ) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { wait(condition, mutex, time) };
        }
        let place = caller();
        if has_neighbours(condition) {
            let wait = real!(fn pthread_cond_timedwait(
                Condition,
                mutex::Raw,
                *const libc::timespec,
            ) -> i32);
            // SAFETY: passes on what the program passed.
            return wait_as_it_is(mutex, place, || unsafe { wait(condition, mutex, time) });
        }
        // SAFETY: the program passes a time.
        match CLOCK.valid_deadline(clock_of(condition), unsafe { &*time }) {
            Some(deadline) => wait(condition as usize, mutex, place, deadline),
            None => libc::EINVAL,
        }
    }

    fn pthread_cond_clockwait(
        condition: Condition,
        mutex: mutex::Raw,
        clock: libc::clockid_t,
        time: *const libc::timespec,
    ) -> i32 {
        if !control::is_on() {
            let wait = real!(fn pthread_cond_clockwait(
                Condition,
                mutex::Raw,
                libc::clockid_t,
                *const libc::timespec,
            ) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { wait(condition, mutex, clock, time) };
        }
        let place = caller();
        if has_neighbours(condition) {
            let wait = real!(fn pthread_cond_clockwait(
                Condition,
                mutex::Raw,
                libc::clockid_t,
                *const libc::timespec,
            ) -> i32);
            // SAFETY: passes on what the program passed.
            return wait_as_it_is(mutex, place, || unsafe { wait(condition, mutex, clock, time) });
        }
        // SAFETY: the program passes a time.
        match CLOCK.valid_deadline(clock, unsafe { &*time }) {
            Some(deadline) => wait(condition as usize, mutex, place, deadline),
            None => libc::EINVAL,
        }
    }

    fn pthread_cond_signal(condition: Condition) -> i32 {
        if !control::is_on() {
            let signal = real!(fn pthread_cond_signal(Condition) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { signal(condition) };
        }
        object::step(operation(EventKind::Signal, condition as usize, caller()));
        if wake(condition as usize, 1) == 0 && has_neighbours(condition) {
            let signal = real!(fn pthread_cond_signal(Condition) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { signal(condition) };
        }
        0
    }

    fn pthread_cond_broadcast(condition: Condition) -> i32 {
        if !control::is_on() {
            let broadcast = real!(fn pthread_cond_broadcast(Condition) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { broadcast(condition) };
        }
        object::step(operation(EventKind::Broadcast, condition as usize, caller()));
        wake(condition as usize, usize::MAX);
        if has_neighbours(condition) {
            let broadcast = real!(fn pthread_cond_broadcast(Condition) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { broadcast(condition) };
        }
        0
    }

    fn pthread_cond_destroy(condition: Condition) -> i32 {
        if !control::is_on() {
            let destroy = real!(fn pthread_cond_destroy(Condition) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { destroy(condition) };
        }
        // The real one would wait for waiters that only the engine knows.
        0
    }
}
