//! Litmus tests, and random problems against all interleavings there are.

use super::{Answer, Group, solve, solve_with};
use crate::check::{Execution, Turn, check};
use crate::event::{
    Action, Buffered, Condition, Demand, Event, Problem, ReadPiece, Spot, Thread, WritePiece,
};
use crate::model::stores;
use crate::term::{Operator, ReadNumber, Scalar};
use bohr_event::{MemoryModel, MemoryOrder, ThreadPath};
use bohr_program::interpret::arithmetic::Number;
use bohr_program::{BinaryOperator, IntegerPredicate};
use cranelift_entity::EntityRef;
use proptest::prelude::*;
use std::collections::HashSet;

const X: u64 = 0x1000;
const Y: u64 = 0x1008;

/// The places of random problems.
pub(crate) fn places() -> [u64; 2] {
    [X, Y]
}

/// What a thread of a small program does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Do {
    Write(u64, u64, MemoryOrder),
    /// Writes what the last read of this thread gave, and so much more.
    Pass(u64, u64),
    Read(u64),
    /// Adds to what is there, in one step.
    Add(u64, u64),
    Fence(MemoryOrder),
    Lock(u64),
    Unlock(u64),
    /// Nothing that others notice, but for an empty store buffer.
    Drain,
}
use Do::{Add, Drain, Fence, Lock, Pass, Read, Unlock, Write};

const PLAIN: MemoryOrder = MemoryOrder::Plain;
const FULL: MemoryOrder = MemoryOrder::SequentiallyConsistent;

/// A problem in the making: the main thread starts all others, waits for them and
/// reads what they left.
#[derive(Default)]
pub(crate) struct Maker {
    problem: Problem,
    reads: usize,
    last: Option<Scalar>,
}

impl Maker {
    pub(crate) fn of(threads: &[Vec<Do>], left: &[u64]) -> (Problem, Vec<Scalar>) {
        let mut maker = Maker::default();
        let mut values = Vec::new();
        let main = maker.thread(ThreadPath::MAIN);
        for number in 1..=threads.len() {
            maker.push(main, Action::Fork(number));
        }
        for (number, operations) in (1..).zip(threads) {
            let thread = maker.thread(ThreadPath::MAIN.child(number));
            maker.push(thread, Action::Start);
            maker.last = None;
            for operation in operations {
                values.extend(maker.operation(thread, *operation));
            }
            maker.push(thread, Action::Exit);
            maker.problem.threads[thread].certain = maker.problem.threads[thread].events.len();
        }
        for number in 1..=threads.len() {
            maker.push(main, Action::Join(number));
        }
        for address in left {
            values.extend(maker.operation(main, Read(*address)));
        }
        maker.push(main, Action::Fail);
        maker.problem.threads[main].certain = maker.problem.threads[main].events.len();
        (maker.problem, values)
    }

    fn thread(&mut self, path: ThreadPath) -> usize {
        self.problem.threads.push(Thread {
            path,
            ..Thread::default()
        });
        self.problem.threads.len() - 1
    }

    fn push(&mut self, thread: usize, action: Action) {
        let spot = Spot {
            function: EntityRef::new(0),
            instruction: EntityRef::new(0),
        };
        self.problem.threads[thread].events.push(Event {
            action,
            spot,
            visit: 1,
        });
    }

    fn access(
        &mut self,
        thread: usize,
        read: Option<u64>,
        write: Option<(u64, Scalar)>,
        order: MemoryOrder,
    ) {
        let reads = read.map(|address| ReadPiece {
            address: address.into(),
            size: 8,
            read: ReadNumber::new(self.reads - 1),
        });
        let writes = write.map(|(address, value)| WritePiece {
            address: address.into(),
            size: 8,
            value,
        });
        let buffer = match (&reads, &writes, order) {
            (None, Some(_), MemoryOrder::SequentiallyConsistent) => Buffered::Empty,
            (None, Some(_), _) => Buffered::Waits,
            (_, None, _) => Buffered::Past,
            (Some(_), Some(_), _) => Buffered::Empty,
        };
        let action = Action::Access {
            reads: reads.into_iter().collect(),
            writes: writes.into_iter().collect(),
            order,
            buffer,
        };
        self.push(thread, action);
    }

