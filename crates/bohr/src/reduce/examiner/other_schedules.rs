//! Condition I, by other schedules than the one that was found: one run of each class of
//! runs where there are few, and chance where there are many.

use super::Examiner;
use crate::reduce::criterion::is_cut_off;
use crate::reduce::question::{Base, Question};
use crate::simplify::{exactly_at_first, moments};
use bohr_event::control::Recorded;
use bohr_explore::{ExploreError, Observed};
use bohr_reduce::reduction::Length;
use bohr_reduce::{Execution, Reversals};
use bohr_schedule::{Plan, Rule};

/// Runs that are looked at together to find a shorter one.
const HELPING: u64 = 16;

/// Numbers of preemptions that are tried by chance.
const FEW: [u32; 3] = [1, 2, 3];

/// So many runs with each of these numbers: where little is left, more are like those that
/// were made.
const MOST_SELDOM: u64 = 48;

/// What one run of each class has come to.
enum Reversed {
    Found(Box<Base>),
    /// None of them shows the failure: nobody has to look any further.
    Nowhere,
    /// There are too many.
    Unknown,
}

impl Examiner<'_> {
    /// Condition I, by other schedules: those with few switches first, since who has
    /// many has to be made calmer. `good` is a run of threads one after the other.
    pub(super) fn fails_by_chance(
        &mut self,
        question: &Question<'_>,
        good: &Observed,
    ) -> Result<Option<Base>, ExploreError> {
        let [few, many] = question.plans();
        // Much can go wrong in most ways where much is left; else little can happen.
        let has_much_left = matches!(question.length, Length::About(_));
        if has_much_left && let Some(run) = self.seek(&few.0, few.1, question)? {
            return Ok(Some(run));
        }
        match self.by_reversals(question, good)? {
            Reversed::Found(run) => return Ok(Some(*run)),
            Reversed::Nowhere => return Ok(None),
            Reversed::Unknown => {}
        }
        if !has_much_left && let Some(run) = self.seek(&few.0, few.1, question)? {
            return Ok(Some(run));
        }
        if let Some(run) = self.seldom(question, good)? {
            return Ok(Some(run));
        }
        self.seek(&many.0, many.1, question)
    }

    /// The same by one run of each class of runs that differ from the good one, those
    /// that differ least first. Where little is left there are few.
    fn by_reversals(
        &mut self,
        question: &Question<'_>,
        good: &Observed,
    ) -> Result<Reversed, ExploreError> {
        // What was left to chance beside the order of events could be otherwise, too.
        let decided = |run: &Recorded| run.schedule.choices().is_empty();
        let Some(good) = good.run.as_ref().filter(|good| decided(good)) else {
            return Ok(Reversed::Unknown);
        };
        let most = question.most_events();
        let classes = question.number_of_chances() as usize;
        let mut reversals = Reversals::of(Execution::recorded(good), classes);
        while let Some(beginning) = reversals.next_beginning() {
            let observed = self.within(&exactly_at_first(beginning), most)?;
            let is_cut_off = is_cut_off(&observed);
            if observed.same {
                let base = self.base_of(&question.cut, observed);
                let is_short = |base: &Base| base.run.steps.len() as u64 <= most;
                match base.filter(is_short) {
                    Some(base) => return Ok(Reversed::Found(Box::new(base))),
                    None => reversals.miss(),
                }
            } else if let Some(run) = observed.run.filter(|run| !is_cut_off && decided(run)) {
                reversals.learn(Execution::recorded(&run));
            } else {
                reversals.miss();
            }
        }
        Ok(match reversals.is_done() {
            true => Reversed::Nowhere,
            false => Reversed::Unknown,
        })
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
            self.end_unless_failed_by(question.most_events());
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
            _ => moments(&question.base.run, &good.run),
        };
        for preemptions in FEW {
            let moments = moments.clone();
            let plan = Plan::new(Rule::Seldom {
                preemptions,
                moments,
            });
            let seeds = question.chances.min(MOST_SELDOM);
            if let Some(run) = self.seek(&plan, seeds, question)? {
                return Ok(Some(run));
            }
        }
        Ok(None)
    }

    /// A plan and a seed whose run is smaller than so much. As long as some help, others
    /// may help more.
    pub(super) fn shorter_by_chance(
        &mut self,
        question: &Question<'_>,
        mut least: (u64, u64),
    ) -> Result<Option<(Plan, u64)>, ExploreError> {
        let mut found = None;
        for (plan, seeds) in question.plans() {
            let mut next = 0;
            while next < seeds {
                let end = seeds.min(next + HELPING);
                // Whoever has not failed by then is no shorter.
                self.end_unless_failed_by(least.0);
                let sizes = self.trials.sizes(&plan, next..end);
                self.trials.end_after(u64::MAX);
                let sizes = sizes?;
                let best = sizes.into_iter().min().filter(|(size, _)| *size < least);
                match best {
                    Some((size, seed)) => {
                        least = size;
                        found = Some((plan.clone(), seed));
                    }
                    None if found.is_some() => return Ok(found),
                    None => {}
                }
                next = end;
            }
        }
        Ok(found)
    }
}
