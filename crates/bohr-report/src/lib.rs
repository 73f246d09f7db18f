//! Explanations for people and for tools. What was found comes in as data, what
//! things are called is asked of a [`Teller`]; one file per form of output.
//!
//! Nothing here reads or writes files, and nothing here knows the program.

#![forbid(unsafe_code)]

mod columns;
mod finding;
mod json;
mod printable;
mod reader;
mod remedy;
mod sarif;
mod story;
mod text;
mod told;

pub use columns::{Columns, Row};
pub use finding::{Finding, FindingKind};
pub use printable::printable;
pub use reader::end_with_the_reader;
pub use story::{Bug, Story, ToldLockCycle, ToldRace, ToldTaking, ToldWindow};
pub use told::{Teller, Told};
