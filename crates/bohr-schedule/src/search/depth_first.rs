//! Depth-first search over all schedules of a program, without and with a
//! bound on preemptions.
//!
//! Without a bound it prunes with sleep sets (see `systematic`): every
//! Mazurkiewicz trace of the program is run to its end exactly once. Every
//! enabled thread is a branch; there are no persistent or source sets, so runs
//! that are pruned on the way still cost something.
//!
//! With a bound it is CHESS: Musuvathi, Qadeer, "Iterative Context Bounding for
//! Systematic Testing of Multithreaded Programs", PLDI 2007: all schedules with
//! no preemption, then with one, and so on. Deviations: a deeper iteration
//! repeats the shallower ones (the paper queues what the bound cut off, which
//! takes memory in proportion to the program's length), and sleep sets are off,
//! since they are unsound under a bound.
//!
//! Several plans can be on their way at once: the search goes on with the deepest
//! branches that nobody has taken, whether or not those before have been reported.
//! It sees the same runs in another order.

use super::Search;
use crate::{
    Plan, Rule, report,
    systematic::{Branch, Node, Turn, dependent},
};
use alloc::{collections::VecDeque, sync::Arc, vec::Vec};
use bohr_event::{Operation, ThreadIndex};

/// Plans that can be on their way at once: a round of them keeps many workers busy.
const AHEAD: usize = 16;

/// The turns up to a point of the tree, from the last to the first.
#[derive(Debug)]
struct Way {
    before: Option<Arc<Way>>,
    turn: Turn,
}

impl Drop for Way {
    /// One by one: a way is longer than the stack is deep.
    fn drop(&mut self) {
        let mut rest = self.before.take();
        while let Some(mut way) = rest.and_then(Arc::into_inner) {
            rest = way.before.take();
        }
    }
}

fn turns(way: Option<&Arc<Way>>) -> Vec<Turn> {
    let mut turns: Vec<Turn> = core::iter::successors(way, |way| way.before.as_ref())
        .map(|way| way.turn)
        .collect();
    turns.reverse();
    turns
}

/// Where a run is on its own: what it does up to there, and what is known there.
#[derive(Clone, Debug, Default)]
struct Place {
    way: Option<Arc<Way>>,
    /// Who sleeps.
    asleep: Vec<ThreadIndex>,
    /// Preemptions on the way.
    preemptions: u32,
}

impl Place {
    fn after(&self, turn: Turn) -> Option<Arc<Way>> {
        let before = self.way.clone();
        Some(Arc::new(Way { before, turn }))
    }
}

/// A point of the tree at which the search can turn elsewhere.
#[derive(Clone, Debug)]
enum Fork {
    Threads {
        at: Place,
        options: Vec<(ThreadIndex, Operation)>,
        current: Option<ThreadIndex>,
        buffers: Vec<ThreadIndex>,
        /// Not to be taken: asleep when the search came here, or done since.
        closed: Vec<ThreadIndex>,
    },
    Outcomes {
        at: Place,
        options: u32,
        next: u32,
    },
}

/// See the module.
#[derive(Clone, Debug)]
pub struct DepthFirst {
    /// The deepest last.
    forks: Vec<Fork>,
    /// Where the plans begin that have not been reported, the oldest first.
    under_way: VecDeque<Place>,
    /// `None`: no bound, sleep sets on.
    bound: Option<u32>,
    /// Whether the bound cut anything off in this iteration.
    cut: bool,
    begun: bool,
}

impl DepthFirst {
    /// All schedules, one of each equivalence class.
    #[must_use]
    pub fn exhaustive() -> DepthFirst {
        DepthFirst {
            forks: Vec::new(),
            under_way: VecDeque::new(),
            bound: None,
            cut: false,
            begun: false,
        }
    }

    /// All schedules in the order of their number of preemptions.
    #[must_use]
    pub fn bounded() -> DepthFirst {
        DepthFirst {
            bound: Some(0),
            ..DepthFirst::exhaustive()
        }
    }

