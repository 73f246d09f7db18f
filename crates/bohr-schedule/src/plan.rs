//! A plan is all that a run's strategy is made from, as plain data: the
//! explorer sends it to the runtime, and bug files keep it.

use crate::{Strategy, walk::RandomWalk};
use alloc::boxed::Box;
use serde::{Deserialize, Serialize};

/// By which rule threads are picked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Rule {
    /// Any enabled thread at every event.
    Random,
}

/// A rule with what it needs to know. With a seed it determines a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// How to pick.
    pub rule: Rule,
}

impl Plan {
    /// A plan that knows nothing but its rule.
    #[must_use]
    pub fn new(rule: Rule) -> Plan {
        Plan { rule }
    }

    /// The strategy of one run. It borrows from the plan, so that a process
    /// that runs many seeds unpacks a long schedule only once.
    #[must_use]
    pub fn strategy(&self, seed: u64) -> Box<dyn Strategy + '_> {
        match &self.rule {
            Rule::Random => Box::new(RandomWalk::new(seed)),
        }
    }
}
