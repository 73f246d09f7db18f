//! Real threads at breakpoints. Pauses are long where a meeting is expected, since
//! a meeting ends them, and short where none is.

use bohr_break::{Breakpoint, Locks, Object, Roll};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Barrier, Mutex};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(5);

/// Two threads that begin together.
fn together(one: impl FnOnce() + Send, other: impl FnOnce() + Send) {
    let barrier = Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            barrier.wait();
            one();
        });
        scope.spawn(|| {
            barrier.wait();
            other();
        });
    });
}

#[test]
fn the_first_statement_comes_first() {
    static ORDER: Breakpoint = Breakpoint::conflict("order").pause(LONG);
    static DONE: Mutex<Vec<&str>> = Mutex::new(Vec::new());
    bohr_break::arm();
    for late in [Some(0), Some(1), None].into_iter().cycle().take(60) {
        let arrive = |side: usize, name: &'static str| {
            if late == Some(side) {
                std::thread::sleep(Duration::from_millis(1));
            }
            let visit = ORDER.side(side, &DONE);
            assert!(visit.is_hit());
            // A slow statement: the other side has to wait for its end.
            std::thread::sleep(Duration::from_micros(300));
            DONE.lock().unwrap().push(name);
        };
        together(|| arrive(0, "first"), || arrive(1, "second"));
        assert_eq!(
            DONE.lock().unwrap().drain(..).collect::<Vec<_>>(),
            ["first", "second"]
        );
    }
    let statistics = ORDER.statistics();
    assert_eq!((statistics.visits, statistics.hits), (120, 60));
    assert_eq!((statistics.postponements, statistics.timeouts), (60, 0));
    assert!(statistics.seconds_to_first_hit.is_some());
}

#[test]
fn a_notification_comes_before_the_wait_that_misses_it() {
    static UNHEARD: Breakpoint = Breakpoint::missed_notification("unheard").pause(LONG);
    static DONE: Mutex<Vec<&str>> = Mutex::new(Vec::new());
    bohr_break::arm();
    let note = |visit: bohr_break::Visit, name| {
        assert!(visit.is_hit());
        DONE.lock().unwrap().push(name);
    };
    together(
        || note(UNHEARD.second(&DONE), "waits"),
        || note(UNHEARD.first(&DONE), "notifies"),
    );
    assert_eq!(*DONE.lock().unwrap(), ["notifies", "waits"]);
}

#[test]
fn only_visits_count_that_fulfil_their_own_condition() {
    static NARROW: Breakpoint = Breakpoint::conflict("narrow").pause(LONG);
    static CARET: Mutex<()> = Mutex::new(());
    bohr_break::arm();
    together(
        || {
            let held = || bohr_break::is_held(&CARET);
            assert!(!NARROW.when(held).reach(0, &NARROW));
            assert!(
                !NARROW
                    .when(|| panic!("as it is meant to"))
                    .reach(0, &NARROW)
            );
            let _locked = CARET.lock().unwrap();
            let _held = bohr_break::holding(&CARET);
            assert!(NARROW.when(held).first(&NARROW).is_hit());
            NARROW.artefact();
            NARROW.artefact();
        },
        || assert!(NARROW.when(|| true).second(&NARROW).is_hit()),
    );
    assert!(!bohr_break::is_held(&CARET));
    let statistics = NARROW.statistics();
    assert_eq!((statistics.visits, statistics.postponements), (4, 1));
    assert_eq!((statistics.hits, statistics.artefacts), (1, 2));
    let first = statistics.seconds_to_first_hit.unwrap();
    // Two errors since then, so the mean is at least half of the time to the hit.
    assert!(statistics.mean_time_to_error.unwrap() >= first / 2.0);
}

#[test]
fn sides_at_different_objects_do_not_meet() {
    static APART: Breakpoint = Breakpoint::conflict("apart").pause(SHORT);
    bohr_break::arm();
    let (one, other) = (1u8, 2u8);
    together(
        || assert!(!APART.first(&one).is_hit()),
        || assert!(!APART.second(&other).is_hit()),
    );
    assert_eq!(APART.statistics().timeouts, 2);
}

