//! A signal that woke one thread while another one, which had more reason to go on,
//! kept waiting: one condition for those who wait for different things, or one signal
//! for several.
//!
//! A thread that waits at the end of a run has reason to go on if what it looked at
//! before it began to wait was changed since, and the thread that was woken instead has
//! not changed that back. Where no accesses are seen, the thread that was woken has to
//! wait again: then the signal was for somebody else.

use crate::moment::Moment;
use bohr_event::control::{Recorded, ThreadState};
use bohr_event::{EventKind, ThreadIndex};
use serde::Serialize;
use std::collections::BTreeSet;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Misdirected {
    /// The signal.
    pub signalled: Moment,
    /// Whom it woke.
    pub woken: Moment,
    /// The change that the waiting thread would have seen, if one was seen.
    pub written: Option<Moment>,
    /// Who keeps waiting.
    pub waits: Moment,
}

/// A thread that waits on a condition.
#[derive(Clone, Copy)]
pub(crate) struct Waiter {
    pub(crate) thread: ThreadIndex,
    /// Its last event: it gives its lock back.
    pub(crate) since: usize,
}

/// Of each condition that threads wait on at the end of a run, the last signal, if it
/// woke another thread than one that had reason to go on.
#[must_use]
pub fn misdirected(run: &Recorded, states: &[ThreadState]) -> Vec<Misdirected> {
    let waiting = |state: &&ThreadState| !state.enabled && state.operation.kind == EventKind::Wait;
    let waiting: Vec<&ThreadState> = states.iter().filter(waiting).collect();
    let conditions: BTreeSet<u64> = { waiting.iter() }
        .map(|state| state.operation.object)
        .collect();
    let found = conditions.into_iter().filter_map(|condition| {
        let (signal, woken) = last_heard(run, condition)?;
        waiting.iter().find_map(|state| {
            let waiter = waiter(run, state)?;
            let written = reason(run, waiter, run.steps[woken].thread, signal)?;
            let same = state.operation.object == condition;
            (same && waiter.since < signal).then_some(Misdirected {
                signalled: Moment::at(run, signal),
                woken: Moment::at(run, woken),
                written: written.map(|event| Moment::at(run, event)),
                waits: Moment::waiting(run, state)?,
            })
        })
    });
    found.collect()
}

/// The last call on a condition, if it is a signal and somebody heard it: the first that
/// wakes afterwards and waited before.
fn last_heard(run: &Recorded, condition: u64) -> Option<(usize, usize)> {
    let about = |event: &usize| run.steps[*event].operation.object == condition;
    let mut events = (0..run.steps.len()).rev().filter(about);
    let call = events.find(|event| {
        let kind = run.steps[*event].operation.kind;
        matches!(kind, EventKind::Signal | EventKind::Broadcast)
    })?;
    if run.steps[call].operation.kind == EventKind::Broadcast {
        return None;
    }
    let woken = (call + 1..run.steps.len()).filter(about).find(|event| {
        let step = &run.steps[*event];
        let before = last_of(run, step.thread, *event);
        step.operation.kind == EventKind::Wait && before.is_some_and(|before| before < call)
    })?;
    Some((call, woken))
}

/// A wait on a condition begins where it gives its lock back.
fn waiter(run: &Recorded, state: &ThreadState) -> Option<Waiter> {
    let since = last_of(run, state.thread, run.steps.len())?;
    let gives = run.steps[since].operation.kind == EventKind::Release;
    gives.then_some(Waiter {
        thread: state.thread,
        since,
    })
}

/// The last event of a thread before this one.
pub(crate) fn last_of(run: &Recorded, thread: ThreadIndex, before: usize) -> Option<usize> {
    let mut earlier = run.steps[..before].iter();
    earlier.rposition(|step| step.thread == thread)
}

