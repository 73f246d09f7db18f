//! Concurrent breakpoints: two places in a program and a condition on the threads
//! that come there. A thread that arrives alone is held up for a moment; when its
//! partner comes, the breakpoint is hit, and the two go on in the order that was
//! asked for. Where an interleaving shows a bug, a pair of lines shows it every
//! time, in a program that has changed since, and without any tool.
//!
//! After Park, Sen, "Concurrent breakpoints", PPoPP 2012.
//!
//! ```
//! use bohr_break::{Breakpoint, Object};
//! use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
//! use std::time::Duration;
//!
//! static LOST_UPDATE: Breakpoint<Object> =
//!     Breakpoint::conflict("lost update").pause(Duration::from_secs(10));
//! static BALANCE: AtomicU32 = AtomicU32::new(0);
//!
//! fn deposit(first: bool) {
//!     let seen = BALANCE.load(Relaxed);
//!     // The second side stores after the first: what the first stored is lost.
//!     let _turn = match first {
//!         true => LOST_UPDATE.first(&BALANCE),
//!         false => LOST_UPDATE.second(&BALANCE),
//!     };
//!     BALANCE.store(seen + 1, Relaxed);
//! }
//!
//! bohr_break::arm();
//! std::thread::scope(|scope| {
//!     scope.spawn(|| deposit(true));
//!     scope.spawn(|| deposit(false));
//! });
//! assert_eq!(BALANCE.load(Relaxed), 1);
//! ```
//!
//! Without the feature `armed` all of this compiles to nothing. With it,
//! breakpoints sleep until [`arm`] is called or the environment says so:
//!
//! | variable | meaning |
//! | --- | --- |
//! | `BOHR_BREAK` | `all`, or names of breakpoints with commas between |
//! | `BOHR_BREAK_PAUSE` | how long a thread is held up, in milliseconds, instead of what the program says |
//! | `BOHR_BREAK_SUMMARY` | `text` or `json`: what became of every breakpoint, on standard error at exit |
//!
//! A thread is never held up for good: pauses end, no lock of this crate is held
//! while a condition is evaluated or a thread waits, and a condition that panics
//! is reported and does not hold.

mod condition;
mod figures;

#[cfg(feature = "armed")]
mod breakpoint;
#[cfg(feature = "armed")]
mod meeting;
#[cfg(feature = "armed")]
mod namesakes;
#[cfg(feature = "armed")]
mod narrowed;
#[cfg(feature = "armed")]
mod progress;
#[cfg(feature = "armed")]
mod roll;
#[cfg(feature = "armed")]
mod scope;
#[cfg(feature = "armed")]
mod settings;
#[cfg(feature = "armed")]
mod statistics;
#[cfg(not(feature = "armed"))]
mod unarmed;

#[cfg(feature = "armed")]
pub use breakpoint::{Breakpoint, Visit};
pub use condition::{Locks, Object};
pub use figures::Statistics;
#[cfg(feature = "armed")]
pub use narrowed::Narrowed;
#[cfg(feature = "armed")]
pub use roll::Roll;
#[cfg(feature = "armed")]
pub use scope::{Scope, holding, is_held, scope};
#[cfg(feature = "armed")]
pub use settings::{arm, disarm};
#[cfg(feature = "armed")]
pub use statistics::{summary_as_json, summary_as_text};
#[cfg(not(feature = "armed"))]
pub use unarmed::{
    Breakpoint, Narrowed, Roll, Scope, Visit, arm, disarm, holding, is_held, scope,
    summary_as_json, summary_as_text,
};
