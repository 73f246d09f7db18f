//! Whether a thread's wait is over: the conditions of [`Wait`], read from the
//! objects themselves, and the passing of time.

use crate::{
    buffers,
    clock::CLOCK,
    engine::{ENGINE, Woken},
    interpose::{cancel, machine, priority},
    layout::{Mutex, ReadWriteLock, Semaphore},
    signals,
    thread::{Life, NOW, Thread, Wait},
    timers,
};
use bohr_event::{EventKind, MemoryOrder, Operation, ThreadIndex};
use bohr_schedule::Cause;

/// Whether the thread can go on: its pending operation is possible, or there is
/// something to be done before it.
pub fn is_over(thread: &Thread) -> bool {
    is_possible(thread) || signals::is_due(thread)
}

/// Whether the thread's pending operation is possible now.
pub fn is_possible(thread: &Thread) -> bool {
    let comes = thread.is_expired()
        || thread.interrupted.get()
        || holds(thread, thread.wait.get())
        || thread.cancel.takes_effect();
    comes && thread.buffer.admits() && thread.queue.is_none_or(buffers::is_ready)
}

/// How the wait of a thread that goes on has ended.
pub fn result(thread: &Thread) -> Woken {
    if thread.cancel.takes_effect() {
        Woken::Cancelled
    } else if thread.interrupted.get() && is_in_vain(thread) {
        Woken::Interrupted
    } else if thread.is_expired() && !holds(thread, thread.wait.get()) {
        Woken::Expired
    } else {
        Woken::Ready
    }
}

/// What an operation has become, now that it happens: one that is given up, or finds
/// nothing left to do, is another one.
pub fn outcome(thread: &Thread, operation: Operation, in_vain: bool) -> Operation {
    let finds_done = matches!(thread.wait.get(), Wait::Once(address) if is_done(address));
    match (in_vain, thread.deadline.get()) {
        (true, NOW) => Operation {
            kind: EventKind::Look,
            ..operation
        },
        (true, _) => Operation {
            kind: EventKind::Sleep,
            ..operation
        },
        (false, _) if finds_done => Operation {
            kind: EventKind::Look,
            order: MemoryOrder::Acquire,
            ..operation
        },
        (false, u64::MAX) => operation,
        (false, _) => operation.bounded(),
    }
}

/// Whether the work behind a once control is done: its bit 1.
fn is_done(once: usize) -> bool {
    read_word(once) & 2 != 0
}

/// Whether what the thread waits for has not come. A wait for nothing is a sleep.
fn is_in_vain(thread: &Thread) -> bool {
    let wait = thread.wait.get();
    wait == Wait::Nothing || !holds(thread, wait)
}

fn holds(thread: &Thread, wait: Wait) -> bool {
    match wait {
        Wait::Nothing => true,
        Wait::Mutex(address) => Mutex::at(address).can_be_taken_by(thread.owner_number.get()),
        Wait::ReadLock(address) => can_be_read(address),
        Wait::WriteLock(address) => ReadWriteLock::at(address).can_be_written(),
        Wait::Semaphore(address) => Semaphore::at(address).is_above_zero(),
        // The C library's spin lock is 1 while it is free.
        Wait::SpinLock(address) => read_word(address) == 1,
        Wait::PriorityLock(address) => priority::owner(address) == 0,
        // Bit 0: somebody is at work on it.
        Wait::Once(address) => read_word(address) & 1 == 0,
        Wait::End(other) => ENGINE.thread(other).life.get() != Life::Alive,
        Wait::Wake(word) => thread.woken.get() || is_changed(thread, word),
        Wait::Signal(set) => signals::within_reach(thread) & set != 0,
        Wait::Descriptor(descriptor, events) => crate::descriptors::is_ready(descriptor, events),
        Wait::Held(address) => Mutex::at(address).can_be_given_back_by(thread.owner_number.get()),
        Wait::Timer(timer) => timers::has_expired(timer),
        Wait::Check(check) => crate::descriptors::check(check),
    }
}

/// Whether a reader-writer lock can be taken for reading: some let a writer that waits go
/// first.
pub fn can_be_read(address: usize) -> bool {
    let lock = ReadWriteLock::at(address);
    lock.can_be_read() && !(lock.prefers_writers() && does_writer_wait(address))
}

