//! What runs cost, and how many of them a candidate is worth.

use crate::simplify::LEAPS;
use bohr_event::control::{Recorded, Step};
use bohr_event::{EventKind, ThreadIndex, ThreadPath};
use bohr_reduce::reduction::{Candidates, Length};
use std::collections::HashSet;

/// Other schedules that are tried where the old one does not show the failure:
/// at most so many for a candidate, and for a row of candidates so few that they
/// cost about as much as so many events.
const CHANCES: u64 = 24;
const CHANCES_OF_THREADS: u64 = 96;
const CHANCES_OF_SHORT_RUNS: u64 = 48;
const CHANCE_COST: u64 = 2_000_000;

/// Runs with no preemption, one and two that are worth a schedule which people can
/// follow. The more there are, the more ways to choose their moments; with none, there
/// are but a few orders, and two of them were seen not to fail.
const SAMPLES: [u64; LEAPS] = [16, 64, 128];

/// The creation of a thread, in events.
const THREAD_COST: u64 = 50;

/// How many other schedules are tried for each of so many candidates: fewer if
/// runs are long, or have many threads to create.
pub fn chances(best: &Recorded, candidates: &Candidates<'_>) -> u64 {
    let all = cost(best);
    let (cost, most, worth) = match candidates.length {
        Length::Shorter => (all, CHANCES, CHANCE_COST),
        Length::Longer => (all, CHANCES_OF_THREADS, CHANCE_COST),
        // What is tried in the hope to save replays of the long run costs one at most.
        Length::About(events) => {
            let threads = threads_left(best, candidates);
            let cost = events + THREAD_COST * threads;
            (cost, CHANCES_OF_SHORT_RUNS, CHANCE_COST.min(all))
        }
    };
    most.min(worth / (cost.max(1) * candidates.count.max(1) as u64))
}

/// How many threads a run without what a candidate leaves out still has to create.
fn threads_left(best: &Recorded, candidates: &Candidates<'_>) -> u64 {
    let gone = (candidates.cut)(0).without.threads;
    let is_there = |path: &&ThreadPath| !gone.iter().any(|other| path.is_within(other));
    best.threads.iter().filter(is_there).count() as u64
}

/// How many runs with hardly any preemption are tried where a run fails with many. One
/// in which everybody begins and nobody comes back has as few switches as there can be,
/// and two preemptions are no better than what it has.
pub fn samples(best: &Recorded) -> [u64; LEAPS] {
    let own = best.steps.iter().filter(|step| !is_life(step));
    let threads: HashSet<ThreadIndex> = own.map(|step| step.thread).collect();
    let is_calm = best.schedule.switches() < threads.len();
    let mut samples = SAMPLES.map(|samples| samples.min(CHANCE_COST / cost(best).max(1)));
    if is_calm {
        samples[2..].fill(0);
    }
    samples
}

/// Whether a step is all that threads do that are left out.
fn is_life(step: &Step) -> bool {
    use EventKind::{Exit, Free, Start};
    matches!(step.operation.kind, Start | Exit | Free)
}

/// What a run costs, in events.
pub fn cost(run: &Recorded) -> u64 {
    run.steps.len() as u64 + THREAD_COST * run.threads.len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use bohr_event::control::Omissions;
    use bohr_reduce::reduction::Cut;

    /// A run is worth its events and its threads: hundreds of them are not created over
    /// and over in the hope that a small run fails, a few are.
    #[test]
    fn small_runs_of_many_threads_are_not_cheap() {
        let path = |number: u32| ThreadPath::MAIN.child(number);
        let best = Recorded {
            threads: (1..=450).map(path).collect(),
            ..Recorded::default()
        };
        let chances = |staying: u32| {
            let cut = |_: usize| Cut {
                without: Omissions {
                    threads: (staying + 1..=450).map(path).collect(),
                    ..Omissions::default()
                },
                ..Cut::default()
            };
            let candidates = Candidates {
                count: 1,
                cut: &cut,
                length: Length::About(100),
            };
            chances(&best, &candidates)
        };
        assert_eq!(chances(2), CHANCES_OF_SHORT_RUNS);
        assert!(chances(450) <= 1);
    }
}
