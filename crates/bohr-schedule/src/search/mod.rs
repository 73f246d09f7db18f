//! Searches plan runs from what earlier runs reported. Strategies live for one
//! run inside the target; a search lives for a whole hunt outside of it.

mod depth_first;
mod feedback;
mod listed;

pub use depth_first::DepthFirst;
pub use feedback::FeedbackSearch;
pub use listed::Listed;

use crate::Plan;

/// Decides what to run next.
pub trait Search {
    /// The next run's plan, or `None` if there is nothing left to see.
    fn next_plan(&mut self) -> Option<Plan>;

    /// Takes in what the strategy of the oldest plan that has not been reported
    /// said. Bytes that make no sense count as a run that taught nothing.
    fn learn(&mut self, report: &[u8]);

    /// How many plans can be asked for before the first of them is reported.
    fn ahead(&self) -> usize {
        1
    }
}
