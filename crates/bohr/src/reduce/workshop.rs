//! Where parts are left out of a failing run: the reducer's hands, and its
//! memory of what was tried.

use super::budget::{chances, cost};
use super::calls::{Calls, is_about_threads};
use super::crew::Crew;
use super::criterion::{Criterion, Refusals};
use super::error::ReduceError;
use super::examiner::{Base, LONG, Question, REPLAYS};
use super::lines::Lines;
use super::size::Size;
use crate::control::relevant;
use crate::outcome::Failure;
use crate::simplify::Bench;
use bohr_event::control::{GateReference, Omissions, OmittedPasses, Recorded};
use bohr_event::{FailureKind, PlaceNumber, Schedule, ThreadPath};
use bohr_explore::bug_file::{self, Bug, Reduced};
use bohr_explore::{ExploreError, write_whole};
use bohr_reduce::reduction::{
    Block, Candidates, Cut, Effort, Length, Reducer, Stage, irrelevant_passes, left, pinned,
    suspects,
};
use bohr_reduce::{Execution, Failing, dynamic};
use bohr_schedule::Plan;
use bohr_slice::Relevant;
use indicatif::ProgressBar;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Replays that cost as much as so many events or fewer are made at once.
const CHEAP: u64 = 1_000_000;

/// Events of a run that is sliced to find passes without effect.
const MOST_SLICED: usize = 300_000;

/// Single passes are tried by themselves, at last, if they cost so many events.
const THOROUGH: u64 = 20_000_000;

/// Threads that are so many that runs without them are cheaper by far.
const CROWD: usize = 64;

/// See the module.
pub struct Workshop<'w> {
    bug: &'w Bug,
    crew: Crew<'w>,
    path: &'w Path,
    go_on: &'w (dyn Fn() -> bool + Sync),
    bar: &'w ProgressBar,
    /// The run as it was found.
    original: Recorded,
    before: Size,
    /// How often threads came by gates in it.
    passes: HashMap<(GateReference, ThreadPath), u64>,
    /// The smallest failing run so far, and what was done to it.
    best: Base,
    cut: Cut,
    /// The smallest that replays every time, if that is another one.
    confirmed: Option<(Base, Cut)>,
    /// Whether one did not, so that everything is replayed at once.
    suspicious: bool,
    criterion: Criterion,
    /// What was answered by no, as hashes of all that an answer depends on.
    refused: Mutex<HashSet<u64>>,
    /// Cuts for which other schedules were searched in vain. These hardly depend on
    /// the run that a cut is made of.
    searched: HashSet<u64>,
    rounds: u64,
    /// Gates that go together, by what the user has named.
    groups: Vec<Vec<GateReference>>,
    /// The run whose slice was last asked for.
    sliced: Option<u64>,
    /// Whether the result is on disk.
    is_written: bool,
    /// Threads of the largest run that the crew has made.
    crowd: usize,
}

