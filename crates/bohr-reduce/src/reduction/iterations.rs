//! Passes of threads through repetitive blocks (LEAN, Algorithm 4), of every
//! thread and block by itself.
//!
//! Deviations: the passes right before the failure are the likeliest to matter,
//! so all threads are first left with their last passes through a block, and
//! only then are single passes looked for. Blocks that were passed seldom come
//! first: they are the outer ones of nested blocks, and numbers of passes through
//! inner ones count what is left of the outer ones. A block of which so many parts
//! in a row cannot go is put off: a loop that builds what everybody needs costs as
//! many tests as it has passes, which are cheapest when all else is gone.

use super::{Block, Candidates, Length, Reducer, Stage, Work};
use bohr_event::ThreadPath;
use bohr_event::control::{GateReference, Omissions, OmittedPasses};
use std::collections::{BTreeSet, HashSet};

pub(super) fn fewer<R: Reducer>(work: &mut Work<'_, R>, stage: &mut Stage) -> Result<(), R::Error> {
    last_ones(work, stage)?;
    let mut done: HashSet<(GateReference, ThreadPath)> = HashSet::new();
    while work.reducer.has_time() {
        let blocks = in_order(work.reducer.blocks());
        let name = |block: &Block| (block.gate, block.thread.clone());
        let Some(block) = blocks.iter().find(|block| !done.contains(&name(block))) else {
            return Ok(());
        };
        done.insert(name(block));
        let before = work.cut.clone();
        let left = left_of(block, &before.without);
        work.search_briefly(stage, left.len(), &|kept| {
            let kept: Vec<u64> = kept.iter().map(|&position| left[position]).collect();
            before.leaving_out(keeping(&before.without, block, &kept))
        })?;
    }
    Ok(())
}

/// Tries to leave every thread with its last passes through a block only, for
/// one block after the other.
fn last_ones<R: Reducer>(work: &mut Work<'_, R>, stage: &mut Stage) -> Result<(), R::Error> {
    let mut done: HashSet<GateReference> = HashSet::new();
    while work.reducer.has_time() {
        let blocks = in_order(work.reducer.blocks());
        let Some(first) = blocks.iter().find(|block| !done.contains(&block.gate)) else {
            return Ok(());
        };
        let gate = first.gate;
        done.insert(gate);
        let before = work.cut.clone();
        let of_gate = blocks.iter().filter(|block| block.gate == gate);
        let lists: Vec<(&Block, Vec<u64>)> = of_gate
            .map(|block| (block, left_of(block, &before.without)))
            .collect();
        let longest = lists.iter().map(|(_, left)| left.len()).max().unwrap_or(0);
        if longest == 0 {
            continue;
        }
        let depths: Vec<usize> = std::iter::successors(Some(1), |depth| Some(depth * 2))
            .take_while(|&depth| depth < longest)
            .collect();
        let depths = [&[0], &depths[..]].concat();
        let cut = |test: usize| {
            let shorter = |omissions, (block, left): &(&Block, Vec<u64>)| {
                keeping(&omissions, block, &left[..left.len().min(depths[test])])
            };
            before.leaving_out(lists.iter().fold(before.without.clone(), shorter))
        };
        let candidates = Candidates {
            count: depths.len(),
            cut: &cut,
            length: Length::Shorter,
        };
        work.take_first(stage, &candidates)?;
    }
    Ok(())
}

fn in_order(mut blocks: Vec<Block>) -> Vec<Block> {
    blocks.sort_by(|a, b| {
        let key = |block: &Block| (block.passes, block.gate);
        (key(a), &a.thread).cmp(&(key(b), &b.thread))
    });
    blocks
}

pub(super) fn is_of(omitted: &OmittedPasses, block: &Block) -> bool {
    omitted.gate == block.gate && omitted.thread == block.thread
}

/// The passes that are still made and can go, the last one first.
pub(super) fn left_of(block: &Block, omissions: &Omissions) -> Vec<u64> {
    let known = omissions.iterations.iter().find(|one| is_of(one, block));
    (0..block.passes)
        .rev()
        .filter(|number| !known.is_some_and(|known| known.has(*number)))
        .filter(|number| block.pinned.binary_search(number).is_err())
        .collect()
}

