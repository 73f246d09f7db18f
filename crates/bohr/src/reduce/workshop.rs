//! Where parts are left out of a failing run: the reducer's hands, and its
//! memory of what was tried.

mod calming;
mod reducer;

use super::analyses::Analyses;
use super::budget::cost;
use super::crew::Crew;
use super::criterion::{Criterion, Refusals};
use super::error::ReduceError;
use super::examiner::REPLAYS;
use super::ledger::Ledger;
use super::lines::Lines;
use super::question::Base;
use super::size::Size;
use super::stores::{OmittedStores, place_of};
use super::watch::Watch;
use crate::outcome::Failure;
use bohr_event::control::{GateReference, Omissions, OmittedPasses, Recorded};
use bohr_event::{FailureKind, PlaceNumber, Schedule, ThreadPath};
use bohr_explore::bug_file::{self, Bug, Reduced};
use bohr_explore::{Atlas, ExploreError, Spot, is_library, write_whole};
use bohr_reduce::reduction::{Cut, Reducer};
use bohr_reduce::{Cost, Execution};
use bohr_schedule::{Plan, Rule};
use bohr_slice::Relevant;
use indicatif::ProgressBar;
use reducer::{hash, hash_of};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

/// Replays that cost as much as so many events or fewer are made at once.
const CHEAP: u64 = 1_000_000;

/// So many times shorter than the last result that is sure, another is made sure of
/// before the end.
const FAR: usize = 4;

/// Events of a run that is sliced to find passes without effect.
const MOST_SLICED: usize = 300_000;

/// Single passes are tried by themselves, at last, if they cost so many events.
const THOROUGH: u64 = 20_000_000;

/// A replay of so many seconds is long enough to be timed once; of shorter ones, so
/// many are.
const LONG_REPLAY: f64 = 0.05;
const TIMED: usize = 3;

/// Threads that are so many that runs without them are cheaper by far.
const CROWD: usize = 64;

/// See the module.
pub struct Workshop<'w, 'p> {
    bug: &'w Bug,
    crew: Crew<'w>,
    path: &'w Path,
    go_on: &'w (dyn Fn() -> bool + Sync),
    bar: &'w ProgressBar,
    analyses: &'w Analyses<'p>,
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
    /// The cut and the run that were last seen to replay every time.
    shown_always: Option<(u64, u64)>,
    criterion: Criterion,
    /// What was answered by no, as hashes of all that an answer depends on.
    refused: Mutex<HashSet<u64>>,
    /// Cuts for which other schedules were searched in vain, and of those without threads
    /// how many events the run had then. These hardly depend on the run that a cut is made of.
    searched: HashMap<u64, u64>,
    /// Cuts whose runs have more switches than what was found, by the run that they were
    /// made of.
    restless: HashSet<(u64, u64)>,
    restless_refusals: u64,
    /// The cut, stores aside, for which fewer switches were looked for in vain than a run
    /// of this cost has.
    as_calm_as_can_be: Option<(u64, Cost)>,
    /// Preemptions and events of a run than which no calmer one was found by chance.
    leapt_in_vain: Option<(u64, u64)>,
    /// The cut and the events of a run than which no shorter one was found.
    as_short_as_can_be: Option<(u64, u64)>,
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

impl<'w, 'p> Workshop<'w, 'p> {
    pub fn new(
        bug: &'w Bug,
        mut crew: Crew<'w>,
        path: &'w Path,
        go_on: &'w (dyn Fn() -> bool + Sync),
        bar: &'w ProgressBar,
        analyses: &'w Analyses<'p>,
        watch: &mut Watch,
    ) -> Result<Workshop<'w, 'p>, Failure> {
        let found = counted(&mut crew, &bug.schedule, &Cut::default())?;
        let before = Size::of(&found, &Cut::default());
        let original = found.run.clone();
        let passes = { found.blocks.iter() }
            .map(|block| ((block.gate, block.thread.clone()), block.passes))
            .collect();
        watch.ended("original_run");
        let criterion = { crew.first_examiner() }.criterion(&found, &bug.signature)?;
        watch.ended("good_runs");
        let cut = bug.reduced.as_ref().map(cut).unwrap_or_default();
        let mut best = match &bug.reduced {
            None => found,
            Some(_) => counted(&mut crew, bug.best_schedule(), &cut)?,
        };
        best.longest = criterion.longest;
        let mut workshop = Workshop {
            bug,
            crew,
            path,
            go_on,
            bar,
            analyses,
            original,
            before,
            passes,
            best,
            cut,
            confirmed: None,
            suspicious: false,
            shown_always: None,
            criterion,
            refused: Mutex::new(HashSet::new()),
            searched: HashMap::new(),
            restless: HashSet::new(),
            restless_refusals: 0,
            as_calm_as_can_be: None,
            leapt_in_vain: None,
            as_short_as_can_be: None,
            rounds: 0,
            groups: Vec::new(),
            sliced: None,
            is_written: false,
            crowd: 0,
        };
        workshop.crowd = workshop.original.threads.len();
        if workshop.is_cheap() {
            workshop.insist_on_the_bug()?;
        }
        watch.ended("verification");
        workshop.before.replay_seconds = workshop.time(&bug.schedule, &Omissions::default())?;
        watch.ended("timed_replays");
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
            .map(|place| own_spot(atlas, place).to_string())
            .collect()
    }

