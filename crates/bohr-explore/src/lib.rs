//! The search loop: starts a program with the runtime in it, has thousands of
//! schedules executed, judges what came of them, and keeps what failed.
//!
//! Start at [`hunt`](hunt::hunt). A [`Subject`] is what is run, a [`Server`] the
//! process that runs it, an [`Atlas`] tells what its numbers mean, a
//! [`judge`] decides what failed, and a [`Bug`](bug_file::Bug) is what is kept.

#![forbid(unsafe_code)]

mod atlas;
mod awaited;
pub mod bug_file;
pub mod check;
mod closer;
mod confirm;
mod core_file;
mod distinct;
mod error;
pub mod guided;
pub mod hunt;
mod identity;
pub mod image;
mod initial;
mod knowledge;
pub mod likeness;
pub mod lock_order;
mod lock_words;
mod names;
pub mod native;
pub mod race;
mod ran;
pub mod record;
pub mod replay;
mod server;
pub mod snapshot;
mod sources;
mod standstill;
mod stored;
mod strategy_name;
mod subject;
mod symbols;
mod target;
mod thread_line;
mod trial;
mod verdict;
mod vocabulary;
mod whole_file;
mod worth;

pub use atlas::{Atlas, Spot};
pub use awaited::awaited;
pub use closer::{Closer, look_closer};
pub use confirm::{Confirmation, confirm, object_of_sites};
pub use distinct::Distinct;
pub use error::ExploreError;
pub use knowledge::Knowledge;
pub use lock_order::{ToldLockCycle, ToldPlace, ToldTaking};
pub use lock_words::LockWords;
pub use names::{Names, spoken_stream};
pub use race::ToldRace;
pub use ran::Ran;
pub use server::{Server, ServerError, Voice};
pub use sources::Source;
pub use stored::{StoredTrace, StoredTraceError};
pub use strategy_name::{NoSuchStrategy, STRATEGIES, StrategyName};
pub use subject::{DEFAULT_LIMITS, DEFAULT_PATIENCE, Subject};
pub use target::{
    LibraryStart, RECORDER, RUNTIME, RUNTIME_VARIABLE, Target, TargetError, find_native,
    find_program, find_recorder, find_runtime, inspect, inspect_with,
};
pub use trial::{Observed, Traced, Trial, Trials, Valued};
pub use verdict::{
    Verdict, is_library, is_written, judge, judge_against, libraries_of, signature_tag, verdict_on,
    written_spot,
};
pub use vocabulary::Vocabulary;
pub use whole_file::{check_place, write_whole};
