//! Conflict states (section 1 of the paper): two threads about to touch the same
//! memory, one of them to write it, with nothing that orders them; about to take
//! the same lock; or about to do something with the same condition, semaphore,
//! barrier or atomic variable. Depending on who goes first, a program ends up in different states.
//! Found in the events of runs that went well or not; methodology II begins here.

use bohr_event::control::{Recorded, Step};
use bohr_event::{EventKind, MemoryOrder, Operation, PlaceNumber};
use bohr_explain::races;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// What two threads contend for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Contention {
    /// Memory.
    Race,
    /// A lock.
    Lock,
    /// A condition, semaphore, barrier or atomic variable.
    Object,
}

/// A pair of places, the smaller first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// What it is about.
    pub contention: Contention,
    /// Where the threads are.
    pub places: [PlaceNumber; 2],
    /// In how many runs it was seen.
    pub runs: u32,
    /// How often one came right after the other, in all runs.
    pub count: u32,
}

/// The conflicts of these runs: what was seen in most runs and most often comes
/// first, races before locks before other objects where that is the same.
#[must_use]
pub fn conflicts(runs: &[Recorded]) -> Vec<Conflict> {
    let mut found: BTreeMap<(Contention, [PlaceNumber; 2]), (u32, u32)> = BTreeMap::new();
    for run in runs {
        let mut seen = BTreeSet::new();
        for key in of_run(run) {
            let counts = found.entry(key).or_default();
            counts.0 += u32::from(seen.insert(key));
            counts.1 += 1;
        }
    }
    let mut all: Vec<Conflict> = found
        .into_iter()
        .map(|((contention, places), (runs, count))| Conflict {
            contention,
            places,
            runs,
            count,
        })
        .collect();
    all.sort_by_key(|one| (Reverse(one.runs), one.contention, Reverse(one.count)));
    all
}

fn of_run(run: &Recorded) -> Vec<(Contention, [PlaceNumber; 2])> {
    let pair = |one: &Step, other: &Step| {
        let mut places = [one, other].map(|step| step.operation.place);
        places.sort();
        places
    };
    let races = races(&run.steps);
    let mut all: Vec<(Contention, [PlaceNumber; 2])> = races
        .iter()
        .map(|race| {
            (
                Contention::Race,
                pair(&run.steps[race.first], &run.steps[race.second]),
            )
        })
        .collect();
    let mut last: BTreeMap<(Contention, u64), &Step> = BTreeMap::new();
    for step in &run.steps {
        let Some(contention) = contention(&step.operation) else {
            continue;
        };
        let before = last.insert((contention, step.operation.object), step);
        let contend = |before: &&Step| {
            let reads =
                |step: &Step| step.operation.kind.is_access() && !step.operation.kind.writes();
            before.thread != step.thread && !(reads(before) && reads(step))
        };
        if let Some(before) = before.filter(contend) {
            all.push((contention, pair(before, step)));
        }
    }
    all
}

fn contention(operation: &Operation) -> Option<Contention> {
    use EventKind::{Acquire, AcquireShared, Arrive, Broadcast, Look, Receive, Send, Signal, Wait};
    match operation.kind {
        kind if kind.is_access() && operation.order != MemoryOrder::Plain => {
            Some(Contention::Object)
        }
        Acquire | AcquireShared | Look => Some(Contention::Lock),
        Wait | Signal | Broadcast | Send | Receive | Arrive => Some(Contention::Object),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bohr_event::ThreadIndex;

    fn step(thread: u32, kind: EventKind, object: u64, place: u64) -> Step {
        Step {
            thread: ThreadIndex(thread),
            operation: Operation::plain(kind, 0, object, PlaceNumber(place)),
        }
    }

    #[test]
    fn contention_is_about_one_lock_and_two_threads() {
        use EventKind::{Acquire, Release, Signal, Wait};
        let steps = vec![
            step(0, Acquire, 0x10, 1),
            step(0, Release, 0x10, 2),
            step(1, Acquire, 0x10, 3),
            step(1, Release, 0x10, 4),
            step(1, Acquire, 0x20, 5),
            step(1, Acquire, 0x10, 6),
            step(0, Signal, 0x30, 7),
            step(1, Wait, 0x30, 8),
        ];
        let run = Recorded {
            steps,
            ..Recorded::default()
        };
        let places = |one, other| [PlaceNumber(one), PlaceNumber(other)];
        let found: Vec<_> = conflicts(&[run.clone(), run])
            .into_iter()
            .map(|one| (one.contention, one.places, one.runs, one.count))
            .collect();
        assert_eq!(
            found,
            [
                (Contention::Lock, places(1, 3), 2, 2),
                (Contention::Object, places(7, 8), 2, 2),
            ]
        );
    }
}
