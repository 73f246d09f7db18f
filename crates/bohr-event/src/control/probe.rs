//! Stacks that are kept in the middle of a run. A run is the same every time, so
//! whoever has seen one can ask for the stacks that matter and have it made again.

use crate::{PlaceNumber, ThreadIndex};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// Of which moments the stack is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probes {
    /// Events of a traced run: positions in its trace, ascending.
    pub events: Vec<u64>,
    /// Allocation and release of the heap block that this address lies in.
    pub block: Option<u64>,
}

/// What probes have seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probed {
    /// In the order of [`Probes::events`], as far as the run came.
    pub events: Vec<Sighting>,
    /// The last allocation of the block.
    pub allocated: Option<Sighting>,
    /// Its release after that.
    pub freed: Option<Sighting>,
}

/// A thread at a moment that somebody asked about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sighting {
    /// Which.
    pub thread: ThreadIndex,
    /// Its stack, innermost first, as code places.
    pub frames: Vec<PlaceNumber>,
}
