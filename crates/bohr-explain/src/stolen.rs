//! A wake-up that somebody else was quicker to use: a thread was woken for what it waited
//! for, but before it had its lock again another thread changed that, and the first went on
//! without looking again (`if` where `while` belongs).
//!
//! That it did not look again is seen from what it saw: the very value for which it had
//! begun to wait. Whoever looks goes back to waiting then. That it matters is known from
//! elsewhere, by experiment: the change is one of the conflicts that the failure takes.

use crate::culprit::overlap;
use crate::misdirected::{Waiter, last_of, looked_at};
use crate::moment::Moment;
use bohr_event::EventKind;
use bohr_event::control::Recorded;
use serde::Serialize;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stolen {
    /// The call that woke the thread.
    pub signalled: Moment,
    /// What another thread did before the woken one had its lock again.
    pub taken: Moment,
    /// The end of the wait.
    pub woken: Moment,
    /// What the woken thread did then with the same variable.
    pub used: Moment,
}

/// The wake-ups that were used by others. `values` are what the events read or wrote, and
/// `matters` tells whether the failure takes what happens at an event.
#[must_use]
pub fn stolen(
    run: &Recorded,
    values: &[Option<u64>],
    matters: &dyn Fn(usize) -> bool,
) -> Vec<Stolen> {
    let waits = |event: &usize| run.steps[*event].operation.kind == EventKind::Wait;
    let woken = (0..run.steps.len()).filter(waits);
    woken
        .filter_map(|woken| used_by_another(run, values, matters, woken))
        .collect()
}

fn used_by_another(
    run: &Recorded,
    values: &[Option<u64>],
    matters: &dyn Fn(usize) -> bool,
    woken: usize,
) -> Option<Stolen> {
    let thread = run.steps[woken].thread;
    let operation = |event: usize| &run.steps[event].operation;
    let value = |event: usize| values.get(event).copied().flatten();
    // A wait begins where it gives its lock back, and ends where it takes it again.
    let since = last_of(run, thread, woken)?;
    let lock = operation(since);
    if lock.kind != EventKind::Release {
        return None;
    }
    let signalled = (since..woken).rev().find(|event| {
        let calls = matches!(
            operation(*event).kind,
            EventKind::Signal | EventKind::Broadcast
        );
        calls && operation(*event).object == operation(woken).object
    })?;
    let own = |event: &usize| run.steps[*event].thread == thread;
    let mut behind = (woken + 1..run.steps.len()).filter(own);
    let taken_again = behind.find(|event| operation(*event).object == lock.object)?;
    let gives_back = |event: &usize| {
        operation(*event).kind == EventKind::Release && operation(*event).object == lock.object
    };
    let inside: Vec<usize> = behind.take_while(|event| !gives_back(event)).collect();
    let seen = looked_at(run, Waiter { thread, since });
    let between = (signalled + 1..taken_again).filter(|event| {
        let changes = operation(*event).kind.is_access() && operation(*event).kind.writes();
        changes && !own(event) && matters(*event)
    });
    between.rev().find_map(|taken| {
        let touches = |event: usize| overlap(operation(event), operation(taken));
        let before = seen.iter().copied().find(|event| touches(*event))?;
        let used = inside.iter().copied().find(|event| touches(*event))?;
        let same = operation(used).kind == EventKind::Read && value(used) == value(before);
        (same && value(used).is_some()).then(|| Stolen {
            signalled: Moment::at(run, signalled),
            taken: Moment::at(run, taken),
            woken: Moment::at(run, woken),
            used: Moment::at(run, used),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy::recorded;
    use EventKind::{Acquire, Read, Release, Signal, Wait, Write};

    const LOCK: u64 = 0x10;
    const CONDITION: u64 = 0x20;
    const ITEMS: u64 = 0x30;

    /// Thread 1 waits, the main thread gives something, thread 2 takes it, and then
    /// thread 1 reads `last`.
    fn found(last: u64, matters: bool) -> Vec<Stolen> {
        let events = [
            (1, Acquire, LOCK, 0, None),
            (1, Read, ITEMS, 4, Some(0)),
            (1, Release, LOCK, 0, None),
            (0, Acquire, LOCK, 0, None),
            (0, Write, ITEMS, 4, Some(1)),
            (0, Signal, CONDITION, 0, None),
            (0, Release, LOCK, 0, None),
            (2, Acquire, LOCK, 0, None),
            (2, Write, ITEMS, 4, Some(0)),
            (2, Release, LOCK, 0, None),
            (1, Wait, CONDITION, 0, None),
            (1, Acquire, LOCK, 0, None),
            (1, Read, ITEMS, 4, Some(last)),
            (1, Write, ITEMS, 4, Some(last.wrapping_sub(1))),
            (1, Release, LOCK, 0, None),
        ];
        let run =
            recorded(&events.map(|(thread, kind, object, size, _)| (thread, kind, object, size)));
        let values = events.map(|event| event.4);
        stolen(&run, &values, &|_| matters)
    }

    #[test]
    fn who_goes_on_with_what_it_would_not_go_on_with_has_not_looked() {
        let found = found(0, true);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].taken.thread.to_string(), "0:2");
        assert_eq!(found[0].signalled.operation.kind, Signal);
        assert_eq!(found[0].woken.thread.to_string(), "0:1");
        assert_eq!(found[0].used.operation.kind, Read);
    }

    #[test]
    fn who_finds_another_value_may_have_looked() {
        assert_eq!(found(1, true), []);
    }

    #[test]
    fn what_the_failure_does_not_take_is_not_told() {
        assert_eq!(found(0, false), []);
    }
}
