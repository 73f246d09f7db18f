//! Loops that a thread leaves only when a variable says so: around a wait on a
//! condition, around a sleep, around nothing at all.
//!
//! A loop *awaits* if every edge by which it is left, but for those to blocks from which
//! the function never returns, goes by one load and constants. What is looked at is the
//! loop and the tests in front of it, since compilers turn `while (!ready) wait()` into
//! `if (!ready) do wait(); while (!ready);`. Which call waits does not matter, nor whether
//! one does: whoever is behind such a loop has read a value that opens it. Where the thread
//! may let itself out, the loop awaits nothing (`own.rs`).
//!
//! A load may stand in a function that the loop alone asks (`predicate.rs`).
//!
//! Limits. Tests of two variables at once (`head == tail`), of what went through a
//! variable on the stack or a function that others ask, too (atomics without
//! optimisation), and loops that can be left otherwise (a time limit, a `break`) are not
//! understood, and are no such loops.

mod own;
mod predicate;
mod test;

use own::Own;
pub use predicate::{Asking, Predicates};
pub use test::AwaitTest;

use crate::flow::FunctionFlow;
use crate::function::Body;
use crate::graph::Loop;
use crate::ids::{BlockNumber, FunctionNumber};
use crate::instruction::Operation;
use crate::program::Program;
use std::collections::BTreeSet;

/// A loop with the tests in front of it: nobody comes behind it unless one of them
/// opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Await {
    /// In the order of their blocks, with the loads of pointers to what they look at.
    pub tests: Vec<AwaitTest>,
}

impl Program {
    /// The loops of a function that await something, in a program with these predicates.
    #[must_use]
    pub fn awaits(&self, function: FunctionNumber, predicates: &Predicates) -> Vec<Await> {
        let Some(body) = self.functions[function].body.as_ref() else {
            return Vec::new();
        };
        let Some(flow) = FunctionFlow::new(self, function) else {
            return Vec::new();
        };
        let leads_on = leads_on(&flow, body);
        let loops = flow.loops.iter();
        let search = |(_, shape): (_, &Loop)| {
            let search = Search {
                program: self,
                predicates,
                function,
                body,
                flow: &flow,
                leads_on: &leads_on,
            };
            search.of(shape)
        };
        loops.filter_map(search).collect()
    }
}

/// The blocks from which the function can return, or go on for ever.
fn leads_on(flow: &FunctionFlow, body: &Body) -> BTreeSet<BlockNumber> {
    let returns = |block: &BlockNumber| {
        let ends = matches!(body.terminator(*block).operation, Operation::Return { .. });
        ends && flow.graph.is_reachable(*block)
    };
    let headers = flow.loops.iter().map(|(_, shape)| shape.header);
    let mut work: Vec<BlockNumber> = body.blocks.keys().filter(returns).chain(headers).collect();
    let mut found = BTreeSet::new();
    while let Some(block) = work.pop() {
        if found.insert(block) {
            work.extend_from_slice(flow.graph.predecessors(block));
        }
    }
    found
}

struct Search<'a> {
    program: &'a Program,
    predicates: &'a Predicates,
    function: FunctionNumber,
    body: &'a Body,
    flow: &'a FunctionFlow,
    leads_on: &'a BTreeSet<BlockNumber>,
}

/// A loop, with what was found to belong to it.
struct Region {
    blocks: BTreeSet<BlockNumber>,
    /// Where whoever leaves it arrives.
    behind: BTreeSet<BlockNumber>,
    /// The blocks that end with a test.
    testing: BTreeSet<BlockNumber>,
}

