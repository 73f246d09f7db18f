//! How a native run ended, and whether that is the failure one looks for.

use super::stall::Stall;
use crate::bug_file::Oracle;
use crate::verdict::output_is_wrong;
use bohr_event::FailureKind;
use bohr_event::breakpoint::Counts;
use std::time::Duration;

const SIGABRT: i32 = 6;

/// The exit code of a Rust program whose main thread panicked.
const PANIC_EXIT: i32 = 101;

/// How a run came to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With this code.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
    /// Nobody can go on.
    Stalled(Stall),
    /// Still busy when its time was over.
    Endless,
}

/// What a native run did.
#[derive(Clone, Debug)]
pub struct NativeRun {
    /// How it ended.
    pub ending: Ending,
    /// How long that took; of a stall, how long until it began.
    pub time: Duration,
    /// What became of the breakpoints.
    pub counts: Vec<Counts>,
    /// What it printed, if that was taken.
    pub output: Vec<u8>,
    /// The same of its errors.
    pub errors: String,
}

impl NativeRun {
    /// Whether every breakpoint was hit.
    #[must_use]
    pub fn hit_all(&self) -> bool {
        self.counts.iter().all(|counts| counts.hits > 0)
    }
}

/// What a run failed with, if it did.
#[must_use]
pub fn failure_of(run: &NativeRun, oracle: &Oracle) -> Option<FailureKind> {
    match &run.ending {
        Ending::Stalled(_) => Some(FailureKind::Deadlock),
        Ending::Endless => Some(FailureKind::Livelock),
        Ending::Signalled(SIGABRT) if run.errors.contains("Assertion") => {
            Some(FailureKind::Assertion)
        }
        Ending::Signalled(SIGABRT) if run.errors.contains("panicked at") => {
            Some(FailureKind::Panic)
        }
        Ending::Signalled(SIGABRT) => Some(FailureKind::Abort),
        Ending::Signalled(signal) => Some(FailureKind::Crash { signal: *signal }),
        Ending::Exited(PANIC_EXIT) if oracle.exit_code != PANIC_EXIT => Some(FailureKind::Panic),
        Ending::Exited(code) if *code != oracle.exit_code => {
            Some(FailureKind::Exit { code: *code })
        }
        Ending::Exited(_) => output_is_wrong(oracle, &run.output).then_some(FailureKind::Output),
    }
}

/// Whether a run shows a bug of this kind. What only the controlled engine sees
/// by itself shows natively as something else: misused memory as any failure, a
/// race in that its two sides met.
#[must_use]
pub fn shows(run: &NativeRun, kind: &FailureKind, oracle: &Oracle) -> bool {
    let failure = failure_of(run, oracle);
    match kind {
        FailureKind::UseAfterFree | FailureKind::DoubleFree | FailureKind::Sanitizer => {
            failure.is_some()
        }
        FailureKind::DataRace => failure.is_some() || run.hit_all(),
        FailureKind::Livelock | FailureKind::TimeLimit => {
            matches!(run.ending, Ending::Endless)
        }
        FailureKind::Crash { .. } => matches!(failure, Some(FailureKind::Crash { .. })),
        _ => failure.as_ref() == Some(kind),
    }
}
