//! What a thread writes down of the way it goes, so that whoever has the program
//! model can tell every block that it went through (the path log of CLAP, 3.1).
//!
//! CLAP numbers the acyclic paths of each function (Ball and Larus) and writes a
//! number at the end of each. Here the number grows along the way instead: it is
//! a *code* that every choice appends its outcome to, one bit per two-way
//! branch, in a register. Nothing is wasted on paths that are long but rarely
//! taken, a path that ends in a crash is as readable as any other, and room for
//! the codes is looked for once per stretch without cycles ([`Room`]), not once
//! per branch.
//!
//! ```text
//! thread  = { entered function }
//! function = blocks in the order in which they are executed, where
//!   choice of n targets          bits(n) bits: which of them
//!   choice that only counts      nothing
//!   call of a quiet function     nothing
//!   call of a function by name   what that function writes
//!   open call                    { entered function } then returned or landed
//! entered  = 1 0 number          where others than named calls enter a function
//! returned = 0
//! landed   = 1 1 number block    an exception arrived, or a second return
//! ```
//!
//! Instrumentation and decoding both go by this plan, and only by it.

mod choice;
mod counted;
mod plan;
mod room;

pub use choice::Choice;
pub use counted::Counted;
pub use plan::{Calling, Paths};
pub use room::{Room, RoomPoint};

/// Width of the mark of a call that has returned.
pub const RETURNED_BITS: u32 = 1;

/// The mark of a call that has returned.
pub const RETURNED: u64 = 0b0;

/// Width of the mark before a function's number.
pub const MARK_BITS: u32 = 2;

/// A function begins, and its number follows.
pub const ENTERED: u64 = 0b10;

/// An exception has arrived in a block, or a call returned twice; the numbers of
/// function and block follow.
pub const LANDED: u64 = 0b11;

/// How many bits tell `count` things apart.
#[must_use]
pub fn width(count: usize) -> u32 {
    count.max(1).next_power_of_two().trailing_zeros()
}
