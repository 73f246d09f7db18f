//! Which preemptions of a good run to try first, if a core file says which
//! variables were not as they are in that run.
//!
//! D. Weeratunge, X. Zhang, S. Jagannathan, "Analyzing Multicore Dumps to
//! Facilitate Concurrency Bug Reproduction", ASPLOS 2010, section 5, algorithm 2.
//! Candidates are the beginnings of threads, the moments before a lock is taken and
//! those after it was given back (likewise of waits and signals); each leads a block
//! of its thread up to the next, which is never split. A combination weighs as much
//! as the best ranked accesses to critical variables in its blocks.
//!
//! Deviations: pairs are made of the first [`PAIRED`] candidates only; what threads
//! will access is taken from the good run, from the moment of the candidate on.

use bohr_event::control::Step;
use bohr_event::{EventKind, Operation, ThreadIndex, ThreadPath};
use bohr_schedule::{Plan, Preemption, Rule};
use std::collections::{BTreeMap, BTreeSet};

/// Candidates, the best first, of which pairs are made.
pub const PAIRED: usize = 200;
/// Plans that are made at most.
const MOST_PLANS: usize = 200_000;

/// A variable of which a failing state differs from a good one, by where it is in
/// the good run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Critical {
    /// First address.
    pub address: u64,
    /// How many bytes.
    pub size: u64,
}

/// A good run, and how far it agrees with the failing one.
#[derive(Clone, Copy, Debug)]
pub struct Passing<'r> {
    /// All its events.
    pub steps: &'r [Step],
    /// Paths by thread index.
    pub threads: &'r [ThreadPath],
    /// Events before the point that is aligned with the failure.
    pub aligned: usize,
}

/// An access to a critical variable in the good run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranked {
    /// Which event.
    pub event: usize,
    /// Which variable, by its position.
    pub variable: usize,
    /// From 1, the best.
    pub rank: u64,
}

impl Passing<'_> {
    /// The accesses to critical variables before the aligned point, the nearest to it
    /// ranked first.
    #[must_use]
    pub fn by_time(&self, critical: &[Critical]) -> Vec<Ranked> {
        let before = self.steps[..self.aligned.min(self.steps.len())].iter();
        let touched = before.enumerate().rev().flat_map(|(event, step)| {
            let variables = touches(&step.operation, critical);
            variables.map(move |variable| (event, variable))
        });
        (1..)
            .zip(touched)
            .map(|(rank, (event, variable))| Ranked {
                event,
                variable,
                rank,
            })
            .collect()
    }
}

/// The critical variables that an operation touches.
fn touches<'c>(
    operation: &Operation,
    critical: &'c [Critical],
) -> impl Iterator<Item = usize> + use<'c> {
    let is_access = operation.kind.is_access();
    let (start, size) = (operation.object, u64::from(operation.size));
    let meets = move |variable: &Critical| {
        is_access
            && start < variable.address.saturating_add(variable.size)
            && variable.address < start.saturating_add(size)
    };
    let all = critical.iter().enumerate();
    all.filter_map(move |(number, variable)| meets(variable).then_some(number))
}

/// A point at which a thread may give way.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Candidate {
    thread: ThreadIndex,
    /// Which of the thread's events that count.
    number: u64,
    after: bool,
    /// The first event that comes later if it does.
    event: usize,
    /// Variables that its block accesses.
    accesses: BTreeSet<usize>,
    /// Rank of the best access in its block; the highest number if it has none.
    weight: u64,
}

/// What is tried, and in which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Search {
    /// Most preemptions of a run.
    pub preemptions: u32,
    /// Whether accesses to memory are points as well.
    pub accesses: bool,
}

impl Search {
    /// The run without preemptions.
    #[must_use]
    pub fn first(self) -> Plan {
        self.plan(Vec::new())
    }

    fn plan(self, points: Vec<Preemption>) -> Plan {
        Plan::new(Rule::Preempting {
            points,
            accesses: self.accesses,
        })
    }

    /// The plans that ranked accesses suggest, the best first.
    #[must_use]
    pub fn guided(
        self,
        passing: Passing<'_>,
        critical: &[Critical],
        ranked: &[Ranked],
    ) -> Vec<Plan> {
        let mut candidates = self.candidates(passing);
        annotate(&mut candidates, passing, ranked);
        let future = Future::of(passing, critical);
        candidates.retain(|candidate| !candidate.accesses.is_empty());
        candidates.sort_by_key(|candidate| (candidate.weight, std::cmp::Reverse(candidate.event)));
        let mut tries: Vec<(u64, Vec<Preemption>)> = Vec::new();
        let choices = |candidate: &Candidate| future.choices(passing, candidate);
        for candidate in &candidates {
            let single = choices(candidate).into_iter();
            tries.extend(single.map(|one| (candidate.weight, vec![one])));
        }
        if self.preemptions > 1 {
            let paired = &candidates[..candidates.len().min(PAIRED)];
            for (position, one) in paired.iter().enumerate() {
                for other in &paired[position + 1..] {
                    let sum = one.weight.saturating_add(other.weight);
                    for first in choices(one) {
                        for second in choices(other) {
                            tries.push((sum, vec![first.clone(), second]));
                        }
                    }
                }
                if tries.len() > MOST_PLANS {
                    break;
                }
            }
        }
        // Fewer preemptions first where the weights are equal; the order is stable.
        tries.sort_by_key(|(weight, points)| (*weight, points.len()));
        tries
            .into_iter()
            .map(|(_, points)| self.plan(points))
            .collect()
    }