    fn operation(&mut self, thread: usize, operation: Do) -> Option<Scalar> {
        let add = Operator::Binary(BinaryOperator::Add, Number::Integer(64));
        match operation {
            Write(address, value, order) => {
                self.access(thread, None, Some((address, value.into())), order);
            }
            Pass(address, more) => {
                let last = self.last.unwrap_or(Scalar::Known(0));
                let value = self
                    .problem
                    .terms
                    .compute(add, &[last, more.into()])
                    .unwrap();
                self.access(thread, None, Some((address, value)), PLAIN);
            }
            Read(address) => {
                let value = self.read();
                self.access(thread, Some(address), None, PLAIN);
                return Some(value);
            }
            Add(address, more) => {
                let value = self.read();
                let sum = self
                    .problem
                    .terms
                    .compute(add, &[value, more.into()])
                    .unwrap();
                self.access(thread, Some(address), Some((address, sum)), FULL);
                return Some(value);
            }
            Fence(order) => self.push(thread, Action::Fence(order)),
            Lock(lock) => self.push(thread, Action::Acquire(lock)),
            Unlock(lock) => self.push(thread, Action::Release(lock)),
            Drain => self.push(thread, Action::Drain),
        }
        None
    }

    fn read(&mut self) -> Scalar {
        self.reads += 1;
        let value = self.problem.terms.read(ReadNumber::new(self.reads - 1));
        self.last = Some(value);
        value
    }
}

/// The reads give these values; what is not told may be anything.
pub(crate) fn demand(problem: &mut Problem, values: &[Scalar], expected: &[Option<u64>]) {
    for (value, expected) in values.iter().zip(expected) {
        if let Some(expected) = expected {
            let equal = Operator::CompareIntegers(IntegerPredicate::Equal, 64);
            let holds = problem
                .terms
                .compute(equal, &[*value, (*expected).into()])
                .unwrap();
            let main = &mut problem.threads[0];
            main.conditions.push(Condition {
                holds,
                after: main.events.len() - 1,
                spot: main.events[0].spot,
                demand: Demand::Bug,
            });
        }
    }
}

/// Whether any interleaving leads to the failure: all states that can be reached.
fn by_enumeration(problem: &Problem, model: MemoryModel) -> bool {
    let stores = stores(problem, model);
    let mut seen = HashSet::new();
    let mut open = vec![Execution::new(problem, model, &stores)];
    while let Some(execution) = open.pop() {
        if execution.has_failed() {
            return true;
        }
        let threads = 0..problem.threads.len();
        let ready = threads.clone().filter(|thread| execution.is_ready(*thread));
        let events = ready
            .filter_map(|thread| execution.next(thread))
            .map(Turn::Event);
        let commits = threads
            .flat_map(|thread| execution.commits(thread))
            .map(Turn::Commit);
        for turn in events.chain(commits) {
            let mut next = execution.clone();
            if next.step(turn).is_ok() && seen.insert(next.state()) {
                open.push(next);
            }
        }
    }
    false
}

/// Whether the solver finds one, with its choices listed or left open; what it finds
/// has to stand the check.
pub(crate) fn by_order(problem: &mut Problem, model: MemoryModel) -> bool {
    let listed = by_order_with(problem, model, usize::MAX);
    assert_eq!(by_order_with(problem, model, 0), listed, "{model}, open");
    listed
}

fn by_order_with(problem: &mut Problem, model: MemoryModel, most_listed: usize) -> bool {
    let solved = solve_with(problem, model, None, most_listed, &|| true).unwrap();
    match solved.answer {
        Answer::Order(order) => {
            assert_eq!(check(problem, model, &order), Ok(()));
            true
        }
        Answer::None(groups) => {
            assert!(!groups.is_empty());
            false
        }
        Answer::Unknown => panic!("the solver gave up"),
    }
}

/// Which models allow an outcome: sc, tso, pso.
fn litmus(threads: &[Vec<Do>], left: &[u64], expected: &[Option<u64>], allowed: [bool; 3]) {
    for (model, allowed) in MemoryModel::ALL.into_iter().zip(allowed) {
        let (mut problem, values) = Maker::of(threads, left);
        demand(&mut problem, &values, expected);
        assert_eq!(by_order(&mut problem, model), allowed, "{model}");
        assert_eq!(
            by_enumeration(&problem, model),
            allowed,
            "{model} enumerated"
        );
    }
}

