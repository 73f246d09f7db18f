//! A run of which every event is known.

use super::Step;
use crate::{Operation, PlaceNumber, Schedule, ThreadPath};
use alloc::{collections::BTreeMap, vec::Vec};
use serde::{Deserialize, Serialize};

/// See the module. The places are those of one process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// Paths by thread index.
    pub threads: Vec<ThreadPath>,
    /// The interleaving, every segment with its anchor.
    pub schedule: Schedule<PlaceNumber>,
    /// What happened, in order.
    pub steps: Vec<Step>,
    /// What threads were about to do when it ended.
    pub pending: Vec<Step>,
}

impl Recorded {
    /// Who executed an event.
    #[must_use]
    pub fn path(&self, event: usize) -> &ThreadPath {
        &self.threads[self.steps[event].thread.position()]
    }

    /// The events of a thread, in order: position in `steps`, and what it was.
    pub fn events_of<'a>(
        &'a self,
        thread: &'a ThreadPath,
    ) -> impl Iterator<Item = (usize, &'a Operation)> {
        self.steps
            .iter()
            .enumerate()
            .filter(move |(event, _)| self.path(*event) == thread)
            .map(|(event, step)| (event, &step.operation))
    }

    /// Whether every thread does the same in both, event for event, whatever
    /// the others do in between.
    #[must_use]
    pub fn same_threads(&self, other: &Recorded) -> bool {
        let by_thread = |recorded: &Recorded| {
            let mut lists: BTreeMap<ThreadPath, Vec<Operation>> = BTreeMap::new();
            for (event, step) in recorded.steps.iter().enumerate() {
                let list = lists.entry(recorded.path(event).clone()).or_default();
                list.push(step.operation);
            }
            lists
        };
        by_thread(self) == by_thread(other)
    }
}
