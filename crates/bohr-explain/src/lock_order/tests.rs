//! Cycles of small executions, and agreement with all that can happen.

mod program;

use super::*;
use crate::toy::waiting;
use bohr_event::{MemoryOrder, ThreadIndex};
use program::{Act, cycles_of_all_runs, program, program_with_forks, run};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn step(thread: u32, kind: EventKind, object: u64) -> Step {
    Step {
        thread: ThreadIndex(thread),
        operation: Operation::plain(
            kind,
            0,
            object,
            PlaceNumber(u64::from(thread) << 8 | object),
        ),
    }
}

/// Threads and objects that they want, of each cycle.
fn told(steps: &[Step]) -> Vec<Vec<(u32, u64)>> {
    let cycles = lock_cycles(steps, &[], &mut |_| None);
    let want = |link: &Taking| {
        let step = &steps[link.wanted];
        (step.thread.0, step.operation.object)
    };
    cycles
        .iter()
        .map(|cycle| cycle.links.iter().map(want).collect())
        .collect()
}

/// A thread takes locks one inside the other, and gives them back.
fn nested(thread: u32, locks: &[u64]) -> Vec<Step> {
    use EventKind::{Acquire, Release};
    let take = locks.iter().map(|lock| step(thread, Acquire, *lock));
    let give = locks.iter().rev().map(|lock| step(thread, Release, *lock));
    take.chain(give).collect()
}

const CROSSED: [[(u32, u64); 2]; 1] = [[(1, 20), (2, 10)]];

#[test]
fn opposite_orders_are_told_with_how_both_locks_were_taken() {
    let steps = [nested(1, &[10, 20]), nested(2, &[20, 10])].concat();
    assert_eq!(told(&steps), CROSSED);
    let cycles = lock_cycles(&steps, &[], &mut |_| None);
    let links = [(0, 1), (4, 5)].map(|(held, wanted)| Taking { held, wanted });
    assert_eq!(cycles[0].links, links);
    assert_eq!(
        told(&[nested(1, &[10, 20]), nested(2, &[10, 20])].concat()),
        [[]; 0]
    );
    // One thread alone waits for nobody.
    assert_eq!(
        told(&[nested(1, &[10, 20]), nested(1, &[20, 10])].concat()),
        [[]; 0]
    );
}

#[test]
fn a_gate_keeps_a_cycle_from_closing() {
    let steps = [nested(1, &[5, 10, 20]), nested(2, &[5, 20, 10])].concat();
    assert_eq!(told(&steps), [[]; 0]);
    let steps = [nested(1, &[5, 10, 20]), nested(2, &[6, 20, 10])].concat();
    assert_eq!(told(&steps), CROSSED);
}

#[test]
fn who_comes_after_the_other_does_not_meet_it() {
    use EventKind::{Exit, Fork, Join, Receive, Send, Start};
    let object = |thread| ThreadIndex(thread).object();
    let begin = |thread| {
        vec![
            step(0, Fork, object(thread)),
            step(thread, Start, object(thread)),
        ]
    };
    let end = |thread| {
        vec![
            step(thread, Exit, object(thread)),
            step(0, Join, object(thread)),
        ]
    };
    let (one, two) = (nested(1, &[10, 20]), nested(2, &[20, 10]));
    let at_once = [begin(1), begin(2), one.clone(), two.clone(), end(1), end(2)];
    assert_eq!(told(&at_once.concat()), CROSSED);
    let joined = [begin(1), one.clone(), end(1), begin(2), two.clone(), end(2)];
    assert_eq!(told(&joined.concat()), [[]; 0]);
    let sent = [one, vec![step(1, Send, 7), step(2, Receive, 7)], two];
    assert_eq!(told(&sent.concat()), [[]; 0]);
}