fn does_writer_wait(address: usize) -> bool {
    let mut waits = false;
    ENGINE.each_live(|thread| {
        let wants = thread.wait.get() == Wait::WriteLock(address);
        waits |= wants && thread.deadline.get() != NOW;
    });
    waits
}

/// Whether a futex holds something else than when the wait began, where somebody from
/// outside could have changed it. Waits on futexes may end without a wake-up.
fn is_changed(thread: &Thread, word: usize) -> bool {
    let before = thread.expects.get();
    before.is_some_and(|before| read_word(word) != before)
}

/// What the thread waits for, where that is the same for all who wait for it and
/// nothing else can end its wait. Whoever does something to a thread that waits
/// tells the engine ([`crate::engine::Engine::disturb`]).
pub fn cause(thread: &Thread) -> Cause<Wait> {
    let wait = thread.wait.get();
    let is_disturbed = thread.deadline.get() != u64::MAX
        || thread.interrupted.get()
        || thread.woken.get()
        || thread.expects.get().is_some()
        || thread.cancel.requested.get()
        || thread.signals.get() != 0;
    match wait {
        _ if thread.buffer.may_hold_up() => Cause::Own,
        Wait::Nothing => Cause::Nothing,
        _ if thread.deadline.get() == NOW => Cause::Nothing,
        _ if is_disturbed => Cause::Own,
        // The owner may take it again.
        Wait::Mutex(address) if Mutex::at(address).is_held_by(thread.owner_number.get()) => {
            Cause::Own
        }
        Wait::Mutex(_)
        | Wait::ReadLock(_)
        | Wait::WriteLock(_)
        | Wait::Semaphore(_)
        | Wait::SpinLock(_)
        | Wait::PriorityLock(_)
        | Wait::Once(_)
        | Wait::End(_) => Cause::Shared(wait),
        // All who have not been woken, wherever.
        Wait::Wake(_) => Cause::Shared(Wait::Wake(0)),
        Wait::Signal(_)
        | Wait::Descriptor(..)
        | Wait::Held(_)
        | Wait::Timer(_)
        | Wait::Check(_) => Cause::Own,
    }
}

/// A word of the target. The thread that waits has touched it before.
pub fn read_word(address: usize) -> u32 {
    // SAFETY: the target passed this address as an object that is in use. A
    // program that has lost its way may pass one that is not aligned.
    u32::from_ne_bytes(unsafe { (address as *const [u8; 4]).read_volatile() })
}

/// Nobody can go on: moves the clock to the first deadline, if there is one.
pub fn pass_time() -> bool {
    let mut first = u64::MAX;
    ENGINE.each_live(|thread| first = first.min(thread.deadline.get()));
    first = first.min(timers::next_for_others());
    if first == u64::MAX {
        return crate::descriptors::wait_for_outside();
    }
    CLOCK.advance_to(first);
    true
}

/// Who has what the thread waits for.
pub fn holder(thread: &Thread) -> Option<ThreadIndex> {
    let owner = match thread.wait.get() {
        Wait::Mutex(address) => Mutex::at(address).owner(),
        Wait::WriteLock(address) | Wait::ReadLock(address) => ReadWriteLock::at(address).writer(),
        Wait::End(other) => return Some(other),
        Wait::PriorityLock(address) => return machine::numbered(priority::owner(address)),
        _ => return None,
    };
    let mut found = None;
    ENGINE.each_live(|other| {
        if other.owner_number.get() == owner && owner != 0 {
            found = Some(other.index);
        }
    });
    found
}

/// Whether the thread waits, in the end, for itself: for somebody who waits for
/// somebody … who waits for it, none of them for a time only, and none where somebody
/// else could call it away. (If nobody does in the end, nobody can go on.)
pub fn is_in_circle(thread: &Thread) -> bool {
    let mut waiting = thread.index;
    for _ in 0..ENGINE.live_count() {
        let link = ENGINE.thread(waiting);
        let called_away = signals::has_handlers() || cancel::is_used() && link.cancel.is_open();
        let hopeless = link.deadline.get() == u64::MAX && !is_over(link) && !called_away;
        match holder(link) {
            Some(next) if hopeless && next == thread.index => return true,
            Some(next) if hopeless => waiting = next,
            _ => return false,
        }
    }
    false
}
