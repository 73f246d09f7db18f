//! The bench on which schedules are tried: a laboratory for the reducers, and
//! the search for the same failure with fewer preemptions.

use bohr_event::control::Recorded;
use bohr_event::{PlaceNumber, Schedule};
use bohr_explore::Trials;
use bohr_reduce::{Execution, Failing, Laboratory, Likely, cost, dynamic};
use bohr_schedule::search::{DepthFirst, Search};
use bohr_schedule::{Fidelity, Follow, Moment, Moments, Plan, Rule};
use indicatif::ProgressBar;
use std::ops::Range;
use std::time::Instant;

use super::keeper::Keeper;
use crate::outcome::Failure;

/// Events that a segment may have more than in the schedule it comes from.
const SLACK: u64 = 64;

/// Runs by chance in a row that show nothing better before that is given up, for
/// each preemption that is left: with fewer there is less to choose.
const SAMPLES: u64 = 4_000;

/// How many of them are asked for at once.
const BATCH: u64 = 64;

/// How many runs with each small number of preemptions are tried at first.
pub const FEW_SAMPLES: [u64; LEAPS] = [BATCH; LEAPS];

/// Segments of a schedule from which it is worth to begin a second time.
const MOST_SEGMENTS: usize = 10_000;

/// How many times as long as recording a run it takes to find the moments that matter
/// in it and in good ones.
const COMPARING: u32 = 6;

/// How many times as many events as the failing run others may have, and how many
/// more: one that has lost the failure may go on for ever.
const GROWTH: u64 = 8;
const BEYOND: u64 = 10_000;

/// Numbers of preemptions below the best that are tried in turn.
const DEPTHS: usize = 2;

/// Numbers of preemptions, from none on, that are tried before all else.
pub const LEAPS: usize = 3;

/// See the module.
pub struct Bench<'b, 't> {
    trials: &'b mut Trials<'t>,
    seed: u64,
    go_on: &'b dyn Fn() -> bool,
    bar: &'b ProgressBar,
    keeper: Option<&'b mut Keeper<'b>>,
    /// When there is no time left, if that is known before.
    deadline: Option<Instant>,
    /// Events after which a run is not worth going on with.
    most: u64,
    /// Events that a better run may have.
    accepted: u64,
    /// Switches with which a run is good enough, and the first that had so few.
    enough: u64,
    reached: Option<Failing>,
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

/// A plan that follows a schedule event for event and preempts nobody then.
pub fn exactly_at_first(schedule: Schedule<PlaceNumber>) -> Plan {
    Plan {
        follow: Some(Follow {
            schedule,
            fidelity: Fidelity::Exact,
            then_rule: true,
        }),
        ..Plan::new(Rule::Sequential)
    }
}

/// Moments of a failing run at which others might fail with fewer preemptions; good
/// runs tell when else threads come to the same places.
pub fn moments<'r>(failing: &Recorded, good: impl IntoIterator<Item = &'r Recorded>) -> Moments {
    let good: Vec<Execution<'_>> = good.into_iter().map(Execution::recorded).collect();
    let likely = Likely::of(Execution::recorded(failing), &good);
    let weighted = |weight: u32, list: Vec<(u32, u64)>| {
        let moment = |(thread, events)| Moment { thread, events };
        (weight, list.into_iter().map(moment).collect())
    };
    Moments {
        threads: likely.threads,
        lists: vec![
            weighted(2, likely.like),
            weighted(1, likely.around),
            weighted(1, likely.all),
        ],
    }
}

impl<'b, 't> Bench<'b, 't> {
    pub fn new(
        trials: &'b mut Trials<'t>,
        seed: u64,
        go_on: &'b dyn Fn() -> bool,
        bar: &'b ProgressBar,
        keeper: Option<&'b mut Keeper<'b>>,
    ) -> Bench<'b, 't> {
        Bench {
            most: u64::MAX,
            accepted: u64::MAX,
            enough: 0,
            reached: None,
            trials,
            seed,
            go_on,
            bar,
            keeper,
            deadline: None,
        }
    }

