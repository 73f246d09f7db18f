//! Small programs that do nothing but take locks, begin threads and wait for them; a
//! run of one, and the deadlocks of all its runs.

use bohr_event::control::Step;
use bohr_event::{EventKind, Operation, PlaceNumber, ThreadIndex};
use proptest::prelude::*;
use std::collections::{BTreeSet, HashSet};

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Takes a lock, perhaps as a reader.
    Take(usize, bool),
    Give(usize),
    Fork(usize),
    Join(usize),
}

/// The acts of each thread. Those that nobody begins are there from the start.
pub type Program = Vec<Vec<Act>>;

const LOCKS: usize = 4;

/// Locks taken one inside the other: for each number a lock that is taken, unless the
/// thread has it or has enough, or else the last one given back.
fn nested(choices: &[(usize, bool)]) -> Vec<Act> {
    let mut held: Vec<usize> = Vec::new();
    let mut acts = Vec::new();
    for &(choice, shared) in choices {
        if choice < LOCKS && !held.contains(&choice) {
            held.push(choice);
            acts.push(Act::Take(choice, shared));
        } else {
            acts.extend(held.pop().map(Act::Give));
        }
    }
    acts.extend(held.into_iter().rev().map(Act::Give));
    acts
}

fn thread(most: usize) -> impl Strategy<Value = Vec<Act>> {
    let shared = prop::bool::weighted(0.2);
    prop::collection::vec((0..LOCKS + 2, shared), 2..most).prop_map(|choices| nested(&choices))
}

/// Threads that are all there from the start.
pub fn program() -> impl Strategy<Value = Program> {
    prop::collection::vec(thread(9), 2..4)
}

/// The first thread begins two others, and waits for them at some time.
pub fn program_with_forks() -> impl Strategy<Value = Program> {
    let places = prop::collection::vec(0usize..20, 4);
    (thread(6), thread(7), thread(7), places).prop_map(|(mut first, second, third, places)| {
        for (number, place) in places.iter().enumerate() {
            let other = 1 + number % 2;
            let begun = first.iter().position(|act| *act == Act::Fork(other));
            let act = match begun {
                None => Act::Fork(other),
                Some(_) => Act::Join(other),
            };
            let earliest = begun.map_or(0, |begun| begun + 1);
            first.insert((earliest + place).min(first.len()), act);
        }
        vec![first, second, third]
    })
}

/// Where each thread is.
type State = Vec<usize>;

/// A thread that wants a lock, and those that keep it out.
fn blockers(program: &Program, state: &State, thread: usize) -> Vec<usize> {
    let Some(Act::Take(lock, shared)) = program[thread].get(state[thread]) else {
        return Vec::new();
    };
    let others = (0..program.len()).filter(|other| *other != thread);
    others
        .filter(|other| {
            let mut has = None;
            for act in &program[*other][..state[*other]] {
                match act {
                    Act::Take(taken, shared) if taken == lock => has = Some(*shared),
                    Act::Give(given) if given == lock => has = None,
                    _ => {}
                }
            }
            has.is_some_and(|theirs| !(theirs && *shared))
        })
        .collect()
}

fn is_begun(program: &Program, state: &State, thread: usize) -> bool {
    let begins = |act: &Act| *act == Act::Fork(thread);
    let mut all = program.iter().zip(state);
    let done = all.any(|(acts, done)| acts[..*done].iter().any(begins));
    done || !program.iter().flatten().any(begins)
}

fn can_go_on(program: &Program, state: &State, thread: usize) -> bool {
    let next = program[thread].get(state[thread]);
    is_begun(program, state, thread)
        && match next {
            None => false,
            Some(Act::Join(other)) => state[*other] == program[*other].len(),
            Some(_) => blockers(program, state, thread).is_empty(),
        }
}

/// A run along these choices, unless it gets stuck.
pub fn run(program: &Program, choices: &[usize]) -> Option<Vec<Step>> {
    let mut state: State = vec![0; program.len()];
    let mut steps = Vec::new();
    let mut choices = choices.iter().copied().cycle();
    let begun: Vec<usize> = { program.iter().flatten() }
        .filter_map(|act| match act {
            Act::Fork(thread) => Some(*thread),
            _ => None,
        })
        .collect();
    loop {
        let able = (0..program.len()).filter(|thread| can_go_on(program, &state, *thread));
        let able: Vec<usize> = able.collect();
        if able.is_empty() {
            let is_over = { state.iter().zip(program) }.all(|(done, acts)| *done == acts.len());
            return is_over.then_some(steps);
        }
        let thread = able[choices.next()? % able.len()];
        if state[thread] == 0 && begun.contains(&thread) {
            steps.push(event(thread, 0, EventKind::Start, object_of(thread)));
        }
        let act = program[thread][state[thread]];
        steps.push(of_act(program, &state, thread, act));
        state[thread] += 1;
        if state[thread] == program[thread].len() {
            steps.push(event(thread, 0, EventKind::Exit, object_of(thread)));
        }
    }
}

fn of_act(program: &Program, state: &State, thread: usize, act: Act) -> Step {
    let number = state[thread];
    let (kind, object) = match act {
        Act::Take(lock, false) => (EventKind::Acquire, lock as u64 + 1),
        Act::Take(lock, true) => (EventKind::AcquireShared, lock as u64 + 1),
        Act::Give(lock) => {
            let taken = program[thread][..number].iter().rev();
            let mut taken = taken.filter(|act| matches!(act, Act::Take(it, _) if *it == lock));
            let kind = match taken.next() {
                Some(Act::Take(_, true)) => EventKind::ReleaseShared,
                _ => EventKind::Release,
            };
            (kind, lock as u64 + 1)
        }
        Act::Fork(other) => (EventKind::Fork, object_of(other)),
        Act::Join(other) => (EventKind::Join, object_of(other)),
    };
    event(thread, number, kind, object)
}

fn object_of(thread: usize) -> u64 {
    ThreadIndex(thread as u32).object()
}

fn event(thread: usize, number: usize, kind: EventKind, object: u64) -> Step {
    let place = PlaceNumber((thread as u64) << 8 | number as u64);
    Step {
        thread: ThreadIndex(thread as u32),
        operation: Operation::plain(kind, 0, object, place),
    }
}

/// The circles of waiting threads that some run comes to: for each, who waits at which
/// of its acts.
pub fn cycles_of_all_runs(program: &Program) -> BTreeSet<BTreeSet<(usize, usize)>> {
    let mut found = BTreeSet::new();
    let start: State = vec![0; program.len()];
    let mut known = HashSet::from([start.clone()]);
    let mut next = vec![start];
    while let Some(state) = next.pop() {
        for thread in 0..program.len() {
            follow(program, &state, &mut vec![thread], &mut found);
            if can_go_on(program, &state, thread) {
                let mut behind = state.clone();
                behind[thread] += 1;
                if known.insert(behind.clone()) {
                    next.push(behind);
                }
            }
        }
    }
    found
}

fn follow(
    program: &Program,
    state: &State,
    way: &mut Vec<usize>,
    found: &mut BTreeSet<BTreeSet<(usize, usize)>>,
) {
    let last = way[way.len() - 1];
    if !is_begun(program, state, last) {
        return;
    }
    for blocker in blockers(program, state, last) {
        if blocker == way[0] {
            found.insert(way.iter().map(|thread| (*thread, state[*thread])).collect());
        } else if !way.contains(&blocker) {
            way.push(blocker);
            follow(program, state, way, found);
            way.pop();
        }
    }
}