#[test]
fn readers_do_not_keep_each_other_out() {
    use EventKind::{AcquireShared, ReleaseShared};
    let shared = |steps: Vec<Step>, lock| -> Vec<Step> {
        let share = |mut step: Step| {
            if step.operation.object == lock {
                step.operation.kind = match step.operation.kind {
                    EventKind::Acquire => AcquireShared,
                    _ => ReleaseShared,
                };
            }
            step
        };
        steps.into_iter().map(share).collect()
    };
    let (one, two) = (nested(1, &[10, 20]), nested(2, &[20, 10]));
    let both = [shared(one.clone(), 10), shared(two.clone(), 10)];
    assert_eq!(told(&both.concat()), [[]; 0]);
    let half = [shared(one.clone(), 10), two.clone()];
    assert_eq!(told(&half.concat()), CROSSED);
    // A gate that both pass as readers is none.
    let gates = [nested(1, &[5, 10, 20]), nested(2, &[5, 20, 10])];
    assert_eq!(told(&gates.map(|steps| shared(steps, 5)).concat()), CROSSED);
}

#[test]
fn whoever_does_not_wait_closes_no_cycle_and_holds() {
    let mut steps = [nested(1, &[10, 20]), nested(2, &[20, 10])].concat();
    let inner = steps[1].operation;
    steps[1].operation = inner.bounded();
    assert_eq!(told(&steps), [[]; 0]);
    steps[1].operation = inner;
    steps[0].operation = steps[0].operation.bounded();
    assert_eq!(told(&steps), CROSSED);
    steps[1].operation.kind = EventKind::Look;
    assert_eq!(told(&steps), [[]; 0]);
}

#[test]
fn what_is_done_once_keeps_others_out_until_then() {
    use EventKind::Look;
    let mut steps = [nested(1, &[10, 20]), nested(2, &[20])].concat();
    let mut finds_done = step(2, Look, 10);
    finds_done.operation.order = MemoryOrder::Acquire;
    steps.insert(5, finds_done);
    assert_eq!(told(&steps), CROSSED);
}

#[test]
fn memory_that_changes_hands_holds_other_locks() {
    let mut free = step(1, EventKind::Free, 10);
    free.operation.size = 16;
    let steps = [nested(1, &[10, 20]), vec![free], nested(2, &[20, 10])].concat();
    assert_eq!(told(&steps), [[]; 0]);
}

/// Both threads use `x` under the lock that they take first: the one that has its own
/// lock for good keeps the other one from coming by.
#[test]
fn who_cannot_come_so_far_is_in_no_cycle() {
    use EventKind::{Acquire, Release};
    let (a, b, x) = (10, 20, 30);
    let one = [nested(1, &[x]), nested(1, &[b])].concat();
    let one = [vec![step(1, Acquire, a)], one, vec![step(1, Release, a)]].concat();
    let two = [nested(2, &[a]), nested(2, &[b, a])].concat();
    let two = [vec![step(2, Acquire, x)], two, vec![step(2, Release, x)]].concat();
    // `a` and `x` are taken in both orders. `a` and `b` are, too, but where `b` is held
    // so is `x`, which the first thread needs on its way.
    assert_eq!(told(&[one, two].concat()), [[(1, x), (2, a)]]);
}

#[test]
fn cycles_at_the_same_places_are_one() {
    let mut steps = Vec::new();
    for thread in 1..9 {
        let crossed = match thread % 2 {
            0 => nested(thread, &[10, 20]),
            _ => nested(thread, &[20, 10]),
        };
        steps.extend(crossed.into_iter().map(|mut step| {
            step.operation.place = PlaceNumber(step.operation.object);
            step
        }));
    }
    let cycles = lock_cycles(&steps, &[], &mut |_| None);
    assert_eq!(
        cycles.iter().map(|cycle| cycle.count).collect::<Vec<_>>(),
        [16]
    );
}

