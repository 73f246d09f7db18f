//! The search around `feedback`: keep the abstract schedules that showed a new
//! reads-from pair, mutate them, and try them again (RFF, section 4).
//!
//! Deviations: the next schedule to mutate is the one that was mutated least
//! often, which is the paper's power schedule without its decay; and one run in
//! eight has no wishes at all, so that the search cannot talk itself into a
//! corner.

use super::Search;
use crate::{
    Plan, Random, Rule,
    feedback::{Observed, ReadsFrom, Wish},
    report,
};
use alloc::{
    collections::{BTreeSet, VecDeque},
    vec::Vec,
};

/// Wishes of one schedule; more of them contradict each other.
const MOST_WISHES: usize = 12;

/// Schedules kept; the oldest are the most mutated ones.
const MOST_KEPT: usize = 1_024;

/// Plans made at a time: enough to keep many workers busy, few enough that what
/// a run teaches is used soon.
const AHEAD: usize = 16;

/// See the module.
#[derive(Clone, Debug)]
pub struct FeedbackSearch {
    random: Random,
    /// Wishes that showed something new, and how often they were mutated.
    kept: Vec<(Vec<Wish>, u32)>,
    seen: BTreeSet<ReadsFrom>,
    meetings: Vec<ReadsFrom>,
    known: BTreeSet<ReadsFrom>,
    /// Those of the runs in progress, the oldest first.
    current: VecDeque<Vec<Wish>>,
}

impl FeedbackSearch {
    /// The search of this seed.
    #[must_use]
    pub fn new(seed: u64) -> FeedbackSearch {
        FeedbackSearch {
            random: Random::new(seed),
            kept: Vec::new(),
            seen: BTreeSet::new(),
            meetings: Vec::new(),
            known: BTreeSet::new(),
            current: VecDeque::new(),
        }
    }

    /// How many reads-from pairs have been seen.
    #[must_use]
    pub fn pairs(&self) -> usize {
        self.seen.len()
    }

    fn mutated(&mut self) -> Vec<Wish> {
        let Some(base) = self.kept.iter_mut().min_by_key(|entry| entry.1) else {
            return Vec::new();
        };
        base.1 += 1;
        let mut wishes = base.0.clone();
        for _ in 0..1 + self.random.below(3) {
            self.mutate(&mut wishes);
        }
        wishes.truncate(MOST_WISHES);
        wishes
    }

    /// Adds, drops, turns round or replaces one wish.
    fn mutate(&mut self, wishes: &mut Vec<Wish>) {
        let fresh = self.fresh_wish();
        let position = self.random.below(wishes.len().max(1) as u64) as usize;
        match (self.random.below(4), fresh) {
            (0, _) if !wishes.is_empty() => drop(wishes.remove(position)),
            (1, _) if !wishes.is_empty() => wishes[position].wanted ^= true,
            (2, Some(wish)) if !wishes.is_empty() => wishes[position] = wish,
            (_, Some(wish)) => wishes.push(wish),
            _ => {}
        }
    }

    /// Preferably for a pair that no run has shown yet.
    fn fresh_wish(&mut self) -> Option<Wish> {
        let mut pair = self.random.pick(&self.meetings)?;
        for _ in 0..4 {
            if !self.seen.contains(&pair) {
                break;
            }
            pair = self.random.pick(&self.meetings)?;
        }
        let wanted = !self.random.one_in(4);
        Some(Wish { pair, wanted })
    }
}

impl Search for FeedbackSearch {
    fn next_plan(&mut self) -> Option<Plan> {
        let wishes = match self.random.one_in(8) {
            true => Vec::new(),
            false => self.mutated(),
        };
        self.current.push_back(wishes.clone());
        let seed = self.random.bits();
        Some(Plan::new(Rule::Feedback { seed, wishes }))
    }

    fn ahead(&self) -> usize {
        AHEAD
    }

    fn learn(&mut self, report: &[u8]) {
        let wishes = self.current.pop_front().unwrap_or_default();
        let Some(observed) = report::read::<Observed>(report) else {
            return;
        };
        for meeting in observed.meetings {
            if self.known.insert(meeting) {
                self.meetings.push(meeting);
            }
        }
        let before = self.seen.len();
        self.seen.extend(observed.pairs);
        if self.seen.len() > before {
            self.kept.push((wishes, 0));
        }
        if self.kept.len() > MOST_KEPT {
            self.kept.remove(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Outcome, Program, Step::*, run};
    use crate::pos::PartialOrderSampling;
    use alloc::vec;

    /// A chain: each reader has to meet one write among many for the next to matter.
    fn chain() -> Program {
        let overwritten = |variable| [Set(variable, 1), Set(variable, 2), Set(variable, 3)];
        vec![
            vec![Fork(1), Fork(2)],
            (0..4).flat_map(overwritten).collect(),
            vec![
                Read(0),
                FailIf(9),
                Add(4, 0),
                Read(1),
                Add(5, 0),
                Read(2),
                Add(6, 0),
                Read(3),
            ],
        ]
    }

    fn runs_until_all_pairs(wanted: usize, most: usize) -> usize {
        let program = chain();
        let mut search = FeedbackSearch::new(1);
        for number in 0..most {
            let plan = search.next_plan().expect("feedback never ends");
            let done = run(&program, &mut *plan.strategy(0));
            assert!(matches!(done.outcome, Outcome::Ended(_)));
            search.learn(&done.report);
            if search.pairs() >= wanted {
                return number;
            }
        }
        most
    }

    fn pairs_by_chance(runs: u64) -> usize {
        let program = chain();
        let mut seen = BTreeSet::new();
        for seed in 0..runs {
            let trace = run(&program, &mut PartialOrderSampling::new(seed))
                .machine
                .trace;
            let mut last = [None; 8];
            for (_, operation) in &trace {
                let object = operation.object as usize;
                match operation.kind {
                    bohr_event::EventKind::Write => last[object] = Some(operation.place),
                    bohr_event::EventKind::Read => {
                        seen.insert((last[object], operation.place));
                    }
                    _ => {}
                }
            }
        }
        seen.len()
    }

    #[test]
    fn wishes_reach_every_pair_sooner_than_chance() {
        // Four readers, each of them with four sources.
        let runs = runs_until_all_pairs(16, 4_000);
        assert!(runs < 4_000, "some pair was never seen");
        assert!(
            pairs_by_chance(runs as u64 / 2) < 16,
            "chance is as good: {runs}"
        );
    }
}
