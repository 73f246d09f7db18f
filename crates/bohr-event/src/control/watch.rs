//! A thread that is watched on its way to a moment, and what is told of it when it
//! has come there.

use crate::ThreadPath;
use crate::route::{Arrival, Route};
use serde::{Deserialize, Serialize};

/// Which thread, and where to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watch {
    /// Hash of the bundle: the points are those of this program.
    pub program: [u8; 32],
    /// Which thread.
    pub thread: ThreadPath,
    /// The way.
    pub route: Route,
    /// Whether the process stops at its end, until somebody continues or kills it.
    pub hold: bool,
}

/// How far the thread came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watched {
    /// The end of the way, if it came to one.
    pub arrival: Option<Arrival>,
    /// Steps of the route that it took.
    pub steps: u32,
    /// The block before the last point that counted.
    pub last: Option<u32>,
    /// Events of the run before the arrival.
    pub events: u64,
}

/// The symbol of the runtime that has [`HeldRegisters`], for those who look into a
/// process that was stopped.
pub const HELD_SYMBOL: &str = "__bohr_held";

/// What the processor held when the process stopped itself: the registers by their
/// DWARF numbers, the last being the program counter.
pub type HeldRegisters = [u64; 17];
