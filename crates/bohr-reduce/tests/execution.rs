//! The simplified trace of a random program drives the interpreter to the same
//! end, and every thread reads the same values on the way.

mod language;

use bohr_event::ThreadPath;
use bohr_reduce::footprint::Footprints;
use bohr_reduce::graph::Graph;
use bohr_reduce::{Execution, Options, Order, Simplified, merge, past, simplify};
use language::{Interpreter, Program, execute, picks, programs};
use proptest::prelude::*;
use proptest::strategy::ValueTree;

fn replay(program: &Program, simplified: &Simplified) -> language::Outcome {
    let mut interpreter = Interpreter::new(program);
    for run in simplified.order.runs() {
        for _ in 0..run.events {
            interpreter.step(run.thread.position());
        }
    }
    interpreter.outcome()
}

/// The fewest switches of any order of the trace that respects its pairwise
/// dependences: all states, no bound, no maximal runs.
fn fewest(steps: &[bohr_event::control::Step], footprints: &Footprints) -> u64 {
    use std::collections::HashMap;
    let threads = 1 + steps
        .iter()
        .map(|step| step.thread.position())
        .max()
        .unwrap_or(0);
    let mut chains: Vec<Vec<usize>> = vec![Vec::new(); threads];
    steps
        .iter()
        .enumerate()
        .for_each(|(event, step)| chains[step.thread.position()].push(event));
    let depend = |a: usize, b: usize| {
        footprints.touches(a).any(|x| {
            footprints
                .touches(b)
                .any(|y| x.variable == y.variable && (x.writes || y.writes))
        })
    };
    let needs: Vec<Vec<usize>> = (0..steps.len())
        .map(|event| (0..event).filter(|&before| depend(before, event)).collect())
        .collect();
    let mut level: HashMap<(Vec<usize>, usize), u64> = (0..threads)
        .map(|thread| ((vec![0; threads], thread), 0))
        .collect();
    for _ in 0..steps.len() {
        let mut next: HashMap<(Vec<usize>, usize), u64> = HashMap::new();
        for ((done, last), switches) in &level {
            let is_done = |event: usize| {
                let thread = steps[event].thread.position();
                chains[thread][..done[thread]].contains(&event)
            };
            for thread in 0..threads {
                let Some(&event) = chains[thread].get(done[thread]) else {
                    continue;
                };
                if needs[event].iter().all(|&before| is_done(before)) {
                    let mut done = done.clone();
                    done[thread] += 1;
                    let switches = switches + u64::from(thread != *last);
                    let entry = next.entry((done, thread)).or_insert(u64::MAX);
                    *entry = (*entry).min(switches);
                }
            }
        }
        level = next;
    }
    level.values().copied().min().unwrap_or(0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn simplified_executions_end_alike(program in programs(5, 9), seed: u64, pin_last: bool) {
        let (steps, pending, outcome) = execute(&program, picks(seed));
        let execution = Execution { pending: &pending, ..Execution::of(&steps) };
        let options = Options { pin_last, exact_states: 300, ..Options::default() };
        let simplified = simplify(execution, &options, &mut || true).unwrap();
        prop_assert!(simplified.report.switches_after <= simplified.report.switches_before);
        prop_assert!(simplified.report.fewest_possible <= simplified.report.switches_after);
        prop_assert_eq!(replay(&program, &simplified), outcome);
        if pin_last {
            let last = simplified.order.runs().last().map(|run| run.thread);
            prop_assert_eq!(last, steps.last().map(|step| step.thread));
        }
    }

    /// Who fails has come to the same point by what had to come before it alone.
    #[test]
    fn the_past_of_an_end_leads_to_it(program in programs(4, 6), seed: u64, length: usize) {
        let (mut steps, _, _) = execute(&program, picks(seed));
        steps.truncate(1 + length % steps.len().max(1));
        let Some(last) = steps.last().copied() else { return Ok(()) };
        let paths: Vec<ThreadPath> = { 0..program.len() as u32 }
            .map(|thread| match thread {
                0 => ThreadPath::MAIN,
                child => ThreadPath::MAIN.child(child),
            })
            .collect();
        let execution = Execution { threads: &paths, ..Execution::of(&steps) };
        let Some(past) = past(execution) else { return Ok(()) };
        prop_assert!(past.events() < steps.len() as u64);
        let come_to = |turns: &mut dyn Iterator<Item = usize>| {
            let mut interpreter = Interpreter::new(&program);
            for thread in turns {
                interpreter.step(thread);
            }
            interpreter.of(last.thread.position())
        };
        let whole = come_to(&mut steps.iter().map(|step| step.thread.position()));
        let turns = past.segments().iter().flat_map(|segment| {
            let thread = paths.iter().position(|path| *path == segment.thread).unwrap();
            vec![thread; segment.events as usize]
        });
        prop_assert_eq!(come_to(&mut turns.into_iter()), whole);
    }

    #[test]
    fn an_interrupted_search_still_gives_an_order(program in programs(4, 9), seed: u64, patience in 0usize..6) {
        let (steps, pending, outcome) = execute(&program, picks(seed));
        let execution = Execution { pending: &pending, ..Execution::of(&steps) };
        let mut left = patience;
        let options = Options { exact_states: 0, free_tries: 0, ..Options::default() };
        let simplified = simplify(execution, &options, &mut || { left = left.saturating_sub(1); left > 0 }).unwrap();
        if patience <= 1 {
            prop_assert_eq!(&simplified.order, &Order::of(&steps), "there was no time for anything");
        }
        prop_assert_eq!(replay(&program, &simplified), outcome);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn what_is_called_optimal_is(program in programs(3, 4), seed: u64) {
        let (steps, pending, _) = execute(&program, picks(seed));
        let execution = Execution { pending: &pending, ..Execution::of(&steps) };
        prop_assume!(steps.len() < 40);
        let options = Options { pin_last: false, ..Options::default() };
        let simplified = simplify(execution, &options, &mut || true).unwrap();
        let chains = bohr_reduce::Chains::new(&steps);
        let fewest = fewest(&steps, &Footprints::new(execution, &chains));
        prop_assert!(simplified.report.optimal);
        prop_assert_eq!(simplified.report.switches_after, fewest);
        let heuristic = simplify(execution, &Options { exact_states: 0, ..options }, &mut || true).unwrap();
        prop_assert!(heuristic.report.fewest_possible <= fewest);
    }
}

/// Without the exact solver, how far are we from what it says? And how far is
/// the paper's greedy merging?
#[test]
fn the_search_is_near_the_optimum_and_beats_merging() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut best, mut found, mut merged) = (0, 0, 0);
    for seed in 0..60 {
        let program = programs(6, 14).new_tree(&mut runner).unwrap().current();
        let (steps, pending, _) = execute(&program, picks(seed));
        let execution = Execution {
            pending: &pending,
            ..Execution::of(&steps)
        };
        let options = Options {
            pin_last: false,
            exact_states: 200_000,
            ..Options::default()
        };
        let exact = simplify(execution, &options, &mut || true).unwrap().report;
        if !exact.optimal {
            continue;
        }
        let heuristic = simplify(
            execution,
            &Options {
                exact_states: 0,
                ..options
            },
            &mut || true,
        )
        .unwrap()
        .report;
        let chains = bohr_reduce::Chains::new(&steps);
        let graph = Graph::new(&chains, &Footprints::new(execution, &chains), false);
        best += exact.switches_after;
        found += heuristic.switches_after;
        merged += merge::switches_after_merging(&graph, |_| {});
    }
    assert!(best > 200, "the sample is too small: {best}");
    assert!(
        found * 100 <= best * 105,
        "{found} switches where {best} would do"
    );
    assert!(found <= merged, "{found} switches, merging has {merged}");
}

/// The first order of a short trace takes no time worth asking for.
#[test]
fn a_short_trace_is_reordered_whatever_the_clock_says() {
    use bohr_event::{EventKind, Operation, PlaceNumber, ThreadIndex, control::Step};
    let step = |thread, object| Step {
        thread: ThreadIndex(thread),
        operation: Operation::plain(EventKind::Write, 4, object, PlaceNumber(0)),
    };
    let turns = [step(0, 0x10), step(1, 0x20), step(0, 0x10), step(1, 0x20)];
    let options = Options {
        whole_threads: false,
        ..Options::default()
    };
    let simplified = simplify(Execution::of(&turns), &options, &mut || false).unwrap();
    assert_eq!(simplified.report.switches_after, 1);
}
