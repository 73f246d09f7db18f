//! The recorded order of locks: of a log that has it, only orders of events are looked for
//! in which locks are taken and given back as they were (CLAP, 6.4).

use crate::event::{Action, EventId, Problem};
use bohr_event::{EventKind, ThreadPath};
use std::collections::{HashMap, HashSet};

/// Whether an action is one whose order is recorded.
pub(crate) fn is_step(action: &Action) -> bool {
    action.kind().is_some_and(is_recorded)
}

/// Whether the order of events of this kind is recorded.
pub(crate) fn is_recorded(kind: EventKind) -> bool {
    use EventKind::{Acquire, AcquireShared, Release, ReleaseShared};
    matches!(kind, Acquire | AcquireShared | Release | ReleaseShared)
}

impl Problem {
    /// Who took locks or gave them back, and how often one after the other. What was
    /// recorded happened, so those events are certain.
    pub fn keep_to(&mut self, turns: impl IntoIterator<Item = (ThreadPath, u64)>) {
        let paths = self.threads.iter().enumerate();
        let threads: HashMap<ThreadPath, usize> = paths
            .map(|(thread, acting)| (acting.path.clone(), thread))
            .collect();
        let steps = |(_, event): &(EventId, &crate::event::Event)| is_step(&event.action);
        let mut steps_of: HashMap<usize, Vec<EventId>> = HashMap::new();
        for (id, _) in self.events().filter(steps) {
            steps_of.entry(id.thread).or_default().push(id);
        }
        let mut done: HashMap<usize, u64> = HashMap::new();
        for (path, count) in turns {
            let Some(thread) = threads.get(&path).copied() else {
                continue;
            };
            let done = done.entry(thread).or_default();
            for number in *done..*done + count {
                // What the main thread did before there were others is no event.
                let alone = if thread == 0 { self.steps_alone } else { 0 };
                let Some(number) = number.checked_sub(alone) else {
                    continue;
                };
                let known = steps_of
                    .get(&thread)
                    .and_then(|all| all.get(number as usize));
                if let Some(id) = known.copied() {
                    self.sequence.push(id);
                    let certain = &mut self.threads[thread].certain;
                    *certain = (*certain).max(id.event + 1);
                }
            }
            *done += count;
        }
    }

    /// The events that come right behind one of another thread in the recorded order, so
    /// that a switch there interrupts nobody.
    pub(crate) fn awaited(&self) -> HashSet<EventId> {
        let pairs = self.sequence.windows(2);
        let others = pairs.filter(|pair| pair[0].thread != pair[1].thread);
        others.map(|pair| pair[1]).collect()
    }
}