impl<'w> Workshop<'w> {
    pub fn new(
        bug: &'w Bug,
        mut crew: Crew<'w>,
        path: &'w Path,
        go_on: &'w (dyn Fn() -> bool + Sync),
        bar: &'w ProgressBar,
    ) -> Result<Workshop<'w>, Failure> {
        let found = counted(&mut crew, &bug.schedule, &Cut::default())?;
        let before = Size::of(&found, &Cut::default());
        let original = found.run.clone();
        let passes = { found.blocks.iter() }
            .map(|block| ((block.gate, block.thread.clone()), block.passes))
            .collect();
        let criterion = { crew.first_examiner() }.criterion(&found, &bug.signature.kind)?;
        let cut = bug.reduced.as_ref().map(cut).unwrap_or_default();
        let best = match &bug.reduced {
            None => found,
            Some(_) => counted(&mut crew, bug.best_schedule(), &cut)?,
        };
        let mut workshop = Workshop {
            bug,
            crew,
            path,
            go_on,
            bar,
            original,
            before,
            passes,
            best,
            cut,
            confirmed: None,
            suspicious: false,
            criterion,
            refused: Mutex::new(HashSet::new()),
            searched: HashSet::new(),
            rounds: 0,
            groups: Vec::new(),
            sliced: None,
            is_written: false,
            crowd: 0,
        };
        workshop.crowd = workshop.original.threads.len();
        workshop.before.replay_seconds = workshop.time(&bug.schedule, Omissions::default())?;
        workshop.go_on_with(bug.provisional.as_ref())?;
        Ok(workshop)
    }

    /// Has what is in the same lines go together.
    pub fn group(&mut self, blocks: &[Lines]) -> Result<(), Failure> {
        let models = self.crew.first_examiner().trials.atlas().models().to_vec();
        for lines in blocks {
            let gates = models.iter().flat_map(|model| lines.gates(model));
            let gates: Vec<GateReference> = gates.collect();
            if gates.is_empty() {
                let lines = lines.clone();
                return Err(ReduceError::NothingThere { lines }.into());
            }
            self.groups.push(gates);
        }
        Ok(())
    }

    /// Takes over what an earlier reduction had not confirmed, if it can be.
    fn go_on_with(&mut self, provisional: Option<&Reduced>) -> Result<(), Failure> {
        let Some(reduced) = provisional else {
            return Ok(());
        };
        let examiner = self.crew.first_examiner();
        let schedule = examiner.trials.atlas().inward(&reduced.schedule);
        if let Some(base) = examiner.base(&cut(reduced), schedule)? {
            self.take(base, cut(reduced), false)?;
            self.confirm(true)?;
        }
        Ok(())
    }

    /// What has been done to the best run so far.
    pub fn cut(&self) -> &Cut {
        &self.cut
    }

    pub fn is_sequential(&self) -> bool {
        self.criterion.sequential
    }

    /// Whether good runs come by the place of the failure at all.
    pub fn is_evaluated(&self) -> bool {
        let kind = &self.bug.signature.kind;
        let always = matches!(kind, FailureKind::Exit { .. } | FailureKind::Output);
        always || self.criterion.sequential || !self.criterion.evaluated.is_empty()
    }

    /// Where a run of threads one after the other has to come by, as lines of the
    /// source where those are known.
    pub fn evaluated_places(&mut self) -> Vec<String> {
        let places = self.criterion.evaluated.clone();
        let atlas = self.crew.first_examiner().trials.atlas_mut();
        { places.into_iter() }
            .map(|place| atlas.spot(place).to_string())
            .collect()
    }

    pub fn refusals(&self) -> Refusals {
        self.crew.refusals()
    }

    pub fn runs(&self) -> u64 {
        self.crew.runs()
    }

    /// The size of the run as it was found.
    pub fn before(&self) -> Size {
        self.before
    }

    /// The run as it was found.
    pub fn execution(&self) -> Execution<'_> {
        Execution::recorded(&self.original)
    }

    /// The size of the best run so far.
    pub fn after(&mut self) -> Result<Size, Failure> {
        let size = Size::of(&self.best, &self.cut);
        let atlas = self.crew.first_examiner().trials.atlas();
        let schedule = atlas.outward(&self.best.run.schedule);
        Ok(Size {
            replay_seconds: self.time(&schedule, self.cut.without.clone())?,
            ..size
        })
    }

    /// Blocks of the program of which some pass is left out.
    pub fn redundant_blocks(&self) -> u64 {
        let goes = |one: &&OmittedPasses| {
            let found = self.passes.get(&(one.gate, one.thread.clone()));
            let found = found.copied().unwrap_or(0);
            !one.numbers.is_empty() || one.beyond.is_some_and(|first| first < found)
        };
        let passes = self.cut.without.iterations.iter();
        let gates = passes.filter(goes).map(|one| one.gate);
        let gates = gates.filter(|gate| !gate.is_call());
        gates.collect::<HashSet<_>>().len() as u64
    }

    /// Seconds that a replay takes from the program's beginning, which a program
    /// that has been replayed before has behind it.
    fn time(&self, schedule: &Schedule, without: Omissions) -> Result<f64, Failure> {
        let mut examiner = self.crew.another()?;
        let plan = Plan::replay(examiner.trials.atlas().inward(schedule));
        examiner.trials.leave_out(without);
        let started = Instant::now();
        examiner.trials.repeat(&plan, self.bug.seed, 1)?;
        Ok(started.elapsed().as_secs_f64())
    }

    /// The events of the best run that matter for the failure.
    pub fn relevant(&mut self) -> Option<Relevant> {
        let atlas = self.crew.first_examiner().trials.atlas();
        relevant(&self.best.run, atlas, &self.bug.signature)
    }

    /// How many of so many replays of the result show the failure.
    pub fn replays(&mut self, times: u64) -> Result<u64, Failure> {
        let Workshop {
            crew, best, cut, ..
        } = self;
        Ok(crew.shown(&cut.without, &best.run.schedule, times)?)
    }

    /// Looks for the same failure with fewer switches, where runs are short: those
    /// that were found by chance have many. What that did, as a stage.
    pub fn calm(&mut self) -> Result<Stage, Failure> {
        let mut stage = Stage {
            name: "switches",
            ..Stage::default()
        };
        if cost(&self.best.run) > LONG || !(self.go_on)() {
            return Ok(stage);
        }
        let mut failing = Failing {
            schedule: self.best.run.schedule.clone(),
            cost: bohr_reduce::cost(Execution::recorded(&self.best.run))?,
        };
        let examiner = self.crew.first_examiner();
        examiner.trials.leave_out(self.cut.without.clone());
        let go_on = self.go_on;
        let go_on = || go_on();
        let mut bench = Bench::new(&mut examiner.trials, self.bug.seed, &go_on, self.bar, None);
        stage.rounds = dynamic::improve(&mut failing, &mut bench)?;
        let Some(base) = examiner.base(&self.cut, failing.schedule)? else {
            return Ok(stage);
        };
        let size = |base: &Base| (base.run.schedule.switches(), base.run.steps.len());
        let (before, after) = (size(&self.best), size(&base));
        let is_better = after.0 < before.0 && after.1 <= before.1;
        let without = self.cut.without.clone();
        if is_better && { &mut self.crew }.shown(&without, &base.run.schedule, REPLAYS)? == REPLAYS
        {
            stage.progress = true;
            stage.events_removed = (before.1 - after.1) as i64;
            self.take(base, self.cut.clone(), true)?;
        }
        Ok(stage)
    }

    /// Whether the best run is so short that replays of it hardly count.
    fn is_cheap(&self) -> bool {
        REPLAYS * cost(&self.best.run) <= CHEAP
    }

    /// Takes over a run that was seen to replay every time, or not yet.
    fn take(&mut self, run: Base, cut: Cut, surely: bool) -> Result<(), Failure> {
        let last = std::mem::replace(&mut self.best, run);
        let last = (last, std::mem::replace(&mut self.cut, cut));
        if surely {
            self.confirmed = None;
        } else if self.confirmed.is_none() {
            self.confirmed = Some(last);
        }
        self.save()
    }

    fn save(&mut self) -> Result<(), Failure> {
        let atlas = self.crew.first_examiner().trials.atlas();
        let reduced = |run: &Base, cut: &Cut| Reduced {
            schedule: atlas.outward(&run.run.schedule),
            without: cut.without.clone(),
            serial: cut.serial.clone(),
        };
        let best = Some(reduced(&self.best, &self.cut));
        let confirmed = self.confirmed.as_ref();
        let bug = Bug {
            reduced: match confirmed {
                None => best.clone(),
                Some((_, cut)) if *cut == Cut::default() => None,
                Some((run, cut)) => Some(reduced(run, cut)),
            },
            provisional: best.filter(|_| confirmed.is_some()),
            simplified: None,
            ..self.bug.clone()
        };
        self.write(&bug)
    }

    /// Writes the bug as it is, if nothing could go.
    pub fn keep(&mut self) -> Result<(), Failure> {
        match self.is_written {
            true => Ok(()),
            false => self.write(self.bug),
        }
    }

    fn write(&mut self, bug: &Bug) -> Result<(), Failure> {
        write_whole(self.path, &bug_file::write(bug)).map_err(|source| ExploreError::File {
            path: self.path.to_path_buf(),
            source,
        })?;
        self.is_written = true;
        Ok(())
    }

    fn show(&self) {
        self.bar.set_message(format!(
            "round {}: {} threads, {} events",
            self.rounds,
            Size::threads(&self.best.run, &self.cut),
            self.best.run.steps.len()
        ));
    }
}