#[test]
fn words_are_locks_where_somebody_says_so() {
    use EventKind::{Read, Update};
    let crossed = [nested(1, &[10, 20]), nested(2, &[20, 10])].concat();
    let told_by = |operation: &Operation| match operation.order {
        MemoryOrder::Acquire => Some(LockStep::Take {
            shared: false,
            waits: true,
        }),
        MemoryOrder::Release => Some(LockStep::Give),
        _ => Some(LockStep::Inside),
    };
    let mut steps = Vec::new();
    for mut step in crossed {
        step.operation.order = match step.operation.kind {
            EventKind::Acquire => MemoryOrder::Acquire,
            _ => MemoryOrder::Release,
        };
        step.operation.kind = Read;
        let look = Operation {
            order: MemoryOrder::Relaxed,
            ..step.operation
        };
        steps.push(Step {
            operation: look,
            ..step
        });
        step.operation.kind = Update;
        steps.push(step);
    }
    assert_eq!(
        lock_cycles(&steps, &[], &mut |operation| told_by(operation)).len(),
        1
    );
    // To everybody else they are atomics, which hold nobody up and order all.
    assert_eq!(lock_cycles(&steps, &[], &mut |_| None), []);
}

/// Of each cycle that is told, the acts at which its threads wait.
fn told_acts(steps: &[Step]) -> BTreeSet<BTreeSet<(usize, usize)>> {
    let cycles = lock_cycles(steps, &[], &mut |_| None).into_iter();
    let act = |link: Taking| {
        let step = &steps[link.wanted];
        let number = step.operation.place.0 & 0xff;
        (step.thread.position(), number as usize)
    };
    cycles
        .map(|cycle| cycle.links.into_iter().map(act).collect())
        .collect()
}

/// Those that no smaller one is part of.
fn minimal(all: &BTreeSet<BTreeSet<(usize, usize)>>) -> BTreeSet<BTreeSet<(usize, usize)>> {
    let is_minimal = |one: &&BTreeSet<_>| all.iter().all(|it| it == *one || !it.is_subset(one));
    all.iter().filter(is_minimal).cloned().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Every run that comes through tells all the deadlocks of programs that do nothing
    /// but take locks, and no others.
    #[test]
    fn all_runs_agree(program in program(), choices in prop::collection::vec(0usize..6, 40)) {
        let Some(steps) = run(&program, &choices) else { return Ok(()) };
        let truth = cycles_of_all_runs(&program);
        let told = told_acts(&steps);
        prop_assert!(told.is_subset(&truth), "{told:?} of {truth:?} in {program:?}");
        prop_assert_eq!(minimal(&told), minimal(&truth), "{:?}", program);
    }

    /// With threads that begin and wait for each other, none is missed.
    #[test]
    fn none_is_missed_between_forks_and_joins(
        program in program_with_forks(),
        choices in prop::collection::vec(0usize..6, 60),
    ) {
        let Some(steps) = run(&program, &choices) else { return Ok(()) };
        let truth = cycles_of_all_runs(&program);
        let told = told_acts(&steps);
        prop_assert!(minimal(&truth).is_subset(&told), "{:?} of {:?} in {:?}", told, truth, program);
        let locked = program[0].iter().any(|act| matches!(act, Act::Take(..)));
        prop_assert!(locked || told.is_subset(&truth), "{told:?} of {truth:?} in {program:?}");
    }
}

/// Locks made of atomics: threads sleep on other words than the ones that they take.
#[test]
fn whoever_sleeps_in_a_cycle_has_closed_it() {
    use EventKind::{Update, Wait};
    let mut words = |operation: &Operation| {
        let take = LockStep::Take {
            shared: false,
            waits: true,
        };
        Some(match operation.order {
            MemoryOrder::Release => LockStep::Give,
            _ => take,
        })
    };
    let steps = [
        step(1, Update, 10),
        step(2, Update, 20),
        step(1, Update, 20),
        step(2, Update, 10),
    ];
    let sleeper = |thread, object| waiting(thread, Wait, object, None);
    let states = [sleeper(1, 21), sleeper(2, 11)];
    let orders = LockOrders::of(&steps, &states, &[], &mut words);
    assert_eq!(orders.closed.map(|cycle| cycle.links.len()), Some(2));
    assert_eq!(orders.cycles, []);
    // One of them is awake, or has given up.
    let orders = LockOrders::of(&steps, &states[..1], &[], &mut words);
    assert_eq!((orders.closed, orders.cycles.len()), (None, 1));
    let mut gives = step(2, Update, 10);
    gives.operation.order = MemoryOrder::Release;
    let steps = [&steps[..], &[gives]].concat();
    let orders = LockOrders::of(&steps, &states, &[], &mut words);
    assert_eq!((orders.closed, orders.cycles.len()), (None, 1));
}

