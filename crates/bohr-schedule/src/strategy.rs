//! What the runtime asks and what a strategy answers.

use alloc::vec::Vec;
use bohr_event::{ChoiceKind, Operation, PlaceNumber, ThreadIndex, ThreadPath};
use serde::{Deserialize, Serialize};

/// A thread's announced next step.
#[derive(Clone, Copy, Debug)]
pub struct Pending {
    /// What it is about to do.
    pub operation: Operation,
    /// Whether the thread has gone round a loop without any effect on others
    /// and nobody has changed what it looks at: running it cannot help.
    pub spins: bool,
    /// Whether this is no thread of the program but a store buffer, whose step
    /// makes the oldest store in it visible to all.
    pub is_buffer: bool,
}

impl Pending {
    /// A step of a thread that is not spinning.
    #[must_use]
    pub fn new(operation: Operation) -> Pending {
        Pending {
            operation,
            spins: false,
            is_buffer: false,
        }
    }

    /// The next step of a store buffer.
    #[must_use]
    pub fn of_buffer(operation: Operation) -> Pending {
        Pending {
            is_buffer: true,
            ..Pending::new(operation)
        }
    }
}

/// What has become of the grant before this decision.
#[derive(Clone, Copy, Debug)]
pub struct Used {
    /// Who had it.
    pub thread: ThreadIndex,
    /// The thread of the program that ran last: `thread`, unless that is a store
    /// buffer. A buffer interrupts nobody.
    pub running: ThreadIndex,
    /// How many events it executed; fewer than granted if it blocked or ended,
    /// more if it then was alone and nobody was asked.
    pub events: u64,
    /// The place of the last of them.
    pub place: PlaceNumber,
}

/// The state of the program at a decision, as far as a strategy may see it.
///
/// Slices into tables that the runtime keeps anyway: making a view costs nothing.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// By thread index; stale for threads that have ended.
    pub pending: &'a [Pending],
    /// The threads whose pending operation is possible now, ascending; at least
    /// one whenever a decision is asked for.
    pub enabled: &'a [ThreadIndex],
    /// The grant before; `None` at the first decision of a run.
    pub last: Option<Used>,
}

impl View<'_> {
    /// What `thread` is about to do.
    #[must_use]
    pub fn operation(&self, thread: ThreadIndex) -> &Operation {
        &self.pending[thread.position()].operation
    }

    /// Whether `thread` could execute its pending operation.
    #[must_use]
    pub fn is_enabled(&self, thread: ThreadIndex) -> bool {
        self.enabled.binary_search(&thread).is_ok()
    }

    /// Whether running `thread` is known to be of no use now.
    #[must_use]
    pub fn spins(&self, thread: ThreadIndex) -> bool {
        self.pending[thread.position()].spins
    }

    /// Whether some enabled thread is not spinning.
    #[must_use]
    pub fn any_useful(&self) -> bool {
        self.enabled.iter().any(|&thread| !self.spins(thread))
    }

    /// The thread of the program that ran last, if it can go on.
    #[must_use]
    pub fn current(&self) -> Option<ThreadIndex> {
        let thread = self.last?.running;
        self.is_enabled(thread).then_some(thread)
    }

    /// Whether this is a store buffer.
    #[must_use]
    pub fn is_buffer(&self, thread: ThreadIndex) -> bool {
        self.pending[thread.position()].is_buffer
    }

    /// A store buffer that could go on.
    #[must_use]
    pub fn any_buffer(&self) -> Option<ThreadIndex> {
        let mut enabled = self.enabled.iter().copied();
        enabled.find(|&thread| self.is_buffer(thread))
    }
}

/// Leave to execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// An enabled thread.
    pub thread: ThreadIndex,
    /// How many events it may execute before the next question; at least 1. The
    /// runtime asks earlier if the thread blocks, spins or ends, or if it was
    /// alone and is not any more.
    pub events: u64,
    /// Ask, too, before a further event that is not an access to memory: only
    /// such events decide whether other threads can go on.
    pub accesses_only: bool,
}

impl Grant {
    /// Leave for a single event.
    #[must_use]
    pub fn once(thread: ThreadIndex) -> Grant {
        Grant::events(thread, 1)
    }

    /// Leave for so many events.
    #[must_use]
    pub fn events(thread: ThreadIndex, events: u64) -> Grant {
        Grant {
            thread,
            events,
            accesses_only: false,
        }
    }

