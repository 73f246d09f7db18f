//! The redundancy criterion (LEAN, Definition 2), asked about one candidate: is
//! what it leaves out redundant? Condition I: a run without it still fails the
//! same way. Condition II: when the threads that are left come one after the
//! other, they come by the place of the failure and do not fail.
//!
//! An answer depends on the question alone, never on a clock or on who gives it.

use super::criterion::{
    Criterion, Evaluation, Failed, Refusals, is_cut_off, predicate, visited, who_joins,
};
use crate::simplify::{loosely, moments};
use bohr_event::abi::STORE_GATE;
use bohr_event::control::{GateReference, Omissions, OmittedPasses, Passes, Recorded};
use bohr_event::{FailureKind, PlaceNumber, Schedule, Signature};
use bohr_explore::bug_file::Bug;
use bohr_explore::{ExploreError, Observed, Trials, is_written};
use bohr_reduce::reduction::{
    Block, Cut, Length, Turns, is_serial, joins, pinned, pinned_calls, project, stores,
    usual_length,
};
use bohr_reduce::{Execution, has_rivals};
use bohr_schedule::{Plan, Rule};
use std::cell::RefCell;
use std::collections::{BTreeSet, HashSet};

/// Replays that a result has to pass, every one of them.
pub const REPLAYS: u64 = 20;

/// Runs that cost as much as so many events are long: a replay of one is worth
/// many runs that are short.
pub const LONG: u64 = 20_000;

/// How many times as many events a run may have for a thread less. A thread that
/// is gone can put off the failure by the whole work of the others.
const GROWTH: u64 = 2;

/// The same for a run of which only the order of magnitude is known.
const ABOUT: u64 = 4;

/// Numbers of preemptions that are tried by chance.
const FEW: [u32; 3] = [1, 2, 3];

/// Events after which a run that is too long is ended.
const BEYOND: u64 = 1000;

/// What is asked about a candidate.
pub struct Question<'q> {
    pub cut: Cut,
    /// The best run so far.
    pub base: &'q Base,
    pub criterion: &'q Criterion,
    /// Other schedules to try where the best run's does not show the failure.
    pub chances: u64,
    /// How long an answer may be.
    pub length: Length,
    /// Whether it has to replay every time; otherwise somebody asks that later.
    pub surely: bool,
}

/// A failing run, event for event, and the blocks that its threads came by.
#[derive(Clone, Debug)]
pub struct Base {
    pub run: Recorded,
    /// What is left out of it.
    pub without: Omissions,
    /// Calls that can be left out are among them, and stores once some are.
    pub blocks: Vec<Block>,
    pub turns: Turns,
}

/// A program that stands ready for questions.
pub struct Examiner<'t> {
    pub trials: Trials<'t>,
    seed: u64,
    /// Whether the failure is that a run goes on for ever.
    endless: bool,
    /// Why candidates were refused.
    pub refusals: Refusals,
}

