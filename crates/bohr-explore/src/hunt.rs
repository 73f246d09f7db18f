//! The search loop: workers that each drive a fork server, a budget, and what
//! they have found and learnt.

mod agenda;
mod progress;
mod source;
mod worker;

pub use progress::{Progress, Statistics};

use crate::bug_file::Bug;
use crate::error::ExploreError;
use crate::likeness::Likeness;
use crate::lock_order::ToldLockCycle;
use crate::race::ToldRace;
use crate::replay::{self, Reproduction};
use crate::strategy_name::StrategyName;
use crate::subject::Subject;
use agenda::Agenda;
use bohr_event::control::{Notice, Obstacle};
use bohr_event::{FailureKind, Place};
use bohr_schedule::{Plan, Ways};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

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

impl std::fmt::Display for Shard {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}/{}", self.index + 1, self.count)
    }
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
    /// The failure that is looked for, if it is a certain one: others only count.
    pub wanted: Option<Likeness>,
    /// Ways that the threads have to keep to, if a recorded run is looked for.
    pub ways: Option<Ways>,
    /// Whether runs of a search may begin in the middle of earlier ones, which
    /// changes nothing but the time that they take.
    pub checkpoints: bool,
    /// Whether a process may make many runs one after the other, likewise.
    pub rewind: bool,
    /// The plans of a search that was planned beforehand, in place of those that
    /// the strategy makes.
    pub listed: Option<Vec<Plan>>,
}

/// A bug with what is known about its reproduction.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The bug.
    pub bug: Bug,
    /// Whether a replay in a fresh process showed it again; `None` if none could be
    /// made.
    pub reproduction: Option<Reproduction>,
}

/// How a hunt ended.
#[derive(Debug)]
pub struct HuntResult {
    /// Distinct bugs, in the order of the runs that showed them.
    pub findings: Vec<Finding>,
    /// Figures.
    pub statistics: Statistics,
    /// Whether a search has seen all there is.
    pub complete: bool,
    /// What stood in the way of control.
    pub notices: Vec<Notice>,
    /// Data races in the runs that were traced and in the failing ones, one per
    /// pair of places.
    pub races: Vec<ToldRace>,
    /// Lock orders in the same runs that can deadlock, one for the lines of each.
    pub lock_cycles: Vec<ToldLockCycle>,
    /// Where a race is a failure: most events of a good run that were not looked
    /// at, since its trace was full.
    pub unwatched: u64,
    /// Why every run had to begin at `main`, if it had to.
    pub obstacle: Option<Obstacle>,
    /// What ended the hunt early, although it had found something.
    pub trouble: Option<ExploreError>,
}

impl Hunt {
    /// The seed of a run: shards take turns.
    fn seed_of(&self, run: u64) -> u64 {
        let turn = run
            .wrapping_mul(self.shard.count)
            .wrapping_add(self.shard.index);
        self.seed.wrapping_add(turn)
    }

