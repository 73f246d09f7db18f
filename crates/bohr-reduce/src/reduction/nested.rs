//! Blocks in other blocks: a loop in a loop, a block that its author has marked in the
//! loop around it. Passes are numbered by how often a thread comes by, so that without
//! a pass of the outer block all later passes of the inner one have other numbers: once
//! some of the inner one are left out, no pass of the outer one can go any more without
//! bringing others back. So what has gone of the inner block becomes, where it is all
//! that an outer pass has, a pass of the outer one. Nothing else happens than before,
//! which is why the old schedule shows it at once.

use super::iterations::{is_of, keeping, replaced};
use super::{Block, Candidates, Effort, Length, Reducer, Stage, Work};
use bohr_event::ThreadPath;
use bohr_event::control::{GateReference, Omissions, OmittedPasses};

type Name = (GateReference, ThreadPath);

pub(super) fn outwards<R: Reducer>(
    work: &mut Work<'_, R>,
    stage: &mut Stage,
) -> Result<(), R::Error> {
    for (outer, inner) in pairs(&work.reducer.blocks(), &work.cut.without) {
        if !work.reducer.has_time() {
            break;
        }
        let blocks = work.reducer.blocks();
        let named = |name: &Name| {
            let is_it = |block: &&Block| (block.gate, &block.thread) == (name.0, &name.1);
            blocks.iter().find(is_it)
        };
        let (Some(outer), Some(inner)) = (named(&outer), named(&inner)) else {
            continue;
        };
        let before = work.cut.clone();
        let Some(moved) = moved(outer, inner, &before.without) else {
            continue;
        };
        let cut = before.leaving_out(moved);
        let candidates = Candidates {
            count: 1,
            cut: &|_| cut.clone(),
            length: Length::Shorter,
        };
        let effort = std::mem::replace(&mut work.effort, Effort::Following);
        let found = work.take_first(stage, &candidates);
        work.effort = effort;
        found?;
    }
    Ok(())
}

/// Blocks of a thread, and others of it with passes that are left out.
fn pairs(blocks: &[Block], without: &Omissions) -> Vec<(Name, Name)> {
    let name = |block: &Block| (block.gate, block.thread.clone());
    let has_gone = |inner: &&Block| {
        let mut omitted = without.iterations.iter();
        omitted.any(|one| is_of(one, inner) && !one.numbers.is_empty())
    };
    let inner = blocks.iter().filter(has_gone);
    let pairs = inner.flat_map(|inner| {
        let around = move |outer: &&Block| {
            outer.thread == inner.thread && moved(outer, inner, without).is_some()
        };
        let outer = blocks.iter().filter(around);
        outer.map(move |outer| (name(outer), name(inner)))
    });
    pairs.collect()
}

/// What is left out if the passes of `outer` of whose passes of `inner` none is made are
/// left out as a whole. `None` if there is none, or the one block is not in the other,
/// equally often in each pass.
fn moved(outer: &Block, inner: &Block, before: &Omissions) -> Option<Omissions> {
    let known = |block: &Block| before.iterations.iter().find(|one| is_of(one, block));
    let gone = known(inner)?;
    let is_made = |pass: &u64| !known(outer).is_some_and(|known| known.has(*pass));
    let made: Vec<u64> = (0..outer.passes).filter(is_made).collect();
    let each = inner.passes.checked_div(made.len() as u64)?;
    let is_whole = each > 0 && each * made.len() as u64 == inner.passes;
    let same_children = u64::from(outer.children) == each * u64::from(inner.children);
    if outer.gate == inner.gate || !is_whole || !same_children {
        return None;
    }
    if !is_around(outer, &made, inner, each) {
        return None;
    }
    let (goes, stays): (Vec<usize>, Vec<usize>) = (0..made.len()).partition(|&position| {
        let first = position as u64 * each;
        let mut inside = first..first + each;
        inside.all(|pass| gone.has(pass)) && outer.pinned.binary_search(&made[position]).is_err()
    });
    if goes.is_empty() {
        return None;
    }
    let kept: Vec<u64> = stays.iter().rev().map(|&position| made[position]).collect();
    let omissions = keeping(before, outer, &kept);
    let numbers = renumbered(gone, &stays, each);
    // Of passes that the run has made none is beyond, whichever way they are numbered.
    let beyond = gone.beyond.map(|first| first.max(inner.passes));
    Some(replaced(&omissions, inner, numbers, beyond))
}

