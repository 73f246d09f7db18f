//! The bench on which schedules are tried: a laboratory for the reducers, and
//! the search for the same failure with fewer preemptions.

use bohr_event::{PlaceNumber, Schedule};
use bohr_explore::Trials;
use bohr_reduce::{Execution, Failing, Laboratory, cost, dynamic};
use bohr_schedule::search::{DepthFirst, Search};
use bohr_schedule::{Fidelity, Follow, Plan, Rule};
use indicatif::ProgressBar;

use crate::outcome::Failure;

/// Events that a segment may have more than in the schedule it comes from.
const SLACK: u64 = 64;

/// See the module.
pub struct Bench<'b, 't> {
    trials: &'b mut Trials<'t>,
    seed: u64,
    go_on: &'b dyn Fn() -> bool,
    bar: &'b ProgressBar,
}

/// A plan that follows a schedule as far as it goes and preempts nobody then.
pub fn loosely(schedule: Schedule<PlaceNumber>) -> Plan {
    Plan {
        follow: Some(Follow {
            schedule,
            fidelity: Fidelity::Tolerant { slack: SLACK },
            then_rule: true,
        }),
        ..Plan::new(Rule::Sequential)
    }
}

impl<'b, 't> Bench<'b, 't> {
    pub fn new(
        trials: &'b mut Trials<'t>,
        seed: u64,
        go_on: &'b dyn Fn() -> bool,
        bar: &'b ProgressBar,
    ) -> Bench<'b, 't> {
        Bench {
            trials,
            seed,
            go_on,
            bar,
        }
    }

    /// Runs a plan; what was executed if that is the bug.
    fn run(
        &mut self,
        plan: &Plan,
        search: Option<&mut dyn Search>,
    ) -> Result<Option<Failing>, Failure> {
        self.bar.set_position(self.trials.runs());
        let trial = self.trials.run(plan, self.seed)?;
        if let Some(search) = search {
            search.learn(&trial.learnt);
        }
        if !trial.same {
            return Ok(None);
        }
        let Some(run) = self
            .trials
            .record(&Plan::replay(trial.schedule), self.seed)?
        else {
            return Ok(None);
        };
        let cost = cost(Execution::recorded(&run))?;
        Ok(Some(Failing {
            schedule: run.schedule,
            cost,
        }))
    }

    /// Looks for the same failure among all schedules with fewer preemptions
    /// than the best has, and improves what it finds. Whether it has seen them
    /// all, so that the number of preemptions is the smallest possible.
    pub fn search_below(&mut self, best: &mut Failing) -> Result<bool, Failure> {
        let mut search = DepthFirst::bounded();
        while let Some(plan) = search.next_plan() {
            let bound = u64::from(search.bound().unwrap_or(0));
            if bound >= best.cost.preemptive {
                return Ok(true);
            }
            if !self.has_time() {
                return Ok(false);
            }
            if let Some(run) = self.run(&plan, Some(&mut search))?
                && run.cost < best.cost
            {
                *best = run;
                dynamic::improve(best, self)?;
            }
        }
        // Nothing was cut off: the program has no more schedules than these.
        Ok(true)
    }
}

impl Laboratory for Bench<'_, '_> {
    type Error = Failure;

    fn attempt(&mut self, candidate: &Schedule<PlaceNumber>) -> Result<Option<Failing>, Failure> {
        self.run(&loosely(candidate.clone()), None)
    }

    fn has_time(&self) -> bool {
        (self.go_on)()
    }
}