fn told(values: &[u64]) -> Vec<Option<u64>> {
    values.iter().copied().map(Some).collect()
}

fn write(address: u64) -> Do {
    Write(address, 1, PLAIN)
}

#[test]
fn store_buffering() {
    let threads = [vec![write(X), Read(Y)], vec![write(Y), Read(X)]];
    litmus(&threads, &[], &told(&[0, 0]), [false, true, true]);
    let fenced = [
        vec![write(X), Fence(FULL), Read(Y)],
        vec![write(Y), Fence(FULL), Read(X)],
    ];
    litmus(&fenced, &[], &told(&[0, 0]), [false, false, false]);
    let half = [
        vec![write(X), Fence(FULL), Read(Y)],
        vec![write(Y), Read(X)],
    ];
    litmus(&half, &[], &told(&[0, 0]), [false, true, true]);
    let drained = [
        vec![write(X), Drain, Read(Y)],
        vec![write(Y), Drain, Read(X)],
    ];
    litmus(&drained, &[], &told(&[0, 0]), [false, false, false]);
    let strong = [
        vec![Write(X, 1, FULL), Read(Y)],
        vec![Write(Y, 1, FULL), Read(X)],
    ];
    litmus(&strong, &[], &told(&[0, 0]), [false, false, false]);
}

#[test]
fn store_buffering_with_forwarding() {
    let threads = [
        vec![write(X), Read(X), Read(Y)],
        vec![write(Y), Read(Y), Read(X)],
    ];
    litmus(&threads, &[], &told(&[1, 0, 1, 0]), [false, true, true]);
    litmus(&threads, &[], &told(&[0, 0, 1, 0]), [false, false, false]);
}

#[test]
fn message_passing() {
    let passing = |store: Do, fence: Option<Do>| {
        let first = [write(X)].into_iter().chain(fence).chain([store]).collect();
        [first, vec![Read(Y), Read(X)]]
    };
    let outcome = told(&[1, 0]);
    litmus(
        &passing(write(Y), None),
        &[],
        &outcome,
        [false, false, true],
    );
    let release = Write(Y, 1, MemoryOrder::Release);
    litmus(
        &passing(release, None),
        &[],
        &outcome,
        [false, false, false],
    );
    let fence = Some(Fence(MemoryOrder::Release));
    litmus(
        &passing(write(Y), fence),
        &[],
        &outcome,
        [false, false, false],
    );
    let fence = Some(Fence(MemoryOrder::Acquire));
    litmus(
        &passing(write(Y), fence),
        &[],
        &outcome,
        [false, false, true],
    );
}

#[test]
fn load_buffering_and_independent_readers() {
    let threads = [vec![Read(X), write(Y)], vec![Read(Y), write(X)]];
    litmus(&threads, &[], &told(&[1, 1]), [false, false, false]);
    let readers = [
        vec![write(X)],
        vec![write(Y)],
        vec![Read(X), Read(Y)],
        vec![Read(Y), Read(X)],
    ];
    litmus(&readers, &[], &told(&[1, 0, 1, 0]), [false, false, false]);
}

#[test]
fn two_and_two_writes() {
    let threads = [
        vec![Write(X, 1, PLAIN), Write(Y, 2, PLAIN)],
        vec![Write(Y, 1, PLAIN), Write(X, 2, PLAIN)],
    ];
    litmus(&threads, &[X, Y], &told(&[1, 1]), [false, false, true]);
}

#[test]
fn locks_keep_updates_whole_and_atomics_are() {
    let locked = || vec![Lock(1), Read(X), Pass(X, 1), Unlock(1)];
    let any = [None, None, Some(1)];
    litmus(&[locked(), locked()], &[X], &any, [false, false, false]);
    let open = || vec![Read(X), Pass(X, 1)];
    litmus(&[open(), open()], &[X], &any, [true, true, true]);
    litmus(
        &[vec![Add(X, 1)], vec![Add(X, 1)]],
        &[X],
        &any,
        [false, false, false],
    );
}