#[test]
fn a_thread_does_not_meet_itself() {
    static ALONE: Breakpoint = Breakpoint::conflict("alone").pause(SHORT);
    bohr_break::arm();
    for _ in 0..3 {
        assert!(!ALONE.first(&ALONE).is_hit());
        assert!(!ALONE.second(&ALONE).is_hit());
    }
    // Not even if one side of it still waits: both of these are firsts.
    together(
        || assert!(!ALONE.first(&ALONE).is_hit()),
        || assert!(!ALONE.first(&ALONE).is_hit()),
    );
}

#[test]
fn who_finds_another_at_its_side_passes() {
    static ONE: Breakpoint = Breakpoint::conflict("one").pause(LONG).one_waits();
    bohr_break::arm();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| ONE.reach(0, &ONE));
        while ONE.statistics().postponements == 0 {
            std::thread::yield_now();
        }
        assert!(!ONE.reach(0, &ONE));
        assert!(ONE.reach(1, &ONE));
        assert!(waiting.join().unwrap());
    });
    assert_eq!(ONE.statistics().postponements, 1);
}

#[test]
fn crossed_locks_are_both_held() {
    static CROSSED: Breakpoint<Locks> = Breakpoint::deadlock("crossed").pause(LONG);
    static LEFT: Mutex<()> = Mutex::new(());
    static RIGHT: Mutex<()> = Mutex::new(());
    bohr_break::arm();
    let take = |side: usize, held: &Mutex<()>, wanted: &Mutex<()>| {
        let _held = held.lock().unwrap();
        let met = CROSSED.side(side, Locks::new(held, wanted)).is_hit();
        // Whoever is late finds the lock free again.
        met && wanted.try_lock().is_err()
    };
    let stuck = AtomicU64::new(0);
    let count = |found: bool| {
        stuck.fetch_add(u64::from(found), SeqCst);
    };
    together(
        || count(take(0, &LEFT, &RIGHT)),
        || count(take(1, &RIGHT, &LEFT)),
    );
    assert!(stuck.load(SeqCst) >= 1);
    // The same order on both sides is no deadlock.
    static IN_ORDER: Breakpoint<Locks> = Breakpoint::deadlock("in order").pause(SHORT);
    together(
        || assert!(!IN_ORDER.first(Locks::new(&LEFT, &RIGHT)).is_hit()),
        || assert!(!IN_ORDER.second(Locks::new(&LEFT, &RIGHT)).is_hit()),
    );
}

#[test]
fn three_sides_go_on_in_their_order() {
    static THREE: Breakpoint = Breakpoint::conflict("three").sides(3).pause(LONG);
    static DONE: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    bohr_break::arm();
    for round in 0..20 {
        std::thread::scope(|scope| {
            for number in 0..3 {
                let side = (number + round) % 3;
                scope.spawn(move || {
                    let visit = THREE.side(side, &DONE);
                    assert!(visit.is_hit());
                    DONE.lock().unwrap().push(side);
                });
            }
        });
        assert_eq!(
            DONE.lock().unwrap().drain(..).collect::<Vec<_>>(),
            [0, 1, 2]
        );
    }
}

#[test]
fn a_condition_that_panics_does_not_hold() {
    static BROKEN: Breakpoint<u32> =
        Breakpoint::new("broken", |_, _| panic!("as it is meant to")).pause(SHORT);
    bohr_break::arm();
    together(
        || assert!(!BROKEN.first(1u32).is_hit()),
        || assert!(!BROKEN.second(2u32).is_hit()),
    );
    assert_eq!(BROKEN.statistics().hits, 0);
}

#[test]
fn conditions_see_both_states() {
    static OLDER: Breakpoint<u32> =
        Breakpoint::new("older", |first, second| first < second).pause(LONG);
    bohr_break::arm();
    together(
        || assert!(OLDER.first(1u32).is_hit()),
        || assert!(OLDER.second(2u32).is_hit()),
    );
    static YOUNGER: Breakpoint<u32> =
        Breakpoint::new("younger", |first, second| first > second).pause(SHORT);
    together(
        || assert!(!YOUNGER.first(1u32).is_hit()),
        || assert!(!YOUNGER.second(2u32).is_hit()),
    );
}

