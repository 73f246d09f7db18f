//! Blocks that the user has named (LEAN, section 3.3): several gates in the same
//! lines, of which each pass goes as a whole.
//!
//! A pass begins with the gate that a thread came by first, the *leader*. What
//! comes by the other gates until the leader's next pass belongs to it.

use super::iterations::{keeping, left_of};
use super::{Block, Reducer, Stage, Work};
use bohr_event::ThreadPath;
use std::collections::BTreeSet;

pub(super) fn fewer<R: Reducer>(work: &mut Work<'_, R>, stage: &mut Stage) -> Result<(), R::Error> {
    for group in 0..work.reducer.groups().len() {
        let members = |work: &Work<'_, R>| work.reducer.groups().swap_remove(group);
        let paths = members(work).into_iter().map(|block| block.thread);
        let threads: BTreeSet<ThreadPath> = paths.collect();
        for thread in threads {
            let mut own = members(work);
            own.retain(|block| block.thread == thread);
            if work.reducer.has_time() {
                of_thread(work, stage, &own)?;
            }
        }
    }
    Ok(())
}

/// The passes of one thread through one group.
fn of_thread<R: Reducer>(
    work: &mut Work<'_, R>,
    stage: &mut Stage,
    members: &[Block],
) -> Result<(), R::Error> {
    let Some(leader) = leader(members) else {
        return Ok(());
    };
    let before = work.cut.clone();
    let left = left_of(leader, &before.without);
    work.search_briefly(stage, left.len(), &|kept| {
        let kept: BTreeSet<u64> = kept.iter().map(|&position| left[position]).collect();
        let is_kept = |member: &Block, pass: &u64| {
            let of_leader = pass_of(leader, member, *pass);
            // What came before the leader belongs to no pass of it.
            of_leader.is_none_or(|pass| kept.contains(&pass) || !left.contains(&pass))
        };
        let without = members
            .iter()
            .fold(before.without.clone(), |without, member| {
                let mut kept = left_of(member, &without);
                kept.retain(|pass| is_kept(member, pass));
                keeping(&without, member, &kept)
            });
        before.leaving_out(without)
    })
}

/// The member that a thread came by first; of several, the one with fewest passes.
fn leader(members: &[Block]) -> Option<&Block> {
    let passed = members.iter().filter(|block| !block.starts.is_empty());
    passed.min_by_key(|block| (block.starts[0], block.passes))
}

/// The leader's pass that a pass of a member belongs to.
fn pass_of(leader: &Block, member: &Block, pass: u64) -> Option<u64> {
    if member.passes == leader.passes {
        return Some(pass);
    }
    let start = member.starts.get(usize::try_from(pass).ok()?)?;
    let begun = leader.starts.partition_point(|other| other <= start);
    begun.checked_sub(1).map(|pass| pass as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bohr_event::control::GateReference;

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

    #[test]
    fn what_comes_between_two_passes_of_the_leader_belongs_to_the_first() {
        let first = block(4, &[10, 20, 30]);
        let inner = block(2, &[10, 12, 21, 29, 33]);
        let last = block(7, &[19, 29, 39]);
        let members = [last.clone(), inner.clone(), first.clone()];
        assert_eq!(leader(&members).map(|block| block.gate.number), Some(4));
        let passes = (0..5).map(|pass| pass_of(&first, &inner, pass));
        assert_eq!(
            passes.collect::<Vec<_>>(),
            [Some(0), Some(0), Some(1), Some(1), Some(2)]
        );
        assert_eq!(pass_of(&first, &last, 1), Some(1));
        assert_eq!(pass_of(&first, &block(9, &[3]), 0), None);
    }
}