/// Whether locks that are taken in opposite orders can deadlock, where the second thread
/// reads at `event` what these writes could have let it go on by.
fn can_deadlock(steps: &[Step], event: u32, initially: bool, writes: &[Written]) -> bool {
    let awaited = Awaited {
        event,
        ways: vec![Way {
            initially,
            writes: writes.into(),
        }],
    };
    !lock_cycles(steps, &[awaited], &mut |_| None).is_empty()
}

fn written(event: u32, opens: bool, is_fixed: bool) -> Written {
    Written {
        event,
        opens,
        is_fixed,
    }
}

/// A thread does something to a variable under a lock.
fn under_lock(thread: u32, kind: EventKind) -> Vec<Step> {
    let (lock, variable) = (30, 40);
    let around = [EventKind::Acquire, EventKind::Release].map(|kind| step(thread, kind, lock));
    vec![around[0], step(thread, kind, variable), around[1]]
}

#[test]
fn whoever_needs_a_write_comes_behind_it() {
    use EventKind::{Read, Write};
    let tells = [nested(1, &[10, 20]), under_lock(1, Write)].concat();
    let hears = [under_lock(2, Read), nested(2, &[20, 10])].concat();
    let (write, read) = (5, 8);
    let steps = [&tells[..], &hears].concat();
    assert!(!lock_cycles(&steps, &[], &mut |_| None).is_empty());
    assert!(!can_deadlock(
        &steps,
        read,
        false,
        &[written(write, true, true)]
    ));
    // It would have come through without.
    assert!(can_deadlock(
        &steps,
        read,
        true,
        &[written(write, true, true)]
    ));
    // What is done behind the write is not waited for.
    let steps = [under_lock(1, Write), nested(1, &[10, 20]), hears.clone()].concat();
    assert!(can_deadlock(&steps, read, false, &[written(1, true, true)]));
    // The same, if an earlier write of the same thread would do.
    let steps = [&under_lock(1, Write)[..], &tells, &hears].concat();
    let both = [written(1, true, true), written(write + 3, true, true)];
    assert!(can_deadlock(&steps, read + 3, false, &both));
    assert!(!can_deadlock(
        &steps,
        read + 3,
        false,
        &[written(1, false, true), both[1]]
    ));
}

#[test]
fn whoever_needs_one_of_several_writes_comes_behind_what_these_share() {
    use EventKind::{Read, Write};
    let tells = [nested(1, &[10, 20]), under_lock(1, Write)].concat();
    let hears = [under_lock(2, Read), nested(2, &[20, 10])].concat();
    let helps = under_lock(3, Write);
    for (write, read, helper, order) in [
        (8, 11, 1, [&helps, &tells, &hears]),
        (5, 8, 15, [&tells, &hears, &helps]),
    ] {
        let steps = order.map(|part| &part[..]).concat();
        let with = |opens, is_fixed| {
            let both = [written(write, true, true), written(helper, opens, is_fixed)];
            can_deadlock(&steps, read, false, &both)
        };
        assert!(with(true, true));
        assert!(with(false, false));
        assert!(!with(false, true));
    }
    // It has itself taken back what it started from.
    let steps = [under_lock(2, Write), tells, hears].concat();
    let both = [written(1, false, true), written(8, true, true)];
    assert!(!can_deadlock(&steps, 11, true, &both));
}
