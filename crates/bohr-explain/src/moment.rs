//! An event by a name that holds in other runs too.

use bohr_event::control::{Recorded, ThreadState};
use bohr_event::{Operation, ThreadPath};
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
        let position = usize::try_from(number).ok()?;
        let (_, operation) = run.events_of(thread).nth(position)?;
        Some(Moment {
            thread: thread.clone(),
            number,
            operation: *operation,
        })
    }

    /// What a thread waits to do at the end of a run.
    #[must_use]
    pub fn waiting(run: &Recorded, state: &ThreadState) -> Option<Moment> {
        let thread = run.threads.get(state.thread.position())?;
        Some(Moment {
            thread: thread.clone(),
            number: run.events_of(thread).count() as u64,
            operation: state.operation,
        })
    }

    /// The position in a run of this very event, if it is in it.
    #[must_use]
    pub fn position(&self, run: &Recorded) -> Option<usize> {
        let number = usize::try_from(self.number).ok()?;
        let (event, operation) = run.events_of(&self.thread).nth(number)?;
        (operation.place == self.operation.place).then_some(event)
    }

    /// The event at this position of a run.
    #[must_use]
    pub fn at(run: &Recorded, event: usize) -> Moment {
        let thread = run.path(event);
        let before = run.events_of(thread).take_while(|own| own.0 < event);
        Moment {
            thread: thread.clone(),
            number: before.count() as u64,
            operation: run.steps[event].operation,
        }
    }
}
