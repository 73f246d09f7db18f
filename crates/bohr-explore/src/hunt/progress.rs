//! The figures of a hunt, while it goes on and at its end.

use super::Budget;
use crate::bug_file::Bug;
use crate::distinct::Distinct;
use crate::knowledge::Knowledge;
use crate::lock_order::ToldLockCycle;
use crate::race::ToldRace;
use bohr_event::Place;
use bohr_event::control::{ForkPoint, Notice, Obstacle};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The figures of a hunt.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Statistics {
    /// Runs made; up to the failing one if a hunt ended with it.
    pub runs: u64,
    /// Wall-clock time.
    pub seconds: f64,
    /// Different schedules among them.
    pub distinct: u64,
    /// Different pairs of adjacent conflicting events, in the runs that were
    /// traced: the first one of each batch.
    pub pairs: u64,
    /// Events of all runs.
    pub events: u64,
    /// Runs of a search that began in the middle of an earlier one.
    pub resumed: u64,
    /// Runs that were undone, so that their process could make the next.
    pub rewound: u64,
    /// Runs that failed in another way than the one that is looked for.
    pub others: u64,
}

impl Statistics {
    /// Runs per second of wall-clock time.
    #[must_use]
    pub fn runs_per_second(&self) -> f64 {
        match self.seconds > 0.0 {
            true => self.runs as f64 / self.seconds,
            false => 0.0,
        }
    }
}

/// Where a hunt stands.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Figures so far.
    pub statistics: Statistics,
    /// What it may spend.
    pub budget: Budget,
    /// What it has spent.
    pub elapsed: Duration,
    /// Distinct bugs so far.
    pub found: u64,
}

impl Progress {
    /// How much of the budget is spent, from 0 to 1.
    #[must_use]
    pub fn share(&self) -> f64 {
        let by_time = self.budget.time.map_or(0.0, |time| {
            self.elapsed.as_secs_f64() / time.as_secs_f64().max(f64::MIN_POSITIVE)
        });
        let by_runs = self.budget.runs.map_or(0.0, |runs| {
            self.statistics.runs as f64 / (runs as f64).max(1.0)
        });
        by_time.max(by_runs).min(1.0)
    }
}

/// What came of one batch.
#[derive(Debug, Default)]
pub(super) struct Finished {
    /// Hashes of the schedules, one per run.
    pub hashes: Vec<u64>,
    /// Events of all runs.
    pub events: u64,
    /// How many runs were undone.
    pub rewound: u64,
    /// How many failed in another way than the one that is looked for.
    pub others: u64,
    /// Pairs known after its lesson.
    pub pairs: u64,
    /// What its lesson has shown by itself, where nothing depends on it.
    pub seen: Knowledge,
    /// What its failing runs showed.
    pub bugs: Vec<Bug>,
    /// What stood in the way of control.
    pub notices: BTreeSet<Notice>,
    /// Data races of its lesson.
    pub races: Vec<ToldRace>,
    /// Its lock orders that can deadlock.
    pub lock_cycles: Vec<ToldLockCycle>,
    /// Most events of a good run that were not looked at for races, where a race
    /// is a failure.
    pub unwatched: u64,
    /// Where its last runs began.
    pub point: Option<ForkPoint>,
    /// What the strategy reported, for a search.
    pub learnt: Vec<u8>,
}

/// What is known of a hunt: its batches in the order of their numbers.
#[derive(Debug, Default)]
pub(super) struct Record {
    runs: u64,
    events: u64,
    pairs: u64,
    /// Pairs of the lessons of a search.
    seen: Knowledge,
    distinct: Distinct,
    /// One of each signature.
    pub bugs: Vec<Bug>,
    pub notices: BTreeSet<Notice>,
    /// By their places; the first of each.
    pub races: BTreeMap<Vec<Place>, ToldRace>,
    /// The first of each.
    pub lock_cycles: Vec<ToldLockCycle>,
    /// As in [`Finished`].
    pub unwatched: u64,
    /// Why runs begin at `main`.
    pub obstacle: Option<Obstacle>,
    resumed: u64,
    rewound: u64,
    others: u64,
}

impl Record {
    pub(super) fn add(&mut self, finished: Finished) {
        self.runs += finished.hashes.len() as u64;
        self.events += finished.events;
        self.rewound += finished.rewound;
        self.others += finished.others;
        self.seen.take_pairs(finished.seen);
        self.pairs = self.pairs.max(finished.pairs).max(self.seen.pairs());
        self.notices.extend(finished.notices);
        self.unwatched = self.unwatched.max(finished.unwatched);
        for race in finished.races {
            self.races.entry(race.places.clone()).or_insert(race);
        }
        for cycle in finished.lock_cycles {
            let mut known = self.lock_cycles.iter();
            if known.all(|known| known.lines() != cycle.lines()) {
                self.lock_cycles.push(cycle);
            }
        }
        match finished.point {
            Some(ForkPoint::Main(obstacle)) => self.obstacle = self.obstacle.or(obstacle),
            Some(ForkPoint::Turn(_)) => self.resumed += finished.hashes.len() as u64,
            Some(ForkPoint::FirstQuestion | ForkPoint::Image) | None => {}
        }
        for hash in finished.hashes {
            self.distinct.insert(hash);
        }
        for bug in finished.bugs {
            if self
                .bugs
                .iter()
                .all(|known| known.signature != bug.signature)
            {
                self.bugs.push(bug);
            }
        }
    }

    pub(super) fn statistics(&self, elapsed: Duration) -> Statistics {
        Statistics {
            runs: self.runs,
            seconds: elapsed.as_secs_f64(),
            distinct: self.distinct.count(),
            pairs: self.pairs,
            events: self.events,
            resumed: self.resumed,
            rewound: self.rewound,
            others: self.others,
        }
    }
}
