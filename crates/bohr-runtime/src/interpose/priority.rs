//! Futexes that hold the number of their owner, so that the kernel can lend it the
//! priority of those who wait: `FUTEX_LOCK_PI` and its kin. Fibers have no
//! priorities to lend; who owns what is all that is left of it.
//!
//! The kernel hands such a lock to the waiter that has waited longest, or ranks
//! highest. Here the strategy chooses among them: threads may have come in any
//! order.

use super::{
    condition,
    futex::Futex,
    machine, mutex,
    robust::{OWNER, OWNER_DIED, WAITERS},
};
use crate::{
    engine::{ENGINE, Woken, operation},
    thread::Wait,
    waiting::read_word,
};
use bohr_event::{EventKind, MemoryOrder, Operation};

const DONE: isize = 0;

const fn error(number: i32) -> isize {
    -(number as isize)
}

/// The number of the thread that owns the futex; 0 for none.
pub fn owner(word: usize) -> i32 {
    (read_word(word) & OWNER) as i32
}

fn write(word: usize, value: u32) {
    // SAFETY: the program passed this word as a futex to be locked, and it has
    // just been read.
    unsafe { (word as *mut u32).write_volatile(value) };
}

fn awaits(word: usize) -> bool {
    let mut found = false;
    let wait = Wait::PriorityLock(word);
    ENGINE.each_live(|thread| found |= thread.wait.get() == wait);
    found
}

/// The word belongs to the running thread.
fn take(word: usize) {
    let kept = read_word(word) & OWNER_DIED;
    let waiters = if awaits(word) { WAITERS } else { 0 };
    write(word, machine::thread_number() as u32 | waiters | kept);
}

/// Waits until nobody owns it, and takes it.
fn lock(word: usize, deadline: u64, place: u64) -> isize {
    if owner(word) == machine::thread_number() {
        return error(libc::EDEADLK);
    }
    if owner(word) != 0 {
        write(word, read_word(word) | WAITERS);
    }
    let acquire = operation(EventKind::Acquire, word, place);
    let woken = ENGINE.announce(acquire, Wait::PriorityLock(word), mutex::expiry(deadline));
    if woken == Woken::Expired {
        if !awaits(word) {
            write(word, read_word(word) & !WAITERS);
        }
        return error(libc::ETIMEDOUT);
    }
    take(word);
    DONE
}

fn try_lock(word: usize, place: u64) -> isize {
    let acquire = operation(EventKind::Acquire, word, place);
    ENGINE.attempt(acquire, Wait::PriorityLock(word));
    match owner(word) {
        0 => {
            take(word);
            DONE
        }
        number if number == machine::thread_number() => error(libc::EDEADLK),
        _ => error(libc::EAGAIN),
    }
}

/// Those who wait see it without an owner; nobody else takes it unasked, since the
/// mark of the waiters stays.
fn unlock(word: usize, place: u64) -> isize {
    if owner(word) != machine::thread_number() {
        return error(libc::EPERM);
    }
    ENGINE.step(operation(EventKind::Release, word, place));
    write(word, if awaits(word) { WAITERS } else { 0 });
    DONE
}

impl Futex {
    /// Answers the operations on futexes with owners; `None` for others.
    pub(super) fn with_owner(self) -> Option<isize> {
        Some(match self.operation & libc::FUTEX_CMD_MASK {
            // By its definition the time is of the real-time clock.
            libc::FUTEX_LOCK_PI => {
                let deadline = Futex {
                    operation: self.operation | libc::FUTEX_CLOCK_REALTIME,
                    ..self
                };
                lock(self.word, deadline.deadline(true), self.place)
            }
            libc::FUTEX_LOCK_PI2 => lock(self.word, self.deadline(true), self.place),
            libc::FUTEX_TRYLOCK_PI => try_lock(self.word, self.place),
            libc::FUTEX_UNLOCK_PI => unlock(self.word, self.place),
            libc::FUTEX_WAIT_REQUEUE_PI => self.wait_and_lock(),
            libc::FUTEX_CMP_REQUEUE_PI => self.wake_to_lock(),
            _ => return None,
        })
    }

    /// Waits on the first word, and comes back with the second locked.
    fn wait_and_lock(self) -> isize {
        if self.word == self.second_word {
            return error(libc::EINVAL);
        }
        match self.wait(u32::MAX, self.deadline(true)) {
            DONE => lock(self.second_word, u64::MAX, self.place),
            failed => failed,
        }
    }

    /// All who are woken or moved want the second word next: here they are all
    /// woken, and those who come too late wait there.
    fn wake_to_lock(self) -> isize {
        if self.value != 1 || self.word == self.second_word {
            return error(libc::EINVAL);
        }
        ENGINE.step(Operation {
            order: MemoryOrder::SequentiallyConsistent,
            size: 4,
            ..operation(EventKind::Read, self.word, self.place)
        });
        if read_word(self.word) != self.third_value {
            return error(libc::EAGAIN);
        }
        let most = self.fourth.saturating_add(1);
        ENGINE.step(operation(EventKind::Broadcast, self.word, self.place));
        condition::wake(self.word, most) as isize
    }
}