    fn first_seed(&self) -> u64 {
        self.seed_of(0)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
    let agenda = Agenda::new(hunt, interrupted);
    let begun = agenda.begun;
    let worked = run_workers(subject, hunt, &agenda, show);
    let (record, complete) = agenda.close();
    // Who interrupts a hunt in a terminal interrupts the program, too.
    let is_interrupted = interrupted.load(Ordering::Relaxed);
    let mut trouble = match worked {
        Err(error) if record.bugs.is_empty() && !is_interrupted => return Err(error),
        worked => worked.err().filter(|_| !is_interrupted),
    };
    let statistics = record.statistics(begun.elapsed());
    if statistics.runs == 0 && hunt.budget.runs != Some(0) && !is_interrupted {
        return Err(ExploreError::NoRunEnded(begun.elapsed()));
    }
    let mut told = Told {
        races: record.races,
        lock_cycles: record.lock_cycles,
    };
    let bugs = record.bugs.into_iter();
    let findings = bugs.map(|bug| {
        // What was found is not lost if it cannot be shown once more.
        confirm(subject, &bug, interrupted, &mut told).unwrap_or_else(|error| {
            trouble.get_or_insert(error);
            Finding {
                bug,
                reproduction: None,
            }
        })
    });
    let findings = findings.collect();
    Ok(HuntResult {
        findings,
        statistics,
        complete,
        notices: record.notices.into_iter().collect(),
        races: told.races.into_values().collect(),
        lock_cycles: told.lock_cycles,
        unwatched: record.unwatched,
        obstacle: record.obstacle,
        trouble,
    })
}

fn run_workers(
    subject: &Subject,
    hunt: &Hunt,
    agenda: &Agenda<'_>,
    show: &mut dyn FnMut(&Progress),
) -> Result<(), ExploreError> {
    let jobs = match hunt.strategy.is_parallel() {
        true => hunt.jobs.max(1),
        false => 1,
    };
    let ends = attended(
        jobs,
        GLANCE,
        || worker::work(subject, hunt, agenda),
        || {
            let elapsed = agenda.begun.elapsed();
            show(&agenda.look(|record| Progress {
                statistics: record.statistics(elapsed),
                budget: hunt.budget,
                elapsed,
                found: record.bugs.len() as u64,
            }));
        },
    );
    ends.into_iter().collect()
}

/// How often a hunt is looked at while it goes on.
const GLANCE: Duration = Duration::from_millis(100);

/// What came of so many workers, as soon as the last of them has ended; `look` is
/// called again and again while they work, and once behind them.
fn attended<T: Send>(
    jobs: u32,
    glance: Duration,
    work: impl Fn() -> T + Sync,
    mut look: impl FnMut(),
) -> Vec<T> {
    // Nothing is ever sent: each worker holds one end, and lets go of it when it ends,
    // however that is, so that its end is heard at once and cannot be missed.
    let (end, ends) = mpsc::channel::<Infallible>();
    std::thread::scope(|scope| {
        let start = |_| {
            let (work, end) = (&work, end.clone());
            scope.spawn(move || {
                let _held = end;
                work()
            })
        };
        let workers: Vec<_> = (0..jobs).map(start).collect();
        drop(end);
        while let Err(RecvTimeoutError::Timeout) = ends.recv_timeout(glance) {
            look();
        }
        look();
        let join = |worker: std::thread::ScopedJoinHandle<'_, T>| {
            let joined = worker.join();
            joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        workers.into_iter().map(join).collect()
    })
}

/// What is told of a hunt besides its bugs.
struct Told {
    races: BTreeMap<Vec<Place>, ToldRace>,
    lock_cycles: Vec<ToldLockCycle>,
}

/// Shows the bug once more, in a process of its own; its races replace those that were
/// told without stacks.
fn confirm(
    subject: &Subject,
    found: &Bug,
    interrupted: &AtomicBool,
    told: &mut Told,
) -> Result<Finding, ExploreError> {
    let go_on = || !interrupted.load(Ordering::Relaxed);
    let look = replay::once(subject, found, &go_on)?;
    let mut bug = found.clone();
    let is_it = |race: &&ToldRace| race.places == bug.signature.cycle;
    if let (FailureKind::DataRace, Some(race)) =
        (&bug.signature.kind, look.closer.races.iter().find(is_it))
    {
        bug.threads = race.threads();
    }
    look.closer.complete(&mut bug.threads);
    bug.sources = look.sources;
    bug.printed = look.printed;
    for race in look.closer.races {
        told.races.insert(race.places.clone(), race);
    }
    for cycle in look.closer.lock_cycles {
        let mut known = told.lock_cycles.iter();
        if known.all(|known| known.lines() != cycle.lines()) {
            told.lock_cycles.push(cycle);
        }
    }
    Ok(Finding {
        bug,
        reproduction: Some(look.reproduction),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Longer than anybody waits for a test.
    const FOR_EVER: Duration = Duration::from_secs(1 << 20);

    /// The time to a bug is a figure: who waits for workers may not round it up.
    #[test]
    fn the_end_of_the_last_worker_is_heard_at_once() {
        let mut looks = 0;
        assert_eq!(attended(3, FOR_EVER, || 7, || looks += 1), [7; 3]);
        assert_eq!(looks, 1);
    }

    #[test]
    fn a_worker_that_panics_ends_the_wait_and_is_heard_of() {
        let work = || -> () { panic!("on purpose") };
        assert!(std::panic::catch_unwind(|| attended(2, FOR_EVER, work, || {})).is_err());
    }

    #[test]
    fn work_that_goes_on_is_looked_at() {
        let looked = AtomicBool::new(false);
        // Goes on until it has been looked at.
        let work = || {
            while !looked.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
        };
        attended(1, Duration::from_millis(1), work, || {
            looked.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn shards_are_read_or_refused() {
        assert_eq!("2/4".parse(), Ok(Shard { index: 1, count: 4 }));
        for wrong in ["", "0/4", "5/4", "1", "a/b", "1/0"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
