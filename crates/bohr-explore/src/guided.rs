//! Which preemptions of a good run to try first, if a core file says which
//! variables were not as they are in that run.
//!
//! D. Weeratunge, X. Zhang, S. Jagannathan, "Analyzing Multicore Dumps to
//! Facilitate Concurrency Bug Reproduction", ASPLOS 2010, section 5, algorithm 2.
//! Candidates are the beginnings of threads, the moments before a lock is taken and
//! those after it was given back (likewise of waits and signals); each leads a block
//! of its thread up to the next, which is never split. Atomic accesses are points as
//! well, as they are in CHESS. A combination weighs as much as the best ranked accesses
//! to critical variables in its blocks.
//!
//! Deviations: combinations are made of the best candidates only, as many as give no more
//! than [`MOST_TOGETHER`] of one size, and each preemption that joins makes them weigh
//! twice as much; what threads will access is taken from the good run, from the moment of
//! the candidate on, and whoever could do nothing at that moment is not called, unless
//! it was preempted before and has its work still before it.

mod candidates;
mod combinations;
mod critical;
mod future;

pub use critical::{Critical, Places, Ranked};

use bohr_event::ThreadPath;
use bohr_event::control::Step;
use bohr_schedule::{Plan, Precedence, Preemption, Rule};
use candidates::{Candidate, Choice, annotate};
use combinations::{combinations, largest_count};
use future::Future;

/// Combinations of as many preemptions whose candidates are looked at. Half of those are
/// such at which somebody else can go on, half such at which nobody can but whoever was
/// preempted before.
pub const MOST_TOGETHER: usize = 80_000;
/// How many times as much as the sum of its candidates a combination weighs for every
/// preemption that joins the first: most failures take one, and there are very many pairs.
const JOINED: u64 = 2;
/// Plans that are made at most.
const MOST_PLANS: usize = 200_000;

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

/// One run of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Try {
    /// How it goes.
    pub plan: Plan,
    /// Which events of the good run come later in it, one per preemption.
    pub events: Vec<usize>,
}

/// What is tried, and in which order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    /// Most preemptions of a run.
    pub preemptions: u32,
    /// Whether accesses to memory are points as well.
    pub accesses: bool,
    /// Who comes when nobody is preempted.
    pub turns: Precedence,
}

impl Search {
    /// The run without preemptions.
    #[must_use]
    pub fn first(&self) -> Plan {
        self.plan(Vec::new())
    }

    fn plan(&self, points: Vec<Preemption>) -> Plan {
        Plan::new(Rule::Preempting {
            points,
            turns: self.turns.clone(),
        })
    }

    /// The tries that ranked accesses suggest, the best first.
    #[must_use]
    pub fn guided(&self, passing: Passing<'_>, places: &Places, ranked: &[Ranked]) -> Vec<Try> {
        let mut candidates = self.candidates(passing);
        annotate(&mut candidates, passing, ranked);
        candidates.retain(|candidate| !candidate.accesses.is_empty());
        candidates.sort_by_key(|candidate| (candidate.weight, std::cmp::Reverse(candidate.event)));
        let future = Future::of(passing, places, ranked);
        let mut tries: Vec<(u64, Vec<Choice>)> = Vec::new();
        // Those at which somebody else can go on, and those at which nobody can unless
        // somebody was preempted before.
        let (mut open, mut closed) = (Vec::new(), Vec::new());
        for candidate in &candidates {
            let choices = future.choices(candidate);
            let single = future.choices_and_returns(candidate).into_iter();
            tries.extend(single.map(|one| (candidate.weight, vec![one])));
            if tries.len() >= MOST_PLANS {
                break;
            }
            let kept = if choices.is_empty() {
                &mut closed
            } else {
                &mut open
            };
            kept.push((candidate, choices));
        }
        for size in 2..=self.preemptions as usize {
            let each = largest_count(size, MOST_TOGETHER) / 2;
            let (open, closed) = (first(&open, each), first(&closed, each));
            let all: Vec<_> = open.iter().chain(closed).collect();
            let together = combinations(all.len(), size);
            for chosen in together.take_while(|chosen| chosen[0] < open.len()) {
                let chosen: Vec<_> = chosen.into_iter().map(|position| all[position]).collect();
                let weight = together_weigh(&chosen);
                let points = future.together(chosen).into_iter();
                tries.extend(points.map(|points| (weight, points)));
            }
        }
        // Fewer preemptions first where the weights are equal; the order is stable.
        tries.sort_by_key(|(weight, points)| (*weight, points.len()));
        tries.truncate(MOST_PLANS);
        let tries = tries.into_iter().map(|(_, choices)| self.attempt(choices));
        tries.collect()
    }

