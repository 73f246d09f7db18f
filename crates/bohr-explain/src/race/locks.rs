//! Which locks a thread held at an event, as the events tell. Locks that are
//! made of atomics by the program itself, Rust's mutexes among them, are not told.

use bohr_event::EventKind;
use bohr_event::control::Step;

/// The events by which the thread of the event at `position` had taken the locks
/// that it held then, in their order.
#[must_use]
pub fn locks_held(steps: &[Step], position: usize) -> Vec<usize> {
    let thread = steps[position].thread;
    let mut held: Vec<usize> = Vec::new();
    for (event, step) in steps[..position].iter().enumerate() {
        if step.thread != thread {
            continue;
        }
        use EventKind::{Acquire, AcquireShared, Release, ReleaseShared};
        match step.operation.kind {
            Acquire | AcquireShared => held.push(event),
            Release | ReleaseShared => {
                let same = |&taken: &usize| steps[taken].operation.object == step.operation.object;
                if let Some(last) = held.iter().rposition(same) {
                    held.remove(last);
                }
            }
            _ => {}
        }
    }
    // Not every acquisition is of a lock: what was done once is acquired for good.
    held.retain(|&taken| is_released(steps, position, steps[taken]));
    held
}

fn is_released(steps: &[Step], after: usize, taken: Step) -> bool {
    steps[after..].iter().any(|step| {
        step.thread == taken.thread
            && step.operation.object == taken.operation.object
            && matches!(
                step.operation.kind,
                EventKind::Release | EventKind::ReleaseShared
            )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bohr_event::{Operation, PlaceNumber, ThreadIndex};

    #[test]
    fn only_what_is_taken_and_given_back_is_held() {
        use EventKind::{Acquire, AcquireShared, Read, Release, ReleaseShared};
        let steps = [
            (0, Acquire, 1),
            (1, Acquire, 2), // by another thread
            (0, Acquire, 3), // never given back
            (0, Acquire, 4),
            (0, Release, 4), // given back before
            (0, AcquireShared, 5),
            (0, Read, 9),
            (0, ReleaseShared, 5),
            (0, Release, 1),
            (1, Release, 2),
        ];
        let steps = steps.map(|(thread, kind, object)| Step {
            thread: ThreadIndex(thread),
            operation: Operation::plain(kind, 1, object, PlaceNumber(0)),
        });
        assert_eq!(locks_held(&steps, 6), [0, 5]);
        assert_eq!(locks_held(&steps, 9), [1]);
    }
}
