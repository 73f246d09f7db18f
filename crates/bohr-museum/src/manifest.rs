//! What an exhibit says about itself: the fields of `exhibit.toml`.
//!
//! Everything a stage of bohr is measured against stands here: which failure
//! must be found and where, which two places are the cause, how small the
//! failing run can become. Places are named by function and by a marker
//! comment in the source, never by line number.

use bohr_event::FailureKind;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One `exhibit.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Manifest {
    /// Equal to the name of the folder.
    pub name: String,
    /// One line for the tour.
    pub title: String,
    /// What it is written in.
    pub language: Language,
    /// What went wrong.
    pub class: BugClass,
    /// The strongest model under which the program can fail.
    pub memory_model: MemoryModel,
    /// What happens, for a reader who has not seen the source.
    pub story: String,
    /// The subjects of the papers that this program was written after.
    #[serde(default)]
    pub mirrors: Vec<Mirror>,
    /// Where the bug comes from, if not from a paper's subject.
    pub history: Option<String>,
    /// How to call it.
    pub arguments: Arguments,
    /// What a hunt has to find.
    pub failure: Failure,
    /// What an explanation has to name.
    pub culprit: Culprit,
    /// What a reduction can reach.
    pub minimum: Minimum,
    /// Absent until `cargo xtask museum measure` has written it.
    pub native: Option<Native>,
}

/// The language, and with it the compiler and the name of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Language {
    /// `main.c`.
    #[serde(rename = "c")]
    C,
    /// `main.cpp`.
    #[serde(rename = "c++")]
    Cpp,
    /// A package of its own.
    #[serde(rename = "rust")]
    Rust,
}

impl Language {
    /// The path of the program's only source within its folder.
    #[must_use]
    pub fn source(self) -> &'static str {
        match self {
            Language::C => "main.c",
            Language::Cpp => "main.cpp",
            Language::Rust => "src/main.rs",
        }
    }

    /// How the source tells the fixed twin from the exhibit.
    #[must_use]
    pub fn fixed_switch(self) -> &'static str {
        match self {
            Language::C | Language::Cpp => "#ifdef FIXED",
            Language::Rust => "feature = \"fixed\"",
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Language::C => "C",
            Language::Cpp => "C++",
            Language::Rust => "Rust",
        })
    }
}

/// What went wrong in the author's mind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BugClass {
    /// Conflicting accesses with no lock between them.
    DataRace,
    /// Steps that are atomic each but had to be atomic together.
    AtomicityViolation,
    /// One step had to come before another, and nothing made it.
    OrderViolation,
    /// Locks taken in a cycle.
    Deadlock,
    /// A wake-up sent when nobody was listening yet.
    MissedNotification,
    /// Right under sequential consistency, wrong on the machine.
    MemoryOrder,
}

impl fmt::Display for BugClass {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            BugClass::DataRace => "data race",
            BugClass::AtomicityViolation => "atomicity violation",
            BugClass::OrderViolation => "order violation",
            BugClass::Deadlock => "deadlock",
            BugClass::MissedNotification => "missed notification",
            BugClass::MemoryOrder => "memory order",
        })
    }
}

/// Memory models, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryModel {
    /// Sequential consistency: interleaving alone makes the failure.
    Sc,
    /// Stores wait in one buffer per thread, as on x86.
    Tso,
    /// Stores to different places may also overtake each other.
    Pso,
    /// Only the happens-before relation of the language shows the bug.
    Language,
}

impl MemoryModel {
    /// The model to run a program under that its bug shows under, as bohr calls it.
    #[must_use]
    pub fn simulated(self) -> &'static str {
        match self {
            MemoryModel::Sc | MemoryModel::Language => "sc",
            MemoryModel::Tso => "tso",
            MemoryModel::Pso => "pso",
        }
    }
}

/// A row of a table (or figure) in `eval/papers.toml`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mirror {
    /// Short name of the paper.
    pub paper: String,
    /// Number of the table, or `figure-N`.
    pub table: String,
    /// Name of the row.
    pub row: String,
}

/// The program's command line at three sizes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// What each argument counts; the first is the number of threads.
    pub meaning: Vec<String>,
    /// About a hundred shared-memory events, and no more than the default.
    pub small: Vec<u64>,
    /// What the figures are made with unless they say otherwise.
    pub default: Vec<u64>,
    /// More than a million events.
    pub large: Vec<u64>,
    /// How the number of events grows with the arguments.
    pub scaling: String,
    /// Where a run of the size of a paper's trace begins, if not at the default.
    pub recorded: Option<RecordedSize>,
}

/// Arguments of a run that is held against a paper's trace, before they are
/// fitted to its size.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedSize {
    /// The first is the number of threads.
    pub arguments: Vec<u64>,
    /// Which of them the number of events is fitted by; none if it cannot be.
    pub scaled: Option<usize>,
    /// What the other arguments were chosen by, in a sentence that stands beside the
    /// figures; none if they are the default ones.
    pub why: Option<String>,
}

impl Arguments {
    /// Where a run of the size of a paper's trace begins.
    #[must_use]
    pub fn recorded(&self) -> RecordedSize {
        self.recorded.clone().unwrap_or_else(|| RecordedSize {
            arguments: self.default.clone(),
            scaled: Some(1),
            why: None,
        })
    }
}

/// The failure that a hunt has to find.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// How it fails.
    pub kind: FailureKind,
    /// Where it shows: any one of these, or for a deadlock the places where
    /// the threads of the cycle wait.
    pub sites: Vec<Site>,
}

/// A place in the source.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Site {
    /// As the source spells it, with its class or type where it has one.
    pub function: String,
    /// The name in the marker comment of the line.
    pub marker: String,
}

/// The cause that an explanation has to name.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Culprit {
    /// As the source spells it.
    pub variable: String,
    /// The accesses that must not be separated or swapped.
    pub sites: [Alternatives; 2],
}

/// Markers of which one has to be named: where a program can fail in several
/// ways, which of them is explained is a matter of chance.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "OneOrMany")]
pub struct Alternatives(pub Vec<String>);

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl From<OneOrMany> for Alternatives {
    fn from(written: OneOrMany) -> Alternatives {
        match written {
            OneOrMany::One(marker) => Alternatives(vec![marker]),
            OneOrMany::Many(markers) => Alternatives(markers),
        }
    }
}

/// How small a failing run at the default arguments can become.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Minimum {
    /// Threads that have to take part, the main thread included.
    pub threads: u32,
    /// Switches away from a thread that could have gone on.
    pub preemptions: u32,
}

/// How often the exhibit fails when it is simply run. Written by
/// `cargo xtask museum measure` and by nothing else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Native {
    /// How many runs.
    pub runs: u32,
    /// Runs that failed in the way the manifest says.
    pub failures: u32,
    /// At which size.
    pub arguments: Vec<u64>,
    /// Set for the runs, beyond what the caller's environment holds.
    pub environment: String,
    /// How long a run takes.
    pub median_milliseconds: f64,
    /// What it was measured on.
    pub machine: String,
    /// Threads that wanted a processor before and after, in the mean of a minute. Those
    /// of the exhibit itself, and of the one before it, are among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<[f64; 2]>,
    /// Per cent of the processors' time that other programs took while it ran: a rate of
    /// a busy machine is another than that of a quiet one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<f64>,
    /// What it was compiled with.
    pub compiler: String,
    /// Hash of the sources, so that a changed program is not taken for measured.
    pub sources: String,
}

impl Native {
    /// Failures per thousand runs.
    #[must_use]
    pub fn per_thousand(&self) -> f64 {
        f64::from(self.failures) * 1000.0 / f64::from(self.runs.max(1))
    }
}
