//! Who waits for whom: a thread that waits is in the kernel, with the address of
//! what it waits for in a register, and a mutex says who holds it.

use crate::{Memory, ThreadImage};
use serde::Serialize;

/// The number of the system call `futex`.
const FUTEX: u64 = 202;
/// Bits of its operation: what is done, not how.
const OPERATION: u64 = 0x7f;
/// Operations that wait: plainly, for some bits, for a lock that lends its rank.
const WAITS: [u64; 3] = [0, 9, 6];
/// The registers with the first argument, the second, and the fourth: until when.
const FIRST: u16 = 5;
const SECOND: u16 = 4;
const FOURTH: u16 = 10;
/// Where a `pthread_mutex_t` says who holds it.
const OWNER: u64 = 8;
/// Where a `pthread_rwlock_t` has the words that threads wait on, and where it says
/// who writes.
const WAITED_ON: [u64; 2] = [8, 12];
const WRITER: u64 = 24;
/// What the C library keeps of a thread lies behind its thread pointer; joins wait on
/// the thread's number there.
const DESCRIPTOR: u64 = 4096;

/// What the functions on a thread's stack say that it waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Awaited {
    /// A mutex of the C library.
    Mutex,
    /// A reader-writer lock of the C library.
    ReaderWriterLock,
    /// Nothing that has an owner beside it; perhaps the end of a thread.
    #[default]
    Other,
}

/// A thread that waits on a word in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Wait {
    /// The word.
    pub object: u64,
    /// The thread that has to do something first, where that is known: it holds a lock
    /// of the C library, or its end is waited for.
    pub holder: Option<i32>,
    /// Whether it is the end of that thread that is waited for.
    pub for_end: bool,
    /// Whether it goes on by itself when a time is over.
    pub limited: bool,
}

/// What the thread waits for, if it waits on a word.
#[must_use]
pub fn wait(
    thread: &ThreadImage,
    threads: &[ThreadImage],
    memory: &Memory<'_>,
    awaited: Awaited,
) -> Option<Wait> {
    let operation = thread.registers.get(SECOND)? & OPERATION;
    if thread.system_call != Some(FUTEX) || !WAITS.contains(&operation) {
        return None;
    }
    let object = thread.registers.get(FIRST)?;
    let ends = ending(object, threads, memory);
    let owner = match awaited {
        Awaited::Mutex => Some(object.wrapping_add(OWNER)),
        Awaited::ReaderWriterLock => {
            // It begins at a multiple of eight.
            let [first, second] = WAITED_ON;
            let offset = if object % 8 == 0 { first } else { second };
            Some(object.wrapping_sub(offset).wrapping_add(WRITER))
        }
        Awaited::Other => None,
    };
    let owner = owner.and_then(|place| memory.number(place, 4));
    let is_thread = |number: &i32| threads.iter().any(|thread| thread.number == *number);
    let holder = owner.map(|owner| owner as i32).filter(is_thread);
    Some(Wait {
        object,
        holder: ends.or(holder),
        for_end: ends.is_some(),
        limited: thread.registers.get(FOURTH) != Some(0),
    })
}

/// The thread whose number stands there, if the word is the one that joins wait on.
fn ending(object: u64, threads: &[ThreadImage], memory: &Memory<'_>) -> Option<i32> {
    let number = memory.number(object, 4)? as i32;
    let ends = threads.iter().find(|thread| thread.number == number)?;
    let offset = object.checked_sub(ends.registers.thread_pointer)?;
    (offset < DESCRIPTOR).then_some(number)
}

/// Threads that wait for each other in a circle, each circle once, beginning with
/// its lowest number.
///
/// ```
/// let waits = [(1, Some(2)), (2, Some(3)), (3, Some(1)), (4, Some(1)), (5, None)];
/// assert_eq!(bohr_dump::circles(&waits), [vec![1, 2, 3]]);
/// ```
#[must_use]
pub fn circles(waits: &[(i32, Option<i32>)]) -> Vec<Vec<i32>> {
    let next = |number: i32| holder(waits, number);
    let mut circles = Vec::new();
    for &(first, _) in waits {
        let mut circle = vec![first];
        let mut following = next(first);
        while let Some(number) = following.filter(|number| !circle.contains(number)) {
            circle.push(number);
            following = next(number);
        }
        let is_lowest = circle.iter().all(|&number| number >= first);
        if following == Some(first) && is_lowest {
            circles.push(circle);
        }
    }
    circles
}

/// Where a chain of waits leads: the last thread of it, which nobody is known to keep
/// from going on. Of a circle, the last one before it would close.
///
/// ```
/// let waits = [(1, Some(2)), (2, Some(3)), (3, None)];
/// assert_eq!(bohr_dump::last_of_chain(&waits, 1), 3);
/// assert_eq!(bohr_dump::last_of_chain(&[(1, Some(2)), (2, Some(1))], 1), 2);
/// ```
#[must_use]
pub fn last_of_chain(waits: &[(i32, Option<i32>)], first: i32) -> i32 {
    let mut chain = vec![first];
    let mut last = first;
    while let Some(next) = holder(waits, last).filter(|next| !chain.contains(next)) {
        chain.push(next);
        last = next;
    }
    last
}

fn holder(waits: &[(i32, Option<i32>)], number: i32) -> Option<i32> {
    waits.iter().find(|wait| wait.0 == number)?.1
}
