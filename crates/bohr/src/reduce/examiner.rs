//! The redundancy criterion (LEAN, Definition 2), asked about one candidate: is
//! what it leaves out redundant? Condition I: a run without it still fails the
//! same way. Condition II: when the threads that are left come one after the
//! other, they come by the place of the failure and do not fail.
//!
//! An answer depends on the question alone, never on a clock or on who gives it.

mod other_schedules;

use super::criterion::{
    Criterion, Evaluation, Failed, Refusals, is_cut_off, predicate, visited, who_joins,
};
use super::ledger::{Ledger, Purpose};
use super::observation::{blocks, is_left_out};
use super::question::{BEYOND, Base, Question};
use crate::simplify::{exactly_at_first, loosely};
use bohr_event::abi::STORE_GATE;
use bohr_event::control::{GateReference, Omissions, OmittedPasses, Passes, Recorded};
use bohr_event::{PlaceNumber, Schedule, Signature};
use bohr_explore::bug_file::Bug;
use bohr_explore::{ExploreError, Observed, Trials, is_written};
use bohr_reduce::reduction::{Block, Cut, Length, Spent, Turns, is_serial, project, stores};
use bohr_reduce::{Execution, past};
use bohr_schedule::{Plan, Rule};
use std::cell::RefCell;
use std::collections::{BTreeSet, HashSet};
use std::time::Instant;

/// Replays that a result has to pass, every one of them.
pub const REPLAYS: u64 = 20;

/// Runs that cost as much as so many events are long: a replay of one is worth
/// many runs that are short.
pub const LONG: u64 = 20_000;

/// What following the best run's schedule has come to.
enum Followed {
    Run(Box<Base>),
    /// Of a long run.
    Schedule(Schedule<PlaceNumber>),
}

/// What condition II has seen.
struct GoodRun {
    /// Events of the longest run.
    events: u64,
    /// The first, whether it failed somewhere or not.
    first: Observed,
}

/// A program that stands ready for questions.
pub struct Examiner<'t> {
    pub trials: Trials<'t>,
    seed: u64,
    /// Whether the failure is that a run goes on for ever.
    endless: bool,
    /// Why candidates were refused.
    pub refusals: Refusals,
    /// What runs were made for.
    pub ledger: Ledger,
}