fn cut(reduced: &Reduced) -> Cut {
    Cut {
        without: reduced.without.clone(),
        serial: reduced.serial.clone(),
    }
}

/// A failing run with all that happened in it.
fn counted(crew: &mut Crew<'_>, schedule: &Schedule, cut: &Cut) -> Result<Base, Failure> {
    let examiner = crew.first_examiner();
    let schedule = examiner.trials.atlas().inward(schedule);
    if let Some(base) = examiner.base(cut, schedule.clone())? {
        return Ok(base);
    }
    Err(match crew.shown(&cut.without, &schedule, REPLAYS)? {
        0 => ExploreError::NotReproduced.into(),
        shown => ReduceError::Flaky { shown, of: REPLAYS }.into(),
    })
}

/// All that an answer depends on.
fn content(question: &Question<'_>, base: u64) -> u64 {
    let mut hasher = DefaultHasher::new();
    (
        &question.cut,
        base,
        question.chances,
        question.length,
        question.surely,
    )
        .hash(&mut hasher);
    hasher.finish()
}

fn hash_of(cut: &Cut) -> u64 {
    let mut hasher = DefaultHasher::new();
    cut.hash(&mut hasher);
    hasher.finish()
}

fn hash(schedule: &Schedule<PlaceNumber>) -> u64 {
    let mut hasher = DefaultHasher::new();
    for segment in schedule.segments() {
        (&segment.thread, segment.events).hash(&mut hasher);
    }
    hasher.finish()
}

