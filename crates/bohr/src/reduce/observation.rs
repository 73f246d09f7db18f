//! What a run that was looked at tells: the blocks that its threads came by, and
//! whether it leaves out what it should.

use bohr_event::control::{Omissions, OmittedPasses, Passes, Recorded};
use bohr_event::{EventKind, ThreadIndex, ThreadPath};
use bohr_explore::Observed;
use bohr_reduce::reduction::{Block, Turns, joins, pinned, pinned_calls, usual_length};
use std::collections::HashSet;

pub fn blocks(
    passes: &[Passes],
    run: &Recorded,
    turns: &Turns,
    omissions: &Omissions,
) -> Vec<Block> {
    let block = |passes: &Passes| {
        let is_call = passes.gate.is_call();
        let mut block = Block {
            gate: passes.gate,
            thread: run.threads.get(passes.thread.position())?.clone(),
            passes: passes.count,
            first_child: passes.first_child,
            // Whom a thread creates between two calls, no call creates.
            children: if is_call { 0 } else { passes.children },
            length: usual_length(run, turns, &passes.starts, passes.thread),
            starts: passes.starts.clone(),
            pinned: Vec::new(),
            joins: false,
        };
        block.pinned = match is_call {
            true => pinned_calls(run, turns, &block),
            false => pinned(run, turns, &block, omissions),
        };
        block.joins = !is_call && joins(run, turns, &block);
        Some(block)
    };
    let passes = passes.iter().filter(|passes| !passes.gate.is_store());
    passes.filter_map(block).collect()
}

/// Whether all that was to be left out was: not every body has a gate, and a store to
/// its thread's own stack stays. Who has not come to its body has left out nothing yet.
pub fn is_left_out(omissions: &Omissions, observed: &Observed) -> bool {
    let threads = observed.run.as_ref().map_or(&[][..], |run| &run.threads);
    let wanted = omissions.threads.iter();
    let steps = observed.run.iter().flat_map(|run| &run.steps);
    let begun = steps.filter(|step| step.operation.kind != EventKind::Start);
    let begun: HashSet<ThreadIndex> = begun.map(|step| step.thread).collect();
    let has_begun = |path: &ThreadPath| {
        let thread = threads.iter().position(|thread| thread == path);
        thread.is_some_and(|thread| begun.contains(&ThreadIndex(thread as u32)))
    };
    let is_store_left_out = |passes: &Passes| {
        let thread = threads.get(passes.thread.position());
        let mut omitted = omissions.stores();
        let omitted = omitted.find(|one| one.gate == passes.gate && Some(&one.thread) == thread);
        let wanted = |one: &OmittedPasses| (0..passes.count).filter(|pass| one.has(*pass)).count();
        omitted.map_or(0, wanted) as u64 == passes.left_out
    };
    let mut stores = { observed.passes.iter() }.filter(|passes| passes.gate.is_store());
    { wanted }.all(|path| observed.left_out.contains(path) || !has_begun(path))
        && stores.all(is_store_left_out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bohr_event::control::Step;
    use bohr_event::{Operation, PlaceNumber};

    /// A run of main and one other, which has made these events.
    fn observed(kinds: &[EventKind]) -> Observed {
        let step = |&kind: &EventKind| Step {
            thread: ThreadIndex(1),
            operation: Operation::plain(kind, 0, 0, PlaceNumber(1)),
        };
        Observed {
            run: Some(Recorded {
                threads: vec![ThreadPath::MAIN, ThreadPath::MAIN.child(1)],
                steps: kinds.iter().map(step).collect(),
                ..Recorded::default()
            }),
            ..Observed::default()
        }
    }

    #[test]
    fn who_has_not_come_to_its_body_has_left_out_nothing_yet() {
        let omissions = Omissions {
            threads: vec![ThreadPath::MAIN.child(1)],
            ..Omissions::default()
        };
        let with = |kinds: &[EventKind]| is_left_out(&omissions, &observed(kinds));
        assert!(with(&[]), "it was created at the very end");
        assert!(with(&[EventKind::Start]));
        assert!(!with(&[EventKind::Start, EventKind::Read]));
        let gone = Observed {
            left_out: vec![ThreadPath::MAIN.child(1)],
            ..observed(&[EventKind::Start, EventKind::Exit])
        };
        assert!(is_left_out(&omissions, &gone));
    }
}
