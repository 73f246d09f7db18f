//! Barriers. The engine keeps who has arrived; the object only tells how many
//! it waits for.

use super::{caller, condition, interpose, object};
use crate::{
    control,
    engine::{ENGINE, operation},
    layout::{barrier_count, barrier_is_shared},
    neighbours,
    real::real,
    thread::Wait,
};
use bohr_event::EventKind;

type Barrier = *mut libc::pthread_barrier_t;

interpose! {
    fn pthread_barrier_wait(barrier: Barrier) -> i32 {
        if !control::is_on() {
            let wait = real!(fn pthread_barrier_wait(Barrier) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { wait(barrier) };
        }
        let place = caller();
        let object = barrier as usize;
        object::step(operation(EventKind::Arrive, object, place));
        if control::is_dispatching() && neighbours::may_share(barrier_is_shared(object)) {
            // Who has arrived stands in the object; the wait behind it comes to the engine.
            let wait = real!(fn pthread_barrier_wait(Barrier) -> i32);
            // SAFETY: passes on what the program passed.
            let answer = unsafe { wait(barrier) };
            ENGINE.step(operation(EventKind::Depart, object, place));
            return answer;
        }
        let here_before = condition::waiters(object).len() as u32;
        let depart = operation(EventKind::Depart, object, place);
        if here_before + 1 >= barrier_count(object) {
            condition::wake(object, usize::MAX);
            ENGINE.step(depart);
            return libc::PTHREAD_BARRIER_SERIAL_THREAD;
        }
        ENGINE.announce(depart, Wait::Wake(object), u64::MAX);
        0
    }

    fn pthread_barrier_destroy(barrier: Barrier) -> i32 {
        if !control::is_on() {
            let destroy = real!(fn pthread_barrier_destroy(Barrier) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { destroy(barrier) };
        }
        // The real one would wait for threads that only the engine knows.
        0
    }
}