impl Search<'_> {
    fn of(&self, shape: &Loop) -> Option<Await> {
        let mut region = Region {
            blocks: shape.blocks.iter().copied().collect(),
            behind: BTreeSet::new(),
            testing: BTreeSet::new(),
        };
        for exit in &shape.exits {
            let to = self.flow.graph.successors(exit.from)[exit.outcome.0 as usize];
            if self.leads_on.contains(&to) {
                region.testing.insert(exit.from);
                region.behind.insert(self.forwarded(to));
            }
        }
        let mut tests: Vec<AwaitTest> = { region.testing.iter() }
            .map(|block| self.test(*block, &region))
            .collect::<Option<_>>()?;
        let mut work = vec![shape.header];
        while let Some(entry) = work.pop() {
            for block in self.entering(entry, &region) {
                if let Some(test) = self.guard(block, &region, &tests) {
                    region.blocks.insert(block);
                    tests.push(test);
                    work.push(block);
                }
            }
        }
        if tests.is_empty() {
            return None;
        }
        let own = Own {
            program: self.program,
            predicates: self.predicates,
            function: self.function,
            body: self.body,
            layouts: self.program.layouts(),
            blocks: &region.blocks,
        };
        let pointers: Vec<_> = { tests.iter() }
            .map(|test| own.pointers(test))
            .collect::<Option<_>>()?;
        if own.writes(&tests, &shape.blocks) {
            return None;
        }
        own.unite(&mut tests);
        let mut pointers: BTreeSet<_> = pointers.into_iter().flatten().collect();
        pointers.retain(|site| tests.iter().all(|test| test.site != *site));
        let pointers = pointers.into_iter();
        tests.extend(pointers.filter_map(|site| AwaitTest::of_pointer(self.program, site)));
        tests.sort_by_key(|test| test.site);
        Some(Await { tests })
    }

    /// The test at the end of a block of the loop.
    fn test(&self, block: BlockNumber, region: &Region) -> Option<AwaitTest> {
        let stays = |to: BlockNumber| {
            region.blocks.contains(&self.forwarded(to)) || !self.leads_on.contains(&to)
        };
        let at = test::At {
            program: self.program,
            predicates: self.predicates,
            function: self.function,
        };
        at.test(block, &stays)
    }

    /// The test in front of a loop: it leads into the loop or to what is behind it. What
    /// tests the same as the loop may lead further on: compilers know already how a branch
    /// there will go.
    fn guard(&self, block: BlockNumber, region: &Region, tests: &[AwaitTest]) -> Option<AwaitTest> {
        let test = self.test(block, region)?;
        let known = |to: &&BlockNumber| {
            let to = self.forwarded(**to);
            region.blocks.contains(&to) || region.behind.contains(&to)
        };
        let targets = self.flow.graph.successors(block).iter();
        let mut targets = targets.filter(|to| self.leads_on.contains(to));
        let is_again = tests.iter().any(|other| test.reads_the_same(other));
        (is_again || targets.all(|to| known(&to))).then_some(test)
    }

    /// The blocks outside from which control comes to a block of the region, those in
    /// between left out that only lead on.
    fn entering(&self, entry: BlockNumber, region: &Region) -> Vec<BlockNumber> {
        let mut found = Vec::new();
        let mut work = vec![entry];
        let mut seen = BTreeSet::new();
        while let Some(block) = work.pop() {
            for &from in self.flow.graph.predecessors(block) {
                if region.blocks.contains(&from) || !seen.insert(from) {
                    continue;
                }
                match self.only_leads_on(from) {
                    Some(_) => work.push(from),
                    None => found.push(from),
                }
            }
        }
        found
    }

    /// Where control comes from a block on, past blocks that do nothing.
    fn forwarded(&self, block: BlockNumber) -> BlockNumber {
        let mut at = block;
        // No longer than there are blocks: empty ones can make a circle.
        for _ in 0..self.body.blocks.len() {
            match self.only_leads_on(at) {
                Some(next) => at = next,
                None => break,
            }
        }
        at
    }

    /// The next block of one that computes at most.
    fn only_leads_on(&self, block: BlockNumber) -> Option<BlockNumber> {
        let Operation::Branch { target } = self.body.terminator(block).operation else {
            return None;
        };
        let mut work = self.body.block(block);
        work.all(|(_, one)| {
            one.operation.is_terminator()
                || matches!(one.operation, Operation::Phi { .. })
                || self.program.is_pure(self.body, one)
        })
        .then_some(target)
    }
}
