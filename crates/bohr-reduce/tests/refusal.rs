//! Traces that no execution has are refused, and the offending event is named;
//! whatever is not refused is simplified and proven. Orders that break a
//! dependence do not pass the checker.

use bohr_event::{EventKind, MemoryOrder, Operation, PlaceNumber, ThreadIndex, control::Step};
use bohr_reduce::check::check;
use bohr_reduce::footprint::Footprints;
use bohr_reduce::{Chains, Execution, Malformed, Options, Order, SimplifyError, simplify};
use proptest::prelude::*;

fn step(thread: u32, kind: EventKind, object: u64) -> Step {
    Step {
        thread: ThreadIndex(thread),
        operation: Operation::plain(kind, 0, object, PlaceNumber(0)),
    }
}

/// Whether the checker lets two neighbours of a trace, of different threads, change
/// places.
fn may_swap(steps: &[Step], first: usize) -> bool {
    let execution = Execution::of(steps);
    let footprints = Footprints::new(execution, &Chains::new(steps));
    let mut swapped = steps.to_vec();
    swapped.swap(first, first + 1);
    check(steps, &footprints, &Order::of(&swapped)).is_ok()
}

/// Time passes where nobody can go on; a signal is handled before anything else; a
/// look finds what was there.
#[test]
fn sleeps_signals_and_looks_stay_where_they_are() {
    use EventKind::*;
    let (one, other) = (0x10, 0x20);
    let object = ThreadIndex(1).object();
    let trace = |second: Step| [step(0, Write, one), second, step(2, Write, other)];
    // Beside an ordinary step of another thread both neighbours may pass.
    let plain = trace(step(1, Write, 0x30));
    assert!(may_swap(&plain, 0) && may_swap(&plain, 1));
    for barrier in [step(1, Sleep, 0), step(1, Sleep, 0x30), step(1, Handle, 10)] {
        let steps = trace(barrier);
        assert!(!may_swap(&steps, 0), "{barrier:?}");
        assert!(!may_swap(&steps, 1), "{barrier:?}");
    }
    // Readers of a lock may pass each other, but not whoever could not lock it.
    let looks = [
        step(0, AcquireShared, one),
        step(1, Look, one),
        step(2, AcquireShared, one),
    ];
    assert!(!may_swap(&looks, 0) && !may_swap(&looks, 1));
    // A signal between what a thread does and the handler cannot come before.
    let signalled = [
        step(1, Write, one),
        step(0, Signal, object),
        step(1, Handle, 10),
        step(1, Write, other),
    ];
    assert!(!may_swap(&signalled, 0) && !may_swap(&signalled, 1));
}

#[test]
fn impossible_events_are_named() {
    use EventKind::*;
    let object = |thread: u32| ThreadIndex(thread).object();
    let lock = 0x10;
    // The last event of each is the offending one.
    let cases: Vec<(Vec<Step>, Malformed)> = vec![
        (
            vec![step(0, Start, object(0)), step(0, Release, lock)],
            Malformed::NotHeld,
        ),
        (
            vec![step(0, Acquire, lock), step(0, Acquire, lock)],
            Malformed::Held,
        ),
        (
            vec![step(0, AcquireShared, lock), step(0, Acquire, lock)],
            Malformed::Held,
        ),
        (
            vec![step(0, Acquire, lock), step(0, AcquireShared, lock)],
            Malformed::Held,
        ),
        (
            vec![step(0, AcquireShared, lock), step(0, Release, lock)],
            Malformed::NotHeld,
        ),
        (vec![step(0, ReleaseShared, lock)], Malformed::NotHeld),
        (
            vec![step(0, Read, lock), step(0, Join, object(7))],
            Malformed::UnknownThread,
        ),
        (vec![step(0, Join, 0x77)], Malformed::UnknownThread),
        (
            vec![step(0, Read, lock), step(1, Read, lock)],
            Malformed::NotStarted,
        ),
        (
            vec![step(0, Read, lock), step(1, Start, object(1))],
            Malformed::NotCreated,
        ),
        (
            vec![step(0, Fork, object(1)), step(1, Read, lock)],
            Malformed::NotStarted,
        ),
        (
            vec![step(0, Start, object(0)), step(0, Exit, object(2))],
            Malformed::OtherThread,
        ),
        (
            vec![step(0, Fork, object(1)), step(0, Fork, object(1))],
            Malformed::RunsAlready,
        ),
        (
            vec![step(0, Exit, object(0)), step(0, Read, lock)],
            Malformed::Ended,
        ),
        (vec![step(0, Depart, lock)], Malformed::NotArrived),
        // Two that join each other.
        (
            vec![
                step(0, Start, object(0)),
                step(0, Fork, object(1)),
                step(1, Start, object(1)),
                step(1, Join, object(0)),
            ],
            Malformed::StillRuns,
        ),
    ];
    for (steps, expected) in cases {
        let offender = *steps.last().unwrap();
        match simplify(Execution::of(&steps), &Options::default(), &mut || true) {
            Err(SimplifyError::Malformed {
                event,
                kind,
                thread,
                path,
                reason,
            }) => {
                assert_eq!(path, None, "nobody said who the threads are");
                assert_eq!(reason, expected);
                assert_eq!(
                    (event.0 as usize, kind, thread),
                    (steps.len() - 1, offender.operation.kind, offender.thread)
                );
            }
            other => panic!("{expected:?} expected, not {other:?}"),
        }
    }
}

