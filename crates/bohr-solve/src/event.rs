//! What the threads of a run do that others can notice, and what has to hold
//! for them to go the way they went.

use crate::memory::Memory;
use crate::term::{ReadNumber, Scalar, Terms};
use bohr_event::{EventKind, MemoryOrder, ThreadPath};
use bohr_program::{FunctionNumber, InstructionNumber};
use std::collections::{BTreeMap, BTreeSet};

/// Where in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Spot {
    /// The function.
    pub function: FunctionNumber,
    /// The instruction in it.
    pub instruction: InstructionNumber,
}

/// A piece of memory that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadPiece {
    /// Where.
    pub address: Scalar,
    /// Bytes, at most 16.
    pub size: u32,
    /// The name of what it gives.
    pub read: ReadNumber,
}

/// A piece of memory that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WritePiece {
    /// Where.
    pub address: Scalar,
    /// Bytes, at most 16.
    pub size: u32,
    /// What.
    pub value: Scalar,
}

/// What an access has to do with its thread's store buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffered {
    /// What it writes waits there.
    Waits,
    /// Nothing may wait there, and what it writes is visible at once.
    Empty,
    /// Nothing: it only reads, or the runtime does not see it.
    Past,
}

/// What happens at an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Memory is read, then written, in one step.
    Access {
        /// What is read.
        reads: Vec<ReadPiece>,
        /// What is written, after that.
        writes: Vec<WritePiece>,
        /// In which order; of a failed or plain access, as the source says.
        order: MemoryOrder,
        /// What it has to do with its thread's store buffer, where there are any.
        buffer: Buffered,
    },
    /// Accesses are ordered.
    Fence(MemoryOrder),
    /// Something that nobody can notice, but for that its thread's store buffer is empty
    /// then. Without store buffers there is none.
    Drain,
    /// The thread with this position begins to exist.
    Fork(usize),
    /// The thread with this position has ended.
    Join(usize),
    /// First event of every thread but the main one.
    Start,
    /// Last event of a thread that ended.
    Exit,
    /// A lock is taken for this thread alone.
    Acquire(u64),
    /// It is given back.
    Release(u64),
    /// A lock is taken for reading.
    AcquireShared(u64),
    /// It is given back.
    ReleaseShared(u64),
    /// A waiter of a condition gives its lock back and begins to wait, in one step.
    Sleep {
        /// The condition.
        condition: u64,
        /// The lock.
        lock: u64,
    },
    /// It goes on because it was signalled, or, if `alone`, for no reason.
    Wake {
        /// The condition.
        condition: u64,
        /// Whether no signal was needed.
        alone: bool,
    },
    /// At most one waiter is woken.
    Signal(u64),
    /// All waiters are woken.
    Broadcast(u64),
    /// A semaphore is raised.
    Post(u64),
    /// A semaphore is lowered.
    Take(u64),
    /// A barrier is reached.
    Arrive(u64),
    /// It is left: so many have to have come.
    Depart {
        /// The barrier.
        barrier: u64,
        /// How many.
        count: u32,
    },
    /// The failure that is looked for.
    Fail,
}

impl Action {
    /// What the runtime calls it; of accesses, which kind depends on more.
    #[must_use]
    pub fn kind(&self) -> Option<EventKind> {
        Some(match self {
            Action::Access { .. } | Action::Drain | Action::Fail => return None,
            Action::Fence(_) => EventKind::Fence,
            Action::Fork(_) => EventKind::Fork,
            Action::Join(_) => EventKind::Join,
            Action::Start => EventKind::Start,
            Action::Exit => EventKind::Exit,
            Action::Acquire(_) => EventKind::Acquire,
            Action::Release(_) | Action::Sleep { .. } => EventKind::Release,
            Action::AcquireShared(_) => EventKind::AcquireShared,
            Action::ReleaseShared(_) => EventKind::ReleaseShared,
            Action::Wake { .. } => EventKind::Wait,
            Action::Signal(_) => EventKind::Signal,
            Action::Broadcast(_) => EventKind::Broadcast,
            Action::Post(_) => EventKind::Send,
            Action::Take(_) => EventKind::Receive,
            Action::Arrive(_) => EventKind::Arrive,
            Action::Depart { .. } => EventKind::Depart,
        })
    }
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What happens.
    pub action: Action,
    /// Where.
    pub spot: Spot,
    /// Of an access, which of its thread's visits of this spot; else, which of its
    /// thread's operations of this kind. Counted from 1, noticed by others or
    /// not; of the main thread, from behind the first creation of a thread on.
    pub visit: u32,
}

/// Why something has to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Demand {
    /// The thread went this way.
    Path,
    /// The failure is this one.
    Bug,
}

/// Something that has to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    /// What has to be 1.
    pub holds: Scalar,
    /// How many events of its thread come before.
    pub after: usize,
    /// Where.
    pub spot: Spot,
    /// Why.
    pub demand: Demand,
}

/// One thread.
#[derive(Clone, Debug, Default)]
pub struct Thread {
    /// Which.
    pub path: ThreadPath,
    /// What it does.
    pub events: Vec<Event>,
    /// What has to hold.
    pub conditions: Vec<Condition>,
    /// How many of its events surely happened.
    pub certain: usize,
}

/// All threads, from the moment on at which the first is created.
#[derive(Clone, Debug, Default)]
pub struct Problem {
    /// The threads; the main thread first.
    pub threads: Vec<Thread>,
    /// What reads gave, and what is computed of it.
    pub terms: Terms,
    /// What memory held before any of these events.
    pub(crate) initial: Memory,
    /// What semaphores held in the beginning; those that are not here held 0.
    pub semaphores: BTreeMap<u64, u64>,
    /// The events whose order was recorded, in that order.
    pub(crate) sequence: Vec<EventId>,
    /// How often the main thread took locks or gave them back before there were others.
    pub(crate) steps_alone: u64,
    /// The thread that fails, with [`Action::Fail`] as its last event.
    pub failed: usize,
    /// Instructions that were executed symbolically.
    pub instructions: u64,
    /// Branches among them with more than one way.
    pub branches: u64,
}

/// An event by its thread and its position there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId {
    /// The thread's position.
    pub thread: usize,
    /// The event's.
    pub event: usize,
}

impl Problem {
    /// An event.
    #[must_use]
    pub fn event(&self, id: EventId) -> &Event {
        &self.threads[id.thread].events[id.event]
    }

    /// All events, thread by thread.
    pub fn events(&self) -> impl Iterator<Item = (EventId, &Event)> {
        let threads = self.threads.iter().enumerate();
        threads.flat_map(|(thread, one)| {
            let events = one.events.iter().enumerate();
            events.map(move |(event, what)| (EventId { thread, event }, what))
        })
    }

    /// The byte that lay somewhere before any of these events.
    pub(crate) fn initial_byte(&self, address: u64) -> Scalar {
        self.initial.byte(address)
    }

    /// Places at known addresses that are accessed, and accesses at unknown ones.
    #[must_use]
    pub fn variables(&self) -> usize {
        let mut places = BTreeSet::new();
        for (_, event) in self.events() {
            if let Action::Access { reads, writes, .. } = &event.action {
                places.extend(reads.iter().map(|piece| piece.address));
                places.extend(writes.iter().map(|piece| piece.address));
            }
        }
        places.len()
    }

    /// Accesses of memory among the events.
    #[must_use]
    pub fn accesses(&self) -> usize {
        let is_access = |event: &&Event| matches!(event.action, Action::Access { .. });
        self.events().filter(|(_, event)| is_access(event)).count()
    }
}
