//! Only the threads and iterations that the failure needs: LEAN (Huang and
//! Zhang, "LEAN: Simplifying Concurrency Bug Reproduction via Replay-supported
//! Execution Reduction", OOPSLA 2012), Algorithms 1 ([`threads`]), 3 ([`slices`],
//! [`stores`](mod@stores)) and 4 ([`iterations`]).
//!
//! Deviations: the stages are repeated until none of them finds anything, since
//! each makes room for the others, and a stage of its own looks for a shorter
//! way to the same failure. What can be had by following the old schedule is
//! taken first; only then are other schedules searched, when runs are short, for
//! fewer threads already before the first pass goes.
//! Of a long run, nearly everything is left out at once, in the hope that the
//! same happens on a small scale ([`beginnings`]). Threads that cannot go but
//! need not be interleaved are set aside at the end ([`serial`]), once the run has
//! no more switches than it needs.

mod beginnings;
mod creations;
mod groups;
mod iterations;
mod nested;
mod pinned;
mod projection;
mod serial;
mod slices;
mod stores;
mod suspects;
mod threads;
mod turns;

pub use pinned::{joins, pinned, pinned_calls};
pub use projection::{left, project, usual_length};
pub use serial::{is_serial, place};
pub use slices::irrelevant_passes;
pub use stores::{irrelevant_stores, stores};
pub use suspects::suspects;
pub use turns::Turns;

use crate::minimise::minimise;
use bohr_event::ThreadPath;
use bohr_event::control::{GateReference, Omissions};

/// Tests in a row that fail before a list of passes is left as it is.
const PATIENCE: usize = 32;

/// How often a thread came by a gate in a failing run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Where.
    pub gate: GateReference,
    /// Who.
    pub thread: ThreadPath,
    /// How often, what was left out included.
    pub passes: u64,
    /// How many threads it had created before the first pass.
    pub first_child: u32,
    /// How many it creates in each pass; 0 if that varies.
    pub children: u32,
    /// By pass: the event of the run before which it begins.
    pub starts: Vec<u64>,
    /// Events of its own that the thread executes in most passes.
    pub length: u64,
    /// Passes that have to stay, ascending: they create or join a thread that is
    /// there.
    pub pinned: Vec<u64>,
    /// Whether it joins another in some pass.
    pub joins: bool,
}

/// How hard a reducer looks for the failure where the old schedule does not show
/// it any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effort {
    /// Not at all.
    Following,
    /// By a few other schedules.
    Searching,
}

/// What is done to a run to make it smaller.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cut {
    /// What does not happen.
    pub without: Omissions,
    /// Threads that run from their beginning to their end while nobody else is
    /// under way, ascending.
    pub serial: Vec<ThreadPath>,
}

impl Cut {
    /// The same with other things left out.
    #[must_use]
    pub fn leaving_out(&self, without: Omissions) -> Cut {
        let there = |path: &&ThreadPath| without.threads.binary_search(path).is_err();
        Cut {
            serial: self.serial.iter().filter(there).cloned().collect(),
            without,
        }
    }
}

/// A row of candidates: what each does to the run.
pub struct Candidates<'c> {
    /// How many.
    pub count: usize,
    /// What one of them does.
    pub cut: &'c (dyn Fn(usize) -> Cut + Sync),
    /// How long an answer may be.
    pub length: Length,
}

/// How many events a run may have that is taken for the best one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Length {
    /// At most as many as the best.
    Shorter,
    /// Some more than the best.
    Longer,
    /// About so many, far fewer than the best: the schedule of the best run says
    /// nothing about such a run, and others are cheap to try.
    About(u64),
}

/// Somebody who can leave parts out of a run and see whether it still fails.
pub trait Reducer {
    /// Why nothing can be tried.
    type Error;

    /// The first of the candidates without which the failure is still there, and
    /// still one of interleaving. It is remembered: its run is the best so far.
    ///
    /// # Errors
    /// If the program cannot be run.
    fn first(
        &mut self,
        candidates: &Candidates<'_>,
        effort: Effort,
    ) -> Result<Option<usize>, Self::Error>;

    /// Looks for a failing run with fewer events that leaves out the same, `thoroughly`
    /// or at a few; how many it looked at.
    ///
    /// # Errors
    /// If the program cannot be run.
    fn shorten(&mut self, thoroughly: bool) -> Result<u64, Self::Error>;