    /// The stores that are left out, with the lines of the source where those are known.
    pub fn stores_left_out(&mut self) -> Vec<OmittedStores> {
        let stores: Vec<OmittedPasses> = self.cut.without.stores().cloned().collect();
        let atlas = self.crew.first_examiner().trials.atlas_mut();
        let told = stores.into_iter().map(|passes| OmittedStores {
            place: place_of(atlas, passes.gate).map_or_else(
                || format!("gate {}", passes.gate.number),
                |place| own_spot(atlas, place).to_string(),
            ),
            passes,
        });
        told.collect()
    }

    pub fn refusals(&self) -> Refusals {
        Refusals {
            restless: self.restless_refusals,
            ..self.crew.refusals()
        }
    }

    /// What they were made for.
    pub fn ledger(&self) -> Ledger {
        self.crew.ledger()
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
            replay_seconds: self.time(&schedule, &self.cut.without)?,
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
        let gates = gates.filter(GateReference::is_block);
        gates.collect::<HashSet<_>>().len() as u64
    }

    /// Seconds that a replay takes from the program's beginning, which a program
    /// that has been replayed before has behind it. Of short ones the shortest of
    /// several: whatever else the machine does takes longer than they do.
    fn time(&self, schedule: &Schedule, without: &Omissions) -> Result<f64, Failure> {
        let mut least = f64::INFINITY;
        for _ in 0..TIMED {
            let mut examiner = self.crew.another()?;
            let plan = Plan::replay(examiner.trials.atlas().inward(schedule));
            examiner.trials.leave_out(without.clone());
            let started = Instant::now();
            examiner.trials.repeat(&plan, self.bug.seed, 1)?;
            let seconds = started.elapsed().as_secs_f64();
            least = least.min(seconds);
            if seconds > LONG_REPLAY {
                break;
            }
        }
        Ok(least)
    }

    /// Seconds that a run takes in which next to nothing happens: no candidate costs
    /// less, and no replay.
    pub fn least_run(&mut self) -> Result<f64, Failure> {
        let (seed, without) = (self.bug.seed, &self.cut.without);
        let examiner = self.crew.first_examiner();
        examiner.leave_out(without);
        examiner.trials.end_after(1);
        let plan = Plan::new(Rule::Sequential);
        examiner.trials.run(&plan, seed)?;
        let started = Instant::now();
        let shown = examiner.trials.repeat(&plan, seed, REPLAYS);
        let seconds = started.elapsed().as_secs_f64();
        examiner.trials.end_after(u64::MAX);
        shown?;
        Ok(seconds / REPLAYS as f64)
    }

    /// Refuses a bug that its own schedule does not show every time.
    fn insist_on_the_bug(&mut self) -> Result<(), Failure> {
        let examiner = self.crew.first_examiner();
        let schedule = examiner.trials.atlas().inward(&self.bug.schedule);
        match { &mut self.crew }.shown(&Omissions::default(), &schedule, REPLAYS)? {
            REPLAYS => Ok(()),
            shown => Err(ReduceError::Flaky { shown, of: REPLAYS }.into()),
        }
    }

    /// Takes back what is on disk unless it replays every time.
    pub fn insist_on_the_result(&mut self) -> Result<(), Failure> {
        let shown = match self.shown_always == Some(self.result()) {
            true => REPLAYS,
            false => self.replays(REPLAYS)?,
        };
        if shown == REPLAYS {
            return Ok(());
        }
        self.write(&Bug {
            reduced: None,
            provisional: None,
            simplified: None,
            ..self.bug.clone()
        })?;
        self.insist_on_the_bug()?;
        let path = self.path.to_path_buf();
        Err(ReduceError::Unsteady {
            shown,
            of: REPLAYS,
            path,
        }
        .into())
    }

    /// The events of the best run that matter for the failure.
    pub fn relevant(&mut self) -> Option<Relevant> {
        let atlas = self.crew.first_examiner().trials.atlas();
        let analyses = self.analyses;
        analyses.relevant(&self.best.run, atlas, &self.bug.signature)
    }

    /// A name for the best run and for what was done to it.
    fn result(&self) -> (u64, u64) {
        (hash_of(&self.cut), hash(&self.best.run.schedule))
    }

    /// How many of so many replays of the result show the failure.
    pub fn replays(&mut self, times: u64) -> Result<u64, Failure> {
        let Workshop {
            crew, best, cut, ..
        } = self;
        Ok(crew.shown(&cut.without, &best.run.schedule, times)?)
    }

    /// Whether the best run is so short that replays of it hardly count.
    fn is_cheap(&self) -> bool {
        REPLAYS * cost(&self.best.run) <= CHEAP
    }

    /// Whether it is far shorter than the one that was last seen to replay every time:
    /// what is not written down as reduced until the end can be gone on with.
    fn is_far_shorter(&self) -> bool {
        let (now, then) = (&self.best.run, self.confirmed.as_ref());
        then.is_some_and(|(base, _)| FAR * now.steps.len() <= base.run.steps.len())
    }

    /// Takes over a run that was seen to replay every time, or not yet.
    fn take(&mut self, run: Base, cut: Cut, surely: bool) -> Result<(), Failure> {
        let longest = match run.longest {
            0 => self.best.longest,
            longest => longest.max(run.run.steps.len() as u64),
        };
        let last = std::mem::replace(&mut self.best, Base { longest, ..run });
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

/// The line of a place: where the author's own code has called what libraries do there,
/// if it has.
fn own_spot(atlas: &mut Atlas, place: PlaceNumber) -> Spot {
    let spots = atlas.spots(place);
    let own = spots.iter().position(|spot| !is_library(spot));
    spots.into_iter().nth(own.unwrap_or(0)).unwrap_or_default()
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
