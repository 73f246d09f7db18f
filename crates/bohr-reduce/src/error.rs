//! Why a trace cannot be simplified.

use crate::check::Difference;
use bohr_event::{Diagnosis, EventKind, Fault, ThreadIndex, ThreadPath};
use bohr_trace::Sequence;

/// What is wrong with a trace that no execution can have made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// A thread does something before its start.
    #[error("thread has not started")]
    NotStarted,
    /// A thread starts that nobody created.
    #[error("nobody created the thread")]
    NotCreated,
    /// A thread starts, or is created, while it runs.
    #[error("the thread runs already")]
    RunsAlready,
    /// A thread does something after its end.
    #[error("the thread has ended")]
    Ended,
    /// A thread ends as another than it started as.
    #[error("the thread started under another name")]
    OtherThread,
    /// A join of a thread that never was.
    #[error("the thread that is joined is unknown")]
    UnknownThread,
    /// A join returns before the thread has ended, as in a cycle of joins.
    #[error("the thread that is joined has not ended")]
    StillRuns,
    /// A lock is taken that somebody has.
    #[error("the lock is held already")]
    Held,
    /// A lock is given back that nobody has.
    #[error("the lock is not held")]
    NotHeld,
    /// A barrier is left by one who never arrived.
    #[error("the thread has not arrived at the barrier")]
    NotArrived,
    /// A wait returns that is woken by one who waits for it first.
    #[error("whoever wakes the thread from its wait waits for it first")]
    Circle,
}

/// Why a trace was not simplified.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimplifyError {
    /// No execution has such a trace.
    #[error("event {event} ({kind} by thread {name}) cannot be: {reason}", name = name(*thread, path.as_ref()))]
    Malformed {
        /// The offending event.
        event: Sequence,
        /// What it is.
        kind: EventKind,
        /// Who did it.
        thread: ThreadIndex,
        /// Who that is, if anybody knows.
        path: Option<ThreadPath>,
        /// What is wrong.
        reason: Malformed,
    },
    /// More events than positions can count.
    #[error("a trace of {0} events is too long to simplify; the longest has {max}", max = u32::MAX)]
    TooLong(u64),
    /// The checker refused what the search found.
    #[error("the simplified order is wrong: {0}")]
    Wrong(Difference),
}

/// As the rest of bohr calls a thread, or its number in the trace.
fn name(thread: ThreadIndex, path: Option<&ThreadPath>) -> String {
    match path {
        Some(path) => path.to_string(),
        None => format!("number {}", thread.0),
    }
}

impl Diagnosis for SimplifyError {
    fn fault(&self) -> Fault {
        match self {
            SimplifyError::Malformed { .. } => Fault::Input,
            SimplifyError::TooLong(_) => Fault::Unsupported,
            SimplifyError::Wrong(_) => Fault::Internal,
        }
    }

    fn help(&self) -> Option<String> {
        Some(String::from(match self {
            SimplifyError::Malformed { .. } => {
                "run the program with simpler schedules instead: bohr simplify BUG --static off"
            }
            SimplifyError::TooLong(_) => "find a shorter failing run first: bohr reduce BUG",
            SimplifyError::Wrong(_) => "keep the original schedule: bohr replay BUG",
        }))
    }
}
