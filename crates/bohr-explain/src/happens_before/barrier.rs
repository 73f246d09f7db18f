//! What a barrier passes on: to whoever leaves it, what those knew who arrived in
//! the same round. Whoever is quick arrives for the next one before the slow have
//! left this one, and tells them nothing.

use super::clock::Clock;
use bohr_event::ThreadIndex;
use std::collections::HashMap;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Barrier {
    /// What those knew who arrived in the round that is not over yet.
    gathering: Clock,
    /// Those of them who are still here.
    here: Vec<ThreadIndex>,
    /// What is passed on to those who have not left a round that is over.
    leaving: HashMap<ThreadIndex, Clock>,
}

impl Barrier {
    /// A thread that knows this much arrives.
    pub fn arrive(&mut self, thread: ThreadIndex, known: &Clock) {
        self.gathering.join(known);
        self.here.push(thread);
    }

    /// A thread leaves; what it learns. The first one to leave shows that its round
    /// is over.
    pub fn depart(&mut self, thread: ThreadIndex) -> Clock {
        if let Some(passed) = self.leaving.remove(&thread) {
            return passed;
        }
        let passed = std::mem::take(&mut self.gathering);
        for other in self.here.drain(..).filter(|other| *other != thread) {
            self.leaving.insert(other, passed.clone());
        }
        passed
    }
}
