//! Passes of a loop that creates threads which are all left out. They cost an
//! execution more than anything else that is left of it, and cannot go one by
//! one: a loop that joins the threads has as many passes, and joins what was
//! never created. So such loops of a thread lose the same passes together.

use super::iterations::{keeping, left_of};
use super::{Block, Candidates, Length, Reducer, Stage, Work};

pub(super) fn fewer<R: Reducer>(work: &mut Work<'_, R>, stage: &mut Stage) -> Result<(), R::Error> {
    if work.cut.without.threads.is_empty() {
        return Ok(());
    }
    let blocks = work.reducer.blocks();
    for creating in blocks.iter().filter(|block| block.children > 0) {
        if !work.reducer.has_time() {
            break;
        }
        let before = work.cut.clone();
        if left_of(creating, &before.without).is_empty() {
            continue;
        }
        let kept: Vec<u64> = creating.pinned.iter().rev().copied().collect();
        let is_twin = |block: &&Block| {
            block.thread == creating.thread
                && block.passes == creating.passes
                && block.gate != creating.gate
        };
        let twins: Vec<&Block> = blocks.iter().filter(is_twin).collect();
        let sets = sets(&twins);
        let cut = |test: usize| {
            let alone = keeping(&before.without, creating, &kept);
            let without = |omissions, block: &&Block| keeping(&omissions, block, &kept);
            before.leaving_out(sets[test].iter().fold(alone, without))
        };
        let candidates = Candidates {
            count: sets.len(),
            cut: &cut,
            length: Length::Shorter,
        };
        work.take_first(stage, &candidates)?;
    }
    Ok(())
}

/// Which loops lose passes along with the creating one: all, none, each alone.
fn sets<'b>(twins: &[&'b Block]) -> Vec<Vec<&'b Block>> {
    let single = twins.iter().map(|&twin| vec![twin]);
    let all = [twins.to_vec()].into_iter();
    all.chain(single.filter(|_| twins.len() > 1))
        .chain((!twins.is_empty()).then(Vec::new))
        .collect()
}
