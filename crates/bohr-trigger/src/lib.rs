//! Concurrent breakpoints as data (Park and Sen, "Concurrent Breakpoints",
//! UCB/EECS-2011-159): how people write them ([`Expression`]), where they are in a
//! program ([`Places`]), which of them may reproduce a failure that was explained
//! ([`demands`]). Nothing here runs anything.

#![forbid(unsafe_code)]

mod candidates;
mod conflicts;
mod error;
mod expression;
mod finding;
mod lockset;
mod parse;
pub mod patch;
mod places;
mod resolve;
mod sanitizer;
mod variables;
mod visits;

pub use candidates::{Candidate, Demand, demands};
pub use conflicts::{Conflict, Contention, conflicts};
pub use error::{ExpressionError, PlaceError};
pub use expression::{Expression, PAUSE, Place, Refinement, SETTLE, Side};
pub use finding::finding;
pub use lockset::find_never_meeting;
pub use places::{Places, is_library};
pub use resolve::{Symbol, Symbols, resolve};
pub use sanitizer::{Warning, warnings};
pub use variables::find_never_same;
pub use visits::{Visits, comers, visits_before};