/// Why a waiter should go on, if it should: the last change to what it looked at, or
/// nothing that can be told.
fn reason(
    run: &Recorded,
    waiter: Waiter,
    woken: ThreadIndex,
    signal: usize,
) -> Option<Option<usize>> {
    let looked_at = looked_at(run, waiter);
    if looked_at.is_empty() {
        return waits_at_the_end(run, woken, signal).then_some(None);
    }
    let last_change = |read: &usize| {
        let read = &run.steps[*read].operation;
        let written = run.steps.iter().rposition(|step| {
            step.operation.kind.is_access()
                && step.operation.kind.writes()
                && step.operation.conflicts(read)
        })?;
        let by = run.steps[written].thread;
        (written > waiter.since && by != woken).then_some(written)
    };
    looked_at.iter().filter_map(last_change).max().map(Some)
}

/// What a waiter read under its lock before it began to wait, the last first.
pub(crate) fn looked_at(run: &Recorded, waiter: Waiter) -> Vec<usize> {
    let operation = |event: &usize| &run.steps[*event].operation;
    let lock = run.steps[waiter.since].operation.object;
    let own = (0..waiter.since).rev();
    let own = own.filter(|event| run.steps[*event].thread == waiter.thread);
    let taken = |event: &usize| {
        operation(event).kind == EventKind::Acquire && operation(event).object == lock
    };
    let inside = own.take_while(|event| !taken(event));
    inside
        .filter(|event| operation(event).kind == EventKind::Read)
        .collect()
}

/// Whether a thread gave its lock back behind a signal and did nothing more.
fn waits_at_the_end(run: &Recorded, thread: ThreadIndex, signal: usize) -> bool {
    let last = last_of(run, thread, run.steps.len());
    let gives = |last: usize| run.steps[last].operation.kind == EventKind::Release;
    let waits = |step: &bohr_event::control::Step| {
        step.thread == thread && step.operation.kind == EventKind::Wait
    };
    last.is_some_and(|last| last > signal && gives(last)) && run.pending.iter().any(waits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy::{recorded, waiting};
    use EventKind::{Acquire, Broadcast, Read, Release, Signal, Wait, Write};

    const LOCK: u64 = 0x10;
    const CONDITION: u64 = 0x20;
    const FLAG: u64 = 0x30;

    type Event = (u32, EventKind, u64, u32);

    /// A thread finds that it has to wait.
    fn waits(thread: u32) -> Vec<Event> {
        vec![
            (thread, Acquire, LOCK, 0),
            (thread, Read, FLAG, 4),
            (thread, Release, LOCK, 0),
        ]
    }

    /// The main thread changes the flag and tells this one.
    fn told(call: EventKind, thread: u32) -> Vec<Event> {
        vec![
            (0, Acquire, LOCK, 0),
            (0, Write, FLAG, 4),
            (0, call, CONDITION, 0),
            (0, Release, LOCK, 0),
            (thread, Wait, CONDITION, 0),
        ]
    }

    fn found(events: &[Vec<Event>]) -> Vec<Misdirected> {
        let run = recorded(&events.concat());
        misdirected(&run, &[waiting(1, Wait, CONDITION, None)])
    }

    #[test]
    fn who_would_see_something_new_should_have_been_woken() {
        let told = [waits(1), waits(2), told(Signal, 2), waits(2)];
        let found = found(&told);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].signalled.operation.kind, Signal);
        assert_eq!(found[0].woken.thread.to_string(), "0:2");
        assert_eq!(found[0].waits.thread.to_string(), "0:1");
        let written = found[0].written.as_ref().map(|written| written.operation);
        assert_eq!(written.map(|written| written.object), Some(FLAG));
    }

    #[test]
    fn who_would_wait_again_is_better_left_alone() {
        // The one that was woken has taken what there was.
        let takes = vec![(2, Acquire, LOCK, 0), (2, Write, FLAG, 4)];
        let taken = [waits(1), waits(2), told(Signal, 2), takes];
        assert_eq!(found(&taken), []);
        let later = [waits(2), told(Signal, 2), waits(1)];
        assert_eq!(found(&later), []);
        let all = [waits(1), waits(2), told(Broadcast, 2)];
        assert_eq!(found(&all), []);
        let nobody = [waits(1), told(Signal, 1), waits(1)];
        assert_eq!(found(&nobody), []);
    }
}