#[test]
fn contradictions_name_their_groups() {
    let locked = || vec![Lock(1), Read(X), Pass(X, 1), Unlock(1)];
    let (mut problem, values) = Maker::of(&[locked(), locked()], &[X]);
    demand(&mut problem, &values, &[None, None, Some(1)]);
    let solved = solve(
        &mut problem,
        MemoryModel::SequentiallyConsistent,
        None,
        &|| true,
    )
    .unwrap();
    let Answer::None(groups) = solved.answer else {
        panic!("{:?}", solved.answer);
    };
    assert!(
        groups.contains(&Group::Bug) && groups.contains(&Group::Synchronisation),
        "{groups:?}"
    );
    assert!(
        !groups.contains(&Group::Path) && !groups.contains(&Group::Switches),
        "{groups:?}"
    );
}

pub(crate) fn operation() -> impl Strategy<Value = Do> {
    let place = prop::sample::select(vec![X, Y]);
    let order = prop::sample::select(vec![PLAIN, PLAIN, MemoryOrder::Release, FULL]);
    prop_oneof![
        (place.clone(), 1u64..3, order).prop_map(|(at, value, order)| Write(at, value, order)),
        (place.clone(), 0u64..3).prop_map(|(at, more)| Pass(at, more)),
        place.clone().prop_map(Read),
        place.clone().prop_map(Read),
        (place, 1u64..3).prop_map(|(at, more)| Add(at, more)),
        prop::sample::select(vec![MemoryOrder::Release, MemoryOrder::Acquire, FULL])
            .prop_map(Fence),
        Just(Drain),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn the_solver_knows_what_all_interleavings_know(
        threads in prop::collection::vec(prop::collection::vec(operation(), 1..4), 2..3),
        expected in prop::collection::vec(prop::option::of(0u64..4), 8),
    ) {
        for model in MemoryModel::ALL {
            let (mut problem, values) = Maker::of(&threads, &[X, Y]);
            demand(&mut problem, &values, &expected);
            let solved = by_order(&mut problem, model);
            prop_assert_eq!(solved, by_enumeration(&problem, model), "{}", model);
        }
    }
}

/// A lock, and what is done while it is held.
fn section() -> impl Strategy<Value = Vec<Do>> {
    let lock = prop::sample::select(vec![1, 2]);
    (lock, prop::collection::vec(operation(), 0..3)).prop_map(|(lock, all)| {
        let inside = [Lock(lock)].into_iter().chain(all);
        inside.chain([Unlock(lock)]).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn a_recorded_order_of_locks_is_kept(
        threads in prop::collection::vec(prop::collection::vec(section(), 1..3), 2..3),
        picks in prop::collection::vec(0usize..2, 4),
        expected in prop::collection::vec(prop::option::of(0u64..4), 8),
    ) {
        let mut left: Vec<usize> = threads.iter().map(Vec::len).collect();
        let mut turns = Vec::new();
        for pick in picks.iter().chain(&[0, 0, 1, 1]) {
            if left[*pick] > 0 {
                left[*pick] -= 1;
                turns.push((ThreadPath::MAIN.child(*pick as u32 + 1), 2));
            }
        }
        let flat: Vec<Vec<Do>> = threads.iter().map(|all| all.concat()).collect();
        for model in MemoryModel::ALL {
            let (mut problem, values) = Maker::of(&flat, &[X, Y]);
            demand(&mut problem, &values, &expected);
            problem.keep_to(turns.clone());
            let solved = by_order(&mut problem, model);
            prop_assert_eq!(solved, by_enumeration(&problem, model), "{}", model);
        }
    }
}

/// Both orders of two updates are possible; once one was recorded, only that is.
#[test]
fn a_recorded_order_of_locks_rules_out_the_other() {
    let adds = |more| vec![Lock(1), Read(X), Pass(X, more), Unlock(1)];
    for (first, possible) in [(1, true), (2, false)] {
        let (mut problem, values) = Maker::of(&[adds(1), adds(2)], &[X]);
        // The second thread finds what the first one left.
        demand(&mut problem, &values, &told(&[0, 1, 3]));
        let other = 3 - first;
        problem.keep_to([first, other].map(|number| (ThreadPath::MAIN.child(number), 2)));
        let solved = by_order(&mut problem, MemoryModel::SequentiallyConsistent);
        assert_eq!(solved, possible, "{first}");
    }
}
