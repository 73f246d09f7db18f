//! The stack of a thread at any moment of a run: the run is made again up to that
//! moment, and stopped there; or it is made as a whole where it cannot be stopped.

use crate::outcome::Failure;
use bohr_event::control::{Failure as SeenFailure, Recorded, ThreadState};
use bohr_event::{PlaceNumber, ThreadPath};
use bohr_explain::{Explanation, Moment, Order};
use bohr_explore::Trials;
use std::collections::HashMap;

/// Stacks by thread and number of event, innermost frame first.
#[derive(Default)]
pub struct Stacks(HashMap<(ThreadPath, u64), Vec<PlaceNumber>>);

impl Stacks {
    /// Of moments of an explanation, as far as its own run or one of those that
    /// passed comes by.
    pub fn of<'m>(
        moments: impl IntoIterator<Item = &'m Moment>,
        explanation: &Explanation,
        failure: Option<&SeenFailure>,
        trials: &mut Trials<'_>,
        seed: u64,
    ) -> Result<Stacks, Failure> {
        let run = &explanation.run;
        let mut stacks = Stacks::default();
        let windows = explanation.windows.iter();
        let windows = windows.filter_map(|one| one.passing.as_ref());
        let orders = explanation.orders.iter().filter_map(Order::passing_run);
        let passing: Vec<&Recorded> = windows.chain(orders).collect();
        for moment in moments {
            let key = (moment.thread.clone(), moment.number);
            if stacks.0.contains_key(&key) {
                continue;
            }
            let mut runs = std::iter::once(run).chain(passing.iter().copied());
            let found = runs.find_map(|run| Some((run, moment.position(run)?)));
            let states = match found {
                Some((run, event)) => trials.standing(run.schedule.prefix(event as u64), seed)?,
                None => failure.map_or(Vec::new(), |failure| failure.states.clone()),
            };
            let threads = &found.map_or(run, |(run, _)| run).threads;
            let own = |state: &&ThreadState| {
                let path = threads.get(state.thread.position());
                path == Some(&moment.thread) && state.operation.place == moment.operation.place
            };
            let known = states.iter().find(own).map(|state| state.frames.clone());
            let frames = match (known, found) {
                (None, Some((run, event))) if states.is_empty() => {
                    trials.stack_at(run.schedule.clone(), event as u64, seed)?
                }
                (known, _) => known.unwrap_or_default(),
            };
            stacks.0.insert(key, frames);
        }
        Ok(stacks)
    }

    /// The stack at a moment; empty if it is not known.
    pub fn at(&self, moment: &Moment) -> &[PlaceNumber] {
        let key = (moment.thread.clone(), moment.number);
        self.0.get(&key).map_or(&[], |frames| frames)
    }
}