/// What is left out if of this block only these passes, the last one first, are
/// made, and those that have to stay.
pub(super) fn keeping(before: &Omissions, block: &Block, kept: &[u64]) -> Omissions {
    let is_kept = |number: &u64| {
        let found = kept.binary_search_by(|kept| number.cmp(kept));
        found.is_ok() || block.pinned.binary_search(number).is_ok()
    };
    let known = before.iterations.iter().find(|one| is_of(one, block));
    let beyond = known.and_then(|known| known.beyond);
    let listed = 0..beyond.unwrap_or(u64::MAX).min(block.passes);
    let numbers: Vec<u64> = listed.filter(|n| !is_kept(n)).collect();
    replaced(before, block, numbers, beyond)
}

/// The same with these passes of a block left out and no others.
pub(super) fn replaced(
    before: &Omissions,
    block: &Block,
    numbers: Vec<u64>,
    beyond: Option<u64>,
) -> Omissions {
    let mut omissions = before.clone();
    omissions.iterations.retain(|one| !is_of(one, block));
    if !numbers.is_empty() || beyond.is_some() {
        omissions.iterations.push(OmittedPasses {
            gate: block.gate,
            thread: block.thread.clone(),
            numbers,
            beyond,
            children: block.children,
        });
    }
    omissions
}

/// Tries to leave out what comes after the failure: passes that a run without it
/// would make. Nothing of the failing run goes, but the runs that it is compared
/// with become as short as it is. Loops that join threads stay: who would be joined
/// in passes to come is not known.
pub(super) fn later_ones<R: Reducer>(
    work: &mut Work<'_, R>,
    stage: &mut Stage,
) -> Result<(), R::Error> {
    let before = work.cut.clone();
    let ends = |block: &Block| {
        let mut known = before.without.iterations.iter();
        known.any(|one| is_of(one, block) && one.beyond.is_some())
    };
    let blocks: Vec<Block> = { work.reducer.blocks().into_iter() }
        .filter(|block| !ends(block) && !block.joins)
        .collect();
    if blocks.is_empty() || !work.reducer.has_time() {
        return Ok(());
    }
    let progress = stage.progress;
    let gates: BTreeSet<GateReference> = blocks.iter().map(|block| block.gate).collect();
    let gates: Vec<GateReference> = gates.into_iter().collect();
    work.search(stage, gates.len(), Length::Shorter, &|kept| {
        let goes = |block: &&Block| !kept.iter().any(|&position| gates[position] == block.gate);
        let ended = |omissions: Omissions, block: &Block| {
            let mut known = omissions.iterations.iter();
            let known = known.find(|one| is_of(one, block));
            let numbers = known.map_or(Vec::new(), |known| known.numbers.clone());
            replaced(&omissions, block, numbers, Some(block.passes))
        };
        let ended = blocks
            .iter()
            .filter(goes)
            .fold(before.without.clone(), ended);
        before.leaving_out(ended)
    })?;
    // Nothing has gone of the run itself.
    stage.progress = progress;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_and_what_is_left_out_are_all_passes() {
        let block = Block {
            gate: GateReference {
                program: [0; 32],
                number: 4,
            },
            thread: "0:1".parse().unwrap(),
            passes: 6,
            first_child: 0,
            children: 0,
            starts: Vec::new(),
            length: 0,
            pinned: Vec::new(),
            joins: false,
        };
        let nothing = Omissions::default();
        assert_eq!(left_of(&block, &nothing), [5, 4, 3, 2, 1, 0]);
        let omissions = keeping(&nothing, &block, &[5, 2]);
        assert_eq!(omissions.iterations[0].numbers, [0, 1, 3, 4]);
        assert_eq!(left_of(&block, &omissions), [5, 2]);
        assert_eq!(keeping(&omissions, &block, &[5, 4, 3, 2, 1, 0]), nothing);
        let block = Block {
            pinned: vec![1],
            ..block
        };
        assert_eq!(left_of(&block, &omissions), [5, 2]);
        assert_eq!(
            keeping(&nothing, &block, &[]).iterations[0].numbers,
            [0, 2, 3, 4, 5]
        );
    }
}