    /// There is no time left from then on.
    pub fn ends_at(&mut self, deadline: Instant) {
        self.deadline = Some(deadline);
    }

    /// Runs are ended that have far more events than so many.
    pub fn short_of(&mut self, events: u64) {
        self.most = events.saturating_mul(GROWTH).saturating_add(BEYOND);
    }

    /// No run with more events than so many is better; one that only ends by being ended
    /// has to go on.
    pub fn at_most(&mut self, events: u64, endless: bool) {
        self.accepted = events;
        if !endless {
            self.most = events.saturating_add(SLACK);
        }
    }

    /// There is nothing more to do once a run has no more switches than so many.
    pub fn is_done_at(&mut self, switches: u64) {
        self.enough = switches;
    }

    /// The run that had so few.
    pub fn reached(&mut self) -> Option<Failing> {
        self.reached.take()
    }

    /// Has something run that is ended if it becomes too long.
    fn shortly<T>(&mut self, run: impl FnOnce(&mut Trials<'t>, u64) -> T) -> T {
        self.trials.end_after(self.most);
        let came = run(self.trials, self.seed);
        self.trials.end_after(u64::MAX);
        came
    }

    /// Runs a plan; what was executed if that is the bug.
    fn run(
        &mut self,
        plan: &Plan,
        search: Option<&mut dyn Search>,
    ) -> Result<Option<Failing>, Failure> {
        self.run_with(plan, self.seed, search)
    }

    fn run_with(
        &mut self,
        plan: &Plan,
        seed: u64,
        search: Option<&mut dyn Search>,
    ) -> Result<Option<Failing>, Failure> {
        self.tick()?;
        let trial = match search {
            // Who claims to have seen all has to see them to their end.
            Some(search) => {
                let trial = self.trials.run(plan, seed)?;
                search.learn(&trial.learnt);
                trial
            }
            None => self.shortly(|trials, _| trials.run(plan, seed))?,
        };
        if !trial.same || trial.schedule.events() > self.accepted {
            return Ok(None);
        }
        let Some(run) = self
            .trials
            .record(&Plan::replay(trial.schedule), self.seed)?
        else {
            return Ok(None);
        };
        let cost = cost(Execution::recorded(&run))?;
        let failing = Failing {
            schedule: run.schedule,
            cost,
        };
        if failing.cost.switches <= self.enough && self.reached.is_none() {
            self.reached = Some(failing.clone());
        }
        if let Some(keeper) = &mut self.keeper {
            keeper.see(&failing, self.trials.atlas())?;
        }
        Ok(Some(failing))
    }

    /// Before each experiment: shows how many there were, and writes what waits for it.
    fn tick(&mut self) -> Result<(), Failure> {
        self.bar.set_position(self.trials.runs());
        match &mut self.keeper {
            Some(keeper) => keeper.catch_up(self.trials.atlas()),
            None => Ok(()),
        }
    }

    /// Begins elsewhere: another failing run may lead to a better one than the best,
    /// from which no single move gets there.
    pub fn begin_at(&mut self, start: &Failing, best: &mut Failing) -> Result<(), Failure> {
        if start.schedule.segments().len() > MOST_SEGMENTS {
            return Ok(());
        }
        let mut other = start.clone();
        let improved = self.leap(&mut other, FEW_SAMPLES);
        let improved = improved.and_then(|()| dynamic::improve(&mut other, self));
        if other.cost < best.cost {
            *best = other;
        }
        improved.map(|_| ())
    }

    /// Looks, so many times each, for the same failure with no preemption, one and two:
    /// where much has happened, that is found sooner than all the rest removed.
    pub fn leap(&mut self, best: &mut Failing, samples: [u64; LEAPS]) -> Result<(), Failure> {
        if best.cost.preemptive == 0 {
            return Ok(());
        }
        let moments = self.moments(best)?;
        for (preemptions, samples) in (0..best.cost.preemptive).zip(samples) {
            if moments.is_empty() || !self.has_time() {
                break;
            }
            let found = self.sample(preemptions, &moments, 0..samples)?;
            if let Some(run) = found.filter(|run| run.cost < best.cost) {
                *best = run;
                break;
            }
        }
        Ok(())
    }

    /// Looks for the same failure with fewer preemptions by chance: at moments
    /// that can matter, with all others in any order. `go_on` ends it.
    pub fn sample_below(
        &mut self,
        best: &mut Failing,
        go_on: &dyn Fn() -> bool,
    ) -> Result<(), Failure> {
        let (mut first_seed, mut in_vain) = (BATCH, 0);
        let mut moments = self.moments(best)?;
        while !moments.is_empty() && in_vain < SAMPLES * best.cost.preemptive && go_on() {
            let mut found = None;
            // Fewer would be the better catch, but are less likely to show it.
            for preemptions in (0..best.cost.preemptive).rev().take(DEPTHS) {
                let seeds = first_seed..first_seed + BATCH;
                let run = self.sample(preemptions, &moments, seeds)?;
                found = found.or(run.filter(|run| run.cost < best.cost));
                in_vain += BATCH;
            }
            first_seed += BATCH;
            if let Some(run) = found {
                *best = run;
                dynamic::improve(best, self)?;
                moments = self.moments(best)?;
                in_vain = 0;
            }
        }
        Ok(())
    }

    /// Runs by chance with so many preemptions at some of the moments.
    fn sample(
        &mut self,
        preemptions: u64,
        moments: &Moments,
        seeds: Range<u64>,
    ) -> Result<Option<Failing>, Failure> {
        self.tick()?;
        let plan = Plan::new(Rule::Seldom {
            preemptions: preemptions as u32,
            moments: moments.clone(),
        });
        match self.shortly(|trials, _| trials.seek(&plan, seeds))? {
            Some(seed) => self.run_with(&plan, seed, None),
            None => Ok(None),
        }
    }

    /// Moments of the best run at which an interruption may change something;
    /// those at which it has one, and those around them, more than once. None if there
    /// is no time to look for them: long runs take long to compare.
    fn moments(&mut self, best: &Failing) -> Result<Moments, Failure> {
        if !self.has_time() {
            return Ok(Moments::default());
        }
        let begun = Instant::now();
        let plan = Plan::replay(best.schedule.clone());
        let Some(run) = self.trials.record(&plan, self.seed)? else {
            return Ok(Moments::default());
        };
        let end = Instant::now() + COMPARING * begun.elapsed();
        if self.deadline.is_some_and(|deadline| end > deadline) {
            return Ok(Moments::default());
        }
        let mut good = Vec::new();
        for rule in [Rule::Sequential, Rule::Backward] {
            let plan = Plan::new(rule);
            let observed = self.shortly(|trials, seed| trials.observe(&plan, seed))?;
            good.extend(observed.run);
        }
        Ok(moments(&run, &good))
    }

    /// Looks for the same failure among all schedules with fewer preemptions
    /// than the best has, and improves what it finds. Whether it has seen them
    /// all, so that the number of preemptions is the smallest possible.
    pub fn search_below(
        &mut self,
        best: &mut Failing,
        search: &mut DepthFirst,
        go_on: &dyn Fn() -> bool,
    ) -> Result<bool, Failure> {
        while let Some(plan) = search.next_plan() {
            let bound = u64::from(search.bound().unwrap_or(0));
            if bound >= best.cost.preemptive {
                return Ok(true);
            }
            if let Some(run) = self.run(&plan, Some(search))?
                && run.cost < best.cost
            {
                *best = run;
                dynamic::improve(best, self)?;
            }
            if !go_on() {
                return Ok(false);
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
            && self.reached.is_none()
            && self
                .deadline
                .is_none_or(|deadline| Instant::now() < deadline)
    }
}
