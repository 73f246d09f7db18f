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
use std::ops::Range;
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
    /// Whether it is not what the bug of the runs under control is about: there it has to
    /// do that the threads meet.
    pub is_beside: bool,
    pub oracle: &'l Oracle,
    pub go_on: &'l dyn Fn() -> bool,
    /// Longest time of a native run.
    pub limit: Duration,
}

/// Further runs without breakpoints that are made until one does not fail.
const FURTHER: usize = 3;

/// Pairs of runs with breakpoints and without, and runs of the program as it was
/// built, that many runs with breakpoints are compared with.
const PAIRS: usize = 50;
const PLAIN_RUNS: usize = 20;

/// What runs of three kinds came to.
#[derive(Clone, Debug, Default)]
pub struct Compared {
    /// With the breakpoints.
    pub with: Measured,
    /// The same build without them.
    pub without: Measured,
    /// The program as its user built it.
    pub plain: Measured,
    /// Times of runs with over those of runs without, pair by pair.
    ratios: Vec<f64>,
}

impl Compared {
    /// Time of a run with breakpoints over that of one without, whole runs of the
    /// same build, which did not fail; with them, most runs end with the failure. The runs come in
    /// pairs, one right after the other, and the middle one of their ratios counts:
    /// whatever else the machine does slows both of a pair down, or spoils one.
    pub fn overhead(&self) -> f64 {
        median(&self.ratios)
    }
}

/// The middle one; no number if there is none.
fn median(numbers: &[f64]) -> f64 {
    let mut numbers = numbers.to_vec();
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
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
    pub fn controlled(
        &mut self,
        set: &[Expression],
        seeds: Range<u64>,
    ) -> Result<Promise, Failure> {
        let mut found = self.finder.find(set)?;
        // Strategies see no stacks. What holds anywhere holds here, too.
        let sides = found.iter_mut().flat_map(|one| &mut one.sides);
        sides.for_each(|side| side.within.clear());
        let mut promise = Promise::default();
        let meeting_counts = self.is_harmless() || self.is_beside;
        let Some(trials) = &mut self.trials else {
            return Ok(promise);
        };
        let atlas = trials.atlas();
        let program = self.finder.identity();
        let breakpoints = under_control(set, &found, atlas.objects(), program)?;
        let plan = Plan {
            breakpoints,
            ..Plan::new(Rule::Random)
        };
        for seed in seeds {
            let trial = trials.run(&plan, seed)?;
            let counts: Vec<Counts> = read_report(&trial.learnt).unwrap_or_default();
            let met = !counts.is_empty() && counts.iter().all(|counts| counts.hits > 0);
            let shown = trial.same || (met && meeting_counts);
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
    /// else the machine does slows both down; no longer than so many runs with them
    /// can still show the bug.
    pub fn compared(
        &self,
        set: &[Expression],
        runs: usize,
        least: usize,
    ) -> Result<Compared, Failure> {
        let found = self.finder.find(set)?;
        let mut compared = Compared::default();
        for run in 0..runs {
            let with = self.native.run(&found, Voice::Muted, self.limit)?;
            compared.with.add(&with, self.errors(&with));
            if run % runs.div_ceil(PAIRS) == 0 {
                let without = self.normal()?;
                compared.without.add(&without, self.errors(&without));
                let time = without.time.as_secs_f64().max(1e-6);
                compared.ratios.push(with.time.as_secs_f64() / time);
            }
            if runs >= PLAIN_RUNS && run % runs.div_ceil(PLAIN_RUNS) == 0 {
                let made = self.native.run_plain(Voice::Muted, self.limit)?;
                compared.plain.add(&made, self.errors(&made));
            }
            let missed = run + 1 - compared.with.failures as usize;
            if missed + least > runs || !(self.go_on)() {
                break;
            }
        }
        Ok(compared)
    }

    /// A run without breakpoints that ends as it should; of a program that hardly ever
    /// does, one that did not.
    fn normal(&self) -> Result<NativeRun, Failure> {
        let mut run = self.native.run(&[], Voice::Muted, self.limit)?;
        for _ in 0..FURTHER {
            if failure_of(&run, self.oracle).is_none() || !(self.go_on)() {
                break;
            }
            run = self.native.run(&[], Voice::Muted, self.limit)?;
        }
        Ok(run)
    }

    /// Runs natively with one set and with another that may take its place, by turns:
    /// what became of both, and the median of the times with the other over those with
    /// the one.
    pub fn by_turns(
        &self,
        one: &[Expression],
        other: &[Expression],
        runs: usize,
    ) -> Result<(Measured, Measured, f64), Failure> {
        let sets = [self.finder.find(one)?, self.finder.find(other)?];
        let mut measured = [Measured::default(), Measured::default()];
        let mut ratios = Vec::new();
        for _ in 0..runs {
            let mut times = [0.0; 2];
            for ((set, measured), time) in sets.iter().zip(&mut measured).zip(&mut times) {
                let made = self.native.run(set, Voice::Muted, self.limit)?;
                measured.add(&made, self.errors(&made));
                *time = made.time.as_secs_f64();
            }
            ratios.push(times[1] / times[0].max(1e-6));
            if !(self.go_on)() {
                break;
            }
        }
        let [one, other] = measured;
        Ok((one, other, median(&ratios)))
    }

    /// Whether what is looked for does no harm by itself: threads only have to meet.
    pub fn is_harmless(&self) -> bool {
        self.kind == Some(FailureKind::DataRace)
    }

    /// Whether a run of a program that has its breakpoints in its sources shows it.
    pub fn shows_patched(&self, run: &NativeRun) -> bool {
        match self.is_harmless() && failure_of(run, self.oracle).is_none() {
            true => summary_tells_hits(&run.errors),
            false => self.errors(run) > 0,
        }
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

/// Whether every breakpoint of a summary in JSON has been hit.
fn summary_tells_hits(errors: &str) -> bool {
    const HITS: &str = "\"hits\":";
    let mut hits = errors.split(HITS).skip(1).peekable();
    hits.peek().is_some() && hits.all(|rest| !rest.starts_with('0'))
}
