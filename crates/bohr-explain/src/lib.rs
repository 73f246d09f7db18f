//! What a failure takes. The run that failed says where the threads stood; this
//! crate asks which of that mattered, by running the program again with the
//! switches moved a little and seeing when the failure goes away.
//!
//! [`windows`](window::windows) finds, for every preemption of a failing run,
//! the first moment at which it does harm and the moment from which on it does
//! none: the piece of code that should have been one step. Where nobody is
//! preempted, [`orders`](order::orders) finds the two moments that came in the
//! wrong order, and [`chances`] the waits that had to end by chance. These need somebody
//! who can run the program, an [`Experimenter`]. [`races`](race::races), [`circle`],
//! [`lifetime`], [`unheard`], [`misdirected`] and [`stolen`] need the events of the failing run, and
//! what the runtime saw at its end;
//! [`lock_cycles`](lock_order::lock_cycles) those of any run.

#![forbid(unsafe_code)]

mod chance;
mod circle;
mod culprit;
mod directory;
mod experiment;
mod explanation;
mod globals;
mod happens_before;
mod lifetime;
pub mod lock_order;
mod misdirected;
mod moment;
mod notification;
mod objects;
pub mod order;
pub mod race;
mod stale;
mod stolen;
#[cfg(test)]
mod toy;
pub mod window;

pub use chance::{Chance, chances};
pub use circle::{Link, circle};
pub use culprit::Culprit;
pub use experiment::{Experimenter, Importance, Observation};
pub use explanation::{Explanation, explain, explain_race};
pub use globals::Globals;
pub use lifetime::{Lifetime, lifetime};
pub use lock_order::{Awaited, LockCycle, LockOrders, LockStep, Taking, Way, Written, lock_cycles};
pub use misdirected::{Misdirected, misdirected};
pub use moment::Moment;
pub use notification::{Unheard, unheard};
pub use objects::{ObjectName, Objects};
pub use order::{Order, orders};
pub use race::{Race, locks_held, races};
pub use stale::{Stale, stale_reads};
pub use stolen::{Stolen, stolen};
pub use window::{Window, windows};