    /// The number of preemptions now allowed.
    #[must_use]
    pub fn bound(&self) -> Option<u32> {
        self.bound
    }

    /// Turns elsewhere at the deepest point where that is possible.
    fn advance(&mut self) -> Option<Place> {
        loop {
            let mut fork = self.forks.pop()?;
            if let Some(place) = self.turn(&mut fork) {
                self.forks.push(fork);
                return Some(place);
            }
        }
    }

    fn turn(&mut self, fork: &mut Fork) -> Option<Place> {
        match fork {
            Fork::Outcomes { at, options, next } => {
                let picked = *next;
                *next += 1;
                (picked < *options).then(|| Place {
                    way: at.after(Turn::Answer(picked)),
                    ..at.clone()
                })
            }
            Fork::Threads {
                at,
                options,
                current,
                buffers,
                closed,
            } => {
                let open = options.iter().map(|option| option.0);
                let mut open = open.filter(|thread| !closed.contains(thread));
                let spent =
                    |thread| at.preemptions + u32::from(is_preemption(*current, thread, buffers));
                let affordable =
                    |thread: &ThreadIndex| self.bound.is_none_or(|bound| spent(*thread) <= bound);
                let left = open.clone().count();
                let Some(picked) = open.find(affordable) else {
                    self.cut |= left > 0;
                    return None;
                };
                let place = Place {
                    way: at.after(Turn::Thread(picked)),
                    asleep: match self.bound {
                        None => sleep_after(options, picked, closed),
                        Some(_) => Vec::new(),
                    },
                    preemptions: spent(picked),
                };
                closed.push(picked);
                Some(place)
            }
        }
    }

    /// Starts over with one preemption more, if that shows anything new.
    fn deepen(&mut self) -> Option<Place> {
        let bound = self.bound.filter(|_| self.cut)?;
        self.bound = Some(bound + 1);
        self.cut = false;
        Some(Place::default())
    }

    /// Where the next run is on its own.
    fn next_place(&mut self) -> Option<Place> {
        if !core::mem::replace(&mut self.begun, true) {
            return Some(Place::default());
        }
        let next = self.advance();
        match self.under_way.is_empty() {
            true => next.or_else(|| self.deepen()),
            false => next,
        }
    }

    /// A step of a run: where it led, and what else could have been done.
    fn pass(&self, at: Place, node: Node) -> (Place, Fork) {
        match node {
            Node::Outcomes(options) => {
                let after = Place {
                    way: at.after(Turn::Answer(0)),
                    ..at.clone()
                };
                let next = 1;
                (after, Fork::Outcomes { at, options, next })
            }
            Node::Threads {
                options,
                current,
                picked,
                buffers,
            } => {
                let mut closed = at.asleep.clone();
                let after = Place {
                    way: at.after(Turn::Thread(picked)),
                    asleep: match self.bound {
                        None => sleep_after(&options, picked, &closed),
                        Some(_) => Vec::new(),
                    },
                    preemptions: at.preemptions
                        + u32::from(is_preemption(current, picked, &buffers)),
                };
                closed.push(picked);
                let fork = Fork::Threads {
                    at,
                    options,
                    current,
                    buffers,
                    closed,
                };
                (after, fork)
            }
        }
    }
}

fn is_preemption(
    current: Option<ThreadIndex>,
    picked: ThreadIndex,
    buffers: &[ThreadIndex],
) -> bool {
    current.is_some_and(|current| current != picked) && !buffers.contains(&picked)
}

/// Those closed to the step that `picked` takes and independent of it.
fn sleep_after(
    options: &[(ThreadIndex, Operation)],
    picked: ThreadIndex,
    closed: &[ThreadIndex],
) -> Vec<ThreadIndex> {
    let step = |thread: ThreadIndex| options.iter().find(|option| option.0 == thread);
    let Some((_, taken)) = step(picked) else {
        return Vec::new();
    };
    let sleeps = |thread: &&ThreadIndex| {
        step(**thread).is_some_and(|(_, operation)| !dependent(operation, taken))
    };
    closed.iter().filter(sleeps).copied().collect()
}

