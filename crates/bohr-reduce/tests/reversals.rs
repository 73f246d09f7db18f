//! Whoever runs one run of each class has seen all that a program can do.

#[allow(dead_code, reason = "the language has more than this test needs")]
mod language;

use bohr_event::ThreadPath;
use bohr_event::control::Step;
use bohr_reduce::{Execution, Reversals};
use language::{Interpreter, Outcome, Program, programs};
use proptest::prelude::*;
use std::collections::{BTreeSet, HashSet};

fn enabled(interpreter: &Interpreter, threads: usize) -> Vec<usize> {
    let all = 0..threads;
    all.filter(|&thread| interpreter.enabled(thread)).collect()
}

/// The ends of all interleavings; nothing if there are too many states.
fn all_outcomes(program: &Program) -> Option<BTreeSet<Outcome>> {
    let mut waiting = vec![Interpreter::new(program)];
    let mut known = HashSet::new();
    let mut outcomes = BTreeSet::new();
    while let Some(state) = waiting.pop() {
        if !known.insert(state.clone()) {
            continue;
        }
        let threads = enabled(&state, program.len());
        if threads.is_empty() {
            outcomes.insert(state.outcome());
        }
        for thread in threads {
            let mut next = state.clone();
            next.step(thread);
            waiting.push(next);
        }
        if known.len() > 20_000 {
            return None;
        }
    }
    Some(outcomes)
}

/// A run along a beginning, as far as it goes, then of one thread after the other.
fn run(program: &Program, beginning: &[usize]) -> (Vec<Step>, Vec<Step>, Outcome) {
    let mut interpreter = Interpreter::new(program);
    let mut steps: Vec<Step> = Vec::new();
    let mut beginning = beginning.iter().copied();
    loop {
        let threads = enabled(&interpreter, program.len());
        let last = steps.last().map(|step| step.thread.position());
        let prescribed = beginning.next().filter(|thread| threads.contains(thread));
        if prescribed.is_none() {
            beginning.by_ref().for_each(drop);
        }
        let stays = last.filter(|thread| threads.contains(thread));
        match prescribed.or(stays).or(threads.first().copied()) {
            Some(thread) => steps.push(interpreter.step(thread)),
            None => return (steps, interpreter.pending(), interpreter.outcome()),
        }
    }
}

/// The ends of one run of each class, and how many runs that took.
fn by_reversals(program: &Program) -> (BTreeSet<Outcome>, usize) {
    let paths: Vec<ThreadPath> = (0..program.len() as u32)
        .map(|thread| match thread {
            0 => ThreadPath::MAIN,
            child => ThreadPath::MAIN.child(child),
        })
        .collect();
    let mut outcomes = BTreeSet::new();
    let mut runs = 0;
    let mut seen = |beginning: &[usize], reversals: Option<&mut Reversals>| {
        let (steps, pending, outcome) = run(program, beginning);
        outcomes.insert(outcome);
        runs += 1;
        let execution = Execution {
            pending: &pending,
            threads: &paths,
            ..Execution::of(&steps)
        };
        match reversals {
            Some(reversals) => {
                reversals.learn(execution);
                None
            }
            None => Some(Reversals::of(execution, usize::MAX)),
        }
    };
    let mut reversals = seen(&[], None).expect("the first");
    while let Some(beginning) = reversals.next_beginning() {
        let turns = beginning.segments().iter().flat_map(|segment| {
            let thread = paths.iter().position(|path| *path == segment.thread);
            vec![thread.expect("a thread of the program"); segment.events as usize]
        });
        seen(&turns.collect::<Vec<_>>(), Some(&mut reversals));
    }
    (outcomes, runs)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_end_is_seen(program in programs(3, 4)) {
        let Some(all) = all_outcomes(&program) else { return Ok(()) };
        let (seen, _) = by_reversals(&program);
        prop_assert_eq!(seen, all);
    }
}

#[test]
fn threads_that_have_nothing_to_do_with_each_other_take_one_run() {
    use language::Statement::{Borrow, Load, Locked, Store};
    let alone = vec![
        vec![],
        vec![Store(0), Load(0), Borrow(0)],
        vec![Store(1), Load(2)],
    ];
    assert_eq!(by_reversals(&alone).1, 1);
    // Two who meet once have two ways to meet.
    let once = vec![vec![], vec![Store(0)], vec![Store(0)]];
    assert_eq!(by_reversals(&once).1, 2);
    let locked = vec![vec![], vec![Locked(0, 0)], vec![Locked(0, 0)]];
    assert_eq!(by_reversals(&locked).1, 2);
}

#[test]
fn nobody_begins_what_would_take_too_long() {
    use language::Statement::{Load, Store};
    let mut program = vec![vec![], vec![], vec![]];
    for thread in [1, 2] {
        program[thread] = (0..4).flat_map(|v| [Load(v), Store(v)]).collect();
    }
    let (steps, pending, _) = run(&program, &[]);
    let execution = Execution {
        pending: &pending,
        threads: &[
            ThreadPath::MAIN,
            ThreadPath::MAIN.child(1),
            ThreadPath::MAIN.child(2),
        ],
        ..Execution::of(&steps)
    };
    let mut few = Reversals::of(execution, 3);
    assert_eq!(few.next_beginning(), None);
    assert!(!few.is_done(), "there is more than was seen");
    assert!(Reversals::of(execution, 1000).next_beginning().is_some());
}
