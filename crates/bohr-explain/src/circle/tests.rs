//! Circles of small runs.

use super::*;
use crate::toy::{recorded, waiting};
use EventKind::{Acquire, AcquireShared, Join, Read, Receive, Release, Send, Update, Wait};

/// Event of holding and object waited for, of each thread.
fn told(run: &Recorded, states: &[ThreadState]) -> Vec<(Option<usize>, u64)> {
    let links = circle(run, states).into_iter();
    links
        .map(|link| {
            let holds = link.holds.and_then(|holds| holds.position(run));
            (holds, link.waits.operation.object)
        })
        .collect()
}

#[test]
fn locks_taken_in_both_orders() {
    let run = recorded(&[
        (1, Acquire, 0x10, 0),
        (2, Acquire, 0x20, 0),
        (1, Read, 0x30, 4),
    ]);
    let states = [
        waiting(0, Join, ThreadIndex(1).object(), Some(1)),
        waiting(1, Acquire, 0x20, Some(2)),
        waiting(2, Acquire, 0x10, Some(1)),
    ];
    assert_eq!(told(&run, &states), [(Some(0), 0x20), (Some(1), 0x10)]);
    // Who waits for the circle is not in it.
    assert_eq!(told(&run, &states[..2]), []);
}

#[test]
fn words_that_threads_sleep_on_are_locks_if_the_circle_closes() {
    let run = recorded(&[
        (1, Update, 0x10, 4), // takes the first
        (2, Update, 0x20, 4), // takes the second
        (2, Update, 0x10, 4), // marks the first as waited for
        (1, Update, 0x20, 4), // marks the second as waited for
    ]);
    let states = [waiting(1, Wait, 0x20, None), waiting(2, Wait, 0x10, None)];
    assert_eq!(told(&run, &states), [(Some(0), 0x20), (Some(1), 0x10)]);
}

/// Writers sleep on a word of their own, behind the one that tells them who is there.
#[test]
fn who_sleeps_elsewhere_waits_for_what_it_looked_at_last() {
    let mut run = recorded(&[
        (3, Update, 0x20, 4), // reads there, too
        (1, Update, 0x10, 4), // takes the first
        (2, Update, 0x20, 4), // takes the second
        (3, Update, 0x20, 4), // gives it back
        (2, Update, 0x10, 4), // marks the first as waited for
        (2, Read, 0x14, 4),
        (2, Read, 0x10, 4),
        (2, Read, 0x14, 4),
        (1, Update, 0x20, 4), // marks the second as waited for
        (1, Read, 0x24, 4),
        (1, Read, 0x20, 4),
        (1, Read, 0x24, 4),
    ]);
    run.steps[3].operation.order = MemoryOrder::Release;
    let states = [waiting(1, Wait, 0x24, None), waiting(2, Wait, 0x14, None)];
    assert_eq!(told(&run, &states), [(Some(1), 0x20), (Some(2), 0x10)]);
    // What a thread changed before it went to sleep, it did not look at to sleep.
    run.steps[11].operation.kind = Update;
    assert_eq!(told(&run, &states), []);
}

#[test]
fn readers_hold_too_and_what_was_given_back_is_free() {
    let run = recorded(&[
        (1, AcquireShared, 0x10, 0),
        (2, Acquire, 0x20, 0),
        (3, Acquire, 0x20, 0),
        (3, Release, 0x20, 0),
    ]);
    let states = [
        waiting(1, Acquire, 0x20, None),
        waiting(2, Acquire, 0x10, None),
    ];
    assert_eq!(told(&run, &states), [(Some(0), 0x20), (Some(1), 0x10)]);
}

#[test]
fn a_lock_taken_twice_is_a_circle_of_one() {
    let run = recorded(&[(1, Acquire, 0x10, 0)]);
    let states = [waiting(1, Acquire, 0x10, Some(1))];
    assert_eq!(told(&run, &states), [(Some(0), 0x10)]);
}

/// One that waits for a permit.
fn wanting(thread: u32, semaphore: u64) -> ThreadState {
    let mut state = waiting(thread, Receive, semaphore, None);
    state.operation.size = 1;
    state
}

#[test]
fn permits_are_held_until_they_are_given_back() {
    let run = recorded(&[
        (2, Receive, 0x10, 1),
        (2, Send, 0x10, 1),
        (1, Receive, 0x10, 1),
        (2, Receive, 0x20, 1),
    ]);
    let states = [wanting(1, 0x20), wanting(2, 0x10)];
    assert_eq!(told(&run, &states), [(Some(2), 0x20), (Some(3), 0x10)]);
}

#[test]
fn semaphores_that_others_post_are_no_locks() {
    let run = recorded(&[
        (3, Send, 0x10, 1),
        (1, Receive, 0x10, 1),
        (2, Receive, 0x20, 1),
    ]);
    assert_eq!(told(&run, &[wanting(1, 0x20), wanting(2, 0x10)]), []);
    // Nobody has what came through a pipe.
    let run = recorded(&[(1, Receive, 0x10, 0), (2, Receive, 0x20, 0)]);
    let states = [
        waiting(1, Receive, 0x20, None),
        waiting(2, Receive, 0x10, None),
    ];
    assert_eq!(told(&run, &states), []);
}
