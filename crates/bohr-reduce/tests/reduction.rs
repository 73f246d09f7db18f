//! Reduction against its definition, on executions that are nothing but a tree
//! of threads and the passes that each makes through one block.

use bohr_event::ThreadPath;
use bohr_event::control::{GateReference, Omissions};
use bohr_reduce::reduction::{Block, Candidates, Effort, Reducer, reduce};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

const GATE: GateReference = GateReference {
    program: [7; 32],
    number: 3,
};

/// Threads with the number of their passes, and what a failure needs of them.
#[derive(Clone, Debug)]
struct Toy {
    passes: BTreeMap<ThreadPath, u64>,
    needed: BTreeSet<(ThreadPath, u64)>,
    without: Omissions,
}

impl Toy {
    fn is_there(path: &ThreadPath, without: &Omissions) -> bool {
        !{ without.threads.iter() }.any(|gone| path.is_within(gone))
    }

    /// The definition: everything that is needed still happens.
    fn fails(&self, without: &Omissions) -> bool {
        self.needed.iter().all(|(thread, pass)| {
            let omitted = without.iterations.iter();
            let mut omitted = omitted.filter(|one| one.thread == *thread);
            Toy::is_there(thread, without) && !omitted.any(|one| one.numbers.contains(pass))
        })
    }
}

impl Reducer for Toy {
    type Error = Infallible;

    fn first(
        &mut self,
        candidates: &Candidates<'_>,
        _: Effort,
    ) -> Result<Option<usize>, Infallible> {
        let mut all = 0..candidates.count;
        let found = all.find(|&number| self.fails(&(candidates.omissions)(number)));
        if let Some(number) = found {
            self.without = (candidates.omissions)(number);
        }
        Ok(found)
    }

    fn shorten(&mut self) -> Result<u64, Infallible> {
        Ok(0)
    }

    fn threads(&self) -> Vec<ThreadPath> {
        let paths = self.passes.keys().cloned();
        paths
            .filter(|path| Toy::is_there(path, &self.without))
            .collect()
    }

    fn blocks(&self) -> Vec<Block> {
        let block = |thread: ThreadPath| Block {
            gate: GATE,
            passes: self.passes[&thread],
            thread,
            first_child: 0,
            children: 0,
            starts: Vec::new(),
            pinned: Vec::new(),
        };
        self.threads().into_iter().map(block).collect()
    }

    fn events(&self) -> u64 {
        self.threads().len() as u64
    }

    fn has_time(&self) -> bool {
        true
    }
}

fn toy() -> impl Strategy<Value = Toy> {
    let thread = (1u32..5, prop::option::of(1u32..4), 0u64..8);
    let threads = prop::collection::vec(thread, 1..14);
    (threads, any::<u64>()).prop_map(|(threads, choice)| {
        let mut passes = BTreeMap::from([(ThreadPath::MAIN, 3)]);
        for (child, grandchild, count) in threads {
            let path = ThreadPath::MAIN.child(child);
            passes.entry(path.clone()).or_insert(count);
            if let Some(number) = grandchild {
                passes.insert(path.child(number), count);
            }
        }
        let every = { passes.iter() }
            .flat_map(|(path, count)| (0..*count).map(|pass| (path.clone(), pass)));
        let needed = { every.enumerate() }
            .filter(|(number, _)| (choice.rotate_right(*number as u32 * 5)) & 7 == 0)
            .map(|(_, element)| element);
        Toy {
            needed: needed.collect(),
            passes,
            without: Omissions::default(),
        }
    })
}

proptest! {
    #[test]
    fn what_is_left_fails_and_nothing_of_it_can_go(mut toy in toy()) {
        let mut omissions = Omissions::default();
        let Ok(()) = reduce(&mut toy, &mut omissions, |_| {});
        prop_assert_eq!(&omissions, &toy.without);
        prop_assert!(toy.fails(&omissions));
        // 1-minimal: each thread that is left is tried, and each pass.
        for path in toy.threads().into_iter().filter(|path| *path != ThreadPath::MAIN) {
            let mut fewer = omissions.clone();
            fewer.threads.push(path.clone());
            prop_assert!(!toy.fails(&fewer), "{} could go", path);
        }
        let omitted = |thread: &ThreadPath, pass: u64| {
            let mut lists = omissions.iterations.iter();
            lists.any(|one| one.thread == *thread && one.numbers.contains(&pass))
        };
        for thread in toy.threads() {
            for pass in 0..toy.passes[&thread] {
                let is_needed = toy.needed.contains(&(thread.clone(), pass));
                prop_assert_eq!(!omitted(&thread, pass), is_needed);
            }
        }
    }
}
