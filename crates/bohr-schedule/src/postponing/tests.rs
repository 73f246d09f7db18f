//! Toy programs in which threads meet, or nobody comes.

use super::*;
use crate::machine::{Outcome, Program, Step, Step::*, run};
use crate::walk::RandomWalk;
use bohr_event::breakpoint::Rank;

/// Before a step of a toy thread.
fn at(thread: u16, step: u64) -> Side<PlaceNumber> {
    Side {
        sites: vec![PlaceNumber::new(thread, step)],
        ..Side::default()
    }
}

fn breakpoint(sides: Vec<Side<PlaceNumber>>) -> Vec<Breakpoint<PlaceNumber>> {
    vec![Breakpoint {
        sides,
        same_object: true,
        ..Breakpoint::default()
    }]
}

fn outcome(
    program: &Program,
    breakpoints: &[Breakpoint<PlaceNumber>],
    seed: u64,
) -> (Outcome, Vec<Counts>) {
    let mut strategy = Postponing::new(breakpoints, Box::new(RandomWalk::new(seed)));
    let outcome = run(program, &mut strategy).outcome;
    let view = View {
        pending: &[],
        enabled: &[],
        last: None,
    };
    (outcome, report::read(strategy.report(&view)).unwrap())
}

/// Two threads that add 1 to a variable; the last digit of a place is its step.
fn lost_update() -> Program {
    let add: Vec<Step> = vec![Set(1, 1), Read(0), Add(0, 1), Set(2, 1)];
    vec![vec![Fork(1), Fork(2), Join(1), Join(2)], add.clone(), add]
}

/// Where the toy machine says that a thread is about to do its `step`-th.
fn place_of(program: &Program, thread: u32, wanted: EventKind, nth: usize) -> PlaceNumber {
    let run = run(program, &mut RandomWalk::new(1));
    let own = run.machine.trace.iter().filter(|(who, operation)| {
        who.0 == thread && operation.kind == wanted && operation.object == 0
    });
    own.map(|(_, operation)| operation.place).nth(nth).unwrap()
}

#[test]
fn an_update_is_lost_every_time() {
    let program = lost_update();
    let side = |thread: u32| {
        let place = place_of(&program, thread, EventKind::Write, 0);
        at(place.object(), place.offset())
    };
    let breakpoints = breakpoint(vec![side(1), side(2)]);
    for seed in 0..50 {
        let (outcome, counts) = outcome(&program, &breakpoints, seed);
        let Outcome::Ended(variables) = outcome else {
            panic!("{outcome:?}")
        };
        assert_eq!((variables[0], counts[0].hits), (1, 1), "seed {seed}");
    }
    let none = (0..50)
        .filter(|seed| outcome(&program, &[], *seed).0 == outcome(&program, &breakpoints, 0).0);
    assert!(none.count() < 50, "by chance it is not");
}

#[test]
fn who_has_gone_first_passes_the_later_side() {
    let add: Vec<Step> = vec![Set(0, 1), Set(1, 1)];
    let program: Program = vec![vec![Fork(1), Fork(2), Join(1), Join(2)], add.clone(), add];
    let places = |object: u64| {
        let run = run(&program, &mut RandomWalk::new(1));
        let own = run.machine.trace.iter();
        let own = own.filter(|(_, operation)| {
            operation.kind == EventKind::Write && operation.object == object
        });
        let mut sites: Vec<PlaceNumber> = own.map(|(_, operation)| operation.place).collect();
        sites.sort_unstable();
        sites.dedup();
        Side {
            sites,
            ..Side::default()
        }
    };
    let breakpoints = [Breakpoint {
        sides: vec![places(0), places(1)],
        ..Breakpoint::default()
    }];
    for seed in 0..50 {
        let (_, counts) = outcome(&program, &breakpoints, seed);
        let Counts {
            postponed,
            hits,
            side_visits,
            ..
        } = counts[0];
        assert_eq!((postponed, hits), (1, 1), "seed {seed}");
        assert_eq!(side_visits[..2], [2, 2], "seed {seed}");
    }
}

/// The side of the `number`-th of so many threads before a step that all of them make.
fn side_of(program: &Program, object: u64, number: u32, of: u32) -> Side<PlaceNumber> {
    let run = run(program, &mut RandomWalk::new(1));
    let own = run.machine.trace.iter();
    let own = own
        .filter(|(who, operation)| who.0 > 0 && operation.object == object)
        .filter(|(_, operation)| operation.kind == EventKind::Write);
    Side {
        sites: own.map(|(_, operation)| operation.place).collect(),
        rank: Some(Rank { number, of }),
        ..Side::default()
    }
}

#[test]
fn threads_that_run_the_same_code_go_on_in_the_order_that_was_asked_for() {
    // Each leaves its own number in variable 0.
    let racer = |number| vec![Set(1, 0), Set(0, number), Set(2, 0)];
    let program: Program = vec![
        vec![Fork(1), Fork(2), Fork(3), Join(1), Join(2), Join(3)],
        racer(1),
        racer(2),
        racer(3),
    ];
    for order in [[1, 2, 3], [3, 1, 2], [2, 3, 1]] {
        let side = |number| side_of(&program, 0, number, 3);
        let breakpoints = [Breakpoint {
            sides: order.map(side).to_vec(),
            ..Breakpoint::default()
        }];
        for seed in 0..50 {
            let (outcome, counts) = outcome(&program, &breakpoints, seed);
            let Outcome::Ended(variables) = outcome else {
                panic!("{outcome:?}")
            };
            let Counts { visits, hits, .. } = counts[0];
            assert_eq!((visits, hits), (3, 1), "seed {seed}");
            assert_eq!(variables[0], order[2] as i8, "{order:?}, seed {seed}");
        }
    }
}

#[test]
fn nobody_waits_for_ever_for_threads_that_run_the_same_code() {
    let racer = || vec![Set(0, 1), Set(1, 1)];
    let program: Program = vec![vec![Fork(1), Fork(2), Join(1), Join(2)], racer(), racer()];
    let breakpoints = [Breakpoint {
        sides: vec![side_of(&program, 0, 1, 5), side_of(&program, 0, 2, 5)],
        ..Breakpoint::default()
    }];
    for seed in 0..20 {
        let (outcome, counts) = outcome(&program, &breakpoints, seed);
        assert!(matches!(outcome, Outcome::Ended(_)), "{outcome:?}");
        let Counts { visits, hits, .. } = counts[0];
        assert_eq!((visits, hits), (2, 1), "seed {seed}");
    }
}

#[test]
fn a_thread_whose_partner_does_not_come_goes_on() {
    let program: Program = vec![
        vec![Fork(1), Set(0, 1), Join(1)],
        vec![Set(1, 1), Set(0, 2)],
    ];
    let place = place_of(&program, 1, EventKind::Write, 0);
    let breakpoints = breakpoint(vec![at(place.object(), place.offset()), at(7, 7)]);
    for seed in 0..20 {
        let (outcome, counts) = outcome(&program, &breakpoints, seed);
        assert!(matches!(outcome, Outcome::Ended(_)), "{outcome:?}");
        let Counts {
            postponed,
            hits,
            timed_out,
            ..
        } = counts[0];
        assert_eq!((postponed, hits, timed_out), (1, 0, 1), "seed {seed}");
    }
}
