//! A search that was planned beforehand: a list of plans, tried in their order.

use super::Search;
use crate::Plan;
use alloc::{collections::VecDeque, vec::Vec};

/// Plans that can be on their way at once.
const AHEAD: usize = 16;

/// See the module.
#[derive(Clone, Debug)]
pub struct Listed {
    plans: VecDeque<Plan>,
}

impl Listed {
    /// These, one after the other.
    #[must_use]
    pub fn new(plans: Vec<Plan>) -> Listed {
        Listed {
            plans: plans.into(),
        }
    }
}

impl Search for Listed {
    fn next_plan(&mut self) -> Option<Plan> {
        self.plans.pop_front()
    }

    fn learn(&mut self, _: &[u8]) {}

    fn ahead(&self) -> usize {
        AHEAD
    }
}