    /// Every combination in the order of the run: the search without guidance.
    #[must_use]
    pub fn unguided(self, passing: Passing<'_>) -> Vec<Plan> {
        let candidates = self.candidates(passing);
        let others = |candidate: &Candidate| -> Vec<Preemption> {
            let all = (0..passing.threads.len()).map(|position| ThreadIndex(position as u32));
            let others = all.filter(|&other| other != candidate.thread);
            others
                .filter_map(|to| candidate.preemption(passing, to))
                .collect()
        };
        let choices: Vec<Vec<Preemption>> = candidates.iter().map(others).collect();
        let mut plans: Vec<Plan> = Vec::new();
        for single in choices.iter().flatten() {
            plans.push(self.plan(vec![single.clone()]));
        }
        if self.preemptions > 1 {
            for (position, firsts) in choices.iter().enumerate() {
                for seconds in &choices[position + 1..] {
                    for first in firsts {
                        let pairs = seconds
                            .iter()
                            .map(|second| vec![first.clone(), second.clone()]);
                        plans.extend(pairs.map(|points| self.plan(points)));
                    }
                }
                if plans.len() > MOST_PLANS {
                    break;
                }
            }
        }
        plans
    }

    /// The candidates in the order of the run.
    fn candidates(self, passing: Passing<'_>) -> Vec<Candidate> {
        let is_fork = |step: &Step| step.operation.kind == EventKind::Fork;
        let Some(second) = passing.steps.iter().position(is_fork) else {
            return Vec::new();
        };
        let mut counted: BTreeMap<ThreadIndex, u64> = BTreeMap::new();
        let mut candidates = Vec::new();
        // Before there is a second thread nobody can give way.
        for (event, step) in passing.steps.iter().enumerate().skip(second + 1) {
            let kind = step.operation.kind;
            if kind.is_access() && !self.accesses {
                continue;
            }
            let number = counted.entry(step.thread).or_default();
            if let Some(after) = gives_way(kind) {
                candidates.push(Candidate {
                    thread: step.thread,
                    number: *number,
                    after,
                    event: event + usize::from(after),
                    accesses: BTreeSet::new(),
                    weight: u64::MAX,
                });
            }
            *number += 1;
        }
        candidates
    }
}

/// Whether a thread can give way at an event of this kind, and on which side of it.
fn gives_way(kind: EventKind) -> Option<bool> {
    use EventKind::*;
    match kind {
        Start | Acquire | AcquireShared | Wait | Receive | Join | Arrive => Some(false),
        Release | ReleaseShared | Signal | Broadcast | Send | Fork => Some(true),
        Read | Write | Update => Some(false),
        _ => None,
    }
}

