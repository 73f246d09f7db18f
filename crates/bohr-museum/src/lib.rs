//! The museum of Heisenbugs as data: what each exhibit under `museum/` says
//! about itself, how to build it and its fixed twin, how to run it as anybody
//! would, and the figures that the papers print (`eval/papers.toml`).
//!
//! Everything that measures bohr reads the exhibits through here, so that no
//! tool holds its own idea of what has to be found.
//!
//! ```
//! use bohr_museum::{BugClass, Papers};
//!
//! let exhibit = bohr_museum::named("philosophers")?;
//! assert_eq!(exhibit.manifest.class, BugClass::Deadlock);
//! let [wait] = exhibit.manifest.failure.sites.as_slice() else { panic!() };
//! assert!(exhibit.source.line_of(&wait.marker)? > 0);
//!
//! let mirror = &exhibit.manifest.mirrors[0];
//! assert!(Papers::load()?.row(&mirror.paper, &mirror.table, &mirror.row).is_some());
//! # Ok::<(), bohr_museum::Error>(())
//! ```

#![forbid(unsafe_code)]

mod compile;
mod error;
mod exhibit;
mod explain;
mod hunt;
mod machine;
mod manifest;
mod measure;
mod native;
mod papers;
mod real_bug;
mod replay;
mod source;
mod tour;

pub use compile::{Compilers, Variant, compile};
pub use error::Error;
pub use exhibit::{Exhibit, Folder, all, each, museum, named, root};
pub use explain::{Explanation, Finding, Moment, explain, unnamed};
pub use hunt::{Hunting, LockOrder, Report, Stack, hunt, judge, judge_twin};
pub use machine::facts as machine_facts;
pub use manifest::{
    Alternatives, Arguments, BugClass, Culprit, Failure, Language, Manifest, MemoryModel, Minimum,
    Mirror, Native, RecordedSize, Site,
};
pub use measure::{FEWEST_RUNS, Rate, fingerprint, fingerprint_of_files, measure, record};
pub use native::{Outcome, Run, run_once};
pub use papers::{Cell, Footnote, Paper, Papers, Table};
pub use real_bug::{RealBug, Showing, real_bugs, real_bugs_folder};
pub use replay::{Replaying, Replays, replay, replay_every_way};
pub use source::Source;
pub use tour::{table, with_table};
