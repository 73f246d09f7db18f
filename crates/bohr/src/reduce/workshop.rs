//! Where parts are left out of a failing run: the reducer's hands.

use crate::outcome::Failure;
use crate::simplify::loosely;
use bohr_event::control::{Omissions, Recorded};
use bohr_event::{EventKind, FailureKind, PlaceNumber, ThreadPath};
use bohr_explore::bug_file::{self, Bug, Reduced};
use bohr_explore::{ExploreError, Observed, Trials, write_whole};
use bohr_reduce::reduction::{Block, Reducer};
use bohr_schedule::{Plan, Rule};
use indicatif::ProgressBar;
use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, Instant};

/// Runs by chance that look for the failure where the old schedule, followed as
/// far as it goes, does not show it; and how long they may take altogether.
const CHANCES: (u64, Duration) = (24, Duration::from_millis(50));

/// Replays that a result has to pass.
const REPLAYS: u64 = 20;

/// How large a failing run is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Size {
    pub threads: u64,
    pub events: u64,
    pub switches: u64,
    pub iterations: u64,
    pub blocks: u64,
    pub replay_seconds: f64,
}

/// See the module.
pub struct Workshop<'w, 't> {
    bug: &'w Bug,
    trials: Trials<'t>,
    path: &'w Path,
    go_on: &'w dyn Fn() -> bool,
    bar: &'w ProgressBar,
    /// The smallest failing run so far, and what it leaves out.
    best: Recorded,
    without: Omissions,
    /// Whether the threads fail also one after the other.
    sequential: bool,
}

impl<'w, 't> Workshop<'w, 't> {
    pub fn new(
        bug: &'w Bug,
        mut trials: Trials<'t>,
        path: &'w Path,
        go_on: &'w dyn Fn() -> bool,
        bar: &'w ProgressBar,
    ) -> Result<Workshop<'w, 't>, Failure> {
        let schedule = trials.atlas().inward(bug.best_schedule());
        let best = trials.record(&Plan::replay(schedule), bug.seed)?;
        let alone = trials.observe(&Plan::new(Rule::Sequential), bug.seed)?;
        Ok(Workshop {
            bug,
            path,
            go_on,
            bar,
            best: best.ok_or(ExploreError::NotReproduced)?,
            without: bug.without(),
            sequential: alone.same,
            trials,
        })
    }

    pub fn is_sequential(&self) -> bool {
        self.sequential
    }

    pub fn runs(&self) -> u64 {
        self.trials.runs()
    }

    /// The size of the best run so far.
    pub fn size(&mut self) -> Result<Size, Failure> {
        let blocks = self.blocks()?;
        self.trials.leave_out(self.without.clone());
        let started = Instant::now();
        self.trials
            .run(&Plan::replay(self.best.schedule.clone()), self.bug.seed)?;
        let omitted = self.without.iterations.iter();
        let omitted: u64 = omitted.map(|one| one.numbers.len() as u64).sum();
        let passes: u64 = blocks.iter().map(|block| block.passes).sum();
        Ok(Size {
            threads: self.threads().len() as u64,
            events: self.best.steps.len() as u64,
            switches: self.best.schedule.switches() as u64,
            iterations: passes.saturating_sub(omitted),
            blocks: blocks.len() as u64,
            replay_seconds: started.elapsed().as_secs_f64(),
        })
    }

