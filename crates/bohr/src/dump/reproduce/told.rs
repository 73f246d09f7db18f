//! What came of looking for a failure, as data.

use super::super::taking::Taken;
use super::aligned::Aligned;
use super::{Failed, index};
use bohr_explore::guided::{Critical, Ranked, Try};
use bohr_program::Program;
use bohr_schedule::{Precedence, Return, Rule};
use serde::Serialize;
use std::path::PathBuf;

/// What came of it.
#[derive(Debug, Serialize)]
pub struct Reproduced {
    /// Whether a schedule fails like the core.
    pub reproduced: bool,
    /// The failure, in words.
    pub failure: String,
    /// The thread that failed.
    pub thread: String,
    /// `exact`, `closest` or `none`.
    pub alignment: &'static str,
    /// The failure's index, from the thread's start inwards.
    pub index: Vec<String>,
    /// How many entries it has; a loop counts once.
    pub index_length: usize,
    /// Blocks that the thread had begun, if the program counts them.
    pub blocks: Option<u64>,
    /// Values that were compared.
    pub variables: u64,
    /// How many of them differ.
    pub differences: usize,
    /// Values that others can reach.
    pub shared: u64,
    /// Those of them that differ.
    pub critical: Vec<CriticalVariable>,
    /// Accesses to them before the aligned point, the best first.
    pub ranking: Vec<RankedAccess>,
    /// Runs up to the one that failed, or all.
    pub tries: u64,
    /// Seconds by step.
    pub seconds_read: f64,
    /// Comparing.
    pub seconds_diff: f64,
    /// Slicing.
    pub seconds_slice: f64,
    /// Searching.
    pub seconds_search: f64,
    /// Events before the aligned point that a slice looked at; none without one.
    pub sliced: usize,
    /// Events of the good run.
    pub events: usize,
    /// Bytes of memory that the core should have and has not.
    pub missing_bytes: u64,
    /// Files that were mapped and are not to be found.
    pub missing_files: Vec<String>,
    /// Bytes of its state at the aligned point.
    pub state_bytes: usize,
    /// Who came first or last in it.
    pub order: String,
    /// The first of the schedules that were tried.
    pub schedules: Vec<Vec<ToldPreemption>>,
    /// Options with which a search in vain would look further.
    pub untried: Vec<String>,
    /// Where the bug is.
    pub bug_file: Option<PathBuf>,
    /// With a checkpoint: whether the failure comes again in a run from the start of the
    /// program.
    pub replayed_from_start: Option<bool>,
    /// How the core was taken, if bohr has done so.
    pub taken: Option<Taken>,
}

/// A shared variable that is not the same.
#[derive(Clone, Debug, Serialize)]
pub struct CriticalVariable {
    /// How it is reached.
    pub path: String,
    /// In the core.
    pub failing: String,
    /// In the good run.
    pub passing: String,
    #[serde(skip)]
    pub place: Critical,
}

/// An access to a critical variable.
#[derive(Clone, Debug, Serialize)]
pub struct RankedAccess {
    /// By which thread.
    pub thread: String,
    /// What.
    pub kind: String,
    /// To which variable.
    pub variable: String,
    /// Where.
    pub line: Option<String>,
}

/// A preemption of a schedule.
#[derive(Clone, Debug, Serialize)]
pub struct ToldPreemption {
    /// Who gave way.
    pub thread: String,
    /// To whom.
    pub to: String,
    /// Whether it does not go on before what it uses there has been freed.
    pub kept_back: bool,
    /// Before it did what.
    pub before: String,
    /// Where.
    pub line: Option<String>,
}

/// Accesses that are told.
const MOST_RANKED: usize = 20;
/// Schedules that are told.
const MOST_SCHEDULES: usize = 5;

impl Reproduced {
    pub(super) fn of(failed: &Failed, program: &Program) -> Reproduced {
        Reproduced {
            reproduced: false,
            failure: failed.likeness.to_string(),
            thread: failed.thread.to_string(),
            alignment: "none",
            index: index::lines(program, &failed.thread, &failed.index),
            index_length: failed.index.len(),
            blocks: failed.blocks,
            variables: 0,
            differences: 0,
            shared: 0,
            critical: Vec::new(),
            ranking: Vec::new(),
            tries: 0,
            seconds_read: 0.0,
            seconds_diff: 0.0,
            seconds_slice: 0.0,
            seconds_search: 0.0,
            sliced: 0,
            events: 0,
            missing_bytes: failed.missing,
            missing_files: failed.missing_files.clone(),
            state_bytes: 0,
            order: String::new(),
            schedules: Vec::new(),
            untried: Vec::new(),
            bug_file: None,
            replayed_from_start: None,
            taken: None,
        }
    }

    pub(super) fn rank(&mut self, aligned: &Aligned, ranked: &[Ranked]) {
        let told = ranked.iter().take(MOST_RANKED).map(|access| {
            let step = &aligned.steps[access.event];
            RankedAccess {
                thread: aligned.threads[step.thread.position()].to_string(),
                kind: step.operation.kind.to_string(),
                variable: self.critical[access.variable].path.clone(),
                line: aligned.lines.get(&access.event).cloned(),
            }
        });
        self.ranking = told.collect();
    }

    /// Where the critical variables are in the good run.
    pub(super) fn places(&self) -> Vec<Critical> {
        let places = self.critical.iter();
        places.map(|variable| variable.place.clone()).collect()
    }

    /// Takes in what the good run was like.
    pub(super) fn align(&mut self, aligned: &Aligned) {
        self.alignment = aligned.told();
        self.events = aligned.steps.len();
        self.state_bytes = aligned.snapshot.as_ref().map_or(0, Vec::len);
        self.order = in_words(&aligned.search.turns);
    }

    /// Takes in what is tried first.
    pub(super) fn schedule(&mut self, aligned: &Aligned, tries: &[Try]) {
        let first = tries.iter().take(MOST_SCHEDULES);
        self.schedules = first.map(|attempt| preemptions(aligned, attempt)).collect();
    }
}

/// Which thread came first or last.
pub fn in_words(turns: &Precedence) -> String {
    match turns {
        Precedence::InOrder => "in the order of their creation".into(),
        Precedence::First(thread) => format!("thread {thread} first"),
        Precedence::Last(thread) => format!("thread {thread} last"),
    }
}

fn preemptions(aligned: &Aligned, attempt: &Try) -> Vec<ToldPreemption> {
    let Rule::Preempting { points, .. } = &attempt.plan.rule else {
        return Vec::new();
    };
    let both = points.iter().zip(&attempt.events);
    both.map(|(point, event)| {
        let step = aligned.steps.get(*event);
        ToldPreemption {
            thread: point.thread.to_string(),
            to: point.to.to_string(),
            kept_back: point.until != Return::InTurn,
            before: step.map_or_else(String::new, |step| step.operation.kind.to_string()),
            line: aligned.lines.get(event).cloned(),
        }
    })
    .collect()
}