#[test]
fn hits_are_bounded_however_many_come_at_once() {
    static ASKED: AtomicU64 = AtomicU64::new(0);
    static BOTH: Barrier = Barrier::new(2);
    // Two come at once: neither has met anybody while the other one looks.
    fn slowly(_: &u32, _: &u32) -> bool {
        if ASKED.fetch_add(1, SeqCst) < 2 {
            BOTH.wait();
        }
        true
    }
    static ONCE: Breakpoint<u32> = Breakpoint::new("once", slowly).at_most(1).pause(LONG);
    bohr_break::arm();
    let hits = AtomicU64::new(0);
    let visit = |side| {
        hits.fetch_add(u64::from(ONCE.reach(side, 0u32)), SeqCst);
    };
    std::thread::scope(|scope| {
        scope.spawn(|| visit(0));
        scope.spawn(|| visit(0));
        while ONCE.statistics().postponements < 2 {
            std::thread::yield_now();
        }
        scope.spawn(|| visit(1));
        scope.spawn(|| visit(1));
    });
    assert_eq!(hits.load(SeqCst), 2);
    // Who was held up beside the last meeting was let go.
    let statistics = ONCE.statistics();
    assert_eq!((statistics.hits, statistics.timeouts), (1, 0));
}

#[test]
fn visits_can_be_ignored_and_hits_bounded() {
    static SOME: Breakpoint = Breakpoint::conflict("some")
        .ignore_first(4)
        .at_most(3)
        .pause(LONG);
    bohr_break::arm();
    let hits: Vec<bool> = (0..10)
        .map(|_| {
            let both = Mutex::new(Vec::new());
            let visit = |side| {
                let hit = SOME.side(side, &SOME).is_hit();
                both.lock().unwrap().push(hit);
            };
            together(|| visit(0), || visit(1));
            let both = both.into_inner().unwrap();
            assert_eq!(both[0], both[1]);
            both[0]
        })
        .collect();
    let expected = [
        false, false, true, true, true, false, false, false, false, false,
    ];
    assert_eq!(hits, expected);
}

#[test]
fn a_scope_can_be_asked_for() {
    static CONTEXT: Breakpoint = Breakpoint::conflict("context")
        .within("repaint")
        .pause(LONG);
    bohr_break::arm();
    let outside = || CONTEXT.first(&CONTEXT).is_hit();
    assert!(!outside());
    let inside = |side| {
        let _outer = bohr_break::scope("repaint");
        drop(bohr_break::scope("other"));
        assert!(CONTEXT.side(side, &CONTEXT).is_hit());
    };
    together(|| inside(0), || inside(1));
    assert!(!outside(), "the scope has ended");
    assert_eq!(CONTEXT.statistics().postponements, 1);
}

#[test]
fn a_plain_call_says_whether_it_was_hit() {
    static PLAIN: Breakpoint = Breakpoint::conflict("plain").pause(LONG);
    bohr_break::arm();
    together(
        || assert!(PLAIN.reach(0, &PLAIN)),
        || assert!(PLAIN.reach(1, &PLAIN)),
    );
}

#[test]
fn nothing_happens_while_they_sleep() {
    static ASLEEP: Breakpoint = Breakpoint::conflict("asleep").pause(LONG);
    bohr_break::disarm();
    assert!(!ASLEEP.first(&ASLEEP).is_hit());
    assert!(!ASLEEP.reach(1, &ASLEEP));
    assert_eq!(ASLEEP.statistics().visits, 0);
}