    /// Whether the result shows the failure every time.
    pub fn verify(&mut self) -> Result<bool, Failure> {
        self.trials.leave_out(self.without.clone());
        let plan = Plan::replay(self.best.schedule.clone());
        for _ in 0..REPLAYS {
            if !self.trials.run(&plan, self.bug.seed)?.same {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Condition I: a run that shows the failure although this is left out; by
    /// the schedule of the best run so far, or by chance.
    fn still_fails(&mut self) -> Result<Option<Recorded>, Failure> {
        let followed = loosely(self.best.schedule.clone());
        let by_chance = Plan::new(Rule::Random);
        let plans = std::iter::once((&followed, self.bug.seed))
            .chain((0..CHANCES.0).map(|seed| (&by_chance, seed)));
        let started = Instant::now();
        for (plan, seed) in plans {
            if seed > 0 && started.elapsed() > CHANCES.1 {
                break;
            }
            let trial = self.trials.run(plan, seed)?;
            if trial.same {
                let exact = Plan::replay(trial.schedule);
                let observed = self.trials.observe(&exact, self.bug.seed)?;
                if observed.same && self.is_left_out(&observed) {
                    return Ok(observed.run);
                }
            }
        }
        Ok(None)
    }

    /// Whether all that was to be left out was: not every body has a gate.
    fn is_left_out(&self, observed: &Observed) -> bool {
        let threads = observed.run.as_ref().map_or(&[][..], |run| &run.threads);
        let wanted = self.trials.left_out().threads.iter();
        { wanted }.all(|path| observed.left_out.contains(path) || !threads.contains(path))
    }

    /// Condition II: one after the other, the threads come by the place of the
    /// failure and do not fail.
    fn is_about_interleaving(&mut self, failing: &Recorded) -> Result<bool, Failure> {
        let alone = Plan::new(Rule::Sequential);
        let observed = self.trials.observe(&alone, self.bug.seed)?;
        let Some(run) = observed.run.filter(|_| !observed.failed) else {
            return Ok(false);
        };
        let visited: HashSet<PlaceNumber> =
            run.steps.iter().map(|step| step.operation.place).collect();
        let needed = predicate(failing, &self.bug.signature.kind);
        Ok(needed.iter().all(|place| visited.contains(place)))
    }

    fn save(&self) -> Result<(), Failure> {
        let bug = Bug {
            reduced: Some(Reduced {
                schedule: self.trials.atlas().outward(&self.best.schedule),
                without: self.without.clone(),
            }),
            simplified: None,
            ..self.bug.clone()
        };
        write_whole(self.path, &bug_file::write(&bug)).map_err(|source| ExploreError::File {
            path: self.path.to_path_buf(),
            source,
        })?;
        Ok(())
    }
}

/// The places that a good run has to come by to have evaluated what failed: the
/// acquisitions of a deadlock, or what the failing thread did last. A wrong exit
/// code or output is evaluated by every run that ends.
fn predicate(failing: &Recorded, kind: &FailureKind) -> Vec<PlaceNumber> {
    match kind {
        FailureKind::Exit { .. } | FailureKind::Output => Vec::new(),
        FailureKind::Deadlock => {
            let acquires = |kind| matches!(kind, EventKind::Acquire | EventKind::AcquireShared);
            let pending = failing.pending.iter().map(|step| step.operation);
            pending
                .filter(|operation| acquires(operation.kind))
                .map(|operation| operation.place)
                .collect()
        }
        _ => {
            let last = failing.steps.last();
            last.map(|step| step.operation.place).into_iter().collect()
        }
    }
}

impl Reducer for Workshop<'_, '_> {
    type Error = Failure;

    fn does_it(&mut self, omissions: &Omissions) -> Result<bool, Failure> {
        self.bar.set_position(self.trials.runs());
        self.trials.leave_out(omissions.clone());
        let Some(run) = self.still_fails()? else {
            return Ok(false);
        };
        if !self.sequential && !self.is_about_interleaving(&run)? {
            return Ok(false);
        }
        self.best = run;
        self.without = omissions.clone();
        self.save()?;
        Ok(true)
    }

    fn threads(&self) -> Vec<ThreadPath> {
        let gone = |path: &&ThreadPath| !self.without.threads.contains(path);
        self.best.threads.iter().filter(gone).cloned().collect()
    }

    fn blocks(&mut self) -> Result<Vec<Block>, Failure> {
        let count = Omissions {
            count: true,
            ..self.without.clone()
        };
        self.trials.leave_out(count);
        let plan = Plan::replay(self.best.schedule.clone());
        let observed = self.trials.observe(&plan, self.bug.seed)?;
        let threads = observed.run.map(|run| run.threads).unwrap_or_default();
        let block = |passes: &bohr_event::control::Passes| {
            Some(Block {
                gate: passes.gate,
                thread: threads.get(passes.thread.position())?.clone(),
                passes: passes.count,
            })
        };
        Ok(observed.passes.iter().filter_map(block).collect())
    }

    fn has_time(&self) -> bool {
        (self.go_on)()
    }
}
