//! Where the events of each thread are in a run: blocks are many, and runs long.

use bohr_event::control::Recorded;
use bohr_event::{EventKind, ThreadIndex, ThreadPath};

/// The positions of all events, by thread.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    own: Vec<Vec<u64>>,
    /// Those that create or join others.
    lives: Vec<Vec<u64>>,
}

impl Turns {
    /// Of a run.
    #[must_use]
    pub fn of(run: &Recorded) -> Turns {
        let mut turns = Turns {
            own: vec![Vec::new(); run.threads.len()],
            lives: vec![Vec::new(); run.threads.len()],
        };
        for (event, step) in (0u64..).zip(&run.steps) {
            let thread = step.thread.position();
            turns.own[thread].push(event);
            if matches!(step.operation.kind, EventKind::Fork | EventKind::Join) {
                turns.lives[thread].push(event);
            }
        }
        turns
    }

    /// The events of a thread from one position to before another.
    #[must_use]
    pub fn between(&self, thread: ThreadIndex, from: u64, to: u64) -> &[u64] {
        let own = self
            .own
            .get(thread.position())
            .map_or(&[][..], Vec::as_slice);
        let start = own.partition_point(|event| *event < from);
        let end = own.partition_point(|event| *event < to);
        &own[start..end.max(start)]
    }

    /// The creations and joins of a thread.
    pub(super) fn lives(&self, thread: ThreadIndex) -> &[u64] {
        self.lives.get(thread.position()).map_or(&[], Vec::as_slice)
    }
}

/// The number that a thread has in a run, if it is there.
#[must_use]
pub(super) fn index_of(run: &Recorded, path: &ThreadPath) -> Option<ThreadIndex> {
    let index = run.threads.iter().position(|other| other == path)?;
    Some(ThreadIndex(index as u32))
}