impl<'t> Examiner<'t> {
    pub fn new(trials: Trials<'t>, bug: &Bug) -> Examiner<'t> {
        Examiner {
            trials,
            seed: bug.seed,
            endless: bug.signature.kind.is_endless(),
            refusals: Refusals::default(),
            ledger: Ledger::default(),
        }
    }

    /// Does something and enters its runs.
    pub fn spend<T>(&mut self, purpose: Purpose, work: impl FnOnce(&mut Self) -> T) -> T {
        let (before, since) = (self.spent(), Instant::now());
        let came = work(self);
        let spent = self.spent() - before;
        self.ledger.enter(purpose, spent, since);
        came
    }

    /// What all runs have taken so far.
    pub fn spent(&self) -> Spent {
        Spent {
            runs: self.trials.runs(),
            events: self.trials.events(),
        }
    }

    /// The failing run without what is left out, if that is redundant.
    pub fn examine(&mut self, question: &Question<'_>) -> Result<Option<Base>, ExploreError> {
        self.leave_out(&question.cut.without);
        let followed = self.spend(Purpose::Following, |it| it.followed(question))?;
        if followed.is_none() && question.number_of_chances() == 0 {
            self.refusals.lost += 1;
            return Ok(None);
        }
        // One run tells that hundreds need not be made.
        let good = self.spend(Purpose::InTurn, |it| it.is_about_interleaving(question))?;
        let Some(good) = good else {
            return Ok(None);
        };
        let found = match followed {
            Some(Followed::Run(run)) => Some(*run),
            Some(Followed::Schedule(schedule)) => self.spend(Purpose::Following, |it| {
                it.observed(&question.cut, &Plan::replay(schedule), it.seed)
            })?,
            None => self.spend(Purpose::Searching, |it| {
                it.fails_by_chance(question, &good.first)
            })?,
        };
        let Some(run) = found else {
            self.refusals.lost += 1;
            return Ok(None);
        };
        let steady = !question.surely || self.replays_always(&question.cut, &run.run.schedule)?;
        self.refusals.unsteady += u64::from(!steady);
        let longest = good.events;
        Ok(steady.then_some(Base { longest, ..run }))
    }

    /// Condition I, by the schedule of the best run so far. Of long runs whether it
    /// holds is all that is asked yet: to write them down takes far longer.
    fn followed(&mut self, question: &Question<'_>) -> Result<Option<Followed>, ExploreError> {
        if question.is_off_the_way || matches!(question.length, Length::About(_)) {
            return Ok(None);
        }
        let Base {
            run,
            blocks,
            without,
            ..
        } = question.base;
        let Some(followed) = project(run, blocks, without, &question.cut) else {
            return Ok(None);
        };
        let plan = loosely(followed);
        if question.most_events() <= LONG {
            let run = self.fails(&plan, self.seed, question)?;
            return Ok(run.map(|run| Followed::Run(Box::new(run))));
        }
        let schedule = self.verdict(&plan, self.seed, question)?;
        Ok(schedule.map(Followed::Schedule))
    }

    /// Ends runs that are too long. They have lost the failure, and would go on for
    /// as long as the program does.
    fn end_after(&mut self, events: u64) {
        if !self.endless {
            self.trials.end_after(events.saturating_add(BEYOND));
        }
    }

    /// Ends runs that have not failed after so many events: nobody wants to know what
    /// becomes of them. Who waits for ever has to come to where it waits.
    fn end_unless_failed_by(&mut self, events: u64) {
        if !self.endless {
            self.trials.end_after(events.saturating_add(1));
        }
    }

    /// What is left out of the runs to come. Gates are counted in all of them,
    /// whether anybody looks at that or not: what a run does before it creates its
    /// first thread is done once for all that leave out the same and count the same.
    pub fn leave_out(&mut self, omissions: &Omissions) {
        self.trials.leave_out(Omissions {
            count: true,
            ..omissions.clone()
        });
    }

    /// What a plan's run did, event for event, if it shows the failure and leaves
    /// out what it should. Most long ones do not, which is cheaper to see without a
    /// trace.
    fn fails(
        &mut self,
        plan: &Plan,
        seed: u64,
        question: &Question<'_>,
    ) -> Result<Option<Base>, ExploreError> {
        let most = question.most_events();
        if most > LONG {
            return match self.verdict(plan, seed, question)? {
                Some(schedule) => self.observed(&question.cut, &Plan::replay(schedule), self.seed),
                None => Ok(None),
            };
        }
        self.end_unless_failed_by(most);
        let base = self.observed(&question.cut, plan, seed);
        self.trials.end_after(u64::MAX);
        Ok(base?.filter(|base| base.run.steps.len() as u64 <= most))
    }

    /// The schedule of a plan's run, if it shows the failure and is not too long.
    fn verdict(
        &mut self,
        plan: &Plan,
        seed: u64,
        question: &Question<'_>,
    ) -> Result<Option<Schedule<PlaceNumber>>, ExploreError> {
        let most = question.most_events();
        self.end_unless_failed_by(most);
        let trial = self.trials.run(plan, seed);
        self.trials.end_after(u64::MAX);
        let trial = trial?;
        let is_it = trial.same && trial.schedule.events() <= most;
        Ok(is_it.then_some(trial.schedule))
    }

    /// The run of a schedule, if it shows the failure and leaves out what it should.
    pub fn base(
        &mut self,
        cut: &Cut,
        schedule: Schedule<PlaceNumber>,
    ) -> Result<Option<Base>, ExploreError> {
        self.leave_out(&cut.without);
        self.observed(cut, &Plan::replay(schedule), self.seed)
    }

    /// The same of a plan, with what is left out already.
    fn observed(
        &mut self,
        cut: &Cut,
        plan: &Plan,
        seed: u64,
    ) -> Result<Option<Base>, ExploreError> {
        let observed = self.trials.observe(plan, seed)?;
        Ok(self.base_of(cut, observed))
    }

    /// A run that was looked at, if it shows the failure and leaves out what it should.
    fn base_of(&self, cut: &Cut, observed: Observed) -> Option<Base> {
        let omissions = &cut.without;
        let is_it = observed.same && is_left_out(omissions, &observed);
        let is_it = |run: &Recorded| is_it && is_serial(run, cut);
        let run = observed.run.filter(is_it)?;
        let turns = Turns::of(&run);
        let mut blocks = blocks(&observed.passes, &run, &turns, omissions);
        if omissions.stores().next().is_some() {
            blocks.extend(self.stores(&run, &observed.passes, omissions));
        }
        let without = omissions.clone();
        Some(Base {
            run,
            without,
            blocks,
            turns,
            longest: 0,
        })
    }

    /// What threads do that come one after the other, if that was not too long to keep.
    pub fn in_turn(&mut self, omissions: &Omissions) -> Result<Option<Recorded>, ExploreError> {
        self.leave_out(omissions);
        let plan = Plan::new(Rule::Sequential);
        Ok(self.trials.observe(&plan, self.seed)?.run)
    }

    /// The stores of a run, given what was told of those that are left out.
    pub fn stores(&self, run: &Recorded, told: &[Passes], omissions: &Omissions) -> Vec<Block> {
        let atlas = self.trials.atlas();
        let gate = |place| {
            let (program, site) = atlas.site(place)?;
            Some(GateReference {
                program: program.identity,
                number: STORE_GATE | site.as_u32(),
            })
        };
        stores(run, told, omissions, &gate)
    }

    /// Events of a run without what is left out whose threads come one after the
    /// other, if they are not more than `most`.
    pub fn length(
        &mut self,
        omissions: &Omissions,
        most: u64,
    ) -> Result<Option<u64>, ExploreError> {
        self.leave_out(omissions);
        self.trials.end_after(most.saturating_add(BEYOND));
        let run = self.trials.run(&Plan::new(Rule::Sequential), self.seed);
        self.trials.end_after(u64::MAX);
        let events = run?.schedule.events();
        Ok((events <= most).then_some(events))
    }

    /// A run with fewer events, or as many and fewer switches, that leaves out the same as
    /// the best so far: what had to come before the failure alone, or one of a few others.
    pub fn shorter(&mut self, question: &Question<'_>) -> Result<Option<Base>, ExploreError> {
        self.leave_out(&question.cut.without);
        let best = &question.base.run;
        let mut least = (best.steps.len() as u64, best.schedule.switches() as u64);
        let mut found = None;
        if best.steps.len() as u64 <= LONG
            && let Some(past) = past(Execution::recorded(best))
            && let Some(base) = self.fails(&exactly_at_first(past), self.seed, question)?
        {
            let size = (
                base.run.steps.len() as u64,
                base.run.schedule.switches() as u64,
            );
            found = (size < least).then_some(base);
            least = least.min(size);
        }
        if let Some((plan, seed)) = self.shorter_by_chance(question, least)? {
            let base = self.fails(&plan, seed, question)?;
            found = base.or(found);
        }
        let Some(base) = found else {
            return Ok(None);
        };
        let always = !question.surely || self.replays_always(&question.cut, &base.run.schedule)?;
        Ok(always.then_some(base))
    }

    /// Condition II. The run may fail in another way, where what is left out is
    /// missed: only what failed before has to be evaluated and good.
    fn is_about_interleaving(
        &mut self,
        question: &Question<'_>,
    ) -> Result<Option<GoodRun>, ExploreError> {
        let criterion = question.criterion;
        let before = question.base.longest;
        if criterion.sequential {
            let first = match question.number_of_chances() {
                0 => Observed::default(),
                _ => self.within(&Plan::new(Rule::Sequential), question.most_events())?,
            };
            let events = before;
            return Ok(Some(GoodRun { events, first }));
        }
        let most = question.most_events_of_good_runs();
        let mut first = None;
        let mut events = 0;
        for rule in [Rule::Sequential, Rule::Backward] {
            let plan = Plan::new(rule);
            if before > LONG && self.shows_it(&plan, most)? {
                self.refusals.sequential += 1;
                return Ok(None);
            }
            let observed = self.within(&plan, most)?;
            if !criterion.is_joined(&observed, &question.cut.without) {
                self.refusals.unjoined += 1;
                return Ok(None);
            }
            let made = observed.run.as_ref().map(|run| run.steps.len() as u64);
            events = events.max(made.unwrap_or(before));
            let good = match criterion.judge(&observed) {
                Evaluation::Good => self.is_good_around(&question.cut, &observed)?,
                Evaluation::Bad => false,
                Evaluation::None => {
                    first = first.or(Some(observed));
                    continue;
                }
            };
            self.refusals.sequential += u64::from(!good);
            let first = first.unwrap_or(observed);
            return Ok(good.then_some(GoodRun { events, first }));
        }
        self.refusals.unevaluated += 1;
        Ok(None)
    }

    /// Whether a plan's run shows the failure: of a long one that is told far sooner
    /// than what happens in it.
    fn shows_it(&mut self, plan: &Plan, most: u64) -> Result<bool, ExploreError> {
        self.end_after(most);
        let trial = self.trials.run(plan, self.seed);
        self.trials.end_after(u64::MAX);
        Ok(trial?.same)
    }

    /// What a plan's run does, unless it has more events than so many.
    fn within(&mut self, plan: &Plan, most: u64) -> Result<Observed, ExploreError> {
        self.end_after(most);
        let observed = self.trials.observe(plan, self.seed);
        self.trials.end_after(u64::MAX);
        observed
    }

    /// Whether a good run of threads one after the other stays good with the
    /// serial ones at their moments.
    fn is_good_around(&mut self, cut: &Cut, good: &Observed) -> Result<bool, ExploreError> {
        let Some(run) = good.run.as_ref().filter(|_| !cut.serial.is_empty()) else {
            return Ok(true);
        };
        let Some(plan) = project(run, &[], &cut.without, cut).map(loosely) else {
            return Ok(true);
        };
        Ok(!self.trials.run(&plan, self.seed)?.same)
    }

    fn replays_always(
        &mut self,
        cut: &Cut,
        schedule: &Schedule<PlaceNumber>,
    ) -> Result<bool, ExploreError> {
        Ok(self.shown(&cut.without, schedule.clone(), REPLAYS)? == REPLAYS)
    }

    /// How many of so many replays show the failure.
    pub fn shown(
        &mut self,
        omissions: &Omissions,
        schedule: Schedule<PlaceNumber>,
        replays: u64,
    ) -> Result<u64, ExploreError> {
        self.leave_out(omissions);
        let plan = Plan::replay(schedule);
        self.spend(Purpose::Replaying, |it| {
            it.trials.repeat(&plan, it.seed, replays)
        })
    }

    /// What condition II has to ask for, given the failing run in which nothing
    /// is left out that can be. Good runs of a program may be far longer than the
    /// failing one: the first that is looked at makes no more passes than that.
    pub fn criterion(
        &mut self,
        failing: &Base,
        signature: &Signature,
    ) -> Result<Criterion, ExploreError> {
        let mut evaluated = Vec::new();
        let mut joined = BTreeSet::new();
        let mut longest = failing.run.steps.len() as u64;
        for (rule, without) in [
            (Rule::Sequential, no_further(failing)),
            (Rule::Sequential, Omissions::default()),
            (Rule::Backward, Omissions::default()),
        ] {
            let shortened = without != Omissions::default();
            self.leave_out(&without);
            let observed = self.trials.observe(&Plan::new(rule), self.seed)?;
            if is_cut_off(&observed) || shortened && observed.failed {
                continue;
            }
            if observed.failed {
                return Ok(Criterion {
                    sequential: true,
                    ..Criterion::default()
                });
            }
            joined.extend(observed.run.iter().flat_map(who_joins));
            let events = observed.run.as_ref().map(|run| run.steps.len() as u64);
            longest = longest.max(events.unwrap_or(u64::MAX));
            // A good run may be too long to be kept; its end is all that it tells.
            let visited = observed.run.as_ref().map(visited).unwrap_or_default();
            evaluated = self.predicate(failing, signature, &visited);
            if !evaluated.is_empty() {
                break;
            }
        }
        Ok(Criterion {
            sequential: false,
            ends_well: evaluated.is_empty(),
            evaluated,
            joins: joined,
            longest,
        })
    }

    /// Where good runs have to come by, of those places that one has come by.
    fn predicate(
        &mut self,
        failing: &Base,
        signature: &Signature,
        good: &HashSet<PlaceNumber>,
    ) -> Vec<PlaceNumber> {
        let atlas = RefCell::new(self.trials.atlas_mut());
        let failed = Failed {
            run: &failing.run,
            kind: &signature.kind,
            is_in_cycle: &|place| {
                let place = atlas.borrow_mut().lasting_place(place);
                signature.cycle.contains(&place)
            },
            is_written: &|place| is_written(*atlas.borrow_mut(), place),
        };
        predicate(&failed, good)
    }
}

/// All passes that a long failing run has not made; nothing for a short one.
fn no_further(failing: &Base) -> Omissions {
    if failing.run.steps.len() as u64 <= LONG {
        return Omissions::default();
    }
    let goes_on = |block: &&Block| !block.joins && block.gate.is_block();
    let blocks = failing.blocks.iter().filter(goes_on);
    let passes = blocks.map(|block| OmittedPasses {
        gate: block.gate,
        thread: block.thread.clone(),
        numbers: Vec::new(),
        beyond: Some(block.passes),
        children: block.children,
    });
    Omissions {
        iterations: passes.collect(),
        ..Omissions::default()
    }
}
