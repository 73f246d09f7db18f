//! Nearly everything at once: a few threads, and of all that they do over and over
//! the first passes only.
//!
//! What goes wrong after a million events can mostly go wrong after a hundred, and
//! to try that costs next to nothing beside a single replay of the long run. Its
//! schedule says nothing about so short a run; others have to be searched. The
//! oracle is the same as ever, and where nothing is found, what LEAN does comes
//! next.

use super::iterations::replaced;
use super::{Block, Candidates, Effort, Length, Reducer, Stage, Work};
use bohr_event::ThreadPath;
use bohr_event::control::Omissions;
use std::collections::BTreeSet;

/// Who stays.
#[derive(Clone, Copy)]
enum Staying {
    /// The first so many that each of those who stay creates. They find what main
    /// has made first, as the first passes leave it.
    Eldest(usize),
    /// The likeliest to be needed.
    Likeliest(usize),
    /// All: which of them the failure needs may have to be tried.
    Everyone,
}

/// What is tried, in this order: who stays, and how many passes of theirs.
const SCALES: [(Staying, u64); 7] = [
    (Staying::Eldest(2), 2),
    (Staying::Likeliest(2), 2),
    (Staying::Everyone, 2),
    (Staying::Eldest(3), 8),
    (Staying::Likeliest(4), 8),
    (Staying::Eldest(2), 64),
    (Staying::Likeliest(3), 64),
];

/// A run on a small scale has at most this share of the events: others are not worth
/// the search.
const SMALL: u64 = 8;

/// Tries to; how many events are left of the run without the threads that went.
pub(super) fn fewer<R: Reducer>(
    work: &mut Work<'_, R>,
    stage: &mut Stage,
) -> Result<u64, R::Error> {
    let threads = work.reducer.threads();
    let blocks = work.reducer.blocks();
    let all = work.reducer.events();
    for (staying, passes) in SCALES {
        let gone = gone(&threads, staying);
        let without_threads = without(&work.cut.without, &gone);
        let fewer_threads = work.cut.leaving_out(without_threads.clone());
        let cut = work.cut.leaving_out({
            let there = blocks
                .iter()
                .filter(|block| !is_below(&block.thread, &gone));
            there.fold(without_threads.clone(), |omissions, block| {
                first_passes(&omissions, block, passes, |block| {
                    work.reducer.pinned(block, &without_threads)
                })
            })
        });
        if !work.reducer.has_time() {
            break;
        }
        let Some(left) = work.reducer.length(&cut, all / SMALL)? else {
            continue;
        };
        let candidates = Candidates {
            count: 1,
            cut: &|_| cut.clone(),
            length: Length::About(left),
        };
        let left = work.reducer.left(&fewer_threads);
        let effort = std::mem::replace(&mut work.effort, Effort::Searching);
        let found = work.take_first(stage, &candidates);
        work.effort = effort;
        if found?.is_some() {
            return Ok(left);
        }
    }
    Ok(all)
}

/// The threads that go, without those that go along with their creators.
fn gone(threads: &[ThreadPath], staying: Staying) -> BTreeSet<ThreadPath> {
    let children = || threads.iter().filter(|path| path.depth() > 0);
    let stays: BTreeSet<ThreadPath> = match staying {
        Staying::Eldest(most) => {
            let elders = |path: &ThreadPath| {
                let is_sibling = |other: &&ThreadPath| other.parent() == path.parent();
                let siblings = children().filter(is_sibling);
                siblings
                    .filter(|other| other.steps() < path.steps())
                    .count()
            };
            children()
                .filter(|path| elders(path) < most)
                .cloned()
                .collect()
        }
        Staying::Likeliest(most) => {
            let likeliest = children().take(most);
            likeliest.flat_map(|path| ancestry(path.clone())).collect()
        }
        Staying::Everyone => return BTreeSet::new(),
    };
    let is_created = |path: &ThreadPath| {
        ancestry(path.clone())
            .skip(1)
            .all(|path| stays.contains(&path))
    };
    let goes = children().filter(|path| !stays.contains(*path) && is_created(path));
    goes.cloned().collect()
}

/// A thread and those that it descends from, main not among them.
fn ancestry(path: ThreadPath) -> impl Iterator<Item = ThreadPath> {
    let upwards = std::iter::successors(Some(path), |path| path.parent());
    upwards.take_while(|path| path.depth() > 0)
}

fn is_below(path: &ThreadPath, gone: &BTreeSet<ThreadPath>) -> bool {
    gone.iter().any(|other| path.is_within(other))
}

fn without(before: &Omissions, gone: &BTreeSet<ThreadPath>) -> Omissions {
    let mut omissions = before.clone();
    omissions.threads.extend(gone.iter().cloned());
    omissions.threads.sort();
    omissions.threads.dedup();
    omissions
}

/// The same with only the first passes through a block; of one that creates or
/// joins threads, with those that stay.
fn first_passes(
    before: &Omissions,
    block: &Block,
    passes: u64,
    pinned: impl Fn(&Block) -> Vec<u64>,
) -> Omissions {
    if block.children > 0 || block.joins {
        let pinned = pinned(block);
        let goes = |pass: &u64| pinned.binary_search(pass).is_err();
        let numbers: Vec<u64> = (0..block.passes).filter(goes).collect();
        // Whom later passes would join is not known.
        let beyond = (!block.joins).then_some(block.passes);
        return replaced(before, block, numbers, beyond);
    }
    replaced(before, block, Vec::new(), Some(passes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(words: &[&str]) -> Vec<ThreadPath> {
        words.iter().map(|word| word.parse().unwrap()).collect()
    }

    #[test]
    fn the_eldest_stay_with_their_eldest() {
        let threads = paths(&["0", "0:4", "0:2", "0:2:1", "0:2:2", "0:1", "0:4:1"]);
        let gone: Vec<ThreadPath> = gone(&threads, Staying::Eldest(1)).into_iter().collect();
        // 0:4:1 is gone with its creator.
        assert_eq!(gone, paths(&["0:2", "0:4"]));
    }

    #[test]
    fn the_likeliest_stay_with_their_creators() {
        let threads = paths(&["0:2:2", "0", "0:4", "0:2", "0:2:1", "0:1"]);
        let gone: Vec<ThreadPath> = gone(&threads, Staying::Likeliest(1)).into_iter().collect();
        assert_eq!(gone, paths(&["0:1", "0:2:1", "0:4"]));
        assert!(super::gone(&threads, Staying::Everyone).is_empty());
    }

    #[test]
    fn first_passes_stay_and_those_that_create_who_stays() {
        let block = Block {
            gate: bohr_event::control::GateReference {
                program: [0; 32],
                number: 0,
            },
            thread: "0".parse().unwrap(),
            passes: 5,
            first_child: 0,
            children: 0,
            starts: Vec::new(),
            length: 1,
            pinned: Vec::new(),
            joins: false,
        };
        let nothing = Omissions::default();
        let first = first_passes(&nothing, &block, 2, |_| Vec::new());
        assert_eq!(first.iterations[0].beyond, Some(2));
        let creating = Block {
            children: 1,
            ..block
        };
        let those = first_passes(&nothing, &creating, 2, |_| vec![3]);
        assert_eq!(those.iterations[0].numbers, [0, 1, 2, 4]);
        assert_eq!(those.iterations[0].beyond, Some(5));
    }
}