    fn attempt(&self, choices: Vec<Choice>) -> Try {
        let events = choices.iter().map(|choice| choice.event).collect();
        let points = choices.into_iter().map(|choice| choice.preemption);
        Try {
            plan: self.plan(points.collect()),
            events,
        }
    }

    /// Every combination in the order of the run: the search without guidance, as
    /// CHESS makes it.
    #[must_use]
    pub fn unguided(&self, passing: Passing<'_>) -> Vec<Try> {
        let candidates = self.candidates(passing);
        let sizes = 1..=self.preemptions as usize;
        let chosen = sizes.flat_map(|size| combinations(candidates.len(), size));
        let all = chosen.flat_map(|chosen| {
            let anybody = chosen
                .into_iter()
                .map(|one| candidates[one].to_anybody(passing));
            each_with_each(anybody)
        });
        let all = all.take(MOST_PLANS);
        all.map(|choices| self.attempt(choices)).collect()
    }
}

/// The first of these, so many or all.
fn first<T>(all: &[T], most: usize) -> &[T] {
    &all[..most.min(all.len())]
}

fn together_weigh(chosen: &[&(&Candidate, Vec<Choice>)]) -> u64 {
    let weights = chosen.iter().map(|(candidate, _)| candidate.weight);
    let sum = weights.fold(0, u64::saturating_add);
    let joined = chosen.iter().skip(1);
    joined.fold(sum, |weight, _| weight.saturating_mul(JOINED))
}

