//! Reduction against its definition, on executions that are nothing but a tree
//! of threads and the passes that each makes through one block.

use bohr_event::ThreadPath;
use bohr_event::control::{GateReference, Omissions};
use bohr_reduce::reduction::{Block, Candidates, Cut, Effort, Reducer, reduce};
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
    /// How many passes it needs in all, whoever makes them. The old schedule does not
    /// know who could make them for a thread that is gone.
    in_all: u64,
    without: Omissions,
    /// Threads that may be serial, and those that are.
    may_be_serial: BTreeSet<ThreadPath>,
    serial: Vec<ThreadPath>,
    /// Whether it is taken for a long one.
    long: bool,
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
            Toy::is_there(thread, without) && !omitted.any(|one| one.has(*pass))
        })
    }
}

impl Toy {
    fn passes_made(&self, cut: &Cut) -> u64 {
        let there = { self.passes.keys() }.filter(|path| Toy::is_there(path, &cut.without));
        self.left(cut) - there.count() as u64
    }
}

impl Reducer for Toy {
    type Error = Infallible;

    fn first(
        &mut self,
        candidates: &Candidates<'_>,
        effort: Effort,
    ) -> Result<Option<usize>, Infallible> {
        let mut all = 0..candidates.count;
        let found = all.find(|&number| {
            let cut = (candidates.cut)(number);
            let Cut { without, serial } = &cut;
            let may = serial.iter().all(|path| self.may_be_serial.contains(path));
            let is_known = self.in_all == 0
                || effort == Effort::Searching
                || without.threads == self.without.threads;
            may && is_known && self.fails(without) && self.passes_made(&cut) >= self.in_all
        });
        if let Some(number) = found {
            let cut = (candidates.cut)(number);
            (self.without, self.serial) = (cut.without, cut.serial);
        }
        Ok(found)
    }

    fn shorten(&mut self, _: bool) -> Result<u64, Infallible> {
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
            length: 0,
            pinned: Vec::new(),
            joins: false,
        };
        self.threads().into_iter().map(block).collect()
    }

    fn pinned(&self, _: &Block, _: &Omissions) -> Vec<u64> {
        Vec::new()
    }

    fn left(&self, cut: &Cut) -> u64 {
        let there = { self.passes.iter() }.filter(|(path, _)| Toy::is_there(path, &cut.without));
        let left = there.map(|(path, passes)| {
            let omitted = cut.without.iterations.iter();
            let mut omitted = omitted.filter(|one| one.thread == *path);
            let omitted = omitted.next();
            let made = |pass: &u64| !omitted.is_some_and(|one| one.has(*pass));
            1 + (0..*passes).filter(made).count() as u64
        });
        left.sum()
    }

    fn is_long(&self) -> bool {
        self.long
    }

    fn events(&self) -> u64 {
        self.left(&Cut {
            without: self.without.clone(),
            serial: Vec::new(),
        })
    }

    fn has_time(&self) -> bool {
        true
    }

    fn confirm(&mut self, _: bool) -> Result<Cut, Infallible> {
        Ok(Cut {
            without: self.without.clone(),
            serial: self.serial.clone(),
        })
    }
}

fn toy() -> impl Strategy<Value = Toy> {
    // Some with more passes than anybody tries in vain at first.
    let count = prop_oneof![4 => 0u64..8, 1 => Just(90u64)];
    let thread = (1u32..5, prop::option::of(1u32..4), count);
    let threads = prop::collection::vec(thread, 1..14);
    (threads, any::<u64>(), any::<bool>()).prop_map(|(threads, choice, long)| {
        let few = choice % 3 == 0;
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
            .filter(|(number, _)| !few || *number < 3)
            .filter(|(number, _)| (choice.rotate_right(*number as u32 * 5)) & 7 == 0)
            .map(|(_, element)| element);
        Toy {
            needed: needed.collect(),
            in_all: 0,
            may_be_serial: { passes.keys() }
                .filter(|path| path.depth() > 0 && path.steps().last().is_some_and(|n| n % 2 == 0))
                .cloned()
                .collect(),
            passes,
            without: Omissions::default(),
            serial: Vec::new(),
            long,
        }
    })
}

proptest! {
    #[test]
    fn what_is_left_fails_and_nothing_of_it_can_go(mut toy in toy()) {
        let mut cut = Cut::default();
        let Ok(minimal) = reduce(&mut toy, &mut cut, |_| {});
        prop_assert!(minimal);
        let Cut { without: omissions, serial } = cut;
        prop_assert_eq!(&omissions, &toy.without);
        let left = toy.threads();
        let may: Vec<_> = left.iter().filter(|path| toy.may_be_serial.contains(path)).collect();
        prop_assert_eq!(serial.iter().collect::<Vec<_>>(), may);
        prop_assert!(toy.fails(&omissions));
        // 1-minimal: each thread that is left is tried, and each pass.
        for path in toy.threads().into_iter().filter(|path| *path != ThreadPath::MAIN) {
            let mut fewer = omissions.clone();
            fewer.threads.push(path.clone());
            prop_assert!(!toy.fails(&fewer), "{} could go", path);
        }
        let omitted = |thread: &ThreadPath, pass: u64| {
            let mut lists = omissions.iterations.iter();
            lists.any(|one| one.thread == *thread && one.has(pass))
        };
        for thread in toy.threads() {
            for pass in 0..toy.passes[&thread] {
                let is_needed = toy.needed.contains(&(thread.clone(), pass));
                prop_assert_eq!(!omitted(&thread, pass), is_needed);
            }
        }
    }
}

/// A buffer of eight places fails when it is full, whoever fills it: two threads can,
/// unless the passes that they would have to make went before the third thread did.
#[test]
fn threads_go_before_the_passes_that_others_need_for_that() {
    let children = (1..=3).map(|number| (ThreadPath::MAIN.child(number), 6));
    let passes = [(ThreadPath::MAIN, 0)].into_iter().chain(children);
    let mut toy = Toy {
        passes: passes.collect(),
        needed: BTreeSet::new(),
        in_all: 8,
        without: Omissions::default(),
        may_be_serial: BTreeSet::new(),
        serial: Vec::new(),
        long: false,
    };
    let mut cut = Cut::default();
    let Ok(_) = reduce(&mut toy, &mut cut, |_| {});
    assert_eq!(toy.threads().len(), 3, "main and two more");
    assert_eq!(toy.passes_made(&cut), 8);
}
