//! What the explorer wants run, and how.

use super::{Omissions, Probes, Watch};
use crate::MemoryModel;
use crate::inputs::ThreadInputs;
use alloc::{string::String, vec::Vec};
use serde::{Deserialize, Serialize};

/// One job: the runs with seeds `first_seed`, `first_seed + stride`, …
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Seed of the first run.
    pub first_seed: u64,
    /// Distance from seed to seed; workers that share a hunt take turns.
    pub stride: u64,
    /// How many runs.
    pub runs: u64,
    /// The plan that strategies are made from, as `bohr-schedule` writes it.
    pub plan: Vec<u8>,
    /// Whether the first failure ends the job.
    pub stop_at_failure: bool,
    /// How threads are run.
    pub backend: Backend,
    /// Of which runs the explorer wants the trace.
    pub trace: Detailing,
    /// At most this many events are written of a run; the rest is counted.
    pub trace_limit: u64,
    /// The file that traces go to, by a path that the target can open now.
    pub store: String,
    /// Which runs report their schedule, output and what the strategy learnt.
    pub details: Detailing,
    /// Where the output of the runs goes.
    pub output: Output,
    /// When a run is ended by force.
    pub limits: Limits,
    /// What the engine does where the program leaves it open.
    pub policy: Policy,
    /// Whether a run that the runtime sees fail stops there, all its threads as
    /// they are, until somebody continues or kills it: for debuggers.
    pub hold: bool,
    /// Whether a process may do one run after the other, where a run has left
    /// nothing behind but memory, which is put back.
    pub rewind: bool,
    /// What threads get from outside, as long as they ask for the same.
    pub given: Vec<ThreadInputs>,
    /// What is left out of the runs.
    pub without: Omissions,
    /// Of which moments the runs keep the stack.
    pub probes: Probes,
    /// The thread that is watched on its way somewhere.
    pub watch: Option<Watch>,
    /// For a search, whose next plans will begin like this one: where a run stays
    /// as a template for itself and for those.
    pub checkpoints: Checkpoints,
    /// After so many events the run stops, for an image of it to be taken.
    pub image_at: Option<u64>,
    /// The unpacked image that the runs begin from, by a path that the target can open
    /// now; empty if they begin where the program does.
    pub from: String,
}

/// Where along its plan a run becomes a template.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Checkpoints {
    /// Nowhere.
    #[default]
    Never,
    /// Wherever it has come this many ticks of the processor's time stamp counter
    /// further, and less often far along.
    Every(u64),
    /// At this turn.
    At(u32),
}

/// Which runs report more than their outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Detailing {
    /// None.
    #[default]
    Never,
    /// Those that did not end with exit code 0.
    Failing,
    /// All.
    Always,
}

impl Detailing {
    /// Whether a run is among them, failed or not.
    #[must_use]
    pub fn covers(self, failed: bool) -> bool {
        match self {
            Detailing::Never => false,
            Detailing::Failing => failed,
            Detailing::Always => true,
        }
    }
}

/// What the target's threads run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Backend {
    /// Fibers on one thread of the system.
    #[default]
    Fibers,
    /// Threads of the system that pass a baton.
    Threads,
}

/// What becomes of standard output and standard error of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Output {
    /// They go where the template's go.
    Inherit,
    /// They are thrown away.
    Discard,
    /// The first so many bytes of both together are kept for [`Detail::output`].
    Capture {
        /// How many.
        limit: u64,
    },
}

/// Bounds of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// A run of more events is a livelock. While a thread is alone, its events
    /// are quick and count a fiftieth.
    pub events: u64,
    /// A run that takes longer by the wall clock is over its time limit.
    pub milliseconds: u32,
}

/// What the engine does where programs leave it open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// What the virtual clock shows at the fork point, in nanoseconds since 1970.
    pub clock: u64,
    /// Whether waiting on a condition may end without a signal.
    pub spurious_wakes: bool,
    /// Whether a timed wait may expire while others could still end it. If not,
    /// time passes only when no thread can go on.
    pub early_timeouts: bool,
    /// Whether a Rust panic is a failure even if something catches it.
    pub panics_fail: bool,
    /// Whether freed heap memory is watched.
    pub watch_freed: bool,
    /// When stores become visible to other threads.
    pub model: MemoryModel,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            clock: 1_767_225_600_000_000_000,
            spurious_wakes: false,
            early_timeouts: false,
            panics_fail: true,
            watch_freed: true,
            model: MemoryModel::SequentiallyConsistent,
        }
    }
}
