//! Which passes through a block cannot go: those that create or join a thread
//! that is there. Without its creation the thread is gone, which is for whole
//! threads to decide; without its join, whoever waited for it goes on before it
//! has ended, which is another program.

use super::Block;
use bohr_event::control::{Omissions, Recorded};
use bohr_event::{EventKind, ThreadIndex};

/// The passes of a run through a block that have to stay, ascending.
#[must_use]
pub fn pinned(run: &Recorded, block: &Block, omissions: &Omissions) -> Vec<u64> {
    let Some(thread) = run.threads.iter().position(|path| *path == block.thread) else {
        return Vec::new();
    };
    let thread = ThreadIndex(thread as u32);
    let mut passes = joining(run, block, thread, omissions);
    if block.children > 0 {
        let creates =
            |pass: &u64| children(block, *pass).any(|number| is_there(block, number, omissions));
        passes.extend((0..block.passes).filter(creates));
    }
    passes.sort_unstable();
    passes.dedup();
    passes
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

/// The passes in which the thread joins one that is there.
fn joining(run: &Recorded, block: &Block, thread: ThreadIndex, omissions: &Omissions) -> Vec<u64> {
    let mut passes = Vec::new();
    // Events of the thread since the pass at hand began, and which pass that is.
    let (mut since, mut next) = (0, 0);
    for (event, step) in (0u64..).zip(&run.steps) {
        if step.thread != thread {
            continue;
        }
        while block.starts.get(next).is_some_and(|start| *start <= event) {
            next += 1;
            since = 0;
        }
        since += 1;
        let joined = match step.operation.kind {
            EventKind::Join => ThreadIndex::from_object(step.operation.object),
            _ => None,
        };
        let joined = joined.and_then(|joined| run.threads.get(joined.position()));
        let is_there = |path| omissions.threads.binary_search(path).is_err();
        if next > 0 && since <= block.length && joined.is_some_and(is_there) {
            passes.push(next as u64 - 1);
        }
    }
    passes
}

#[cfg(test)]
mod tests {
    use super::*;
    use bohr_event::control::{GateReference, Step};
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
        assert_eq!(pinned(&run, &block, &omissions), [1, 3]);
        let joins = Block {
            children: 0,
            passes: 2,
            starts: vec![0, 1],
            length: 1,
            ..block
        };
        run.threads = vec![path("0"), path("0:2"), path("0:5")];
        run.steps = vec![join(1), join(2), join(2)];
        assert_eq!(pinned(&run, &joins, &omissions), [1]);
    }
}