/// Whether the passes of `inner` come in those of `outer` that are made, so many in each.
fn is_around(outer: &Block, made: &[u64], inner: &Block, each: u64) -> bool {
    let start = |block: &Block, pass: u64| block.starts.get(pass as usize).copied();
    (0u64..).zip(made).all(|(position, pass)| {
        let (Some(begins), next) = (start(outer, *pass), made.get(position as usize + 1)) else {
            return false;
        };
        let ends = next.map_or(Some(u64::MAX), |next| start(outer, *next));
        let mut inside = position * each..(position + 1) * each;
        inside.all(|pass| {
            start(inner, pass).is_some_and(|start| begins <= start && ends >= Some(start))
        })
    })
}

/// The numbers that passes have which are left out, if only those in `stays` of the
/// passes around them are made.
fn renumbered(gone: &OmittedPasses, stays: &[usize], each: u64) -> Vec<u64> {
    let made = { stays.iter() }.flat_map(|&position| {
        let first = position as u64 * each;
        first..first + each
    });
    let numbers = (0u64..).zip(made).filter(|(_, old)| gone.has(*old));
    numbers.map(|(new, _)| new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block with passes that begin before these events.
    fn block(number: u32, starts: &[u64]) -> Block {
        Block {
            gate: GateReference {
                program: [0; 32],
                number,
            },
            thread: "0:1".parse().unwrap(),
            passes: starts.len() as u64,
            first_child: 0,
            children: 0,
            starts: starts.to_vec(),
            length: 1,
            pinned: Vec::new(),
            joins: false,
        }
    }

    fn without(block: &Block, numbers: &[u64], beyond: Option<u64>) -> Omissions {
        replaced(&Omissions::default(), block, numbers.to_vec(), beyond)
    }

    fn of(omissions: &Omissions, block: &Block) -> (Vec<u64>, Option<u64>) {
        let mut known = omissions.iterations.iter();
        let known = known.find(|one| is_of(one, block));
        known.map_or((Vec::new(), None), |one| (one.numbers.clone(), one.beyond))
    }

    #[test]
    fn what_has_gone_inside_goes_with_the_pass_around_it() {
        // Of three passes, the first has gone; the other three have one inside each.
        let outer = block(1, &[0, 0, 0, 4]);
        let inner = block(2, &[0, 0, 4]);
        let before = without(&inner, &[0, 1], Some(3));
        let before = replaced(&before, &outer, vec![0], None);
        let after = moved(&outer, &inner, &before).expect("two can go");
        assert_eq!(of(&after, &outer), (vec![0, 1, 2], None));
        assert_eq!(of(&after, &inner), (vec![], Some(3)));
        // Unless one has to stay.
        let pinned = Block {
            pinned: vec![2],
            ..outer
        };
        let after = moved(&pinned, &inner, &before).expect("one can go");
        assert_eq!(of(&after, &pinned), (vec![0, 1], None));
        assert_eq!(of(&after, &inner), (vec![0], Some(3)));
    }

    #[test]
    fn a_pass_goes_when_all_of_it_has_gone() {
        let outer = block(1, &[0, 2, 5]);
        let inner = block(2, &[0, 1, 2, 2, 5, 6]);
        let before = without(&inner, &[1, 2, 3, 4], None);
        let after = moved(&outer, &inner, &before).expect("one can go");
        assert_eq!(of(&after, &outer), (vec![1], None));
        assert_eq!(of(&after, &inner), (vec![1, 2], None));
        assert_eq!(moved(&outer, &inner, &without(&inner, &[1, 2], None)), None);
    }

    #[test]
    fn blocks_beside_each_other_have_nothing_to_do_with_each_other() {
        let (first, second) = (block(1, &[0, 2, 4]), block(2, &[6, 7, 8]));
        assert_eq!(moved(&first, &second, &without(&second, &[0], None)), None);
        assert_eq!(moved(&second, &first, &without(&first, &[0], None)), None);
        // Nor are they in each other where a pass has more of it than another.
        let uneven = block(3, &[0, 1, 2, 4]);
        assert_eq!(moved(&first, &uneven, &without(&uneven, &[0], None)), None);
        // Threads would have other names.
        let creating = Block {
            children: 1,
            ..block(4, &[0, 2, 4])
        };
        let before = without(&creating, &[0], None);
        assert_eq!(moved(&first, &creating, &before), None);
    }
}
