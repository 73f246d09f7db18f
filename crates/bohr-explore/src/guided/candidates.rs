//! Where threads of a good run may give way, and to whom.

use super::{Passing, Ranked, Search};
use bohr_event::control::Step;
use bohr_event::{EventKind, MemoryOrder, Operation, ThreadIndex};
use bohr_schedule::Preemption;
use std::collections::{BTreeMap, BTreeSet};

/// A point at which a thread may give way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub thread: ThreadIndex,
    /// Events of the thread before that are no accesses.
    number: u64,
    /// Accesses since the last of them; `None` for all of them.
    accesses_since: Option<u64>,
    /// The first event that comes later if it does.
    pub event: usize,
    /// Events that count, of all threads, before that.
    turn: u32,
    /// Variables that its block accesses.
    pub accesses: BTreeSet<usize>,
    /// Rank of the best access in its block; the highest number if it has none.
    pub weight: u64,
}

/// Giving way at a candidate to a certain thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    pub preemption: Preemption,
    /// The first event that comes later.
    pub event: usize,
}

impl Search {
    /// The candidates in the order of the run.
    pub(super) fn candidates(&self, passing: Passing<'_>) -> Vec<Candidate> {
        let is_fork = |step: &Step| step.operation.kind == EventKind::Fork;
        let Some(second) = passing.steps.iter().position(is_fork) else {
            return Vec::new();
        };
        let mut passed: BTreeMap<ThreadIndex, (u64, u64)> = BTreeMap::new();
        let mut candidates = Vec::new();
        let mut turn: u32 = 0;
        // Before there is a second thread nobody can give way.
        for (event, step) in passing.steps.iter().enumerate().skip(second + 1) {
            let (number, accesses) = passed.entry(step.thread).or_default();
            let is_access = step.operation.kind.is_access();
            let mut candidate = Candidate {
                thread: step.thread,
                number: *number,
                accesses_since: is_access.then_some(*accesses),
                event,
                turn,
                accesses: BTreeSet::new(),
                weight: u64::MAX,
            };
            match is_access {
                true => *accesses += 1,
                false => {
                    (*number, *accesses) = (*number + 1, 0);
                    turn = turn.saturating_add(1);
                }
            }
            match self.gives_way(&step.operation) {
                Some(Side::Before) => {}
                Some(Side::After) => {
                    (candidate.number, candidate.accesses_since) = (*number, Some(0));
                    (candidate.event, candidate.turn) = (event + 1, turn);
                }
                None => continue,
            }
            candidates.push(candidate);
        }
        candidates
    }

    /// Whether a thread can give way at an operation, and on which side of it. Atomic
    /// accesses are synchronisation.
    fn gives_way(&self, operation: &Operation) -> Option<Side> {
        use EventKind::*;
        match operation.kind {
            Start | Acquire | AcquireShared | Look | Wait | Receive | Join | Arrive => {
                Some(Side::Before)
            }
            Release | ReleaseShared | Signal | Broadcast | Send | Fork => Some(Side::After),
            Read | Write | Update if self.accesses || operation.order != MemoryOrder::Plain => {
                Some(Side::Before)
            }
            _ => None,
        }
    }
}

/// Of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Before,
    After,
}

/// Tells every candidate what its block accesses.
pub(super) fn annotate(candidates: &mut [Candidate], passing: Passing<'_>, ranked: &[Ranked]) {
    let mut by_event: BTreeMap<usize, Vec<&Ranked>> = BTreeMap::new();
    for access in ranked {
        by_event.entry(access.event).or_default().push(access);
    }
    // Of each thread, the candidates in order: a block ends where the next begins.
    let mut leading: BTreeMap<ThreadIndex, usize> = BTreeMap::new();
    let mut next = 0;
    for (event, step) in passing.steps.iter().enumerate() {
        while let Some(candidate) = candidates.get(next).filter(|one| one.event <= event) {
            leading.insert(candidate.thread, next);
            next += 1;
        }
        let accesses = by_event.get(&event).into_iter().flatten();
        let Some(&leader) = leading.get(&step.thread) else {
            continue;
        };
        for access in accesses {
            let candidate = &mut candidates[leader];
            candidate.accesses.insert(access.variable);
            candidate.weight = candidate.weight.min(access.rank);
        }
    }
}

impl Candidate {
    /// Giving way to each of the others.
    pub fn to_anybody(&self, passing: Passing<'_>) -> Vec<Choice> {
        let all = (0..passing.threads.len()).map(|position| ThreadIndex(position as u32));
        let others = all.filter(|&other| other != self.thread);
        others.filter_map(|to| self.choice(passing, to)).collect()
    }

    pub fn choice(&self, passing: Passing<'_>, to: ThreadIndex) -> Option<Choice> {
        let path = |thread: ThreadIndex| passing.threads.get(thread.position()).cloned();
        let preemption = Preemption {
            thread: path(self.thread)?,
            number: self.number,
            accesses: self.accesses_since,
            to: path(to)?,
            turn: self.turn,
        };
        Some(Choice {
            preemption,
            event: self.event,
        })
    }
}
