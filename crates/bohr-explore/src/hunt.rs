//! The search loop: workers that each drive a fork server, a budget, and what
//! they have found and learnt.

mod progress;
mod worker;

pub use progress::{Progress, Statistics};

use crate::bug_file::Bug;
use crate::error::ExploreError;
use crate::knowledge::Knowledge;
use crate::replay::{self, Reproduction};
use crate::strategy_name::StrategyName;
use crate::subject::Subject;
use bohr_event::control::Notice;
use progress::Tally;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// When a hunt ends without having found anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// After so many runs.
    pub runs: Option<u64>,
    /// After so much time.
    pub time: Option<Duration>,
}

/// One part of a hunt that several machines share without talking to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which part, counted from 0.
    pub index: u64,
    /// Of how many.
    pub count: u64,
}

impl Shard {
    /// A hunt by a single machine.
    pub const WHOLE: Shard = Shard { index: 0, count: 1 };
}

/// Why a text is not a shard.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a shard: I/N with I from 1 to N, as in 2/4")]
pub struct NotAShard(String);

impl std::str::FromStr for Shard {
    type Err = NotAShard;

    fn from_str(text: &str) -> Result<Shard, NotAShard> {
        let wrong = || NotAShard(text.to_string());
        let (index, count) = text.split_once('/').ok_or_else(wrong)?;
        let number = |part: &str| part.parse::<u64>().map_err(|_| wrong());
        let (index, count) = (number(index)?, number(count)?);
        match (1..=count).contains(&index) {
            true => Ok(Shard {
                index: index - 1,
                count,
            }),
            false => Err(wrong()),
        }
    }
}

/// How to hunt.
#[derive(Clone, Debug)]
pub struct Hunt {
    /// By which strategy.
    pub strategy: StrategyName,
    /// The first seed.
    pub seed: u64,
    /// Workers.
    pub jobs: u32,
    /// Which part of a shared hunt.
    pub shard: Shard,
    /// When to give up.
    pub budget: Budget,
    /// Whether to look for further bugs after the first.
    pub keep_going: bool,
}

/// A bug with what is known about its reproduction.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The bug.
    pub bug: Bug,
    /// Whether a replay in a fresh process showed it again.
    pub reproduction: Reproduction,
}

/// How a hunt ended.
#[derive(Clone, Debug)]
pub struct HuntResult {
    /// Distinct bugs, in the order in which they were found.
    pub findings: Vec<Finding>,
    /// Figures.
    pub statistics: Statistics,
    /// Whether a search has seen all there is.
    pub complete: bool,
    /// What stood in the way of control.
    pub notices: Vec<Notice>,
}

/// What the workers share.
struct Shared<'a> {
    subject: &'a Subject,
    hunt: &'a Hunt,
    begun: Instant,
    /// Runs handed out.
    next_run: AtomicU64,
    batches: AtomicU64,
    /// Set when somebody has found enough or the user has had enough.
    over: AtomicBool,
    complete: AtomicBool,
    tally: Mutex<Tally>,
    knowledge: Mutex<Knowledge>,
    found: Mutex<Vec<Bug>>,
    notices: Mutex<BTreeSet<Notice>>,
    interrupted: &'a AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared<'_> {
    fn go_on(&self) -> bool {
        let in_time = self
            .hunt
            .budget
            .time
            .is_none_or(|time| self.begun.elapsed() < time);
        in_time && !self.over.load(Ordering::Relaxed) && !self.interrupted.load(Ordering::Relaxed)
    }

    /// Hands out the next `wanted` runs, or what the budget has left.
    fn take_runs(&self, wanted: u64) -> std::ops::Range<u64> {
        let most = self.hunt.budget.runs.unwrap_or(u64::MAX);
        let first = self.next_run.fetch_add(wanted, Ordering::Relaxed).min(most);
        first..first.saturating_add(wanted).min(most)
    }

    /// The seed of a run: shards take turns.
    fn seed(&self, run: u64) -> u64 {
        let shard = self.hunt.shard;
        let turn = run.wrapping_mul(shard.count).wrapping_add(shard.index);
        self.hunt.seed.wrapping_add(turn)
    }

    /// Keeps a bug if it is a new one.
    fn keep(&self, bug: Bug) {
        let mut found = lock(&self.found);
        if found.iter().all(|known| known.signature != bug.signature) {
            found.push(bug);
        }
        if !self.hunt.keep_going {
            self.over.store(true, Ordering::Relaxed);
        }
    }
}

