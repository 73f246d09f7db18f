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
/// The register with the first argument, and that with the second.
const FIRST: u16 = 5;
const SECOND: u16 = 4;
/// Where a `pthread_mutex_t` says who holds it.
const OWNER: u64 = 8;

/// A thread that waits on a word in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Wait {
    /// The word.
    pub object: u64,
    /// The thread that holds it, where it is a mutex of the C library that one of
    /// the threads holds.
    pub holder: Option<i32>,
}

/// What the thread waits for, if it waits on a word. `is_mutex` tells whether it does
/// so for a mutex: other words have no owner beside them.
#[must_use]
pub fn wait(
    thread: &ThreadImage,
    threads: &[ThreadImage],
    memory: &Memory<'_>,
    is_mutex: bool,
) -> Option<Wait> {
    let operation = thread.registers.get(SECOND)? & OPERATION;
    if thread.system_call != Some(FUTEX) || !WAITS.contains(&operation) {
        return None;
    }
    let object = thread.registers.get(FIRST)?;
    let owner = memory
        .number(object.wrapping_add(OWNER), 4)
        .filter(|_| is_mutex);
    let is_thread = |number: &i32| threads.iter().any(|thread| thread.number == *number);
    let holder = owner.map(|owner| owner as i32).filter(is_thread);
    Some(Wait { object, holder })
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
    let next = |number: i32| {
        let own = waits.iter().find(|wait| wait.0 == number);
        own.and_then(|wait| wait.1)
    };
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
