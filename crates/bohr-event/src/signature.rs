//! What makes two failures the same bug.

use crate::{FunctionId, Place};
use alloc::{string::String, vec::Vec};
use serde::{Deserialize, Serialize};

/// The way in which a run failed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// Killed by a signal at an instruction of the program.
    Crash {
        /// Its number.
        signal: i32,
    },
    /// `assert`, `bohr_assert` or `bohr_fail`.
    Assertion,
    /// `abort` by the program itself, or `std::terminate`.
    Abort,
    /// A Rust panic, taken at the panic hook.
    Panic,
    /// Ended with another exit code than expected.
    Exit {
        /// The code.
        code: i32,
    },
    /// Threads wait for each other and none can go on.
    Deadlock,
    /// Threads run and none gets anywhere.
    Livelock,
    /// The wall-clock limit of a run was reached.
    TimeLimit,
    /// Output differs from what was expected, or the user's command refused it.
    Output,
    /// A freed heap block was accessed.
    UseAfterFree,
    /// A heap block was freed twice.
    DoubleFree,
    /// A sanitizer that the program was built with spoke up.
    Sanitizer,
    /// Two conflicting accesses without order between them.
    DataRace,
}

/// One frame of a stack: the function and the place in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Frame {
    /// The function, where the program model knows it.
    pub function: Option<FunctionId>,
    /// The place in it.
    pub place: Place,
}

/// A bug, told apart from other bugs. Two runs show the same bug exactly when
/// their signatures are equal; messages, values and thread ids are shown to
/// people but never compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Signature {
    /// How it failed.
    pub kind: FailureKind,
    /// The failing place.
    pub place: Option<Place>,
    /// The innermost frames of the failing thread, innermost first.
    pub frames: Vec<Frame>,
    /// For a deadlock: the places at which the threads of the cycle wait, in
    /// cycle order, beginning with the smallest. For a data race: its two accesses,
    /// the smaller first. Empty otherwise.
    pub cycle: Vec<Place>,
}

impl Signature {
    /// Whether this could be the same bug in a program that has changed: it fails
    /// the same way in the same functions, wherever in them.
    #[must_use]
    pub fn resembles(&self, other: &Signature) -> bool {
        let functions = |signature: &Signature| {
            let mut cycle: Vec<_> = signature.cycle.iter().map(Place::function).collect();
            cycle.sort();
            let frames = signature.frames.iter().map(|frame| frame.function);
            (frames.collect::<Vec<_>>(), cycle)
        };
        let (mine, others) = (functions(self), functions(other));
        let known = mine.0.iter().chain(&mine.1).any(Option::is_some);
        self == other || self.kind == other.kind && known && mine == others
    }

    /// A short name of its kind, for people and file names.
    #[must_use]
    pub fn kind_name(&self) -> String {
        self.kind.name()
    }
}

impl FailureKind {
    /// Whether the failure is that a run goes on for ever: none is too long to show it.
    #[must_use]
    pub fn is_endless(&self) -> bool {
        matches!(self, FailureKind::Livelock | FailureKind::TimeLimit)
    }

    /// A short name for people and file names.
    #[must_use]
    pub fn name(&self) -> String {
        use alloc::string::ToString;
        match self {
            FailureKind::Crash { signal } => alloc::format!("crash-signal-{signal}"),
            FailureKind::Exit { code } => alloc::format!("exit-{code}"),
            FailureKind::Assertion => "assertion".to_string(),
            FailureKind::Abort => "abort".to_string(),
            FailureKind::Panic => "panic".to_string(),
            FailureKind::Deadlock => "deadlock".to_string(),
            FailureKind::Livelock => "livelock".to_string(),
            FailureKind::TimeLimit => "time-limit".to_string(),
            FailureKind::Output => "output".to_string(),
            FailureKind::UseAfterFree => "use-after-free".to_string(),
            FailureKind::DoubleFree => "double-free".to_string(),
            FailureKind::Sanitizer => "sanitizer".to_string(),
            FailureKind::DataRace => "data-race".to_string(),
        }
    }
}
