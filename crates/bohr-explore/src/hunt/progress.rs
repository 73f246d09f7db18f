//! The figures of a hunt, while it goes on and at its end.

use super::Budget;
use crate::distinct::Distinct;
use bohr_event::control::RunReport;
use std::time::Duration;

/// The figures of a hunt.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Statistics {
    /// Runs made.
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

/// What is counted on the way.
#[derive(Debug, Default)]
pub(super) struct Tally {
    runs: u64,
    events: u64,
    distinct: Distinct,
}

impl Tally {
    pub(super) fn count(&mut self, report: &RunReport) {
        self.runs += 1;
        self.events += report.events;
        self.distinct.insert(report.hash);
    }

    pub(super) fn statistics(&self, elapsed: Duration) -> Statistics {
        Statistics {
            runs: self.runs,
            seconds: elapsed.as_secs_f64(),
            distinct: self.distinct.count(),
            pairs: 0,
            events: self.events,
        }
    }
}
