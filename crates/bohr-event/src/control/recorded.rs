//! A run of which every event is known.

use super::Step;
use crate::{Operation, PlaceNumber, Schedule, ThreadIndex, ThreadPath};
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
        // A path has one index in a run.
        let index = self.threads.iter().position(|path| path == thread);
        self.steps
            .iter()
            .enumerate()
            .filter(move |(_, step)| Some(step.thread.position()) == index)
            .map(|(event, step)| (event, &step.operation))
    }

    /// An operation on a thread with that thread's path, which is its name in other
    /// runs, too.
    fn named(&self, operation: Operation) -> (Operation, Option<&ThreadPath>) {
        let Some(index) = ThreadIndex::from_object(operation.object) else {
            return (operation, None);
        };
        let unnamed = Operation {
            object: 0,
            ..operation
        };
        (unnamed, self.threads.get(index.position()))
    }

    /// Whether every thread does the same in both, event for event, whatever
    /// the others do in between.
    #[must_use]
    pub fn same_threads(&self, other: &Recorded) -> bool {
        self.by_thread() == other.by_thread()
    }

    fn by_thread(&self) -> BTreeMap<&ThreadPath, Vec<(Operation, Option<&ThreadPath>)>> {
        let mut lists: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (event, step) in self.steps.iter().enumerate() {
            let list = lists.entry(self.path(event)).or_default();
            list.push(self.named(step.operation));
        }
        lists
    }
}