/// One of each of these lists, in all ways.
fn each_with_each(lists: impl Iterator<Item = Vec<Choice>>) -> Vec<Vec<Choice>> {
    lists.fold(vec![Vec::new()], |begun, list| {
        let with = |begun: Vec<Choice>| {
            let list = list.iter().cloned();
            let longer = list.map(move |one| [begun.clone(), vec![one]].concat());
            longer.collect::<Vec<_>>()
        };
        begun.into_iter().flat_map(with).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bohr_event::{EventKind, MemoryOrder, Operation, PlaceNumber, ThreadIndex};

    const X: Critical = Critical {
        address: 100,
        size: 4,
        synchronises: false,
    };

    fn step(thread: u32, kind: EventKind, object: u64) -> Step {
        Step {
            thread: ThreadIndex(thread),
            operation: Operation::plain(kind, 4, object, PlaceNumber(u64::from(kind.is_access()))),
        }
    }

    /// The run of the paper's figure 9: thread 1 sets x to 0, takes the lock, sets x
    /// to 1, gives the lock back and reads x; thread 2 sets x to 0.
    fn steps() -> Vec<Step> {
        use EventKind::*;
        vec![
            step(0, Fork, ThreadIndex(1).object()),
            step(0, Fork, ThreadIndex(2).object()),
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

    /// A good run that is aligned at its end.
    fn whole<'a>(steps: &'a [Step], threads: &'a [ThreadPath]) -> Passing<'a> {
        Passing {
            steps,
            threads,
            aligned: steps.len(),
        }
    }

    fn with_preemptions(preemptions: u32) -> Search {
        Search {
            preemptions,
            accesses: false,
            turns: Precedence::InOrder,
        }
    }

    fn points(attempt: &Try) -> Vec<(String, u64, Option<u64>, String)> {
        let Rule::Preempting { points, .. } = &attempt.plan.rule else {
            panic!("{attempt:?}");
        };
        let told = points.iter().map(|point| {
            let (thread, to) = (point.thread.to_string(), point.to.to_string());
            (thread, point.number, point.accesses, to)
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
        let places = Places::new(&[X]);
        let ranked = passing.by_time(&places);
        let events: Vec<usize> = ranked.iter().map(|access| access.event).collect();
        assert_eq!(events, [7, 5, 3]);
        let search = with_preemptions(2);
        let plans = search.guided(passing, &places, &ranked);
        // After the release; before the acquire; at the start; then pairs.
        let point = |number, accesses| ("0:1".to_string(), number, accesses, "0:2".to_string());
        assert_eq!(points(&plans[0]), [point(3, Some(0))]);
        assert_eq!(points(&plans[1]), [point(1, None)]);
        assert_eq!(points(&plans[2]), [point(0, None)]);
        assert_eq!(points(&plans[3]), [point(1, None), point(3, Some(0))]);
        assert_eq!(plans.len(), 6);
        // Without guidance the order is that of the run, and more is tried.
        let plain = search.unguided(passing);
        assert_eq!(points(&plain[0])[0].0, "0");
        assert!(plain.len() > plans.len());
    }

    /// The threads are there from the beginning, and the strategy is asked at once.
    #[test]
    fn behind_a_checkpoint_every_event_counts() {
        let (steps, threads) = (steps().split_off(4), threads());
        let passing = Passing {
            steps: &steps,
            threads: &threads,
            aligned: 4,
        };
        let places = Places::new(&[X]);
        let ranked = passing.by_time(&places);
        let plans = with_preemptions(1).guided(passing, &places, &ranked);
        let point = |number, accesses| ("0:1".to_string(), number, accesses, "0:2".to_string());
        assert_eq!(points(&plans[0]), [point(2, Some(0))]);
        assert_eq!(points(&plans[1]), [point(0, None)]);
    }

    #[test]
    fn whoever_waits_for_an_end_is_not_called() {
        use EventKind::*;
        // Each thread writes x under a lock of its own; then the first one reads it.
        let body = |thread: u32| {
            let object = ThreadIndex(thread).object();
            [
                step(thread, Start, object),
                step(thread, Acquire, 10 + u64::from(thread)),
                step(thread, Write, 100),
                step(thread, Release, 10 + u64::from(thread)),
                step(thread, Exit, object),
            ]
        };
        let each = |kind| [1, 2].map(|thread| step(0, kind, ThreadIndex(thread).object()));
        let main = [&each(Join)[..], &[step(0, Read, 100)]].concat();
        let forks = each(Fork);
        let steps = [&forks[..], &body(1), &body(2), &main].concat();
        let threads = threads();
        let passing = whole(&steps, &threads);
        let places = Places::new(&[X]);
        let ranked = passing.by_time(&places);
        let search = with_preemptions(1);
        let plans = search.guided(passing, &places, &ranked);
        let tried: Vec<_> = plans.iter().flat_map(points).collect();
        // The first thread waits for the others all the while, and when the last of
        // them runs nobody else is left.
        let told = ("0:1".to_string(), 1, None, "0:2".to_string());
        assert_eq!(tried, [told]);
    }

    fn atomic(thread: u32, kind: EventKind, object: u64, order: MemoryOrder) -> Step {
        let mut step = step(thread, kind, object);
        step.operation.order = order;
        step
    }

    /// Two threads look at x under a lock that is made of an atomic variable, and under
    /// it at another one that nobody changes.
    #[test]
    fn what_nobody_changes_does_not_end_a_block() {
        use EventKind::*;
        let body = |thread: u32| {
            [
                step(thread, Start, 0),
                atomic(thread, Update, 40, MemoryOrder::Acquire),
                // Beside the lock, in the same word.
                atomic(thread, Read, 44, MemoryOrder::Relaxed),
                step(thread, Write, 100),
                atomic(thread, Update, 40, MemoryOrder::Release),
            ]
        };
        let forks = [1, 2].map(|child| step(0, Fork, ThreadIndex(child).object()));
        let steps = [&forks[..], &body(1), &body(2)].concat();
        let threads = threads();
        let passing = whole(&steps, &threads);
        let places = Places::new(&[X]);
        let search = with_preemptions(1);
        let plans = search.guided(passing, &places, &passing.by_time(&places));
        let tried: Vec<_> = plans.iter().flat_map(points).collect();
        let before_the_lock = ("0:1".to_string(), 1, Some(0), "0:2".to_string());
        assert_eq!(tried, [before_the_lock]);
        // Behind the lock, too, somebody can come in between.
        let all = search.unguided(passing);
        let behind = ("0:1".to_string(), 1, Some(4), "0:2".to_string());
        assert!(all.iter().any(|one| points(one) == [behind.clone()]));
    }

    /// Whoever was preempted can be called again where nobody else is left in the good
    /// run.
    #[test]
    fn two_preemptions_lead_there_and_back() {
        use EventKind::*;
        let body = |thread: u32| {
            let section = [
                step(thread, Acquire, 7),
                step(thread, Write, 100),
                step(thread, Release, 7),
            ];
            let start = [step(thread, Start, 0)];
            [&start[..], &section, &section].concat()
        };
        let forks = [1, 2].map(|child| step(0, Fork, ThreadIndex(child).object()));
        let steps = [&forks[..], &body(1), &body(2)].concat();
        let threads = threads();
        let passing = whole(&steps, &threads);
        let places = Places::new(&[X]);
        let search = with_preemptions(2);
        let plans = search.guided(passing, &places, &passing.by_time(&places));
        let second = |plan: &Try| points(plan).get(1).cloned();
        let there_and_back = plans.iter().find(|plan| {
            let first = &points(plan)[0];
            (first.0.as_str(), first.3.as_str()) == ("0:1", "0:2")
                && second(plan).is_some_and(|second| (&*second.0, &*second.3) == ("0:2", "0:1"))
        });
        assert!(there_and_back.is_some(), "{plans:?}");
        // Alone, the second one would lead nowhere.
        assert!(plans.iter().all(|plan| points(plan)[0].0 == "0:1"));
    }

    /// Who gave way first may only go on when two others have been called away.
    #[test]
    fn three_preemptions_lead_around() {
        use EventKind::*;
        let body = |thread: u32| {
            [
                step(thread, Start, 0),
                step(thread, Write, 100),
                step(thread, Acquire, 7),
                step(thread, Write, 100),
                step(thread, Release, 7),
            ]
        };
        let forks = [1, 2, 3].map(|child| step(0, Fork, ThreadIndex(child).object()));
        let steps = [&forks[..], &body(1), &body(2), &body(3)].concat();
        let children = [1, 2, 3].map(|child| ThreadPath::MAIN.child(child));
        let threads: Vec<ThreadPath> = [ThreadPath::MAIN].into_iter().chain(children).collect();
        let passing = whole(&steps, &threads);
        let places = Places::new(&[X]);
        let ranked = passing.by_time(&places);
        let ways = |preemptions: u32| -> Vec<Vec<(String, String)>> {
            let plans = with_preemptions(preemptions).guided(passing, &places, &ranked);
            let ways = plans.iter().map(|plan| {
                let points = points(plan).into_iter();
                points.map(|(from, _, _, to)| (from, to)).collect()
            });
            ways.collect()
        };
        let around = [("0:1", "0:2"), ("0:2", "0:3"), ("0:3", "0:1")];
        let around = around.map(|(from, to)| (from.to_string(), to.to_string()));
        assert!(ways(3).contains(&around.to_vec()), "{:?}", ways(3));
        // With fewer, the same is tried in the same order.
        let fewer = ways(3).into_iter().filter(|way| way.len() < 3);
        assert_eq!(fewer.collect::<Vec<_>>(), ways(2));
    }
}
