//! The vocabulary that every part of bohr speaks: which thread, which place in
//! the program, what happened, in what order, and what failed.
//!
//! Nothing here does I/O, and nothing here needs `std`: the runtime that is
//! loaded into the target uses these types on paths where the target's own
//! allocator may be the thing under test.
//!
//! ```
//! use bohr_event::{Place, Schedule, Segment, ThreadPath};
//!
//! let worker: ThreadPath = "0:2".parse().unwrap();
//! assert_eq!(worker.parent(), Some(ThreadPath::MAIN));
//! assert_eq!(worker.child(1).to_string(), "0:2:1");
//!
//! let mut schedule: Schedule = Schedule::default();
//! schedule.push(Segment { thread: worker, events: 3, end: None });
//! assert_eq!(schedule.events(), 3);
//! assert_eq!(schedule.switches(), 0);
//! ```

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod abi;
pub mod breakpoint;
pub mod control;
mod event;
mod fault;
mod ids;
pub mod inputs;
mod memory_model;
pub mod outside;
pub mod recording;
pub mod route;
mod run;
mod schedule;
mod signature;
mod thread;
mod verb;
mod waiting;

pub use event::{EventKind, MemoryOrder};
pub use fault::{Diagnosis, Fault};
pub use ids::{FunctionId, Place, SiteId};
pub use memory_model::{MemoryModel, ParseModelError};
pub use run::{Operation, PlaceNumber, Stream, ThreadIndex};
pub use schedule::{Anchor, Choice, ChoiceKind, Schedule, Segment};
pub use signature::{FailureKind, Frame, Signature};
pub use thread::{ParsePathError, ThreadPath, spoken};
pub use waiting::endless_wait;
