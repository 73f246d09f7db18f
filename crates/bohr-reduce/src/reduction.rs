//! Only the threads and iterations that the failure needs: LEAN (Huang and
//! Zhang, "LEAN: Simplifying Concurrency Bug Reproduction via Replay-supported
//! Execution Reduction", OOPSLA 2012), Algorithms 1 and 4.
//!
//! Threads go first, level by level of the tree in which they create each
//! other, a parent with all that it creates; then the passes of every thread
//! through every repetitive block. Deviation: both stages are repeated until
//! neither finds anything, since each makes room for the other.

use crate::minimise::minimise;
use bohr_event::ThreadPath;
use bohr_event::control::{GateReference, Omissions, OmittedPasses};

/// How often a thread came by a gate in a failing run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Where.
    pub gate: GateReference,
    /// Who.
    pub thread: ThreadPath,
    /// How often, what was left out included.
    pub passes: u64,
}

/// Somebody who can leave parts out of a run and see whether it still fails.
pub trait Reducer {
    /// Why nothing can be tried.
    type Error;

    /// Whether the failure is still there, and still one of interleaving, if
    /// all this is left out. A `true` is remembered: what it was said of is the
    /// best result so far.
    ///
    /// # Errors
    /// If the program cannot be run.
    fn does_it(&mut self, omissions: &Omissions) -> Result<bool, Self::Error>;

    /// The threads of the best run so far, those left out not among them.
    fn threads(&self) -> Vec<ThreadPath>;

    /// The blocks that the threads of the best run so far came by.
    ///
    /// # Errors
    /// If the program cannot be run.
    fn blocks(&mut self) -> Result<Vec<Block>, Self::Error>;

    /// Whether there is time for more.
    fn has_time(&self) -> bool;
}

/// What one stage did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    /// `threads` or `iterations`.
    pub name: &'static str,
    /// Candidates that were tried.
    pub rounds: u64,
    /// Whether it left out anything.
    pub progress: bool,
}

/// Leaves out as much as it can; tells what each stage did, in order.
///
/// # Errors
/// If the program cannot be run. What was found so far is the reducer's.
pub fn reduce<R: Reducer>(
    reducer: &mut R,
    omissions: &mut Omissions,
    mut told: impl FnMut(&Stage),
) -> Result<Vec<Stage>, R::Error> {
    let mut stages = Vec::new();
    loop {
        let threads = fewer_threads(reducer, omissions)?;
        told(&threads);
        let iterations = fewer_iterations(reducer, omissions)?;
        told(&iterations);
        let progress = threads.progress || iterations.progress;
        stages.extend([threads, iterations]);
        // Fewer threads can make iterations of the others needless, and the
        // other way round.
        if !progress || !reducer.has_time() {
            return Ok(stages);
        }
    }
}

fn fewer_threads<R: Reducer>(
    reducer: &mut R,
    omissions: &mut Omissions,
) -> Result<Stage, R::Error> {
    let mut stage = Stage {
        name: "threads",
        ..Stage::default()
    };
    let mut level = 1;
    loop {
        let threads = reducer.threads();
        let here: Vec<ThreadPath> = threads
            .iter()
            .filter(|path| path.depth() == level)
            .cloned()
            .collect();
        if here.is_empty() && !threads.iter().any(|path| path.depth() > level) {
            return Ok(stage);
        }
        let before = omissions.clone();
        let without = |kept: &[usize]| {
            let mut omissions = before.clone();
            let gone = (0..here.len()).filter(|position| kept.binary_search(position).is_err());
            omissions
                .threads
                .extend(gone.map(|position| here[position].clone()));
            omissions
        };
        let kept = search(reducer, here.len(), &mut stage.rounds, &without)?;
        stage.progress |= kept.len() < here.len();
        *omissions = without(&kept);
        level += 1;
    }
}

fn fewer_iterations<R: Reducer>(
    reducer: &mut R,
    omissions: &mut Omissions,
) -> Result<Stage, R::Error> {
    let mut stage = Stage {
        name: "iterations",
        ..Stage::default()
    };
    let mut blocks = reducer.blocks()?;
    // Where most is to be gained.
    blocks.sort_by_key(|block| std::cmp::Reverse(block.passes));
    for block in blocks {
        let before = omissions.clone();
        let of_block =
            |omitted: &OmittedPasses| omitted.gate == block.gate && omitted.thread == block.thread;
        let known = before.iterations.iter().find(|omitted| of_block(omitted));
        let known = known.map_or(&[][..], |omitted| &omitted.numbers);
        let left: Vec<u64> = (0..block.passes)
            .filter(|number| known.binary_search(number).is_err())
            .collect();
        let without = |kept: &[usize]| {
            let kept: Vec<u64> = kept.iter().map(|&position| left[position]).collect();
            let numbers = (0..block.passes).filter(|number| kept.binary_search(number).is_err());
            let mut omissions = before.clone();
            omissions.iterations.retain(|omitted| !of_block(omitted));
            let numbers: Vec<u64> = numbers.collect();
            if !numbers.is_empty() {
                omissions.iterations.push(OmittedPasses {
                    gate: block.gate,
                    thread: block.thread.clone(),
                    numbers,
                });
            }
            omissions
        };
        let kept = search(reducer, left.len(), &mut stage.rounds, &without)?;
        stage.progress |= kept.len() < left.len();
        *omissions = without(&kept);
    }
    Ok(stage)
}

/// Minimises a list of which `without` says what is left out if some are kept.
fn search<R: Reducer>(
    reducer: &mut R,
    count: usize,
    rounds: &mut u64,
    without: &dyn Fn(&[usize]) -> Omissions,
) -> Result<Vec<usize>, R::Error> {
    // Asked while the reducer is busy with a test.
    let cell = std::cell::RefCell::new(reducer);
    minimise(count, &|| cell.borrow().has_time(), |kept| {
        *rounds += 1;
        cell.borrow_mut().does_it(&without(kept))
    })
}
