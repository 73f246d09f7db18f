//! One event as the store keeps it, its number, and how much of a run a file holds.

use bohr_event::{Operation, ThreadIndex};
use core::fmt;
use serde::{Deserialize, Serialize};

/// The position of an event in its run, counted from 0.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Sequence(pub u64);

impl fmt::Display for Sequence {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "#{}", self.0)
    }
}

/// One executed event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Record {
    /// Who.
    pub thread: ThreadIndex,
    /// What, on what, where.
    pub operation: Operation,
    /// What the first (at most eight) bytes of the object held after the event,
    /// as a little-endian number, where somebody looked.
    pub value: Option<u64>,
}

/// How much of its run a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completeness {
    /// Every event, to the end.
    Complete,
    /// Every event so far: the run still goes on, or its process died.
    Unfinished,
    /// Events at the end were not written: the file was not allowed to grow, or
    /// nobody wanted more.
    Full {
        /// How many.
        lost: u64,
    },
    /// The file was cut: some of what was written is not there any more.
    Truncated {
        /// How long the file ought to be at least.
        expected: u64,
        /// How long it is.
        found: u64,
    },
}

impl fmt::Display for Completeness {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Completeness::Complete => out.write_str("complete"),
            Completeness::Unfinished => {
                out.write_str("unfinished: the run was cut off, or still goes on")
            }
            Completeness::Full { lost } => {
                write!(out, "cut short: {lost} events at the end were not written")
            }
            Completeness::Truncated { expected, found } => {
                write!(
                    out,
                    "truncated: {found} of at least {expected} bytes are left"
                )
            }
        }
    }
}
