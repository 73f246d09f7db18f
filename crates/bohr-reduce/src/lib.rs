//! Makes an execution simple: the same steps of the same threads with the same
//! values, in an order that passes from thread to thread as seldom as possible.
//!
//! This is the static step of SimTrace (Huang and Zhang, "An Efficient Static
//! Trace Simplification Technique for Debugging Concurrent Programs", SAS
//! 2011): reorder a trace within its dependence relation, without running
//! anything. The relation stands in [`footprint`] and [`dependence`], the graph
//! of Definition 6 in [`graph`]; the search in [`beam`], [`exact`] and
//! [`window`] takes the place of Algorithm 2, which [`merge`] keeps for
//! comparison; [`check`] proves each result. Behind it comes the step that runs
//! the program again, [`dynamic`]; whoever can do that is a [`Laboratory`]. And
//! [`reduction`] leaves out threads and iterations that the failure does not need.
//!
//! ```
//! use bohr_event::{EventKind, MemoryOrder, Operation, PlaceNumber, ThreadIndex, control::Step};
//! let step = |thread, object| Step {
//!     thread: ThreadIndex(thread),
//!     operation: Operation {
//!         kind: EventKind::Write, order: MemoryOrder::Plain, size: 4, object, place: PlaceNumber(0),
//!     },
//! };
//! // Two threads that take turns without need.
//! let steps = [step(0, 0x10), step(1, 0x20), step(0, 0x10), step(1, 0x20)];
//! let options = bohr_reduce::Options { whole_threads: false, ..Default::default() };
//! let simplified = bohr_reduce::simplify(bohr_reduce::Execution::of(&steps), &options, &mut || true).unwrap();
//! assert_eq!((simplified.report.switches_before, simplified.report.switches_after), (3, 1));
//! ```

#![forbid(unsafe_code)]

pub mod beam;
mod buffers;
pub mod check;
mod circles;
pub mod dependence;
pub mod dynamic;
mod error;
pub mod exact;
#[cfg(test)]
mod example;
pub mod execution_reduction;
pub mod footprint;
pub mod graph;
mod laboratory;
mod lifecycle;
pub mod merge;
mod minimise;
mod moments;
mod order;
mod past;
mod preemption;
pub mod reduction;
mod reversals;
mod simplify;
mod variables;
pub mod window;

pub use buffers::buffer_owners;
pub use error::{Malformed, SimplifyError};
pub use laboratory::{Cost, Failing, Laboratory};
pub use minimise::{Row, minimise};
pub use moments::Likely;
pub use order::{Chain, Chains, Execution, Order, Run};
pub use past::past;
pub use preemption::{cost, preemptions};
pub use reversals::Reversals;
pub use simplify::{Options, Report, Simplified, simplify};
pub use variables::VariableNumber;
