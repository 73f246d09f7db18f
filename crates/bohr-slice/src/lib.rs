//! What of an execution matters for one moment of it: everything from which a
//! path of dependences leads there (LEAN, section 3.2.1 and Algorithm 3).
//!
//! A trace has the accesses and synchronisation operations that threads could
//! notice of each other, not every instruction. Between threads, dependences are
//! those of the trace itself, the relation that `bohr-reduce` reorders traces by.
//! Within a thread they come from the program model ([`Influences`]): which of
//! its sites can decide about address, value or occurrence of another, through
//! registers, private memory, branches and calls. [`slice`](slice()) goes back
//! along both from the moment in question.
//!
//! Deviations from the paper: there, a thread's part is the dependence graph of
//! its instructions; here, instructions that leave no event lie on the edges. And
//! an event that happens under a lock depends on having taken it, so that a slice
//! shows which locks are held.
//!
//! Nothing is read or run here: a trace and a model in, positions of events out.

#![forbid(unsafe_code)]

mod influence;
mod memory;
mod slice;
mod unread;
mod walk;

pub use influence::{Influence, Influences, Reach};
pub use slice::{Moment, Relevant, Trace, slice};
pub use unread::{Stores, unread};