impl Search for DepthFirst {
    fn next_plan(&mut self) -> Option<Plan> {
        let place = self.next_place()?;
        let branch = Branch {
            turns: turns(place.way.as_ref()),
            asleep: place.asleep.clone(),
        };
        self.under_way.push_back(place);
        Some(Plan::new(Rule::Systematic(branch)))
    }

    fn ahead(&self) -> usize {
        AHEAD
    }

    fn learn(&mut self, report: &[u8]) {
        let Some(mut place) = self.under_way.pop_front() else {
            return;
        };
        for node in report::read::<Vec<Node>>(report).unwrap_or_default() {
            let (after, fork) = self.pass(place, node);
            self.forks.push(fork);
            place = after;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Position;
    use crate::machine::{Machine, Outcome, Program, Relay, Step, crossed_locks, enumerate, run};
    use alloc::{
        collections::{BTreeMap, BTreeSet},
        vec,
    };
    use proptest::prelude::*;

    type Trace = Vec<(ThreadIndex, Operation)>;

    fn explore(
        program: &Program,
        mut search: DepthFirst,
        ahead: usize,
        most: usize,
    ) -> Vec<(Outcome, Trace)> {
        let mut found = Vec::new();
        loop {
            let plans: Vec<Plan> = (0..ahead).map_while(|_| search.next_plan()).collect();
            if plans.is_empty() {
                return found;
            }
            for plan in plans {
                let run = run(program, &mut *plan.strategy(0));
                search.learn(&run.report);
                found.push((run.outcome, run.machine.trace));
                assert!(found.len() < most, "the search does not end");
            }
        }
    }

    /// The definition of a Mazurkiewicz trace: for every pair of dependent
    /// events, named by thread and number within the thread, which is first.
    fn order_of_dependents(trace: &Trace) -> BTreeSet<((u32, u32), (u32, u32))> {
        let mut counts = BTreeMap::<u32, u32>::new();
        let named: Vec<_> = trace
            .iter()
            .map(|(thread, operation)| {
                let count = counts.entry(thread.0).or_default();
                *count += 1;
                ((thread.0, *count), operation)
            })
            .collect();
        let mut order = BTreeSet::new();
        for (position, (first, operation)) in named.iter().enumerate() {
            for (second, later) in &named[position + 1..] {
                if first.0 != second.0 && dependent(operation, later) {
                    order.insert((*first, *second));
                }
            }
        }
        // Threads without dependent events count with their length.
        order.extend(
            counts
                .iter()
                .map(|(thread, count)| ((*thread, *count), (0, 0))),
        );
        order
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0u8..2).prop_map(Step::Read),
            (0u8..2).prop_map(|variable| Step::Add(variable, 1)),
            (0u8..2).prop_map(|variable| Step::Set(variable, 5)),
            Just(Step::Signal(0)),
        ]
    }

