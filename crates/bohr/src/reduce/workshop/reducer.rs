//! The questions that a reduction asks, and what was answered before.

use super::super::budget::{chances, cost};
use super::super::calls::{Calls, is_about_threads};
use super::super::examiner::{LONG, REPLAYS};
use super::super::ledger::Purpose;
use super::super::question::{Base, Question};
use super::super::stores::may_be_on_own_stack;
use super::{CROWD, MOST_SLICED, THOROUGH, Workshop};
use crate::outcome::Failure;
use bohr_event::control::{GateReference, Omissions};
use bohr_event::{PlaceNumber, Schedule, ThreadPath};
use bohr_reduce::Execution;
use bohr_reduce::reduction::{
    Block, Candidates, Cut, Effort, Length, Reducer, Spent, irrelevant_passes, irrelevant_stores,
    left, pinned, suspects,
};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::PoisonError;

/// A search in vain is made again where runs have become so many times shorter: chance
/// comes further in them.
pub(super) const AGAIN: u64 = 2;

/// Runs that are looked at to find a shorter one, at least, where more will go anyway and
/// where nothing else does. What of a run need not have come before the failure is gone
/// already; if so many others are no shorter, more hardly ever are.
const A_FEW: u64 = 16;
const SOME: u64 = 64;

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

pub(super) fn hash_of(cut: &Cut) -> u64 {
    let mut hasher = DefaultHasher::new();
    cut.hash(&mut hasher);
    hasher.finish()
}

/// The same whatever stores are left out.
pub(super) fn hash_without_stores(cut: &Cut) -> u64 {
    let mut hasher = DefaultHasher::new();
    let passes = cut.without.iterations.iter();
    let passes: Vec<_> = passes.filter(|one| !one.gate.is_store()).collect();
    (&cut.without.threads, passes, &cut.serial).hash(&mut hasher);
    hasher.finish()
}

/// What a search in vain need not be made for again. Without these threads, a run with
/// fewer passes does nothing that one with more could not do.
fn what_is_searched(cut: &Cut, length: Length) -> u64 {
    let mut hasher = DefaultHasher::new();
    match length {
        Length::Longer => cut.without.threads.hash(&mut hasher),
        _ => (cut, length).hash(&mut hasher),
    }
    hasher.finish()
}

pub(super) fn hash(schedule: &Schedule<PlaceNumber>) -> u64 {
    let mut hasher = DefaultHasher::new();
    for segment in schedule.segments() {
        (&segment.thread, segment.events).hash(&mut hasher);
    }
    hasher.finish()
}

impl Workshop<'_, '_> {
    /// The first of the candidates whose run still fails, and that run.
    fn search(
        &mut self,
        candidates: &Candidates<'_>,
        effort: Effort,
    ) -> Result<Option<(usize, Base)>, Failure> {
        self.show();
        let base = hash(&self.best.run.schedule);
        let chances = match effort {
            Effort::Following => 0,
            Effort::Searching => chances(&self.best.run, candidates),
        };
        let surely = self.suspicious;
        let length = match candidates.length {
            Length::Longer => self.events(),
            _ => 0,
        };
        let is_enough = |searched: &u64| *searched <= AGAIN * length;
        let (refused, best, criterion) = (&self.refused, &self.best, &self.criterion);
        let (searched, restless) = (&self.searched, &self.restless);
        let refused = || refused.lock().unwrap_or_else(PoisonError::into_inner);
        let question = |number: usize| {
            let cut = (candidates.cut)(number);
            let hash = hash_of(&cut);
            if restless.contains(&(hash, base)) {
                return None;
            }
            let in_vain = searched.get(&what_is_searched(&cut, candidates.length));
            let chances = match in_vain.is_some_and(is_enough) {
                true => 0,
                false => chances,
            };
            let mut question = Question {
                cut,
                base: best,
                criterion,
                chances: 0,
                is_off_the_way: false,
                length: candidates.length,
                surely,
            };
            // Without a search it was refused: there is nothing new but that.
            question.is_off_the_way = refused().contains(&content(&question, base));
            question.chances = chances;
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
            for number in 0..in_vain {
                let key = what_is_searched(&(candidates.cut)(number), candidates.length);
                let known = self.searched.entry(key).or_insert(length);
                if !is_enough(known) {
                    *known = length;
                }
            }
        }
        Ok(found)
    }
}

impl Reducer for Workshop<'_, '_> {
    type Error = Failure;

    fn first(
        &mut self,
        candidates: &Candidates<'_>,
        effort: Effort,
    ) -> Result<Option<usize>, Failure> {
        loop {
            let Some((number, run)) = self.search(candidates, effort)? else {
                return Ok(None);
            };
            let cut = (candidates.cut)(number);
            if let Some(run) = self.calmed(&cut, run)? {
                self.take(run, cut, self.suspicious)?;
                return Ok(Some(number));
            }
            let base = hash(&self.best.run.schedule);
            self.restless.insert((hash_of(&cut), base));
        }
    }

