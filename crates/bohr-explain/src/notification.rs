//! A notification that nobody heard: a thread waits for ever on something that
//! was signalled before it began to wait.

use crate::moment::Moment;
use bohr_event::control::{Recorded, ThreadState};
use bohr_event::{EventKind, ThreadIndex};
use serde::Serialize;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unheard {
    /// The last signal or broadcast before the wait.
    pub notified: Moment,
    /// The wait that does not end.
    pub waits: Moment,
}

/// The notifications that the threads which wait at the end of a run missed,
/// one for each thread.
#[must_use]
pub fn unheard(run: &Recorded, states: &[ThreadState]) -> Vec<Unheard> {
    let waiting = states
        .iter()
        .filter(|state| !state.enabled && state.operation.kind == EventKind::Wait);
    let found = waiting.filter_map(|state| {
        Some(Unheard {
            notified: last_notification(run, state.thread, state.operation.object)?,
            waits: Moment::waiting(run, state)?,
        })
    });
    found.collect()
}

/// The last notification by another thread of what a thread now waits on, if
/// the thread has not been woken by it.
fn last_notification(run: &Recorded, waiter: ThreadIndex, object: u64) -> Option<Moment> {
    use EventKind::{Broadcast, Signal, Wait};
    let event = run.steps.iter().rposition(|step| {
        let operation = &step.operation;
        operation.object == object && matches!(operation.kind, Signal | Broadcast)
    })?;
    let woken = run.steps[event..].iter().any(|step| {
        step.thread == waiter && step.operation.kind == Wait && step.operation.object == object
    });
    let own = run.steps[event].thread == waiter;
    // A wait on a condition begins where it gives its lock back: who notifies later is
    // heard, by this thread or by another one that waits.
    let last = run.steps.iter().rposition(|step| step.thread == waiter);
    let waits_already = last
        .is_some_and(|last| last < event && run.steps[last].operation.kind == EventKind::Release);
    (!own && !woken && !waits_already).then(|| Moment::at(run, event))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy::{recorded, waiting};
    use EventKind::{Read, Signal, Wait};

    #[test]
    fn a_signal_before_the_wait_is_unheard() {
        let run = recorded(&[(1, Read, 0x10, 4), (0, Signal, 0x20, 0), (1, Read, 0x14, 4)]);
        let states = [waiting(1, Wait, 0x20, None)];
        let found = unheard(&run, &states);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].notified.position(&run), Some(1));
        assert_eq!(found[0].waits.number, 2);
    }

    #[test]
    fn one_that_woke_the_thread_was_heard() {
        let run = recorded(&[(0, Signal, 0x20, 0), (1, Wait, 0x20, 0)]);
        assert_eq!(unheard(&run, &[waiting(1, Wait, 0x20, None)]), []);
        assert_eq!(unheard(&run, &[waiting(1, Wait, 0x30, None)]), []);
    }
}
