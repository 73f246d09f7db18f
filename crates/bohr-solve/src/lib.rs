//! From the paths of a program's threads to an interleaving that fails (Huang, Zhang,
//! Dolby: "CLAP: Recording Local Executions to Reproduce Concurrency Failures",
//! PLDI 2013). No I/O: a program and a run in, an order of events out.
//!
//! 1. [`symbolic::execute`] executes each thread along its recorded way ([`path`]),
//!    with unknowns for what it read of shared memory ([`term`]). What comes out is a
//!    [`event::Problem`]: events, and conditions on what the unknowns are.
//! 2. [`order::solve`] and [`validate::search`] look for an order of the events under
//!    which all conditions hold: the one by constraints, the other by trying.
//!    [`smt::script`] writes the same constraints for other solvers.
//! 3. [`check::check`] executes such an order, knowing neither of them.
//! 4. [`schedule::turns`] makes of it what the runtime follows.
//!
//! [`play::play`] is the other use of the executor: programs with threads on known
//! values, under a schedule of the caller's choice; [`retrace::retrace`] runs them along
//! the events of a run under control.

#![forbid(unsafe_code)]

pub mod check;
mod creation;
mod datum;
mod error;
pub mod event;
mod execute;
mod memory;
mod model;
pub mod order;
pub mod path;
pub mod play;
pub mod retrace;
pub mod schedule;
mod sequence;
pub mod smt;
pub mod symbolic;
mod synchronisation;
pub mod term;
pub mod validate;

pub use error::{ExecuteError, Whereabouts, whereabouts};
