//! Passes through blocks in which nothing happens that matters for the failure
//! (LEAN, Algorithm 3): an analysis of the run tells which, and the oracle has
//! the last word, as always. What it calls irrelevant goes at once, which saves
//! the rounds in which delta debugging would find it out.

use super::iterations::{keeping, left_of};
use super::turns::{Turns, index_of};
use super::{Block, Reducer, Stage, Work};
use bohr_event::control::Recorded;

pub(super) fn fewer<R: Reducer>(work: &mut Work<'_, R>, stage: &mut Stage) -> Result<(), R::Error> {
    if !work.reducer.has_time() {
        return Ok(());
    }
    let before = work.cut.clone();
    let irrelevant: Vec<(Block, Vec<u64>)> = work.reducer.irrelevant();
    // Of each block, what is left if its irrelevant passes go, the last one first.
    let lists: Vec<(&Block, Vec<u64>)> = { irrelevant.iter() }
        .filter_map(|(block, passes)| {
            let mut left = left_of(block, &before.without);
            let all = left.len();
            left.retain(|pass| passes.binary_search(pass).is_err());
            // Some have to stay, and some are gone already.
            (left.len() < all).then_some((block, left))
        })
        .collect();
    work.search_briefly(stage, lists.len(), &|kept| {
        let goes = lists.iter().enumerate();
        let goes = goes.filter(|(position, _)| kept.binary_search(position).is_err());
        let cut = goes.fold(before.without.clone(), |omissions, (_, (block, left))| {
            keeping(&omissions, block, left)
        });
        before.leaving_out(cut)
    })
}

/// The passes of a run through a block in which its thread executes events, none
/// of which `is_relevant`; ascending. `is_within` tells whether an event can belong
/// to a pass at all: nobody notes where a pass ends, so it reaches to the first
/// that cannot, to the next pass, or to the end of the run.
#[must_use]
pub fn irrelevant_passes(
    run: &Recorded,
    turns: &Turns,
    block: &Block,
    is_within: &dyn Fn(u64) -> bool,
    is_relevant: &dyn Fn(u64) -> bool,
) -> Vec<u64> {
    let Some(thread) = index_of(run, &block.thread) else {
        return Vec::new();
    };
    let end = run.steps.len() as u64;
    let ends = block.starts.iter().skip(1).copied().chain([end]);
    (0u64..)
        .zip(block.starts.iter().zip(ends))
        .filter(|(_, (start, end))| {
            let own = turns.between(thread, **start, *end).iter();
            let mut own = own
                .copied()
                .take_while(|event| is_within(*event))
                .peekable();
            own.peek().is_some() && !own.any(is_relevant)
        })
        .map(|(pass, _)| pass)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::step;
    use bohr_event::EventKind::Write;
    use bohr_event::control::GateReference;

    #[test]
    fn a_pass_with_events_that_all_do_not_matter_is_irrelevant() {
        let path = |text: &str| text.parse().unwrap();
        let run = Recorded {
            threads: vec![path("0"), path("0:1")],
            steps: [1, 1, 0, 1, 0, 1]
                .map(|thread| step(thread, Write, 8))
                .to_vec(),
            ..Recorded::default()
        };
        let block = Block {
            gate: GateReference {
                program: [0; 32],
                number: 0,
            },
            thread: path("0:1"),
            passes: 4,
            first_child: 0,
            children: 0,
            // The third pass has no event of the thread.
            starts: vec![0, 1, 4, 5],
            length: 1,
            pinned: Vec::new(),
            joins: false,
        };
        let relevant = |event| event == 0 || event == 2;
        let turns = Turns::of(&run);
        let passes = irrelevant_passes(&run, &turns, &block, &|_| true, &relevant);
        assert_eq!(passes, [1, 3]);
        // What comes behind the end of a call is not part of it.
        let relevant = |event| event == 3;
        let within = |event| event != 3;
        let passes = irrelevant_passes(&run, &turns, &block, &within, &relevant);
        assert_eq!(passes, [0, 1, 3]);
    }
}
