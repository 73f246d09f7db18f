//! Where sets of breakpoints are tried: under control, where a run takes a
//! fraction of a millisecond, and natively, which is what counts.

use super::measured::Measured;
use crate::control::breakpoints::{Finder, under_control};
use crate::outcome::Failure;
use bohr_event::FailureKind;
use bohr_event::breakpoint::Counts;
use bohr_explore::bug_file::Oracle;
use bohr_explore::native::{Native, NativeRun, failure_of, shows};
use bohr_explore::{Trials, Voice};
use bohr_schedule::{Plan, Rule, read_report};
use bohr_trigger::Expression;
use std::time::Duration;

/// See the module.
pub struct Laboratory<'l, 't> {
    /// Runs under control, if there is a bug to compare them with.
    pub trials: Option<&'l mut Trials<'t>>,
    pub finder: &'l Finder,
    pub native: &'l Native<'l>,
    /// What a run has to show; any failure if nothing. Of a data race that is, like
    /// of any finding without a failure, that the threads have met.
    pub kind: Option<FailureKind>,
    pub oracle: &'l Oracle,
    pub go_on: &'l dyn Fn() -> bool,
    /// Longest time of a native run.
    pub limit: Duration,
}

/// Runs without breakpoints that many runs with them are compared with.
const COMPARISONS: usize = 25;

/// What runs of three kinds came to.
#[derive(Clone, Debug, Default)]
pub struct Compared {
    /// With the breakpoints.
    pub with: Measured,
    /// The same build without them.
    pub without: Measured,
    /// The program as its user built it.
    pub plain: Measured,
}

impl Compared {
    /// Time of a run with breakpoints over that of one without, whole runs of the
    /// same build; with them, most runs end with the failure.
    pub fn overhead(&self) -> f64 {
        self.with.median_time() / self.without.median_time().max(1e-6)
    }
}

/// What runs under control make of a set.
#[derive(Clone, Copy, Debug, Default)]
pub struct Promise {
    /// How many show the bug.
    pub failing: u64,
    /// Threads that were postponed and met nobody.
    pub in_vain: u64,
}

impl Laboratory<'_, '_> {
    /// Makes a run under control for each seed.
    pub fn controlled(&mut self, set: &[Expression], seeds: u64) -> Result<Promise, Failure> {
        let mut found = self.finder.find(set)?;
        // Strategies see no stacks. What holds anywhere holds here, too.
        let sides = found.iter_mut().flat_map(|one| &mut one.sides);
        sides.for_each(|side| side.within.clear());
        let mut promise = Promise::default();
        let Some(trials) = &mut self.trials else {
            return Ok(promise);
        };
        let atlas = trials.atlas();
        let program = &atlas.models()[0].identity;
        let breakpoints = under_control(set, &found, atlas.objects(), program)?;
        let plan = Plan {
            breakpoints,
            ..Plan::new(Rule::Random)
        };
        for seed in 0..seeds {
            let trial = trials.run(&plan, seed)?;
            let counts: Vec<Counts> = read_report(&trial.learnt).unwrap_or_default();
            let met = !counts.is_empty() && counts.iter().all(|counts| counts.hits > 0);
            let shown = trial.same || (met && self.kind == Some(FailureKind::DataRace));
            promise.failing += u64::from(shown);
            promise.in_vain += counts.iter().map(|counts| counts.timed_out).sum::<u64>();
        }
        Ok(promise)
    }

    /// Runs natively, so many times; fewer if the first few show that it is no
    /// use, unless `all` are wanted.
    pub fn native(&self, set: &[Expression], runs: usize, all: bool) -> Result<Measured, Failure> {
        let found = self.finder.find(set)?;
        let mut measured = Measured::default();
        for run in 0..runs {
            let made = self.native.run(&found, Voice::Muted, self.limit)?;
            measured.add(&made, self.errors(&made));
            let hopeless = run + 1 >= runs.min(3) && measured.failures == 0;
            if (hopeless && !all) || !(self.go_on)() {
                break;
            }
        }
        Ok(measured)
    }

    /// Runs natively with and without the breakpoints, by turns, so that whatever
    /// else the machine does slows both down.
    pub fn compared(&self, set: &[Expression], runs: usize) -> Result<Compared, Failure> {
        let found = self.finder.find(set)?;
        let mut compared = Compared::default();
        let mut add = |measured: fn(&mut Compared) -> &mut Measured, made: NativeRun| {
            measured(&mut compared).add(&made, self.errors(&made));
        };
        for run in 0..runs {
            let made = self.native.run(&found, Voice::Muted, self.limit)?;
            add(|all| &mut all.with, made);
            if run % runs.div_ceil(COMPARISONS) == 0 {
                let made = self.native.run(&[], Voice::Muted, self.limit)?;
                add(|all| &mut all.without, made);
                let made = self.native.run_plain(Voice::Muted, self.limit)?;
                add(|all| &mut all.plain, made);
            }
            if !(self.go_on)() {
                break;
            }
        }
        Ok(compared)
    }

    /// How many errors of the wanted kind can be seen in a run.
    fn errors(&self, run: &NativeRun) -> u64 {
        let failed = failure_of(run, self.oracle).is_some();
        match &self.kind {
            None => u64::from(failed),
            Some(kind) if !shows(run, kind, self.oracle) => 0,
            Some(_) if failed => 1,
            Some(_) => run.counts.iter().map(|counts| counts.hits).sum(),
        }
    }
}
