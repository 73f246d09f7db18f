//! What a hang is about: the locks that the thread holds, and the one that it waits for.

use super::aligned::Aligned;
use super::told::CriticalVariable;
use bohr_event::EventKind;
use bohr_explore::guided::Critical;

/// The locks that the thread holds at the aligned point of the good run, and what it
/// waits for there, or next, as variables that matter.
pub fn critical(aligned: &Aligned) -> Vec<CriticalVariable> {
    use EventKind::{Acquire, AcquireShared, Release, ReleaseShared};
    let Some(thread) = aligned.thread else {
        return Vec::new();
    };
    let waits = aligned.failing.unwrap_or(aligned.events);
    let own = aligned.steps.iter().enumerate();
    let own = own.filter(|(_, step)| step.thread == thread);
    // What each lock is and where it was taken, and what is waited for.
    let mut held: Vec<(u64, usize, &str)> = Vec::new();
    for (event, step) in own {
        let (kind, object) = (step.operation.kind, step.operation.object);
        if event >= waits
            && let Some(what) = waited_for(kind)
        {
            held.push((object, event, what));
            break;
        }
        match kind {
            Acquire | AcquireShared => held.push((object, event, LOCK)),
            Release | ReleaseShared => held.retain(|one| one.0 != object),
            _ => {}
        }
    }
    let told = held.into_iter().map(|(object, event, what)| {
        let line = aligned.lines.get(&event).map_or("?", String::as_str);
        let taken = event < waits;
        CriticalVariable {
            path: format!("{what} {line}"),
            failing: if taken { "held" } else { "waited for" }.into(),
            passing: if taken { "held" } else { "free" }.into(),
            place: Critical {
                address: object,
                size: 1,
                synchronises: what != LOCK,
            },
        }
    });
    told.collect()
}

const LOCK: &str = "the lock taken at";

/// How that is told for which a thread may have to wait at an operation.
fn waited_for(kind: EventKind) -> Option<&'static str> {
    Some(match kind {
        EventKind::Acquire | EventKind::AcquireShared => LOCK,
        EventKind::Wait => "what is waited for at",
        EventKind::Receive => "what is received at",
        EventKind::Arrive => "the barrier at",
        _ => return None,
    })
}