/// Tells every candidate what its block accesses.
fn annotate(candidates: &mut [Candidate], passing: Passing<'_>, ranked: &[Ranked]) {
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

/// What the threads of the good run do later.
struct Future {
    /// When each thread accesses each critical variable last.
    last: BTreeMap<(ThreadIndex, usize), usize>,
    /// By thread: its events.
    events: BTreeMap<ThreadIndex, Vec<usize>>,
    /// When threads end, by the object that who joins them names.
    ends: BTreeMap<u64, usize>,
}

impl Future {
    fn of(passing: Passing<'_>, critical: &[Critical]) -> Future {
        let mut future = Future {
            last: BTreeMap::new(),
            events: BTreeMap::new(),
            ends: BTreeMap::new(),
        };
        for (event, step) in passing.steps.iter().enumerate() {
            for variable in touches(&step.operation, critical) {
                future.last.insert((step.thread, variable), event);
            }
            future.events.entry(step.thread).or_default().push(event);
            if step.operation.kind == EventKind::Exit {
                future.ends.insert(step.operation.object, event);
            }
        }
        future
    }

    /// Whether a thread, from this moment of the good run on, does nothing before it
    /// has to wait for another to end.
    fn joins(&self, passing: Passing<'_>, thread: ThreadIndex, moment: usize) -> bool {
        let events = self.events.get(&thread).map_or(&[][..], Vec::as_slice);
        let later = &events[events.partition_point(|&event| event < moment)..];
        let operations = later.iter().map(|&event| &passing.steps[event].operation);
        let mut joins = operations.take_while(|operation| operation.kind == EventKind::Join);
        joins.any(|join| {
            let end = self.ends.get(&join.object);
            end.is_some_and(|&end| end >= moment)
        })
    }

    /// Those who could go on instead: they will access what the block accesses, and
    /// do not wait for the end of another.
    fn choices(&self, passing: Passing<'_>, candidate: &Candidate) -> Vec<Preemption> {
        let all = (0..passing.threads.len()).map(|position| ThreadIndex(position as u32));
        let meets = |&to: &ThreadIndex| {
            let mut variables = candidate.accesses.iter();
            let later = |variable: &usize| {
                let last = self.last.get(&(to, *variable));
                last.is_some_and(|&last| last >= candidate.event)
            };
            to != candidate.thread
                && variables.any(later)
                && !self.joins(passing, to, candidate.event)
        };
        all.filter(meets)
            .filter_map(|to| candidate.preemption(passing, to))
            .collect()
    }
}

impl Candidate {
    fn preemption(&self, passing: Passing<'_>, to: ThreadIndex) -> Option<Preemption> {
        let path = |thread: ThreadIndex| passing.threads.get(thread.position()).cloned();
        Some(Preemption {
            thread: path(self.thread)?,
            number: self.number,
            after: self.after,
            to: path(to)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bohr_event::PlaceNumber;

    const X: Critical = Critical {
        address: 100,
        size: 4,
    };

    fn step(thread: u32, kind: EventKind, object: u64) -> Step {
        Step {
            thread: ThreadIndex(thread),
            operation: Operation::plain(kind, 4, object, PlaceNumber(1)),
        }
    }

    /// The run of the paper's figure 9: thread 1 sets x to 0, takes the lock, sets x
    /// to 1, gives the lock back and reads x; thread 2 sets x to 0.
    fn steps() -> Vec<Step> {
        use EventKind::*;
        vec![
            step(0, Fork, 0),
            step(0, Fork, 0),
            step(1, Start, 0),
            step(1, Write, 100),
            step(1, Acquire, 7),
            step(1, Write, 100),
            step(1, Release, 7),
            step(1, Read, 100),
            step(2, Start, 0),
            step(2, Write, 100),
        ]
    }

    fn threads() -> Vec<ThreadPath> {
        let children = [1, 2].map(|child| ThreadPath::MAIN.child(child));
        [ThreadPath::MAIN].into_iter().chain(children).collect()
    }

    fn points(plan: &Plan) -> Vec<(String, u64, bool, String)> {
        let Rule::Preempting { points, .. } = &plan.rule else {
            panic!("{plan:?}");
        };
        let told = points.iter().map(|point| {
            let (thread, to) = (point.thread.to_string(), point.to.to_string());
            (thread, point.number, point.after, to)
        });
        told.collect()
    }

    #[test]
    fn the_block_of_the_nearest_access_is_interrupted_first() {
        let (steps, threads) = (steps(), threads());
        let passing = Passing {
            steps: &steps,
            threads: &threads,
            aligned: 8,
        };
        let ranked = passing.by_time(&[X]);
        let events: Vec<usize> = ranked.iter().map(|access| access.event).collect();
        assert_eq!(events, [7, 5, 3]);
        let search = Search {
            preemptions: 2,
            accesses: false,
        };
        let plans = search.guided(passing, &[X], &ranked);
        // After the release; before the acquire; at the start; then pairs.
        let point = |number, after| ("0:1".to_string(), number, after, "0:2".to_string());
        assert_eq!(points(&plans[0]), [point(2, true)]);
        assert_eq!(points(&plans[1]), [point(1, false)]);
        assert_eq!(points(&plans[2]), [point(0, false)]);
        assert_eq!(points(&plans[3]), [point(2, true), point(1, false)]);
        assert_eq!(plans.len(), 6);
        // Without guidance the order is that of the run, and more is tried.
        let plain = search.unguided(passing);
        assert_eq!(points(&plain[0])[0].0, "0");
        assert!(plain.len() > plans.len());
    }

    #[test]
    fn whoever_waits_for_an_end_is_not_called() {
        use EventKind::*;
        // Each thread writes x under a lock of its own; then the first one reads it.
        let body = |thread: u32| {
            let object = 1000 + u64::from(thread);
            [
                step(thread, Start, object),
                step(thread, Acquire, object + 10),
                step(thread, Write, 100),
                step(thread, Release, object + 10),
                step(thread, Exit, object),
            ]
        };
        let main = [step(0, Join, 1001), step(0, Join, 1002), step(0, Read, 100)];
        let forks = [step(0, Fork, 1001), step(0, Fork, 1002)];
        let steps = [&forks[..], &body(1), &body(2), &main].concat();
        let threads = threads();
        let passing = Passing {
            steps: &steps,
            threads: &threads,
            aligned: steps.len(),
        };
        let ranked = passing.by_time(&[X]);
        let search = Search {
            preemptions: 1,
            accesses: false,
        };
        let plans = search.guided(passing, &[X], &ranked);
        let tried: Vec<_> = plans.iter().flat_map(points).collect();
        // The first thread waits for the others all the while, and when the last of
        // them runs nobody else is left.
        let told = ("0:1".to_string(), 1, false, "0:2".to_string());
        assert_eq!(tried, [told]);
    }
}