/// Every visit is a part of one hit, times out or passes, whatever the threads do.
#[test]
fn nobody_is_lost_in_a_crowd() {
    static CROWD: Breakpoint = Breakpoint::conflict("crowd").pause(Duration::from_micros(200));
    static HITS: AtomicU64 = AtomicU64::new(0);
    bohr_break::arm();
    std::thread::scope(|scope| {
        for number in 0..8usize {
            scope.spawn(move || {
                for round in 0..150 {
                    let visit = CROWD.side((number * 31 + round * 7) % 2, Object::from(&CROWD));
                    HITS.fetch_add(u64::from(visit.is_hit()), SeqCst);
                }
            });
        }
    });
    let statistics = CROWD.statistics();
    assert_eq!(statistics.visits, 8 * 150);
    assert_eq!(HITS.load(SeqCst), 2 * statistics.hits);
    // Who comes to the other side while its partner is about to begin passes.
    assert!(statistics.visits >= 2 * statistics.hits + statistics.timeouts);
    assert!(statistics.hits > 0);
}

/// What a thread passes between its own statement and its partner's belongs to the
/// meeting: at the later side it does not wait for anybody else.
#[test]
fn who_has_gone_first_passes_the_later_side() {
    static BOTH: Breakpoint = Breakpoint::conflict("both sides").pause(LONG).one_waits();
    static HITS: AtomicU64 = AtomicU64::new(0);
    bohr_break::arm();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let first = BOTH.reach(0, &BOTH);
                let second = BOTH.reach(1, &BOTH);
                HITS.fetch_add(u64::from(first) + u64::from(second), SeqCst);
            });
        }
    });
    assert_eq!(HITS.load(SeqCst), 2);
    let statistics = BOTH.statistics();
    assert_eq!((statistics.hits, statistics.timeouts), (1, 0));
}

/// However they come, they are told apart by the order in which they were created; who
/// comes by beyond them is none of them.
#[test]
fn threads_that_run_the_same_code_are_told_apart() {
    static ALIKE: Roll = Roll::of("alike", 2).pause(LONG);
    bohr_break::arm();
    let both = Barrier::new(2);
    std::thread::scope(|scope| {
        let older = scope.spawn(|| {
            both.wait();
            std::thread::sleep(Duration::from_millis(3));
            ALIKE.which()
        });
        let younger = scope.spawn(|| {
            both.wait();
            ALIKE.which()
        });
        assert_eq!(older.join().unwrap(), Some(1));
        assert_eq!(younger.join().unwrap(), Some(2));
        assert_eq!(scope.spawn(|| ALIKE.which()).join().unwrap(), None);
    });
    assert_eq!(ALIKE.which(), None);
}

/// Who comes by while the others do not goes on when its pause is over, and is the first.
#[test]
fn nobody_waits_for_ever_for_threads_that_run_the_same_code() {
    static LONELY: Roll = Roll::of("lonely", 3).pause(Duration::from_millis(2));
    bohr_break::arm();
    assert_eq!(LONELY.which(), Some(1));
    assert_eq!(LONELY.which(), Some(1));
    let late = || std::thread::spawn(|| LONELY.which()).join().unwrap();
    assert_eq!([late(), late(), late()], [Some(2), Some(3), None]);
}

/// Files that do not see each other have statics of their own.
#[test]
fn statics_with_the_same_name_are_one_breakpoint() {
    static HERE: Breakpoint = Breakpoint::conflict("namesake").pause(LONG);
    static THERE: Breakpoint = Breakpoint::conflict("namesake").pause(LONG);
    static ALIKE_HERE: Roll = Roll::of("namesakes", 2).pause(LONG);
    static ALIKE_THERE: Roll = Roll::of("namesakes", 2).pause(LONG);
    bohr_break::arm();
    together(
        || assert!(HERE.reach(0, Object::NONE)),
        || assert!(THERE.reach(1, Object::NONE)),
    );
    let (here, there) = (HERE.statistics(), THERE.statistics());
    assert_eq!((here.visits, here.hits), (2, 1));
    assert_eq!((there.visits, there.hits), (2, 1));
    together(
        || assert!(ALIKE_HERE.which().is_some()),
        || assert!(ALIKE_THERE.which().is_some()),
    );
}
