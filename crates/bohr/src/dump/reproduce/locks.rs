//! What a hang is about: the locks that the thread holds, and the one that it waits for.

use super::aligned::Aligned;
use super::told::CriticalVariable;
use bohr_event::EventKind;
use bohr_explore::guided::Critical;

/// The locks that the thread holds at the aligned point of the good run, and the one
/// that it takes there, or next, as variables that matter.
pub fn critical(aligned: &Aligned) -> Vec<CriticalVariable> {
    use EventKind::{Acquire, AcquireShared, Release, ReleaseShared};
    let Some(thread) = aligned.thread else {
        return Vec::new();
    };
    let waits = aligned.failing.unwrap_or(aligned.events);
    let own = aligned.steps.iter().enumerate();
    let own = own.filter(|(_, step)| step.thread == thread);
    // Where each lock was taken.
    let mut held: Vec<(u64, usize)> = Vec::new();
    for (event, step) in own {
        let lock = step.operation.object;
        match step.operation.kind {
            Acquire | AcquireShared => held.push((lock, event)),
            Release | ReleaseShared => held.retain(|one| one.0 != lock),
            _ => {}
        }
        if event >= waits && matches!(step.operation.kind, Acquire | AcquireShared) {
            break;
        }
    }
    let told = held.into_iter().map(|(lock, event)| {
        let line = aligned.lines.get(&event).map_or("?", String::as_str);
        let taken = event < waits;
        CriticalVariable {
            path: format!("the lock taken at {line}"),
            failing: if taken { "held" } else { "waited for" }.into(),
            passing: if taken { "held" } else { "free" }.into(),
            place: Critical {
                address: lock,
                size: 1,
            },
        }
    });
    told.collect()
}