    fn shorten(&mut self, thoroughly: bool) -> Result<u64, Failure> {
        // Without a store more, nobody takes another way.
        let events = self.events();
        let known = (hash_without_stores(&self.cut), events);
        if self.as_short_as_can_be == Some(known) {
            return Ok(0);
        }
        let single = Candidates {
            count: 1,
            cut: &|_| Cut::default(),
            length: Length::Longer,
        };
        let chances = chances(&self.best.run, &single);
        let question = Question {
            cut: self.cut.clone(),
            base: &self.best,
            criterion: &self.criterion,
            is_off_the_way: false,
            chances: match thoroughly {
                true => chances.min(SOME),
                false => chances.min(A_FEW),
            },
            length: Length::Shorter,
            surely: self.suspicious,
        };
        let rounds = question.chances;
        let cut = self.cut.clone();
        let examiner = self.crew.first_examiner();
        let found = examiner.spend(Purpose::Shortening, |it| it.shorter(&question))?;
        if let Some(run) = found.map_or(Ok(None), |run| self.calmed(&cut, run))? {
            self.take(run, cut, self.suspicious)?;
        }
        let is_in_vain = thoroughly && self.events() == events && (self.go_on)();
        self.as_short_as_can_be = is_in_vain.then_some(known);
        Ok(rounds)
    }

    fn calm(&mut self) -> Result<(u64, bool), Failure> {
        self.calm_best()
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
        // Calls and stores go by what a slice says, and not one by one.
        let blocks = self.best.blocks.iter();
        blocks
            .filter(|block| block.gate.is_block())
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
        let calls = self.analyses.calls();
        let passes = |block: &Block| {
            let callees = calls.callees(block.gate);
            let step = |event: u64| &best.run.steps[event as usize];
            let is_within = |event| match &callees {
                Some(callees) => Calls::have(atlas, callees, step(event).operation.place),
                None => !block.gate.is_call(),
            };
            let is_relevant = |event| {
                relevant.has(event as u32) || callees.is_some() && is_about_threads(step(event))
            };
            irrelevant_passes(&best.run, &best.turns, block, &is_within, &is_relevant)
        };
        let blocks = best.blocks.iter().filter(|block| !block.gate.is_store());
        let lists = blocks.map(|block| (block.clone(), passes(block)));
        lists.filter(|(_, passes)| !passes.is_empty()).collect()
    }

    fn irrelevant_stores(&mut self) -> Vec<(Block, Vec<u64>)> {
        if self.best.run.steps.len() > MOST_SLICED {
            return Vec::new();
        }
        let Some(relevant) = self.relevant() else {
            return Vec::new();
        };
        let examiner = self.crew.first_examiner();
        let Workshop { best, cut, .. } = self;
        if !best.blocks.iter().any(|block| block.gate.is_store()) {
            let found = examiner.stores(&best.run, &[], &cut.without);
            best.blocks.extend(found);
        }
        // What a failing run has not come to, a good one may still read.
        let Ok(Some(good)) = examiner.in_turn(&cut.without) else {
            return Vec::new();
        };
        let (stores, atlas) = (self.analyses.stores(), examiner.trials.atlas());
        let read_later = stores.read(&good, atlas);
        let mut unread = stores.unread(&best.run, atlas);
        unread.retain(|event| {
            let step = &best.run.steps[*event as usize];
            let thread = &best.run.threads[step.thread.position()];
            !read_later.contains(&(step.operation.place, thread.clone()))
        });
        let can_go = |block: &&Block| stores.can_go(block.gate);
        let lists = best.blocks.iter().filter(can_go).map(|block| {
            let stays = |event: u64| may_be_on_own_stack(&best.run.steps[event as usize]);
            let is_relevant =
                |event| stays(event) || relevant.has(event as u32) && !unread.contains(&event);
            let irrelevant = irrelevant_stores(block, &cut.without, &is_relevant);
            (block.clone(), irrelevant)
        });
        lists.filter(|(_, stores)| !stores.is_empty()).collect()
    }

    fn is_affordable(&self, candidates: u64) -> bool {
        candidates.saturating_mul(cost(&self.best.run)) <= THOROUGH
    }

    fn pinned(&self, block: &Block, without: &Omissions) -> Vec<u64> {
        pinned(&self.best.run, &self.best.turns, block, without)
    }

    fn left(&self, cut: &Cut) -> u64 {
        left(&self.best.run, &self.best.blocks, &self.best.without, cut)
    }

    fn length(&mut self, cut: &Cut, most: u64) -> Result<Option<u64>, Failure> {
        let examiner = self.crew.first_examiner();
        Ok(examiner.spend(Purpose::InTurn, |it| it.length(&cut.without, most))?)
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
        let is_worth_it = finally || self.is_cheap() && self.is_far_shorter();
        if self.confirmed.is_some() && is_worth_it {
            let always = self.replays(REPLAYS)? == REPLAYS;
            self.shown_always = always.then(|| self.result());
            if let Some((best, cut)) = self.confirmed.take().filter(|_| !always) {
                (self.best, self.cut) = (best, cut);
                self.suspicious = true;
                self.insist_on_the_bug()?;
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

    fn spent(&self) -> Spent {
        self.crew.spent()
    }

    fn begin(&mut self, stage: &'static str) {
        self.bar.set_prefix(stage);
        self.show();
    }
}