    /// Looks for a failing run with fewer switches that leaves out the same; how
    /// many it looked at, and whether one was better.
    ///
    /// # Errors
    /// If the program cannot be run.
    fn calm(&mut self) -> Result<(u64, bool), Self::Error> {
        Ok((0, false))
    }

    /// The threads of the best run so far, those left out not among them, the
    /// likeliest to be needed first.
    fn threads(&self) -> Vec<ThreadPath>;

    /// The blocks that the threads of the best run so far came by.
    fn blocks(&self) -> Vec<Block>;

    /// The blocks of the best run so far that the user wants to go together, by what
    /// the user has named.
    fn groups(&self) -> Vec<Vec<Block>> {
        Vec::new()
    }

    /// The blocks of the best run so far with passes in which something happens,
    /// but nothing that matters for the failure; these passes, ascending.
    fn irrelevant(&mut self) -> Vec<(Block, Vec<u64>)> {
        Vec::new()
    }

    /// The stores of the best run that can be left out and do not matter for the
    /// failure, by who makes them where; their numbers, ascending.
    fn irrelevant_stores(&mut self) -> Vec<(Block, Vec<u64>)> {
        Vec::new()
    }

    /// The passes of the best run through a block that have to stay if these
    /// things are left out, ascending.
    fn pinned(&self, block: &Block, without: &Omissions) -> Vec<u64>;

    /// How many events of the best run so far are left after a cut, if nothing
    /// else changes.
    fn left(&self, cut: &Cut) -> u64;

    /// How many events a run has after a cut if its threads come one after the other,
    /// unless those are more than `most`. What a thread does for each thing that others
    /// have made gets less with them, which [`left`](Reducer::left) cannot know.
    ///
    /// # Errors
    /// If the program cannot be run.
    fn length(&mut self, cut: &Cut, most: u64) -> Result<Option<u64>, Self::Error> {
        Ok(Some(self.left(cut)).filter(|left| *left <= most))
    }

    /// Whether the best run is so long that replays of it are what counts.
    fn is_long(&self) -> bool {
        false
    }

    /// Events of the best run so far.
    fn events(&self) -> u64;

    /// Whether so many candidates more are worth the certainty that none of them
    /// can go.
    fn is_affordable(&self, _candidates: u64) -> bool {
        true
    }

    /// Whether there is time for more.
    fn has_time(&self) -> bool;

    /// Makes sure of what was found since it was last asked, if that is cheap or
    /// nothing comes after it: what does not replay every time is taken back.
    /// What is done to the best run now.
    ///
    /// # Errors
    /// If the program cannot be run.
    fn confirm(&mut self, finally: bool) -> Result<Cut, Self::Error>;

    /// What all that was asked has taken so far.
    fn spent(&self) -> Spent {
        Spent::default()
    }

    /// Hears that a stage begins.
    fn begin(&mut self, _stage: &'static str) {}
}

/// What it takes to try things.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Runs of the program.
    pub runs: u64,
    /// Events in all of them: what they cost on any machine.
    pub events: u64,
}

impl std::ops::AddAssign for Spent {
    fn add_assign(&mut self, other: Spent) {
        self.runs += other.runs;
        self.events += other.events;
    }
}

impl std::ops::Sub for Spent {
    type Output = Spent;

    fn sub(self, before: Spent) -> Spent {
        Spent {
            runs: self.runs - before.runs,
            events: self.events - before.events,
        }
    }
}

/// What one stage did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    /// `threads`, `slices`, `iterations`, `events`, `switches`, `serial` or `stores`.
    pub name: &'static str,
    /// Candidates that were tried, up to the one that was taken.
    pub rounds: u64,
    /// How many events fewer the best run has; negative if it has more.
    pub events_removed: i64,
    /// Whether it left out anything.
    pub progress: bool,
    /// What that took.
    pub spent: Spent,
}