impl Reducer for Workshop<'_> {
    type Error = Failure;

    fn first(
        &mut self,
        candidates: &Candidates<'_>,
        effort: Effort,
    ) -> Result<Option<usize>, Failure> {
        self.show();
        let base = hash(&self.best.run.schedule);
        let chances = match effort {
            Effort::Following => 0,
            Effort::Searching => chances(&self.best.run, candidates),
        };
        let surely = self.suspicious;
        let (refused, best, criterion) = (&self.refused, &self.best, &self.criterion);
        let searched = &self.searched;
        let refused = || refused.lock().unwrap_or_else(PoisonError::into_inner);
        let question = |number: usize| {
            let cut = (candidates.cut)(number);
            let chances = if searched.contains(&hash_of(&cut)) {
                0
            } else {
                chances
            };
            let question = Question {
                cut,
                base: best,
                criterion,
                chances,
                length: candidates.length,
                surely,
            };
            let known = refused().contains(&content(&question, base));
            (!known).then_some(question)
        };
        let note = |question: &Question<'_>| {
            refused().insert(content(question, base));
        };
        let found = { &mut self.crew }.first(candidates.count, &question, &note, self.go_on)?;
        let in_vain = found.as_ref().map_or(candidates.count, |found| found.0);
        self.rounds += in_vain as u64 + u64::from(found.is_some());
        if chances > 0 && (self.go_on)() {
            // Not those behind the one that is taken: who examined them depends on
            // how many examiners there are.
            let cuts = (0..in_vain).map(|number| hash_of(&(candidates.cut)(number)));
            self.searched.extend(cuts);
        }
        let Some((number, run)) = found else {
            return Ok(None);
        };
        self.take(run, (candidates.cut)(number), surely)?;
        Ok(Some(number))
    }

    fn shorten(&mut self) -> Result<u64, Failure> {
        let single = Candidates {
            count: 1,
            cut: &|_| Cut::default(),
            length: Length::Longer,
        };
        let question = Question {
            cut: self.cut.clone(),
            base: &self.best,
            criterion: &self.criterion,
            chances: chances(&self.best.run, &single),
            length: Length::Shorter,
            surely: self.suspicious,
        };
        let rounds = question.chances;
        if let Some(run) = self.crew.first_examiner().shorter(&question)? {
            self.take(run, self.cut.clone(), self.suspicious)?;
        }
        Ok(rounds)
    }

    fn threads(&self) -> Vec<ThreadPath> {
        let execution = Execution::recorded(&self.best.run);
        let suspected = suspects(execution).into_iter();
        let mut order: Vec<&ThreadPath> = suspected
            .filter_map(|thread| self.best.run.threads.get(thread.position()))
            .collect();
        let known: HashSet<&ThreadPath> = order.iter().copied().collect();
        // Those that never came to run.
        let idle = self.best.run.threads.iter();
        order.extend(idle.filter(|path| !known.contains(path)));
        let there = |path: &&ThreadPath| {
            path.buffer_of().is_none() && !self.cut.without.threads.contains(path)
        };
        order.into_iter().filter(there).cloned().collect()
    }

    fn blocks(&self) -> Vec<Block> {
        // Calls go by what a slice says, and not one by one.
        let blocks = self.best.blocks.iter();
        blocks
            .filter(|block| !block.gate.is_call())
            .cloned()
            .collect()
    }

    fn groups(&self) -> Vec<Vec<Block>> {
        let members = |gates: &Vec<GateReference>| {
            let blocks = self.best.blocks.iter();
            let members = blocks.filter(|block| gates.contains(&block.gate));
            members.cloned().collect()
        };
        self.groups.iter().map(members).collect()
    }

    fn irrelevant(&mut self) -> Vec<(Block, Vec<u64>)> {
        // Nothing to ask where no pass can go, or where it was asked; and of long
        // runs a slice takes longer than to try what it would tell.
        if self.best.run.steps.len() > MOST_SLICED {
            return Vec::new();
        }
        let base = hash(&self.best.run.schedule);
        let can_go = |block: &Block| block.pinned.len() < block.starts.len();
        if self.sliced == Some(base) || !self.best.blocks.iter().any(can_go) {
            return Vec::new();
        }
        self.sliced = Some(base);
        let Some(relevant) = self.relevant() else {
            return Vec::new();
        };
        let best = &self.best;
        let atlas = self.crew.first_examiner().trials.atlas();
        let calls = Calls::of(atlas);
        let passes = |block: &Block| {
            let callees = calls.callees(block.gate);
            let step = |event: u64| &best.run.steps[event as usize];
            let is_within = |event| match &callees {
                Some(callees) => calls.have(callees, step(event).operation.place),
                None => !block.gate.is_call(),
            };
            let is_relevant = |event| {
                relevant.has(event as u32) || callees.is_some() && is_about_threads(step(event))
            };
            irrelevant_passes(&best.run, &best.turns, block, &is_within, &is_relevant)
        };
        let lists = best
            .blocks
            .iter()
            .map(|block| (block.clone(), passes(block)));
        lists.filter(|(_, passes)| !passes.is_empty()).collect()
    }

    fn is_affordable(&self, candidates: u64) -> bool {
        candidates.saturating_mul(cost(&self.best.run)) <= THOROUGH
    }

    fn pinned(&self, block: &Block, without: &Omissions) -> Vec<u64> {
        pinned(&self.best.run, &self.best.turns, block, without)
    }

    fn left(&self, cut: &Cut) -> u64 {
        left(&self.best.run, &self.best.blocks, cut)
    }

    fn length(&mut self, cut: &Cut, most: u64) -> Result<Option<u64>, Failure> {
        let length = self.crew.first_examiner().length(&cut.without, most)?;
        Ok(length)
    }

    fn is_long(&self) -> bool {
        cost(&self.best.run) > LONG
    }

    fn events(&self) -> u64 {
        self.best.run.steps.len() as u64
    }

    fn has_time(&self) -> bool {
        (self.go_on)()
    }

    fn confirm(&mut self, finally: bool) -> Result<Cut, Failure> {
        if self.confirmed.is_some() && (finally || self.is_cheap()) {
            let always = self.replays(REPLAYS)? == REPLAYS;
            if let Some((best, cut)) = self.confirmed.take().filter(|_| !always) {
                (self.best, self.cut) = (best, cut);
                self.suspicious = true;
            }
            self.save()?;
        }
        let threads = self.best.run.threads.len();
        if self.crowd > CROWD && threads < CROWD / 4 {
            self.crew.renew()?;
            self.crowd = threads;
        }
        Ok(self.cut.clone())
    }

    fn begin(&mut self, stage: &'static str) {
        self.bar.set_prefix(stage);
        self.show();
    }
}
