//! Which passes through a block cannot go: those that create or join a thread
//! that is there. Without its creation the thread is gone, which is for whole
//! threads to decide; without its join, whoever waited for it goes on before it
//! has ended, which is another program.

use super::Block;
use super::turns::{Turns, index_of};
use bohr_event::control::{Omissions, Recorded, Step};
use bohr_event::{EventKind, ThreadIndex};

/// The passes of a run through a block that have to stay, ascending.
#[must_use]
pub fn pinned(run: &Recorded, turns: &Turns, block: &Block, omissions: &Omissions) -> Vec<u64> {
    let mut passes = joining(run, turns, block, omissions);
    if block.children > 0 {
        let creates =
            |pass: &u64| children(block, *pass).any(|number| is_there(block, number, omissions));
        passes.extend((0..block.passes).filter(creates));
    }
    passes.sort_unstable();
    passes.dedup();
    passes
}

/// The calls after which a thread creates or joins another before it makes the next
/// one, ascending: nobody notes where a call ends, and one that creates a thread
/// would give its name to another.
#[must_use]
pub fn pinned_calls(run: &Recorded, turns: &Turns, block: &Block) -> Vec<u64> {
    let Some(thread) = index_of(run, &block.thread) else {
        return Vec::new();
    };
    let calls = { turns.lives(thread).iter() }.filter_map(|event| {
        let made = block.starts.partition_point(|start| start <= event);
        made.checked_sub(1).map(|call| call as u64)
    });
    let mut calls: Vec<u64> = calls.collect();
    calls.dedup();
    calls
}

/// The numbers of the threads that a pass creates.
fn children(block: &Block, pass: u64) -> impl Iterator<Item = u64> + use<> {
    let each = u64::from(block.children);
    let first = u64::from(block.first_child) + pass * each;
    (1..=each).map(move |number| first + number)
}

fn is_there(block: &Block, number: u64, omissions: &Omissions) -> bool {
    let number = u32::try_from(number).unwrap_or(u32::MAX);
    let child = block.thread.child(number);
    omissions.threads.binary_search(&child).is_err()
}

/// Whether a thread joins another in a pass through a block, or waits for that at
/// the end of the run. What later passes would do nobody knows, and those of such a
/// block may join somebody who is there.
#[must_use]
pub fn joins(run: &Recorded, turns: &Turns, block: &Block) -> bool {
    !joining(run, turns, block, &Omissions::default()).is_empty()
}

/// The passes in which the thread joins one that is there, or waits for its end.
fn joining(run: &Recorded, turns: &Turns, block: &Block, omissions: &Omissions) -> Vec<u64> {
    let Some(thread) = index_of(run, &block.thread) else {
        return Vec::new();
    };
    let joins_one = |step: &Step| {
        let joined = match step.operation.kind {
            EventKind::Join => ThreadIndex::from_object(step.operation.object),
            _ => None,
        };
        let joined = joined.and_then(|joined| run.threads.get(joined.position()));
        joined.is_some_and(|path| omissions.threads.binary_search(path).is_err())
    };
    let mut passes = Vec::new();
    for &event in turns.lives(thread) {
        let begun = block.starts.partition_point(|start| *start <= event);
        let Some(pass) = begun.checked_sub(1) else {
            continue;
        };
        let since = turns.between(thread, block.starts[pass], event + 1).len() as u64;
        if since <= block.length && joins_one(&run.steps[event as usize]) {
            passes.push(pass as u64);
        }
    }
    // It may stand before a join whose thread has not ended.
    let waits = { run.pending.iter() }.any(|step| step.thread == thread && joins_one(step));
    if let Some(&last) = block.starts.last().filter(|_| waits) {
        let since = turns.between(thread, last, run.steps.len() as u64).len() as u64;
        if since < block.length {
            passes.push(block.starts.len() as u64 - 1);
        }
    }
    passes
}

#[cfg(test)]
mod tests {
    use super::*;
    use bohr_event::control::GateReference;
    use bohr_event::{Operation, PlaceNumber};

    fn join(object: u32) -> Step {
        Step {
            thread: ThreadIndex::MAIN,
            operation: Operation::plain(
                EventKind::Join,
                0,
                ThreadIndex(object).object(),
                PlaceNumber(0),
            ),
        }
    }

    #[test]
    fn creations_and_joins_of_threads_that_are_there_stay() {
        let path = |text: &str| text.parse().unwrap();
        let block = Block {
            gate: GateReference {
                program: [0; 32],
                number: 1,
            },
            thread: path("0"),
            passes: 4,
            first_child: 1,
            children: 2,
            starts: Vec::new(),
            length: 0,
            pinned: Vec::new(),
            joins: false,
        };
        // Pass 0 creates 0:2 and 0:3, pass 3 creates 0:8 and 0:9.
        let gone = ["0:2", "0:3", "0:4", "0:6", "0:7", "0:8"].map(path);
        let omissions = Omissions {
            threads: gone.to_vec(),
            ..Omissions::default()
        };
        let mut run = Recorded {
            threads: vec![path("0")],
            ..Recorded::default()
        };
        assert_eq!(pinned(&run, &Turns::of(&run), &block, &omissions), [1, 3]);
        let joining = Block {
            children: 0,
            passes: 2,
            starts: vec![0, 1],
            length: 1,
            ..block
        };
        run.threads = vec![path("0"), path("0:2"), path("0:5")];
        run.steps = vec![join(1), join(2), join(2)];
        assert_eq!(pinned(&run, &Turns::of(&run), &joining, &omissions), [1]);
        assert!(joins(&run, &Turns::of(&run), &joining));
        // It waits in its second pass for a thread that is there.
        run.steps = vec![join(1)];
        run.pending = vec![join(2)];
        assert_eq!(pinned(&run, &Turns::of(&run), &joining, &omissions), [1]);
        let call = Block {
            starts: vec![0, 0, 1],
            passes: 3,
            ..joining.clone()
        };
        assert_eq!(pinned_calls(&run, &Turns::of(&run), &call), [1]);
        run.steps.clear();
        assert!(joins(&run, &Turns::of(&run), &joining));
        run.pending.clear();
        assert!(!joins(&run, &Turns::of(&run), &joining));
    }
}
