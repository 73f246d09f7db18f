//! What a thread can do that another thread, or a later analysis, can notice.

use core::fmt;
use serde::{Deserialize, Serialize};

/// The kind of one event. The numbers are part of the trace format: never
/// renumber, only append.
///
/// The engine sees a thread as a sequence of *pending operations*: a thread
/// announces what it is about to do, waits until the schedule picks it *and*
/// the operation is possible (the lock is free, the child has ended), does it,
/// and runs on to its next announcement. One executed operation is one event;
/// an attempt that has to wait is none.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum EventKind {
    /// First event of every thread; follows its parent's `Fork`.
    Start = 0,
    /// Last event of every thread.
    Exit = 1,
    /// Creates a thread.
    Fork = 2,
    /// Waits for the end of a thread.
    Join = 3,
    /// Reads memory.
    Read = 4,
    /// Writes memory.
    Write = 5,
    /// Reads and writes memory in one step: atomic read-modify-write, or a
    /// compare-exchange that succeeded.
    Update = 6,
    /// Orders memory accesses without making one.
    Fence = 7,
    /// Takes a lock for itself alone. Of a recursive lock only the outermost.
    Acquire = 8,
    /// Gives it back. Of a recursive lock only the outermost.
    Release = 9,
    /// Takes a reader-writer lock for reading.
    AcquireShared = 10,
    /// Gives it back.
    ReleaseShared = 11,
    /// Returns from a wait on a condition or futex. A wait on a condition is
    /// three events: `Release`, `Wait`, `Acquire`.
    Wait = 12,
    /// Wakes at most one waiter.
    Signal = 13,
    /// Wakes all waiters.
    Broadcast = 14,
    /// Puts data or a permit where others can take it: pipe, socket, semaphore.
    Send = 15,
    /// Takes it.
    Receive = 16,
    /// Obtains heap memory.
    Alloc = 17,
    /// Gives it back.
    Free = 18,
    /// Arrives at a barrier.
    Arrive = 19,
    /// Leaves a barrier when all have arrived.
    Depart = 20,
    /// Offers the processor to others: `sched_yield`, a spin-loop hint.
    Yield = 21,
    /// Lets virtual time pass: sleeps and expired time-outs.
    Sleep = 22,
    /// Runs a handler for a signal.
    Handle = 23,
    /// Touches the world outside: a system call that is neither send nor receive.
    External = 24,
    /// Puts a value into its thread's store buffer, where that thread alone sees
    /// it. The `Write` of the buffer, which counts as a thread of its own, makes
    /// it visible to all.
    Store = 25,
    /// Looks at something that threads synchronise by and leaves it as it was: a lock
    /// that could not be had at once, a wait that came to its limit without waiting, a
    /// thread that has not ended. If its order is `Acquire`, it found something done,
    /// as `pthread_once` does, and sees all that was done.
    Look = 26,
}

impl EventKind {
    /// Every kind, in the order of its number.
    pub const ALL: [EventKind; 27] = {
        use EventKind::*;
        [
            Start,
            Exit,
            Fork,
            Join,
            Read,
            Write,
            Update,
            Fence,
            Acquire,
            Release,
            AcquireShared,
            ReleaseShared,
            Wait,
            Signal,
            Broadcast,
            Send,
            Receive,
            Alloc,
            Free,
            Arrive,
            Depart,
            Yield,
            Sleep,
            Handle,
            External,
            Store,
            Look,
        ]
    };

    /// The kind with this number, if there is one.
    #[must_use]
    pub fn from_number(number: u8) -> Option<EventKind> {
        EventKind::ALL.get(usize::from(number)).copied()
    }

    /// Whether it is an access to memory that can conflict with another.
    #[must_use]
    pub fn is_access(self) -> bool {
        matches!(self, EventKind::Read | EventKind::Write | EventKind::Update)
    }

    /// Whether it changes memory.
    #[must_use]
    pub fn writes(self) -> bool {
        matches!(self, EventKind::Write | EventKind::Update)
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, letter) in alloc::format!("{self:?}").char_indices() {
            if position > 0 && letter.is_ascii_uppercase() {
                out.write_str("-")?;
            }
            write!(out, "{}", letter.to_ascii_lowercase())?;
        }
        Ok(())
    }
}

/// The memory order of an access, as the source asked for it.
#[repr(u8)]
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum MemoryOrder {
    /// An ordinary access: a race with a conflicting one is undefined behaviour.
    #[default]
    Plain = 0,
    /// `volatile`, or LLVM's `unordered`: no tearing, no order.
    Unordered = 1,
    /// `memory_order_relaxed`.
    Relaxed = 2,
    /// `memory_order_acquire` (and `consume`).
    Acquire = 3,
    /// `memory_order_release`.
    Release = 4,
    /// `memory_order_acq_rel`.
    AcquireRelease = 5,
    /// `memory_order_seq_cst`.
    SequentiallyConsistent = 6,
}

impl MemoryOrder {
    /// Every order, by its number.
    pub const ALL: [MemoryOrder; 7] = [
        MemoryOrder::Plain,
        MemoryOrder::Unordered,
        MemoryOrder::Relaxed,
        MemoryOrder::Acquire,
        MemoryOrder::Release,
        MemoryOrder::AcquireRelease,
        MemoryOrder::SequentiallyConsistent,
    ];

    /// The order with this number, if there is one.
    #[must_use]
    pub fn from_number(number: u8) -> Option<MemoryOrder> {
        MemoryOrder::ALL.get(usize::from(number)).copied()
    }

    /// Whether the access is atomic.
    #[must_use]
    pub fn is_atomic(self) -> bool {
        self >= MemoryOrder::Relaxed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn numbers_name_their_kind() {
        for (number, kind) in (0u8..).zip(EventKind::ALL) {
            assert_eq!(kind as u8, number);
            assert_eq!(EventKind::from_number(number), Some(kind));
        }
        assert_eq!(EventKind::from_number(EventKind::ALL.len() as u8), None);
        for (number, order) in (0u8..).zip(MemoryOrder::ALL) {
            assert_eq!(order as u8, number);
        }
    }

    #[test]
    fn names_are_words() {
        assert_eq!(EventKind::AcquireShared.to_string(), "acquire-shared");
        assert_eq!(EventKind::Start.to_string(), "start");
    }
}
