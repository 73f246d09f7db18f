//! Where the plans of a hunt come from: a rule and the lessons so far, or a
//! search that is told what became of its plans.

use crate::knowledge::Knowledge;
use crate::strategy_name::StrategyName;
use bohr_event::ThreadPath;
use bohr_event::control::Step;
use bohr_schedule::search::{Listed, Search};
use bohr_schedule::{Plan, Rule};
use std::collections::VecDeque;

/// Most runs of a batch, however short.
const MOST_RUNS: u64 = 20_000;

/// Fewest runs of a batch, however long: a lesson should be a small part of it.
const FEWEST_RUNS: u64 = 4;

/// What a batch should cost, in events: long against what starting one costs,
/// short enough that learning and the budget take hold soon.
const BATCH_EVENTS: u64 = 4_000_000;

/// What starting and ending a run costs, in events.
const RUN_EVENTS: u64 = 2_000;

/// Batches of the smallest size that a hunt begins with; as many of four times
/// the size follow, and so on. One for each strategy of the mixture.
const STEP: u64 = 8;

/// Of so many runs of a search one is traced, and some of the first: a trace costs
/// a multiple of a run, and begins at none of the checkpoints.
const SEARCHED: u64 = 1024;

/// What can be handed out.
pub(super) enum Next {
    /// So many runs by this plan.
    Ready(u64, StrategyName, Box<Plan>),
    /// Nothing before something else is reported.
    Later,
    /// Nothing, ever.
    Exhausted,
}

/// See the module.
pub(super) enum Source {
    Rule(Lessons),
    Search(Searching),
}

pub(super) struct Lessons {
    strategy: StrategyName,
    knowledge: Knowledge,
    /// How many lessons have been learnt.
    learnt: u64,
}

pub(super) struct Searching {
    strategy: StrategyName,
    /// Whether all is planned: there is nothing to learn from events.
    is_planned: bool,
    search: Box<dyn Search + Send>,
    /// Made and not handed out.
    plans: VecDeque<Plan>,
    /// Handed out and not reported.
    outstanding: usize,
    /// Reports of this generation of plans, in their order.
    reports: Vec<Vec<u8>>,
}

impl Source {
    pub fn new(strategy: StrategyName, seed: u64, listed: Option<Vec<Plan>>) -> Source {
        let is_planned = listed.is_some();
        let listed = listed.map(|plans| Box::new(Listed::new(plans)) as Box<dyn Search + Send>);
        match listed.or_else(|| strategy.search(seed)) {
            Some(search) => Source::Search(Searching {
                strategy,
                is_planned,
                search,
                plans: VecDeque::new(),
                outstanding: 0,
                reports: Vec::new(),
            }),
            None => Source::Rule(Lessons {
                strategy,
                knowledge: Knowledge::default(),
                learnt: 0,
            }),
        }
    }

    /// Whether each run is planned by a search that wants to hear of it.
    pub fn is_search(&self) -> bool {
        matches!(self, Source::Search(_))
    }

    /// Whether the first run of this batch is traced.
    pub fn has_lesson(&self, batch: u64) -> bool {
        match self {
            Source::Rule(_) => true,
            Source::Search(searching) if searching.is_planned => false,
            Source::Search(_) => batch.is_power_of_two() || batch.is_multiple_of(SEARCHED),
        }
    }

    /// The plan of the batch with this number, of at most so many runs.
    pub fn next(&mut self, batch: u64, most: u64) -> Next {
        match self {
            Source::Rule(lessons) => lessons.next(batch, most),
            Source::Search(searching) => searching.next(),
        }
    }

    /// Takes in a traced run; returns how many conflicting pairs are known now.
    pub fn learn_lesson(&mut self, trace: &[Step], threads: &[ThreadPath]) -> u64 {
        let Source::Rule(lessons) = self else {
            return 0;
        };
        lessons.knowledge.learn(trace, threads);
        lessons.learnt += 1;
        lessons.knowledge.pairs()
    }

    /// Takes in what the strategy of the oldest plan said.
    pub fn learn_report(&mut self, report: &[u8]) {
        if let Source::Search(searching) = self {
            searching.outstanding -= 1;
            searching.reports.push(report.to_vec());
        }
    }
}

impl Lessons {
    fn next(&self, batch: u64, most: u64) -> Next {
        if batch > self.learnt {
            return Next::Later;
        }
        let (strategy, restricted) = self.strategy.in_batch(batch);
        let plan = strategy.plan(&self.knowledge, restricted);
        let plan = plan.unwrap_or_else(|| Plan::new(Rule::Random));
        let runs = match strategy {
            StrategyName::Sequential if batch > 0 => return Next::Exhausted,
            StrategyName::Sequential => 1,
            _ => batch_size(batch, self.knowledge.length).min(most),
        };
        Next::Ready(runs, strategy, Box::new(plan))
    }
}

/// How many runs of about this many events make a batch.
fn batch_size(batch: u64, length: u64) -> u64 {
    let fitting = BATCH_EVENTS / (RUN_EVENTS + length);
    let growth = 4u64.saturating_pow(u32::try_from(batch / STEP).unwrap_or(u32::MAX));
    let small = STEP.saturating_mul(growth).min(MOST_RUNS);
    fitting.clamp(FEWEST_RUNS, small)
}

impl Searching {
    /// A generation of plans is made at once, when all of the last one have
    /// been reported, so that it does not matter who is faster.
    fn next(&mut self) -> Next {
        if self.plans.is_empty() {
            if self.outstanding > 0 {
                return Next::Later;
            }
            for report in self.reports.drain(..) {
                self.search.learn(&report);
            }
            let generation = (0..self.search.ahead()).map_while(|_| self.search.next_plan());
            self.plans.extend(generation);
        }
        match self.plans.pop_front() {
            Some(plan) => {
                self.outstanding += 1;
                Next::Ready(1, self.strategy, Box::new(plan))
            }
            None => Next::Exhausted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_grow_but_not_for_long_runs() {
        let sizes: Vec<u64> = (0..40)
            .step_by(8)
            .map(|batch| batch_size(batch, 50))
            .collect();
        assert_eq!(sizes, [8, 32, 128, 512, 1951]);
        assert_eq!(batch_size(1_000_000, 0), 2_000);
        assert_eq!(batch_size(0, u64::MAX / 2), FEWEST_RUNS);
    }

    #[test]
    fn a_batch_waits_for_the_lessons_before_it() {
        let mut source = Source::new(StrategyName::Mixed, 1, None);
        assert!(matches!(source.next(0, 5), Next::Ready(5, ..)));
        assert!(matches!(source.next(1, 5), Next::Later));
        source.learn_lesson(&[], &[]);
        assert!(matches!(source.next(1, 100), Next::Ready(8, ..)));
    }

    #[test]
    fn a_generation_waits_for_all_reports_of_the_last() {
        let mut source = Source::new(StrategyName::Feedback, 1, None);
        let mut handed_out = 0;
        while matches!(source.next(0, 1), Next::Ready(1, ..)) {
            handed_out += 1;
        }
        assert!(handed_out > 1);
        for _ in 1..handed_out {
            source.learn_report(&[]);
            assert!(matches!(source.next(0, 1), Next::Later));
        }
        source.learn_report(&[]);
        assert!(matches!(source.next(0, 1), Next::Ready(1, ..)));
    }
}