/// Leaves out as much as it can; `told` hears what each stage did, in order.
/// Whether every thread and every pass that is left was tried by itself and
/// cannot go: the result is 1-minimal.
///
/// # Errors
/// If the program cannot be run. What was found so far is the reducer's.
pub fn reduce<R: Reducer>(
    reducer: &mut R,
    cut: &mut Cut,
    mut told: impl FnMut(&Stage),
) -> Result<bool, R::Error> {
    loop {
        let mut work = Work {
            reducer,
            cut,
            effort: Effort::Following,
            patience: PATIENCE,
            progress: false,
        };
        work.beginnings(&mut told)?;
        work.whole_threads(&mut told)?;
        work.repeatedly(&mut told)?;
        work.effort = Effort::Searching;
        work.repeatedly(&mut told)?;
        work.effort = Effort::Following;
        // Whoever is interrupted without need can hardly be serial.
        told(&work.switches()?);
        for last in [Work::serial, Work::stores] {
            let stage = last(&mut work)?;
            told(&stage);
            if stage.progress {
                work.repeatedly(&mut told)?;
            }
        }
        let minimal = work.thoroughly(&mut told)?;
        let confirmed = reducer.confirm(true)?;
        if confirmed == *cut || !reducer.has_time() {
            let minimal = minimal && confirmed == *cut && reducer.has_time();
            *cut = confirmed;
            let mut work = Work {
                reducer,
                cut,
                effort: Effort::Following,
                patience: PATIENCE,
                progress: false,
            };
            told(&work.switches()?);
            return Ok(minimal);
        }
        *cut = confirmed;
    }
}

/// A reduction under way.
struct Work<'w, R> {
    reducer: &'w mut R,
    cut: &'w mut Cut,
    effort: Effort,
    /// Tests in a row that fail before a list of passes is left as it is.
    patience: usize,
    /// Whether anything has gone since the stages were begun again.
    progress: bool,
}

