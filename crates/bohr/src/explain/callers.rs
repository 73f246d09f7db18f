//! Who called the library functions that access a variable: whether it belongs to
//! a lock of the library or to the program.

use crate::outcome::Failure;
use bohr_event::control::Recorded;
use bohr_explain::Moment;
use bohr_explore::{Trials, Vocabulary};
use std::time::Instant;

/// Variables that are asked about; each takes a run.
const MOST: usize = 64;

/// Tells a vocabulary what the stacks at some accesses of a run say, until it is
/// enough.
pub fn ask(
    vocabulary: &mut Vocabulary,
    run: &Recorded,
    trials: &mut Trials<'_>,
    seed: u64,
    enough: Instant,
) -> Result<(), Failure> {
    let doubtful = vocabulary.doubtful(trials.atlas_mut(), &run.steps);
    for event in doubtful.into_iter().take(MOST) {
        if Instant::now() > enough {
            break;
        }
        let step = run.steps[event];
        let states = trials.standing(run.schedule.prefix(event as u64), seed)?;
        let own = states.iter().find(|state| state.thread == step.thread);
        if let Some(state) = own {
            let frames = state.frames.clone();
            vocabulary.learn_stack(trials.atlas_mut(), step.operation.object, &frames);
        }
    }
    Ok(())
}

/// The allocations of the blocks that some moments are about, as far as a run has
/// them.
pub fn allocations(run: &Recorded, moments: &[&Moment]) -> Vec<Moment> {
    use bohr_event::EventKind::Alloc;
    let mut found: Vec<usize> = Vec::new();
    for moment in moments {
        let address = moment.operation.object;
        let holds = |event: &usize| {
            let block = &run.steps[*event].operation;
            let size = u64::from(block.size);
            block.kind == Alloc && (block.object..block.object + size).contains(&address)
        };
        found.extend((0..run.steps.len()).rev().find(holds));
    }
    found.sort_unstable();
    found.dedup();
    found
        .into_iter()
        .map(|event| Moment::at(run, event))
        .collect()
}