    /// Bodies of plain steps, some of them inside a lock.
    fn body() -> impl Strategy<Value = Vec<Step>> {
        (
            prop::collection::vec(step(), 0..3),
            prop::option::of(0u8..2),
            any::<bool>(),
        )
            .prop_map(|(mut steps, lock, waits)| {
                if let Some(lock) = lock {
                    steps.insert(0, Step::Lock(lock));
                    if waits {
                        steps.push(Step::Wait { condition: 0, lock });
                    }
                    steps.push(Step::Unlock(lock));
                }
                steps
            })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn every_trace_once_and_none_twice(one in body(), two in body(), ahead in 1usize..20) {
            let program = vec![vec![Step::Fork(1), Step::Fork(2)], one, two];
            let all = enumerate(&program);
            prop_assume!(all.len() < 20_000);
            let naive: BTreeSet<_> = all.iter().map(|run| order_of_dependents(&run.1)).collect();
            let runs = explore(&program, DepthFirst::exhaustive(), ahead, 100_000);
            let complete: Vec<_> = runs.iter().filter(|run| run.0 != Outcome::Stopped).collect();
            let found: BTreeSet<_> =
                complete.iter().map(|run| order_of_dependents(&run.1)).collect();
            prop_assert_eq!(&found, &naive);
            prop_assert_eq!(complete.len(), found.len(), "an equivalent run was repeated");
            let outcomes = |runs: &mut dyn Iterator<Item = Outcome>| runs.collect::<BTreeSet<_>>();
            prop_assert_eq!(
                outcomes(&mut complete.iter().map(|run| run.0.clone())),
                outcomes(&mut all.iter().map(|run| run.0.clone()))
            );
        }

        #[test]
        fn a_run_can_begin_in_the_middle_of_the_one_before(one in body(), two in body(), at: u16) {
            let program = vec![vec![Step::Fork(1), Step::Fork(2)], one, two];
            let mut search = DepthFirst::exhaustive();
            let mut before: Option<Plan> = None;
            for _ in 0..200 {
                let Some(plan) = search.next_plan() else { break };
                let whole = run(&program, &mut *plan.strategy(0));
                search.learn(&whole.report);
                let Some(before) = before.replace(plan.clone()) else { continue };
                let Rule::Systematic(branch) = &before.rule else { unreachable!() };
                // Where the first plan prescribes nothing more, nobody stands.
                let at = Position(u32::from(at) % (branch.turns.len() as u32).max(1));
                if !branch.turns.is_empty() && before.agrees(&plan, at) {
                    let continued = run(&program, &mut Relay::new(&before, &plan, at));
                    prop_assert_eq!(continued.machine.trace, whole.machine.trace);
                    prop_assert_eq!(continued.report, whole.report);
                }
            }
        }

        #[test]
        fn the_deepest_bound_sees_every_schedule(one in body(), two in body(), ahead in 1usize..20) {
            let program = vec![vec![Step::Fork(1), Step::Fork(2)], one, two];
            let all: BTreeSet<_> = enumerate(&program).into_iter().map(|run| threads(&run.1)).collect();
            prop_assume!(all.len() < 3_000);
            let runs = explore(&program, DepthFirst::bounded(), ahead, 100_000);
            let found: BTreeSet<_> = runs.iter().map(|run| threads(&run.1)).collect();
            prop_assert_eq!(found, all);
        }
    }

    fn threads(trace: &Trace) -> Vec<u32> {
        trace.iter().map(|event| event.0.0).collect()
    }

    fn preemptions(program: &Program, trace: &Trace) -> usize {
        let mut machine = Machine::new(program);
        let mut count = 0;
        for (position, &(thread, _)) in trace.iter().enumerate() {
            let before = position.checked_sub(1).map(|before| trace[before].0);
            count += usize::from(
                before
                    .is_some_and(|before| before != thread && machine.enabled().contains(&before)),
            );
            machine.execute(thread, &mut |_| 0);
        }
        count
    }

    #[test]
    fn a_long_way_is_dropped_without_a_deep_stack() {
        let mut place = Place::default();
        for _ in 0..1_000_000 {
            place.way = place.after(Turn::Answer(1));
        }
        assert_eq!(turns(place.way.as_ref()).len(), 1_000_000);
    }

    #[test]
    fn a_deadlock_is_found_with_the_fewest_preemptions() {
        let program = crossed_locks();
        let mut search = DepthFirst::bounded();
        let mut seen = Vec::new();
        loop {
            let plan = search.next_plan().expect("there is a deadlock");
            let run = run(&program, &mut *plan.strategy(0));
            search.learn(&run.report);
            seen.push(preemptions(&program, &run.machine.trace));
            if run.outcome == Outcome::Deadlock {
                break;
            }
        }
        assert_eq!(search.bound(), Some(1));
        assert_eq!(seen.last(), Some(&1));
        assert!(seen.iter().all(|&count| count <= 1), "{seen:?}");
    }
}