/// Hunts until something is found or the budget is spent. `show` is called with
/// the state of affairs a few times a second; `interrupted` ends the hunt early
/// and loses nothing.
///
/// # Errors
/// If the program cannot be run under control.
pub fn hunt(
    subject: &Subject,
    hunt: &Hunt,
    interrupted: &AtomicBool,
    show: &mut dyn FnMut(&Progress),
) -> Result<HuntResult, ExploreError> {
    let shared = Shared {
        subject,
        hunt,
        begun: Instant::now(),
        next_run: AtomicU64::new(0),
        batches: AtomicU64::new(0),
        over: AtomicBool::new(false),
        complete: AtomicBool::new(false),
        tally: Mutex::default(),
        knowledge: Mutex::default(),
        found: Mutex::default(),
        notices: Mutex::default(),
        interrupted,
    };
    run_workers(&shared, show)?;
    let statistics = lock(&shared.tally).statistics(shared.begun.elapsed());
    if statistics.runs == 0 && hunt.budget.runs != Some(0) && !interrupted.load(Ordering::Relaxed) {
        return Err(ExploreError::NoRunEnded(shared.begun.elapsed()));
    }
    let pairs = lock(&shared.knowledge).pairs();
    let bugs = std::mem::take(&mut *lock(&shared.found));
    let confirmed = bugs
        .into_iter()
        .map(|bug| confirm(subject, bug, interrupted));
    Ok(HuntResult {
        findings: confirmed.collect::<Result<_, _>>()?,
        statistics: Statistics {
            pairs,
            ..statistics
        },
        complete: shared.complete.load(Ordering::Relaxed),
        notices: lock(&shared.notices).iter().copied().collect(),
    })
}

fn run_workers(shared: &Shared<'_>, show: &mut dyn FnMut(&Progress)) -> Result<(), ExploreError> {
    let jobs = match shared.hunt.strategy.is_parallel() {
        true => shared.hunt.jobs.max(1),
        false => 1,
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs)
            .map(|number| scope.spawn(move || worker::work(shared, number)))
            .collect();
        while workers.iter().any(|worker| !worker.is_finished()) {
            std::thread::park_timeout(Duration::from_millis(100));
            let elapsed = shared.begun.elapsed();
            let pairs = lock(&shared.knowledge).pairs();
            let statistics = lock(&shared.tally).statistics(elapsed);
            show(&Progress {
                statistics: Statistics {
                    pairs,
                    ..statistics
                },
                budget: shared.hunt.budget,
                elapsed,
                found: lock(&shared.found).len() as u64,
            });
        }
        for worker in workers {
            match worker
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            {
                // A worker that was cut short by the end of the hunt lost nothing.
                Err(error) if error.is_interruption() => {}
                other => other?,
            }
        }
        Ok(())
    })
}

/// Shows the bug once more, in a process of its own.
fn confirm(
    subject: &Subject,
    mut bug: Bug,
    interrupted: &AtomicBool,
) -> Result<Finding, ExploreError> {
    let go_on = || !interrupted.load(Ordering::Relaxed);
    let look = replay::once(subject, &bug, &go_on)?;
    bug.sources = look.sources;
    bug.printed = look.printed;
    Ok(Finding {
        bug,
        reproduction: look.reproduction,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_read_or_refused() {
        assert_eq!("2/4".parse(), Ok(Shard { index: 1, count: 4 }));
        for wrong in ["", "0/4", "5/4", "1", "a/b", "1/0"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
