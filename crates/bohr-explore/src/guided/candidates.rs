//! Where threads of a good run may give way, and to whom.

use super::{Passing, Ranked, Search};
use bohr_event::control::Step;
use bohr_event::{EventKind, MemoryOrder, Operation, ThreadIndex};
use bohr_schedule::{Preemption, Return};
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

/// Where the strategy is asked first: behind the creation of the second thread, or at
/// once where there are several from the beginning, as there are behind a checkpoint.
fn first_asked(passing: Passing<'_>) -> Option<usize> {
    let mut begun = BTreeSet::from([ThreadIndex::MAIN]);
    let is_queue = |thread: ThreadIndex| {
        let path = passing.threads.get(thread.position());
        path.is_some_and(|path| path.buffer_of().is_some())
    };
    for step in passing.steps {
        if step.operation.kind == EventKind::Start {
            begun.insert(step.thread);
        } else if !begun.contains(&step.thread) && !is_queue(step.thread) {
            return Some(0);
        }
    }
    let is_fork = |step: &Step| step.operation.kind == EventKind::Fork;
    Some(passing.steps.iter().position(is_fork)? + 1)
}

impl Search {
    /// The candidates in the order of the run.
    pub(super) fn candidates(&self, passing: Passing<'_>) -> Vec<Candidate> {
        let Some(first) = first_asked(passing) else {
            return Vec::new();
        };
        let mut passed: BTreeMap<ThreadIndex, (u64, u64)> = BTreeMap::new();
        let mut candidates = Vec::new();
        let written = Written::of(&passing.steps[first..]);
        let mut turn: u32 = 0;
        // Before there is a second thread nobody can give way.
        for (event, step) in passing.steps.iter().enumerate().skip(first) {
            let (number, accesses) = passed.entry(step.thread).or_default();
            let is_access = step.operation.kind.is_access();
            let before = Candidate {
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
            let after = Candidate {
                number: *number,
                accesses_since: Some(*accesses),
                event: event + 1,
                turn,
                ..before.clone()
            };
            let sides = self.gives_way(&step.operation, &written);
            candidates.extend(sides.iter().map(|side| match side {
                Side::Before => before.clone(),
                Side::After => after.clone(),
            }));
        }
        candidates
    }

    /// On which sides of an operation a thread can give way. Atomic accesses are
    /// synchronisation, unless they only look at what nobody changes: libraries that
    /// make locks of atomics do that while they hold them, and a block that ended there
    /// would not have what the lock is for.
    fn gives_way(&self, operation: &Operation, written: &Written) -> &'static [Side] {
        use EventKind::*;
        let is_atomic = operation.order != MemoryOrder::Plain;
        match operation.kind {
            Start | Acquire | AcquireShared | Look | Wait | Receive | Join | Arrive => {
                &[Side::Before]
            }
            Release | ReleaseShared | Signal | Broadcast | Send | Fork => &[Side::After],
            Read | Write | Update if self.accesses => &[Side::Before],
            Read if is_atomic && written.contains(operation) => &[Side::Before],
            Write | Update if releases(operation.order) => &[Side::Before, Side::After],
            Write | Update if is_atomic => &[Side::Before],
            _ => &[],
        }
    }
}

/// Whether others who see the access may see what was done before it.
fn releases(order: MemoryOrder) -> bool {
    use MemoryOrder::*;
    matches!(order, Release | AcquireRelease | SequentiallyConsistent)
}

/// What is written to once there are several threads: first addresses of pieces that do
/// not touch, ascending, and where each ends.
struct Written(BTreeMap<u64, u64>);

impl Written {
    fn of(steps: &[Step]) -> Written {
        let operations = steps.iter().map(|step| &step.operation);
        let writes = operations
            .filter(|operation| matches!(operation.kind, EventKind::Write | EventKind::Update));
        let mut pieces: Vec<(u64, u64)> = writes.map(Self::bytes).collect();
        pieces.sort_unstable();
        let mut written: BTreeMap<u64, u64> = BTreeMap::new();
        for (start, end) in pieces {
            match written.last_entry() {
                Some(mut last) if start <= *last.get() => {
                    let end = end.max(*last.get());
                    last.insert(end);
                }
                _ => {
                    written.insert(start, end);
                }
            }
        }
        Written(written)
    }

    fn bytes(operation: &Operation) -> (u64, u64) {
        let size = u64::from(operation.size);
        (operation.object, operation.object.saturating_add(size))
    }

    fn contains(&self, operation: &Operation) -> bool {
        let (start, end) = Self::bytes(operation);
        let before = self.0.range(..end).next_back();
        before.is_some_and(|(_, last)| *last > start)
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
            until: Return::InTurn,
            turn: self.turn,
        };
        Some(Choice {
            preemption,
            event: self.event,
        })
    }
}
