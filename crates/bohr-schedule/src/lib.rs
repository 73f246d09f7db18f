//! Strategies: given who could go on and what each is about to do, who goes on?
//!
//! Everything here is pure: a [`Strategy`] is a function of its [`Plan`], its
//! seed and what it has been shown, so a plan and a seed name a run. The
//! runtime carries a strategy inside the target and asks it; the explorer
//! makes plans and learns from what runs report.
//!
//! ```
//! use bohr_event::{EventKind, MemoryOrder, Operation, PlaceNumber, ThreadIndex, ThreadPath};
//! use bohr_schedule::{Decision, Pending, Plan, Rule, View};
//!
//! let plan = Plan::new(Rule::Random);
//! let mut strategy = plan.strategy(7);
//! strategy.thread_started(ThreadIndex(0), &ThreadPath::MAIN);
//! strategy.thread_started(ThreadIndex(1), &ThreadPath::MAIN.child(1));
//!
//! let write = Operation {
//!     kind: EventKind::Write,
//!     order: MemoryOrder::Plain,
//!     size: 4,
//!     object: 0x1000,
//!     place: PlaceNumber(3),
//! };
//! let pending = [Pending::new(write), Pending::new(write)];
//! let enabled = [ThreadIndex(0), ThreadIndex(1)];
//! let view = View { pending: &pending, enabled: &enabled, last: None };
//! let Decision::Run(grant) = strategy.decide(&view) else { panic!("nothing to stop for") };
//! assert!(enabled.contains(&grant.thread));
//! ```

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod backward;
mod feedback;
mod guarded;
#[cfg(test)]
mod machine;
mod ordered;
mod pct;
mod plan;
mod pos;
mod postponing;
mod preempting;
mod random;
mod replay;
mod report;
mod restricted;
mod roster;
pub mod search;
mod seldom;
mod sequential;
mod slices;
mod strategy;
mod surw;
mod systematic;
mod walk;

pub use feedback::{ReadsFrom, Wish};
pub use guarded::{Turn as RecordedTurn, Turns as RecordedTurns, Ways};
pub use ordered::{Due, Turns, Until, Wakes};
pub use plan::{Follow, Plan, Rule};
pub use preempting::{Precedence, Preemption, Return};
pub use random::Random;
pub use replay::{Fidelity, Followed};
pub use report::read as read_report;
pub use roster::{Cause, Roster};
pub use seldom::{Moment, Moments};
pub use strategy::{Decision, Divergence, Grant, Pending, Position, Stop, Strategy, Used, View};
pub use surw::Profile;
pub use systematic::{Branch, Turn};
