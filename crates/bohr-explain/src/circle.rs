//! The real deadlock: threads of which each has what the one before it waits for.
//!
//! Who holds a lock of the C library the runtime knows. Of locks made of atomics
//! and futexes, as Rust's are, it does not; but whoever sleeps on such a word was
//! told by the word that somebody has it, and the last to change the word without
//! sleeping on it is who took it, unless it woke others afterwards: then it gave
//! the lock back, or it was no lock. Whose permit of a semaphore somebody waits for
//! the events tell, as long as permits are given back by those who took them. A notification that does not come looks
//! alike, so nothing is said unless the circle closes.

use crate::moment::Moment;
use bohr_event::control::{Recorded, Step, ThreadState};
use bohr_event::{EventKind, Operation, ThreadIndex};
use serde::Serialize;

/// A thread of a circle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Link {
    /// How it came to have what the thread before it in the circle waits for;
    /// `None` if it is waited for itself.
    pub holds: Option<Moment>,
    /// What it waits to do.
    pub waits: Moment,
}

/// The circle that a run ended in, as far as there is one: each thread waits for
/// the next, the last one for the first.
#[must_use]
pub fn circle(run: &Recorded, states: &[ThreadState]) -> Vec<Link> {
    let state = |thread| states.iter().find(|state| state.thread == thread);
    for start in states {
        let mut round = vec![start];
        while let Some(next) = holder(run, states, round[round.len() - 1]).and_then(state) {
            if next.thread == start.thread {
                return links(run, &round);
            }
            if round.iter().any(|seen| seen.thread == next.thread) {
                break;
            }
            round.push(next);
        }
    }
    Vec::new()
}

/// Who has what a thread waits for.
fn holder(run: &Recorded, states: &[ThreadState], state: &ThreadState) -> Option<ThreadIndex> {
    if state.enabled {
        return None;
    }
    let waits = &state.operation;
    state.holder.or_else(|| match waits.kind {
        EventKind::Acquire | EventKind::AcquireShared => holds(run, waits.object, state.thread),
        EventKind::Receive if waits.is_permit() => has_permit(run, waits.object, state.thread),
        EventKind::Wait => last_changer(run, states, waits),
        _ => None,
    })
}

/// Somebody who has taken a lock and not given it back, perhaps for reading.
fn holds(run: &Recorded, lock: u64, waiter: ThreadIndex) -> Option<ThreadIndex> {
    use EventKind::{Acquire, AcquireShared, Release, ReleaseShared};
    let mut holders: Vec<ThreadIndex> = Vec::new();
    for step in run
        .steps
        .iter()
        .filter(|step| step.operation.object == lock)
    {
        match step.operation.kind {
            Acquire | AcquireShared => holders.push(step.thread),
            Release | ReleaseShared => {
                let held = holders.iter().rposition(|holder| *holder == step.thread);
                held.map(|position| holders.swap_remove(position));
            }
            _ => {}
        }
    }
    let other = holders.iter().find(|holder| **holder != waiter);
    other.or(holders.first()).copied()
}

/// Somebody else who has a permit of a semaphore, if the semaphore is used as a lock:
/// whoever gives a permit has taken one before.
fn has_permit(run: &Recorded, semaphore: u64, waiter: ThreadIndex) -> Option<ThreadIndex> {
    let mut holders: Vec<ThreadIndex> = Vec::new();
    let touching = |step: &&Step| step.operation.object == semaphore;
    for step in run.steps.iter().filter(touching) {
        match (step.operation.is_permit(), step.operation.kind) {
            (true, EventKind::Receive) => holders.push(step.thread),
            (true, EventKind::Send) => {
                let held = holders.iter().rposition(|holder| *holder == step.thread)?;
                holders.remove(held);
            }
            _ => {}
        }
    }
    holders.into_iter().find(|holder| *holder != waiter)
}

/// The last to change a word on which threads sleep, except for these.
fn last_changer(run: &Recorded, states: &[ThreadState], waits: &Operation) -> Option<ThreadIndex> {
    let sleeps = |thread: ThreadIndex| {
        states.iter().any(|state| {
            state.thread == thread
                && !state.enabled
                && state.operation.kind == EventKind::Wait
                && state.operation.object == waits.object
        })
    };
    let mut woke = Vec::new();
    for step in run.steps.iter().rev() {
        let operation = &step.operation;
        let wakes = matches!(operation.kind, EventKind::Signal | EventKind::Broadcast);
        if wakes && operation.object == waits.object {
            woke.push(step.thread);
        }
        let takes = operation.kind == EventKind::Update && changes_word(operation, waits.object);
        if takes && !sleeps(step.thread) {
            return (!woke.contains(&step.thread)).then_some(step.thread);
        }
    }
    None
}

fn changes_word(operation: &Operation, word: u64) -> bool {
    let end = operation.object + u64::from(operation.size);
    operation.kind.writes() && (operation.object..end).contains(&word)
}

fn links(run: &Recorded, round: &[&ThreadState]) -> Vec<Link> {
    let before = |position: usize| round[(position + round.len() - 1) % round.len()];
    let links = round.iter().enumerate();
    links
        .filter_map(|(position, state)| {
            let wanted = before(position).operation.object;
            Some(Link {
                holds: taken(run, state.thread, wanted),
                waits: Moment::waiting(run, state)?,
            })
        })
        .collect()
}

/// How a thread came to have a lock.
fn taken(run: &Recorded, thread: ThreadIndex, lock: u64) -> Option<Moment> {
    let takes = |operation: &Operation| match operation.kind {
        EventKind::Acquire | EventKind::AcquireShared => operation.object == lock,
        EventKind::Receive => operation.object == lock && operation.is_permit(),
        _ => changes_word(operation, lock),
    };
    let mut steps = run.steps.iter();
    let event = steps.rposition(|step| step.thread == thread && takes(&step.operation))?;
    Some(Moment::at(run, event))
}

#[cfg(test)]
mod tests;
