//! The real deadlock: threads of which each has what the one before it waits for.
//!
//! Who holds a lock of the C library the runtime knows. Of locks made of atomics
//! and futexes, as Rust's are, it does not; but whoever sleeps on such a word was
//! told by the word that somebody has it, and the last to change the word without
//! sleeping on it is who took it, unless it woke others afterwards: then it gave
//! the lock back, or it was no lock, and unless it only told others with that change
//! what it had done (release). A thread may also sleep on a word that nobody changes, and
//! is woken by way of it: it waits for the word that it looked at last before (the state
//! of a lock whose writers sleep elsewhere). Whose permit of a semaphore somebody waits for
//! the events tell, as long as permits are given back by those who took them. A notification that does not come looks
//! alike, so nothing is said unless the circle closes.

use crate::moment::Moment;
use bohr_event::control::{Recorded, Step, ThreadState};
use bohr_event::{EventKind, MemoryOrder, Operation, ThreadIndex};
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
    for start in states {
        let mut round: Vec<Waiter<'_>> = Vec::new();
        let mut next = Some(start);
        while let Some(state) = next.take() {
            if round.iter().any(|seen| seen.state.thread == state.thread) {
                break;
            }
            let Some((holder, wanted)) = holder(run, states, state) else {
                break;
            };
            round.push(Waiter { state, wanted });
            if holder == start.thread {
                return links(run, &round);
            }
            next = states.iter().find(|state| state.thread == holder);
        }
    }
    Vec::new()
}

/// A thread that waits for somebody, and what that one has.
struct Waiter<'a> {
    state: &'a ThreadState,
    wanted: u64,
}

/// Who has what a thread waits for, and what that is.
fn holder(
    run: &Recorded,
    states: &[ThreadState],
    state: &ThreadState,
) -> Option<(ThreadIndex, u64)> {
    if state.enabled {
        return None;
    }
    let waits = &state.operation;
    if let Some(known) = state.holder {
        return Some((known, waits.object));
    }
    let holder = match waits.kind {
        EventKind::Acquire | EventKind::AcquireShared => holds(run, waits.object, state.thread),
        EventKind::Receive if waits.is_permit() => has_permit(run, waits.object, state.thread),
        EventKind::Wait => {
            let other = || looked_at(run, state);
            let words = std::iter::once(waits.object).chain(std::iter::once_with(other).flatten());
            return words.into_iter().find_map(|word| {
                let holder = last_changer(run, states, word)?;
                Some((holder, word))
            });
        }
        _ => None,
    };
    Some((holder?, waits.object))
}

/// Reads between the one of a lock's state and the sleep.
const MOST_READS: usize = 8;

/// The word that a thread looked at last before it began to sleep on another one, if it
/// has changed nothing since.
fn looked_at(run: &Recorded, state: &ThreadState) -> Option<u64> {
    let own = { run.steps.iter().rev() }.filter(|step| step.thread == state.thread);
    let reads = own
        .take(MOST_READS)
        .take_while(|step| step.operation.kind == EventKind::Read);
    let mut reads = reads.map(|step| step.operation.object);
    reads.find(|word| *word != state.operation.object)
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
fn last_changer(run: &Recorded, states: &[ThreadState], word: u64) -> Option<ThreadIndex> {
    let waits = |state: &&ThreadState| !state.enabled && state.operation.kind == EventKind::Wait;
    let waiting = states.iter().filter(waits);
    let sleeping = waiting
        .filter(|state| state.operation.object == word || looked_at(run, state) == Some(word));
    let mut others: Vec<ThreadIndex> = sleeping.map(|state| state.thread).collect();
    let mut woke = Vec::new();
    for step in run.steps.iter().rev() {
        let operation = &step.operation;
        let wakes = matches!(operation.kind, EventKind::Signal | EventKind::Broadcast);
        if wakes && operation.object == word {
            woke.push(step.thread);
        }
        let takes = operation.kind == EventKind::Update && changes_word(operation, word);
        if !takes || others.contains(&step.thread) {
            continue;
        }
        match operation.order {
            // It gave back what it had, perhaps one of several readers.
            MemoryOrder::Release => others.push(step.thread),
            _ => return (!woke.contains(&step.thread)).then_some(step.thread),
        }
    }
    None
}

fn changes_word(operation: &Operation, word: u64) -> bool {
    let end = operation.object + u64::from(operation.size);
    operation.kind.writes() && (operation.object..end).contains(&word)
}

fn links(run: &Recorded, round: &[Waiter<'_>]) -> Vec<Link> {
    let before = |position: usize| &round[(position + round.len() - 1) % round.len()];
    let links = round.iter().enumerate();
    links
        .filter_map(|(position, waiter)| {
            let mut waits = Moment::waiting(run, waiter.state)?;
            waits.operation.object = waiter.wanted;
            Some(Link {
                holds: taken(run, waiter.state.thread, before(position).wanted),
                waits,
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
