//! An event by a name that holds in other runs too.

use bohr_event::control::{Recorded, ThreadState};
use bohr_event::{Operation, ThreadIndex, ThreadPath};
use serde::Serialize;

/// The `number`-th event of a thread, counted from 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Moment {
    /// Whose.
    pub thread: ThreadPath,
    /// Which.
    pub number: u64,
    /// What it was.
    pub operation: Operation,
}

impl Moment {
    /// The event of a thread with this number, if the run came so far.
    #[must_use]
    pub fn of(run: &Recorded, thread: &ThreadPath, number: u64) -> Option<Moment> {
        Moment::following(run, thread, number).next()
    }

    /// The events of a thread from this number on, as far as the run came.
    pub fn following(
        run: &Recorded,
        thread: &ThreadPath,
        number: u64,
    ) -> impl Iterator<Item = Moment> {
        let index = index_of(run, thread);
        let first = index.and_then(|index| nth(run, index, number));
        let steps = first.map_or(&[][..], |first| &run.steps[first..]);
        let own = steps.iter().filter(move |step| Some(step.thread) == index);
        (number..).zip(own).map(|(number, step)| Moment {
            thread: thread.clone(),
            number,
            operation: step.operation,
        })
    }

    /// What a thread waits to do at the end of a run.
    #[must_use]
    pub fn waiting(run: &Recorded, state: &ThreadState) -> Option<Moment> {
        let thread = run.threads.get(state.thread.position())?;
        Some(Moment {
            thread: thread.clone(),
            number: count(run, state.thread, run.steps.len()),
            operation: state.operation,
        })
    }

    /// The position in a run of this very event, if it is in it.
    #[must_use]
    pub fn position(&self, run: &Recorded) -> Option<usize> {
        let event = nth(run, index_of(run, &self.thread)?, self.number)?;
        let place = run.steps[event].operation.place;
        (place == self.operation.place).then_some(event)
    }

    /// The event at this position of a run.
    #[must_use]
    pub fn at(run: &Recorded, event: usize) -> Moment {
        let step = &run.steps[event];
        Moment {
            thread: run.path(event).clone(),
            number: count(run, step.thread, event),
            operation: step.operation,
        }
    }
}

/// Steps that are looked at together: counting in a block takes a fraction of a
/// nanosecond a step, since nothing in it depends on what came before.
const BLOCK: usize = 1 << 10;

/// A path has one index in a run.
fn index_of(run: &Recorded, thread: &ThreadPath) -> Option<ThreadIndex> {
    let position = run.threads.iter().position(|path| path == thread)?;
    u32::try_from(position).ok().map(ThreadIndex)
}

/// Events of a thread before this one.
fn count(run: &Recorded, thread: ThreadIndex, before: usize) -> u64 {
    let steps = run.steps[..before].iter();
    steps.map(|step| u64::from(step.thread == thread)).sum()
}

/// The position of a thread's event with this number.
fn nth(run: &Recorded, thread: ThreadIndex, number: u64) -> Option<usize> {
    let mut left = number;
    for (block, steps) in run.steps.chunks(BLOCK).enumerate() {
        let own = |step: &&bohr_event::control::Step| step.thread == thread;
        let count = steps.iter().filter(own).count() as u64;
        if left < count {
            let mut own = steps.iter().enumerate().filter(|(_, step)| own(step));
            let (position, _) = own.nth(left as usize)?;
            return Some(block * BLOCK + position);
        }
        left -= count;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy::recorded;
    use bohr_event::EventKind::Read;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn moments_are_found_again(threads in prop::collection::vec(0u32..3, 1..1500), event: usize) {
            let events: Vec<_> = threads.iter().map(|&thread| (thread, Read, 0x10, 4)).collect();
            let run = recorded(&events);
            let event = event % events.len();
            let moment = Moment::at(&run, event);
            let before = threads[..event].iter().filter(|thread| **thread == threads[event]);
            prop_assert_eq!(moment.number, before.count() as u64);
            prop_assert_eq!(moment.position(&run), Some(event));
            prop_assert_eq!(Moment::of(&run, &moment.thread, moment.number), Some(moment.clone()));
            let following: Vec<Moment> = Moment::following(&run, &moment.thread, moment.number).collect();
            let expected = (event..events.len()).filter(|other| threads[*other] == threads[event]);
            prop_assert_eq!(following, expected.map(|other| Moment::at(&run, other)).collect::<Vec<_>>());
            let own = threads.iter().filter(|thread| **thread == threads[event]).count() as u64;
            prop_assert_eq!(Moment::of(&run, &moment.thread, own), None);
        }
    }
}
