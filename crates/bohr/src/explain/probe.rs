//! Experiments for the explainer.

use crate::outcome::Failure;
use crate::simplify::loosely;
use bohr_event::{FailureKind, Operation, PlaceNumber, Schedule, ThreadPath};
use bohr_explain::{Experimenter, Importance, Observation};
use bohr_explore::{Observed, Trials, Vocabulary};
use indicatif::ProgressBar;
use std::time::Instant;

/// Runs a program by schedules that were changed a little.
pub struct Probe<'p, 't> {
    pub trials: &'p mut Trials<'t>,
    pub seed: u64,
    pub deadline: Instant,
    pub bar: &'p ProgressBar,
    pub vocabulary: &'p Vocabulary,
    /// Who fails. Another thread that fails the same way is another story.
    pub failing: Option<ThreadPath>,
}

/// The thread that failed; `None` where all that wait are to blame.
pub fn failing_thread(observed: &Observed) -> Option<ThreadPath> {
    let failure = observed.failure.as_ref()?;
    let together = matches!(failure.kind, FailureKind::Deadlock | FailureKind::Livelock);
    let threads = &observed.run.as_ref().filter(|_| !together)?.threads;
    threads.get(failure.thread.position()).cloned()
}

impl Experimenter for Probe<'_, '_> {
    type Error = Failure;

    /// When the time is over, nothing fails any more: windows become narrower
    /// than they are, never wider.
    fn observe(&mut self, candidate: &Schedule<PlaceNumber>) -> Result<Observation, Failure> {
        if Instant::now() > self.deadline {
            return Ok(Observation::default());
        }
        self.bar.set_position(self.trials.runs());
        let plan = loosely(candidate.clone());
        let observed = self.trials.observe(&plan, self.seed)?;
        let who = failing_thread(&observed);
        Ok(Observation {
            fails: observed.same && (self.failing.is_none() || who == self.failing),
            run: observed.run.unwrap_or_default(),
        })
    }

    fn importance(&self, operation: &Operation) -> Importance {
        self.vocabulary.importance(operation)
    }
}