impl<R: Reducer> Work<'_, R> {
    /// Tries every pass that is left, of blocks that were given up, too; whether
    /// that was worth it.
    fn thoroughly(&mut self, told: &mut impl FnMut(&Stage)) -> Result<bool, R::Error> {
        while self.reducer.has_time() {
            if !self.reducer.is_affordable(self.passes_left()) {
                return Ok(false);
            }
            self.patience = usize::MAX;
            let stage = self.iterations();
            self.patience = PATIENCE;
            let stage = stage?;
            told(&stage);
            if !stage.progress {
                return Ok(self.reducer.has_time());
            }
            self.repeatedly(told)?;
        }
        Ok(false)
    }

    /// All stages, until none of them finds anything.
    fn repeatedly(&mut self, told: &mut impl FnMut(&Stage)) -> Result<(), R::Error> {
        self.progress = true;
        while self.progress && self.reducer.has_time() {
            self.progress = false;
            for stage in [Work::threads, Work::slices, Work::iterations, Work::events] {
                let stage = stage(self)?;
                self.progress |= stage.progress;
                told(&stage);
            }
        }
        Ok(())
    }

    /// What it leaves out is told as if threads and passes had gone one after the
    /// other.
    fn beginnings(&mut self, told: &mut impl FnMut(&Stage)) -> Result<(), R::Error> {
        if !self.reducer.is_long() || !self.reducer.has_time() {
            return Ok(());
        }
        let all = self.reducer.events();
        let mut without_threads = all;
        let mut stage = self.stage("threads", |work, stage| {
            without_threads = beginnings::fewer(work, stage)?;
            Ok(())
        })?;
        let mut passes = Stage {
            name: "iterations",
            progress: stage.progress,
            ..Stage::default()
        };
        if stage.progress {
            let by_threads = (all - without_threads)
                .cast_signed()
                .min(stage.events_removed);
            passes.events_removed = stage.events_removed - by_threads;
            stage.events_removed = by_threads;
        }
        told(&stage);
        told(&passes);
        Ok(())
    }

    /// Threads of short runs go before any pass does, by other schedules, too: who is
    /// left may have to do what a thread did that goes, and could not if its passes
    /// were gone.
    fn whole_threads(&mut self, told: &mut impl FnMut(&Stage)) -> Result<(), R::Error> {
        if self.reducer.is_long() || !self.reducer.has_time() {
            return Ok(());
        }
        for effort in [Effort::Following, Effort::Searching] {
            self.effort = effort;
            let stage = self.stage("threads", threads::fewer);
            self.effort = Effort::Following;
            told(&stage?);
        }
        Ok(())
    }

    fn threads(&mut self) -> Result<Stage, R::Error> {
        self.stage("threads", |work, stage| {
            // Runs without the failure get shorter by that, which costs as much as
            // trying a few threads.
            let long = work.reducer.is_long();
            if !long {
                iterations::later_ones(work, stage)?;
            }
            threads::fewer(work, stage)?;
            if long {
                iterations::later_ones(work, stage)?;
            }
            creations::fewer(work, stage)
        })
    }

    fn slices(&mut self) -> Result<Stage, R::Error> {
        self.stage("slices", slices::fewer)
    }

    fn iterations(&mut self) -> Result<Stage, R::Error> {
        let before = (self.reducer.events(), self.passes_left());
        let mut stage = self.stage("iterations", |work, stage| {
            groups::fewer(work, stage)?;
            nested::outwards(work, stage)?;
            iterations::fewer(work, stage)?;
            nested::outwards(work, stage)
        })?;
        // A thread may make up for a pass that went by one that it had not come to.
        let after = (self.reducer.events(), self.passes_left());
        stage.progress &= after.0 < before.0 || after.1 < before.1;
        Ok(stage)
    }

    /// The passes of the best run that are made and could go.
    fn passes_left(&self) -> u64 {
        let left = |block: &Block| iterations::left_of(block, &self.cut.without).len() as u64;
        self.reducer.blocks().iter().map(left).sum()
    }

    fn events(&mut self) -> Result<Stage, R::Error> {
        self.stage("events", |work, stage| {
            if work.effort == Effort::Searching && work.reducer.has_time() {
                let before = work.reducer.events();
                // Else there will be another time, when the run is shorter.
                let thoroughly = !work.progress;
                stage.rounds = work.reducer.shorten(thoroughly)?;
                stage.progress = work.reducer.events() < before;
            }
            Ok(())
        })
    }

    fn serial(&mut self) -> Result<Stage, R::Error> {
        self.stage("serial", serial::more)
    }

    fn stores(&mut self) -> Result<Stage, R::Error> {
        self.stage("stores", stores::fewer)
    }

    fn switches(&mut self) -> Result<Stage, R::Error> {
        self.stage("switches", |work, stage| {
            (stage.rounds, stage.progress) = work.reducer.calm()?;
            Ok(())
        })
    }

    fn stage(
        &mut self,
        name: &'static str,
        work: impl FnOnce(&mut Self, &mut Stage) -> Result<(), R::Error>,
    ) -> Result<Stage, R::Error> {
        let mut stage = Stage {
            name,
            ..Stage::default()
        };
        self.reducer.begin(name);
        let (before, spent) = (self.reducer.events(), self.reducer.spent());
        work(self, &mut stage)?;
        *self.cut = self.reducer.confirm(false)?;
        stage.spent = self.reducer.spent() - spent;
        stage.events_removed = before.cast_signed() - self.reducer.events().cast_signed();
        Ok(stage)
    }

    /// Tries a row of candidates; the first that does it is taken over.
    fn take_first(
        &mut self,
        stage: &mut Stage,
        candidates: &Candidates<'_>,
    ) -> Result<Option<usize>, R::Error> {
        let found = self.reducer.first(candidates, self.effort)?;
        stage.rounds += found.map_or(candidates.count, |found| found + 1) as u64;
        if let Some(found) = found {
            stage.progress = true;
            *self.cut = (candidates.cut)(found);
        }
        Ok(found)
    }

    /// Minimises a list of which `cut` says what is done to the run if some are kept.
    fn search(
        &mut self,
        stage: &mut Stage,
        count: usize,
        length: Length,
        cut: &(dyn Fn(&[usize]) -> Cut + Sync),
    ) -> Result<(), R::Error> {
        self.search_patiently(stage, count, length, usize::MAX, cut)
    }

    /// The same, but not to the end of a list of which hardly anything can go.
    fn search_briefly(
        &mut self,
        stage: &mut Stage,
        count: usize,
        cut: &(dyn Fn(&[usize]) -> Cut + Sync),
    ) -> Result<(), R::Error> {
        self.search_patiently(stage, count, Length::Shorter, self.patience, cut)
    }

    fn search_patiently(
        &mut self,
        stage: &mut Stage,
        count: usize,
        length: Length,
        patience: usize,
        cut: &(dyn Fn(&[usize]) -> Cut + Sync),
    ) -> Result<(), R::Error> {
        // Asked while the reducer is busy with a test.
        let cell = std::cell::RefCell::new(self);
        let mut in_vain = 0;
        minimise(count, &|| cell.borrow().reducer.has_time(), |row| {
            let count = row.count().min(patience - in_vain);
            let candidates = Candidates {
                count,
                cut: &|test| cut(&row.left(test)),
                length,
            };
            let found = match count {
                0 => None,
                _ => cell.borrow_mut().take_first(stage, &candidates)?,
            };
            in_vain = found.map_or(in_vain + count, |_| 0);
            Ok(found)
        })?;
        Ok(())
    }
}
