//! What many runs came to.

use bohr_explore::native::{Ending, NativeRun};
use std::time::Duration;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// How many runs.
    pub runs: u32,
    /// How many showed the bug.
    pub failures: u32,
    /// How many hit every breakpoint.
    pub hits: u32,
    /// Threads that were held up in vain, in all runs.
    pub timed_out: u64,
    /// Errors that could be seen, in all runs: one per failure, and where nothing
    /// fails, one per meeting.
    errors: u64,
    /// How long each run took.
    times: Vec<Duration>,
    /// What the last failure looked like from outside.
    pub ending: Option<Ending>,
    /// By breakpoint: the fewest meetings of a run that showed the bug.
    meetings: Vec<u64>,
}

impl Measured {
    /// Counts a run, and how many errors could be seen in it.
    pub fn add(&mut self, run: &NativeRun, errors: u64) {
        self.runs += 1;
        self.hits += u32::from(run.hit_all());
        self.timed_out += run
            .counts
            .iter()
            .map(|counts| counts.timed_out)
            .sum::<u64>();
        self.times.push(run.time);
        self.errors += errors;
        if errors > 0 {
            self.failures += 1;
            self.ending = Some(run.ending.clone());
            let hits = run.counts.iter().map(|counts| counts.hits);
            self.meetings = match self.failures {
                1 => hits.collect(),
                _ => { self.meetings.iter().zip(hits) }
                    .map(|(fewest, hits)| hits.min(*fewest))
                    .collect(),
            };
        }
    }

    /// How often at least the threads met at each breakpoint where the bug was shown.
    pub fn meetings(&self) -> &[u64] {
        &self.meetings
    }

    /// The share of runs that showed the bug.
    pub fn probability(&self) -> f64 {
        f64::from(self.failures) / f64::from(self.runs.max(1))
    }

    /// The share of runs that hit every breakpoint.
    pub fn hit_share(&self) -> f64 {
        f64::from(self.hits) / f64::from(self.runs.max(1))
    }

    /// Seconds of running per error that could be seen.
    pub fn mean_time_to_error(&self) -> Option<f64> {
        let total: Duration = self.times.iter().sum();
        (self.errors > 0).then(|| total.as_secs_f64() / self.errors as f64)
    }

    /// The middle one of the times, in seconds: a machine that does other things
    /// as well makes some runs slow.
    pub fn median_time(&self) -> f64 {
        let mut times = self.times.clone();
        times.sort_unstable();
        let middle = times.get(times.len() / 2);
        middle.map_or(0.0, Duration::as_secs_f64)
    }
}
