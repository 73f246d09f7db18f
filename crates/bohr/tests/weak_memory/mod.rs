//! Litmus tests and what they may come to: an operational model of store buffers,
//! as plain as its definition, that tries everything that can happen next.

use std::collections::{BTreeSet, HashSet};

/// Shared variables.
pub const VARIABLES: usize = 2;

/// One step of a litmus test; variables and values are small numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    Store(u8, u8),
    StoreRelease(u8, u8),
    StoreSequential(u8, u8),
    Load(u8),
    Fence,
    FenceRelease,
    Exchange(u8, u8),
}

impl Step {
    /// As `litmus.c` reads it.
    fn byte(self) -> u8 {
        let (operation, variable, value) = match self {
            Step::Store(variable, value) => (1, variable, value),
            Step::StoreRelease(variable, value) => (2, variable, value),
            Step::StoreSequential(variable, value) => (3, variable, value),
            Step::Load(variable) => (4, variable, 0),
            Step::Fence => (5, 0, 0),
            Step::FenceRelease => (6, 0, 0),
            Step::Exchange(variable, value) => (7, variable, value),
        };
        operation << 4 | variable << 2 | value
    }
}

/// The steps of each thread.
pub type Litmus = Vec<Vec<Step>>;

/// A thread's program as an argument of `litmus.c`.
pub fn argument(steps: &[Step]) -> String {
    let bytes = steps.iter().rev();
    bytes.map(|step| format!("{:02x}", step.byte())).collect()
}

/// What a run came to: all values read, thread by thread, then the variables.
pub type Outcome = Vec<u8>;

/// The exit code that `litmus.c` tells an outcome by.
pub fn exit_code(outcome: &Outcome, base: u32) -> u32 {
    let digits = outcome.iter().rev();
    1 + digits.fold(0, |number, digit| number * base + u32::from(*digit))
}

/// What waits in a store buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Item {
    Plain(u8, u8),
    /// Leaves when it is the first.
    Ordered(u8, u8),
    /// Nothing behind it leaves before it, and it leaves when it is the first.
    Barrier,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Thread {
    next: usize,
    buffer: Vec<Item>,
    seen: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    memory: [u8; VARIABLES],
    threads: Vec<Thread>,
}

/// All outcomes of a litmus test under a model: `sc`, `tso` or `pso`.
pub fn outcomes(litmus: &Litmus, model: &str) -> BTreeSet<Outcome> {
    let mut found = BTreeSet::new();
    let start = State {
        memory: [0; VARIABLES],
        threads: vec![Thread::default(); litmus.len()],
    };
    let (mut known, mut open) = (HashSet::from([start.clone()]), vec![start]);
    while let Some(state) = open.pop() {
        let after = successors(&state, litmus, model);
        if after.is_empty() {
            let seen = state.threads.iter().flat_map(|thread| &thread.seen);
            found.insert(seen.chain(&state.memory).copied().collect());
        }
        open.extend(after.into_iter().filter(|next| known.insert(next.clone())));
    }
    found
}

fn successors(state: &State, litmus: &Litmus, model: &str) -> Vec<State> {
    let mut after = Vec::new();
    for (number, steps) in litmus.iter().enumerate() {
        let thread = &state.threads[number];
        if let Some(step) = steps.get(thread.next) {
            after.extend(execute(state, number, *step, model));
        }
        for position in 0..thread.buffer.len() {
            if may_leave(&thread.buffer, position, model) {
                let mut next = state.clone();
                match next.threads[number].buffer.remove(position) {
                    Item::Plain(variable, value) | Item::Ordered(variable, value) => {
                        next.memory[usize::from(variable)] = value;
                    }
                    Item::Barrier => {}
                }
                after.push(next);
            }
        }
    }
    after
}

fn may_leave(buffer: &[Item], position: usize, model: &str) -> bool {
    let earlier = &buffer[..position];
    let same = |item: &Item, variable: u8| matches!(item, Item::Plain(other, _) | Item::Ordered(other, _) if *other == variable);
    match buffer[position] {
        Item::Plain(variable, _) if model == "pso" => {
            let stays = |item: &Item| *item == Item::Barrier || same(item, variable);
            !earlier.iter().any(stays)
        }
        _ => earlier.is_empty(),
    }
}

/// What a step of a thread leads to, if it is possible now.
fn execute(state: &State, number: usize, step: Step, model: &str) -> Option<State> {
    let mut next = state.clone();
    let State { memory, threads } = &mut next;
    let thread = &mut threads[number];
    thread.next += 1;
    let waits = match step {
        Step::Store(..) | Step::StoreRelease(..) => model == "sc",
        Step::Load(_) | Step::FenceRelease => false,
        Step::StoreSequential(..) | Step::Fence | Step::Exchange(..) => true,
    };
    if waits && !thread.buffer.is_empty() {
        return None;
    }
    match step {
        Step::Store(variable, value) | Step::StoreRelease(variable, value) if waits => {
            memory[usize::from(variable)] = value;
        }
        Step::Store(variable, value) => thread.buffer.push(Item::Plain(variable, value)),
        Step::StoreRelease(variable, value) => thread.buffer.push(Item::Ordered(variable, value)),
        Step::StoreSequential(variable, value) => memory[usize::from(variable)] = value,
        Step::Load(variable) => {
            let own = thread.buffer.iter().rev().find_map(|item| match item {
                Item::Plain(other, value) | Item::Ordered(other, value) if *other == variable => {
                    Some(*value)
                }
                _ => None,
            });
            thread
                .seen
                .push(own.unwrap_or(memory[usize::from(variable)]));
        }
        Step::FenceRelease if model == "pso" => thread.buffer.push(Item::Barrier),
        Step::Fence | Step::FenceRelease => {}
        Step::Exchange(variable, value) => {
            let old = std::mem::replace(&mut memory[usize::from(variable)], value);
            thread.seen.push(old);
        }
    }
    Some(next)
}
