//! Passes of threads through repetitive blocks (LEAN, Algorithm 4), of every
//! thread and block by itself.
//!
//! Deviations: the passes right before the failure are the likeliest to matter,
//! so all threads are first left with their last passes through a block, and
//! only then are single passes looked for. Blocks that were passed seldom come
//! first: they are the outer ones of nested blocks, and numbers of passes through
//! inner ones count what is left of the outer ones.

use super::{Block, Candidates, Reducer, Stage, Work};
use bohr_event::ThreadPath;
use bohr_event::control::{GateReference, Omissions, OmittedPasses};
use std::collections::HashSet;

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
        let before = work.omissions.clone();
        let left = left_of(block, &before);
        work.search(stage, left.len(), false, &|kept| {
            let kept: Vec<u64> = kept.iter().map(|&position| left[position]).collect();
            keeping(&before, block, &kept)
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
        let before = work.omissions.clone();
        let of_gate = blocks.iter().filter(|block| block.gate == gate);
        let lists: Vec<(&Block, Vec<u64>)> = of_gate
            .map(|block| (block, left_of(block, &before)))
            .collect();
        let longest = lists.iter().map(|(_, left)| left.len()).max().unwrap_or(0);
        if longest == 0 {
            continue;
        }
        let depths: Vec<usize> = std::iter::successors(Some(1), |depth| Some(depth * 2))
            .take_while(|&depth| depth < longest)
            .collect();
        let depths = [&[0], &depths[..]].concat();
        let omissions = |test: usize| {
            lists
                .iter()
                .fold(before.clone(), |omissions, (block, left)| {
                    keeping(&omissions, block, &left[..left.len().min(depths[test])])
                })
        };
        let candidates = Candidates {
            count: depths.len(),
            omissions: &omissions,
            may_grow: false,
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

fn is_of(omitted: &OmittedPasses, block: &Block) -> bool {
    omitted.gate == block.gate && omitted.thread == block.thread
}

/// The passes that are still made and can go, the last one first.
pub(super) fn left_of(block: &Block, omissions: &Omissions) -> Vec<u64> {
    let known = omissions.iterations.iter().find(|one| is_of(one, block));
    let known = known.map_or(&[][..], |omitted| &omitted.numbers);
    (0..block.passes)
        .rev()
        .filter(|number| known.binary_search(number).is_err())
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
    let numbers: Vec<u64> = (0..block.passes).filter(|n| !is_kept(n)).collect();
    let mut omissions = before.clone();
    omissions.iterations.retain(|one| !is_of(one, block));
    if !numbers.is_empty() {
        omissions.iterations.push(OmittedPasses {
            gate: block.gate,
            thread: block.thread.clone(),
            numbers,
            children: block.children,
        });
    }
    omissions
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
            pinned: Vec::new(),
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