impl<'t> Examiner<'t> {
    pub fn new(trials: Trials<'t>, bug: &Bug) -> Examiner<'t> {
        Examiner {
            trials,
            seed: bug.seed,
            endless: bug.signature.kind == FailureKind::Livelock,
            refusals: Refusals::default(),
        }
    }

    /// The failing run without what is left out, if that is redundant.
    pub fn examine(&mut self, question: &Question<'_>) -> Result<Option<Base>, ExploreError> {
        self.leave_out(&question.cut.without);
        let Some(run) = self.still_fails(question)? else {
            self.refusals.lost += 1;
            return Ok(None);
        };
        if !self.is_about_interleaving(question)? {
            return Ok(None);
        }
        let steady = !question.surely || self.replays_always(&question.cut, &run.run.schedule)?;
        self.refusals.unsteady += u64::from(!steady);
        Ok(steady.then_some(run))
    }

    /// Condition I, by the schedule of the best run so far or by other ones.
    fn still_fails(&mut self, question: &Question<'_>) -> Result<Option<Base>, ExploreError> {
        if !matches!(question.length, Length::About(_)) {
            let Base {
                run,
                blocks,
                without,
                ..
            } = question.base;
            let Some(followed) = project(run, blocks, without, &question.cut) else {
                return Ok(None);
            };
            if let Some(run) = self.fails(&loosely(followed), self.seed, question)? {
                return Ok(Some(run));
            }
        }
        if number_of_chances(question) == 0 {
            return Ok(None);
        }
        self.end_after(most_events(question));
        let good = self.trials.observe(&Plan::new(Rule::Sequential), self.seed);
        self.trials.end_after(u64::MAX);
        let good = good?;
        if is_the_only_one(&good) {
            return Ok(None);
        }
        for (plan, seeds) in chances(question) {
            if let Some(run) = self.seek(&plan, seeds, question)? {
                return Ok(Some(run));
            }
        }
        self.seldom(question, &good)
    }

    /// The same by chance: a plan with so many seeds, in one go.
    fn seek(
        &mut self,
        plan: &Plan,
        seeds: u64,
        question: &Question<'_>,
    ) -> Result<Option<Base>, ExploreError> {
        let mut next = 0;
        loop {
            self.end_after(most_events(question));
            let found = self.trials.seek(plan, next..seeds);
            self.trials.end_after(u64::MAX);
            let Some(seed) = found? else {
                return Ok(None);
            };
            if let Some(run) = self.fails(plan, seed, question)? {
                return Ok(Some(run));
            }
            next = seed + 1;
        }
    }

    /// The same by chance, with hardly any preemption, at moments that can matter.
    /// Without what is left out threads come to a place after other events than
    /// before, which a run of threads one after the other tells.
    fn seldom(
        &mut self,
        question: &Question<'_>,
        good: &Observed,
    ) -> Result<Option<Base>, ExploreError> {
        let moments = match (question.length, &good.run) {
            // Of the best run's moments, hardly any would come.
            (Length::About(_), Some(good)) => moments(good, &[]),
            _ => moments(&question.base.run, good.run.as_slice()),
        };
        for preemptions in FEW {
            let moments = moments.clone();
            let plan = Plan::new(Rule::Seldom {
                preemptions,
                moments,
            });
            if let Some(run) = self.seek(&plan, question.chances, question)? {
                return Ok(Some(run));
            }
        }
        Ok(None)
    }

    /// Ends runs that are too long. They have lost the failure, and would go on for
    /// as long as the program does.
    fn end_after(&mut self, events: u64) {
        if !self.endless {
            self.trials.end_after(events.saturating_add(BEYOND));
        }
    }

    /// What is left out of the runs to come. Gates are counted in all of them,
    /// whether anybody looks at that or not: what a run does before it creates its
    /// first thread is done once for all that leave out the same and count the same.
    fn leave_out(&mut self, omissions: &Omissions) {
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
        let most = most_events(question);
        self.end_after(most);
        let base = match most <= LONG {
            true => self.observed(&question.cut, plan, seed),
            false => self.long(&question.cut, plan, seed, most),
        };
        self.trials.end_after(u64::MAX);
        Ok(base?.filter(|base| base.run.steps.len() as u64 <= most))
    }

    fn long(
        &mut self,
        cut: &Cut,
        plan: &Plan,
        seed: u64,
        most: u64,
    ) -> Result<Option<Base>, ExploreError> {
        let trial = self.trials.run(plan, seed)?;
        if !trial.same || trial.schedule.events() > most {
            return Ok(None);
        }
        self.observed(cut, &Plan::replay(trial.schedule), self.seed)
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
        let omissions = &cut.without;
        let observed = self.trials.observe(plan, seed)?;
        let is_it = observed.same && is_left_out(omissions, &observed);
        let is_it = |run: &Recorded| is_it && is_serial(run, cut);
        let Some(run) = observed.run.filter(is_it) else {
            return Ok(None);
        };
        let turns = Turns::of(&run);
        let mut blocks = blocks(&observed.passes, &run, &turns, omissions);
        if omissions.stores().next().is_some() {
            blocks.extend(self.stores(&run, &observed.passes, omissions));
        }
        let without = omissions.clone();
        Ok(Some(Base {
            run,
            without,
            blocks,
            turns,
        }))
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

    /// The run with the fewest events, then switches, that leaves out the same
    /// as the best so far, if one of a few is better.
    pub fn shorter(&mut self, question: &Question<'_>) -> Result<Option<Base>, ExploreError> {
        self.leave_out(&question.cut.without);
        let best = &question.base.run;
        let mut least = (best.steps.len() as u64, best.schedule.switches() as u64);
        let mut found = None;
        for (plan, seeds) in chances(question) {
            let sizes = self.trials.sizes(&plan, 0..seeds)?;
            if let Some((size, seed)) = sizes.into_iter().min().filter(|(size, _)| *size < least) {
                least = size;
                found = Some((plan, seed));
            }
        }
        let Some((plan, seed)) = found else {
            return Ok(None);
        };
        let Some(base) = self.fails(&plan, seed, question)? else {
            return Ok(None);
        };
        let always = !question.surely || self.replays_always(&question.cut, &base.run.schedule)?;
        Ok(always.then_some(base))
    }

    /// Condition II. The run may fail in another way, where what is left out is
    /// missed: only what failed before has to be evaluated and good.
    fn is_about_interleaving(&mut self, question: &Question<'_>) -> Result<bool, ExploreError> {
        let criterion = question.criterion;
        if criterion.sequential {
            return Ok(true);
        }
        for rule in [Rule::Sequential, Rule::Backward] {
            let observed = self.trials.observe(&Plan::new(rule), self.seed)?;
            if !criterion.is_joined(&observed, &question.cut.without) {
                self.refusals.unjoined += 1;
                return Ok(false);
            }
            let good = match criterion.judge(&observed) {
                Evaluation::Good => self.is_good_around(&question.cut, &observed)?,
                Evaluation::Bad => false,
                Evaluation::None => continue,
            };
            self.refusals.sequential += u64::from(!good);
            return Ok(good);
        }
        self.refusals.unevaluated += 1;
        Ok(false)
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
        self.trials.repeat(&plan, self.seed, replays)
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

/// Whether a run that went well is all that its threads can do: nothing in it could
/// come in another order.
fn is_the_only_one(good: &Observed) -> bool {
    let run = good.run.as_ref().filter(|_| !good.failed);
    run.is_some_and(|run| !has_rivals(Execution::recorded(run)))
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

/// Events that an answer may have.
fn most_events(question: &Question<'_>) -> u64 {
    let events = question.base.run.steps.len() as u64;
    match question.length {
        Length::Shorter => events,
        Length::Longer => GROWTH * events,
        Length::About(left) => ABOUT * left + BEYOND,
    }
}

/// Chance does not keep threads in one piece.
fn number_of_chances(question: &Question<'_>) -> u64 {
    match question.cut.serial.is_empty() {
        true => question.chances,
        false => 0,
    }
}

/// Plans that might show the failure, by few switches or by many, and how many seeds
/// of each to try.
fn chances(question: &Question<'_>) -> [(Plan, u64); 2] {
    let length = match question.length {
        Length::About(left) => left,
        _ => question.base.run.steps.len() as u64,
    };
    let seeds = number_of_chances(question).div_ceil(2);
    [Rule::Pct { depth: 3, length }, Rule::Random].map(|rule| (Plan::new(rule), seeds))
}

fn blocks(passes: &[Passes], run: &Recorded, turns: &Turns, omissions: &Omissions) -> Vec<Block> {
    let block = |passes: &Passes| {
        let is_call = passes.gate.is_call();
        let mut block = Block {
            gate: passes.gate,
            thread: run.threads.get(passes.thread.position())?.clone(),
            passes: passes.count,
            first_child: passes.first_child,
            // Whom a thread creates between two calls, no call creates.
            children: if is_call { 0 } else { passes.children },
            length: usual_length(run, turns, &passes.starts, passes.thread),
            starts: passes.starts.clone(),
            pinned: Vec::new(),
            joins: false,
        };
        block.pinned = match is_call {
            true => pinned_calls(run, turns, &block),
            false => pinned(run, turns, &block, omissions),
        };
        block.joins = !is_call && joins(run, turns, &block);
        Some(block)
    };
    let passes = passes.iter().filter(|passes| !passes.gate.is_store());
    passes.filter_map(block).collect()
}

/// Whether all that was to be left out was: not every body has a gate, and a store to
/// its thread's own stack stays.
fn is_left_out(omissions: &Omissions, observed: &Observed) -> bool {
    let threads = observed.run.as_ref().map_or(&[][..], |run| &run.threads);
    let wanted = omissions.threads.iter();
    let is_store_left_out = |passes: &Passes| {
        let thread = threads.get(passes.thread.position());
        let mut omitted = omissions.stores();
        let omitted = omitted.find(|one| one.gate == passes.gate && Some(&one.thread) == thread);
        let wanted = |one: &OmittedPasses| (0..passes.count).filter(|pass| one.has(*pass)).count();
        omitted.map_or(0, wanted) as u64 == passes.left_out
    };
    let mut stores = { observed.passes.iter() }.filter(|passes| passes.gate.is_store());
    { wanted }.all(|path| observed.left_out.contains(path) || !threads.contains(path))
        && stores.all(is_store_left_out)
}
