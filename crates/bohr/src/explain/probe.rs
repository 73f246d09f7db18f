//! Experiments for the explainer.

use crate::outcome::Failure;
use crate::simplify::loosely;
use bohr_event::{PlaceNumber, Schedule};
use bohr_explain::{Experimenter, Observation};
use bohr_explore::Trials;
use indicatif::ProgressBar;
use std::time::Instant;

/// Runs a program by schedules that were changed a little.
pub struct Probe<'p, 't> {
    trials: &'p mut Trials<'t>,
    seed: u64,
    deadline: Instant,
    bar: &'p ProgressBar,
}

impl<'p, 't> Probe<'p, 't> {
    pub fn new(
        trials: &'p mut Trials<'t>,
        seed: u64,
        deadline: Instant,
        bar: &'p ProgressBar,
    ) -> Probe<'p, 't> {
        Probe {
            trials,
            seed,
            deadline,
            bar,
        }
    }
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
        Ok(Observation {
            fails: observed.same,
            run: observed.run.unwrap_or_default(),
        })
    }
}