    /// Leave for the pending event and, if that is an access to memory, for the
    /// accesses that follow it, so many events in all. While a thread does
    /// nothing else, nobody else begins or ceases to be enabled.
    #[must_use]
    pub fn accesses(view: &View<'_>, thread: ThreadIndex, events: u64) -> Grant {
        if !view.operation(thread).kind.is_access() {
            return Grant::once(thread);
        }
        Grant {
            thread,
            events,
            accesses_only: true,
        }
    }

    /// Leave until the thread blocks or ends.
    #[must_use]
    pub fn until_blocked(thread: ThreadIndex) -> Grant {
        Grant::events(thread, u64::MAX)
    }
}

/// The answer to "who goes on?".
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// This thread.
    Run(Grant),
    /// Nobody: end the run here, without a verdict on the program.
    Stop(Stop),
}

/// Why a strategy ends a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stop {
    /// Whatever follows has been or will be seen in an equivalent run.
    Pruned,
    /// The run does not follow the schedule that it was to replay.
    Diverged(Divergence),
}

/// The first point at which a run left its schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Divergence {
    /// The thread of the next segment has not been created.
    NoThread {
        /// Which segment, counted from 0.
        segment: u64,
        /// The thread.
        thread: ThreadPath,
    },
    /// The thread of the next segment exists and cannot go on.
    NotEnabled {
        /// Which segment, counted from 0.
        segment: u64,
        /// The thread.
        thread: ThreadPath,
        /// What it is about to do, if it has not ended.
        pending: Option<Operation>,
    },
    /// The segment's thread blocked or ended before its events were executed.
    TooShort {
        /// Which segment, counted from 0.
        segment: u64,
        /// The thread.
        thread: ThreadPath,
        /// How many events it was to execute.
        expected: u64,
        /// How many it executed.
        executed: u64,
    },
    /// The segment ended at another place than recorded.
    OtherPlace {
        /// Which segment, counted from 0.
        segment: u64,
        /// The thread.
        thread: ThreadPath,
        /// Where it was to end.
        expected: PlaceNumber,
        /// Where it ended.
        found: PlaceNumber,
    },
    /// Every segment has been executed and the program goes on.
    PastEnd {
        /// How many segments the schedule has.
        segments: u64,
    },
    /// A question was asked that the recorded answer does not fit.
    OtherChoice {
        /// Who asked.
        thread: ThreadPath,
        /// Which of its questions, counted from 0.
        number: u32,
        /// What was recorded.
        expected: ChoiceKind,
        /// What was asked.
        found: ChoiceKind,
    },
}

/// How far along its plan a run is, in turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position(pub u32);

/// Decides who goes on. Made for one run from a [`Plan`](crate::Plan).
///
/// The runtime asks when a grant is used up, or when the granted thread blocks,
/// spins or ends. While there is only one thread, it does not ask at all: that
/// thread goes on, and the next [`View::last`] tells how far. Implementations
/// are pure: no clock, no global state, no I/O.
pub trait Strategy {
    /// `thread` now sits at this index; its first event is still to come. Told
    /// once per thread, in the order of creation, before it can be enabled.
    fn thread_started(&mut self, thread: ThreadIndex, path: &ThreadPath);

    /// Who goes on, and for how long?
    fn decide(&mut self, view: &View<'_>) -> Decision;

    /// Whether it is to be asked even while there is only one thread: one that
    /// looks at every event, or has a reason to stop.
    fn is_asked_alone(&self) -> bool {
        false
    }

    /// How many turns of its plan it has taken, while the plan prescribes more:
    /// another plan may go on from here.
    fn position(&self) -> Option<Position> {
        None
    }

    /// What a strategy has to know of the turns so far that goes on from here.
    fn memory(&self) -> Vec<u64> {
        Vec::new()
    }

    /// `thread`, which is executing, asks which of `options` outcomes its
    /// operation has. The answer is below `options`; 0 is the ordinary one.
    fn choose(&mut self, thread: ThreadIndex, kind: ChoiceKind, options: u32) -> u32;

    /// The run is over, at the state `end`, where nobody need be enabled. What
    /// has the strategy learnt, for the search that made its plan?
    fn report(&mut self, end: &View<'_>) -> &[u8] {
        let _ = end;
        &[]
    }
}
