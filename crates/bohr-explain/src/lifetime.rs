//! Memory that was used after its end: who got it, who gave it back, who uses it.

use crate::moment::Moment;
use bohr_event::control::{Failure, Recorded};
use bohr_event::{EventKind, FailureKind, Operation};
use serde::Serialize;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lifetime {
    /// The allocation, if it was seen.
    pub allocated: Option<Moment>,
    /// The end.
    pub freed: Moment,
    /// What came after it: an access, or freeing again.
    pub used: Moment,
}

/// What became of the memory that a run failed over, if it did so because the
/// memory had been freed.
#[must_use]
pub fn lifetime(run: &Recorded, failure: &Failure) -> Option<Lifetime> {
    let kind = match failure.kind {
        FailureKind::UseAfterFree => EventKind::Read,
        FailureKind::DoubleFree => EventKind::Free,
        _ => return None,
    };
    let allocation = run.steps.iter().rposition(|step| {
        step.operation.kind == EventKind::Alloc && covers(&step.operation, failure.address)
    });
    let start = match allocation {
        Some(event) => run.steps[event].operation.object,
        None => failure.address,
    };
    let used = used(run, failure, kind)?;
    // Freeing it again may be an event of the run, too.
    let before = used.position(run).unwrap_or(run.steps.len());
    let freed = run.steps[..before].iter().rposition(|step| {
        step.operation.kind == EventKind::Free && step.operation.object == start
    })?;
    Some(Lifetime {
        allocated: allocation.map(|event| Moment::at(run, event)),
        freed: Moment::at(run, freed),
        used,
    })
}

fn covers(block: &Operation, address: u64) -> bool {
    let end = block.object + u64::from(block.size.max(1));
    (block.object..end).contains(&address)
}

/// The misuse: the failing thread's last event, if that is it, or else what its
/// next would have been.
fn used(run: &Recorded, failure: &Failure, kind: EventKind) -> Option<Moment> {
    let thread = run.threads.get(failure.thread.position())?;
    let own = run.events_of(thread);
    let (count, last) = own.fold((0, None), |(count, _), (_, operation)| {
        (count + 1, Some(*operation))
    });
    let place = failure.place?;
    match last {
        Some(operation) if operation.place == place => Some(Moment {
            thread: thread.clone(),
            number: count - 1,
            operation,
        }),
        _ => Some(Moment {
            thread: thread.clone(),
            number: count,
            operation: Operation {
                kind,
                order: bohr_event::MemoryOrder::Plain,
                size: 1,
                object: failure.address,
                place,
            },
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy::{failure, recorded};
    use EventKind::{Alloc, Free, Read};

    #[test]
    fn the_last_owner_of_the_memory_is_told() {
        let run = recorded(&[
            (0, Alloc, 0x100, 16),
            (1, Free, 0x100, 16),
            (0, Alloc, 0x100, 32),
            (1, Alloc, 0x200, 16),
            (1, Free, 0x100, 32),
            (0, Read, 0x300, 4),
        ]);
        let failure = failure(FailureKind::UseAfterFree, 0, 0x11f);
        let found = lifetime(&run, &failure).unwrap();
        assert_eq!(found.allocated.unwrap().position(&run), Some(2));
        assert_eq!(found.freed.position(&run), Some(4));
        assert_eq!((found.used.number, found.used.operation.object), (3, 0x11f));
    }

    #[test]
    fn who_frees_again_is_not_who_freed() {
        let run = recorded(&[
            (0, Alloc, 0x100, 16),
            (1, Free, 0x100, 16),
            (0, Free, 0x100, 16),
        ]);
        let place = Some(run.steps[2].operation.place);
        let failure = Failure {
            place,
            ..failure(FailureKind::DoubleFree, 0, 0x100)
        };
        let found = lifetime(&run, &failure).unwrap();
        assert_eq!(found.freed.position(&run), Some(1));
        assert_eq!(found.used.position(&run), Some(2));
    }

    #[test]
    fn other_failures_say_nothing_about_memory() {
        let run = recorded(&[(0, Alloc, 0x100, 16), (1, Free, 0x100, 16)]);
        let crash = failure(FailureKind::Crash { signal: 11 }, 0, 0x100);
        assert_eq!(lifetime(&run, &crash), None);
        let elsewhere = failure(FailureKind::UseAfterFree, 0, 0x900);
        assert_eq!(lifetime(&run, &elsewhere), None);
    }
}