#[test]
fn circles_of_waits_are_refused_and_nothing_that_may_be() {
    use EventKind::*;
    let (one, other) = (0x10, 0x20);
    let options = Options {
        whole_threads: false,
        ..Options::default()
    };
    let refused = |steps: &[Step], wakes_by_chance| {
        let execution = Execution {
            wakes_by_chance,
            ..Execution::of(steps)
        };
        match simplify(execution, &options, &mut || true) {
            Ok(_) => None,
            Err(SimplifyError::Malformed { event, reason, .. }) => {
                assert_eq!(reason, Malformed::Circle);
                Some(event.0)
            }
            Err(other) => panic!("{other}"),
        }
    };
    let crossed = [
        step(2, Read, 0x30),
        step(0, Wait, one),
        step(1, Wait, other),
        step(1, Signal, one),
        step(0, Signal, other),
    ];
    assert_eq!(refused(&crossed, false), Some(1));
    assert_eq!(refused(&crossed, true), None, "chance may have woken both");
    let by_way_of_others = [
        step(0, Wait, one),
        step(1, Wait, other),
        step(2, Wait, 0x30),
        step(1, Broadcast, one),
        step(2, Broadcast, other),
        step(0, Broadcast, 0x30),
    ];
    assert_eq!(refused(&by_way_of_others, false), Some(0));
    let woken_from_outside = [step(0, Wait, one), step(0, Signal, one)];
    let one_by_a_handler = [
        step(0, Handle, 0),
        step(0, Wait, one),
        step(1, Wait, other),
        step(1, Signal, one),
        step(0, Signal, other),
    ];
    let one_by_the_other = [
        step(0, Wait, one),
        step(0, Signal, other),
        step(1, Wait, other),
        step(1, Signal, one),
    ];
    for fine in [
        &woken_from_outside[..],
        &one_by_a_handler,
        &one_by_the_other,
    ] {
        assert_eq!(refused(fine, false), None, "{fine:?}");
    }
}

fn any_steps(kinds: &'static [EventKind]) -> impl Strategy<Value = Vec<Step>> {
    let step = (0u32..4, 0..kinds.len(), 0u64..6, 0u32..6, any::<bool>()).prop_map(
        move |(thread, kind, object, size, names_thread)| Step {
            thread: ThreadIndex(thread),
            operation: Operation {
                kind: kinds[kind],
                order: MemoryOrder::Plain,
                size,
                object: if names_thread {
                    ThreadIndex(object as u32).object()
                } else {
                    4 * object
                },
                place: PlaceNumber(0),
            },
        },
    );
    prop::collection::vec(step, 0..40)
}

/// What depends on what, by the definition: every pair of events.
fn respects(steps: &[Step], footprints: &Footprints, order: &[usize]) -> bool {
    let depend = |a: usize, b: usize| {
        steps[a].thread == steps[b].thread
            || footprints.touches(a).any(|x| {
                footprints
                    .touches(b)
                    .any(|y| x.variable == y.variable && (x.writes || y.writes))
            })
    };
    (0..order.len()).all(|late| {
        (0..late).all(|early| order[early] < order[late] || !depend(order[early], order[late]))
    })
}

proptest! {
    #[test]
    fn any_events_are_refused_or_simplified(steps in any_steps(&EventKind::ALL), whole_threads: bool) {
        let options = Options { whole_threads, exact_states: 200, ..Options::default() };
        match simplify(Execution::of(&steps), &options, &mut || true) {
            Ok(simplified) => {
                prop_assert!(simplified.report.verified);
                prop_assert!(simplified.report.switches_after <= simplified.report.switches_before);
            }
            Err(SimplifyError::Malformed { event, .. }) => prop_assert!((event.0 as usize) < steps.len()),
            Err(other) => prop_assert!(false, "{other}"),
        }
    }

    #[test]
    fn the_checker_agrees_with_the_definition(
        steps in any_steps(&[EventKind::Read, EventKind::Write, EventKind::Signal, EventKind::Wait, EventKind::External, EventKind::Alloc, EventKind::Free]),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 40),
    ) {
        let chains = Chains::new(&steps);
        let footprints = Footprints::new(Execution::of(&steps), &chains);
        // A random order that keeps program order.
        let mut waiting: Vec<ThreadIndex> = steps.iter().map(|step| step.thread).collect();
        let mut order = Order::default();
        for pick in picks {
            if waiting.is_empty() {
                break;
            }
            order.push(waiting.remove(pick.index(waiting.len())), 1);
        }
        let events: Vec<usize> = order.events(&steps).collect();
        prop_assert_eq!(check(&steps, &footprints, &order).is_ok(), respects(&steps, &footprints, &events));
    }

    #[test]
    fn a_missing_or_invented_event_is_refused(steps in any_steps(&[EventKind::Read]), thread in 0u32..5) {
        prop_assume!(!steps.is_empty());
        let footprints = Footprints::new(Execution::of(&steps), &Chains::new(&steps));
        prop_assert!(check(&steps, &footprints, &Order::of(&steps[1..])).is_err());
        let mut longer = Order::of(&steps);
        longer.push(ThreadIndex(thread), 1);
        prop_assert!(check(&steps, &footprints, &longer).is_err());
    }
}
