//! Execution indices as they are recorded while a program runs: figure 4 of
//! D. Weeratunge, X. Zhang, S. Jagannathan, "Analyzing Multicore Dumps to
//! Facilitate Concurrency Bug Reproduction", ASPLOS 2010.
//!
//! A stack per activation of a function: a branch pushes its outcome (rule 3), a
//! block pops what it is the immediate post-dominator of (rule 4), calls and returns
//! push and pop whole activations (rules 1 and 2). What the earlier iterations of a
//! loop have left on the stack is one item with the number of the iteration, as in
//! `bohr_program::index`; nothing else is put together here.

#![allow(dead_code, reason = "every test file uses a part of it")]

use bohr_program::graph::{Edge, LoopNumber, Nesting, Next};
use bohr_program::index::{Activation, Entry, Flows, Level};
use bohr_program::{BlockNumber, FunctionFlow, FunctionNumber};
use bohr_solve::path::Step;
use std::collections::BTreeMap;

/// An entry of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// A branch at the end of one block led to another.
    Branch(BlockNumber, BlockNumber),
    /// A loop is in this iteration.
    Iteration(LoopNumber, u64),
}

/// A function that has not returned, with its part of the stack.
#[derive(Clone, Debug)]
pub struct Recorded {
    pub function: FunctionNumber,
    pub block: BlockNumber,
    pub items: Vec<Item>,
    /// Iterations of its loops, those that were left included.
    iterations: BTreeMap<LoopNumber, u64>,
}

impl Recorded {
    /// What a core of this moment would tell.
    pub fn as_stopped(&self) -> Activation {
        Activation {
            function: self.function,
            block: self.block,
            call: None,
            iterations: self.iterations.clone(),
        }
    }

    fn enter(flow: &FunctionFlow, function: FunctionNumber) -> Recorded {
        let block = flow.graph.entry();
        let mut begun = Recorded {
            function,
            block,
            items: Vec::new(),
            iterations: BTreeMap::new(),
        };
        begun.enter_loop(flow, block);
        begun
    }

    fn go_on(&mut self, flow: &FunctionFlow, to: BlockNumber) {
        let from = std::mem::replace(&mut self.block, to);
        if flow.graph.edges(from).nth(1).is_some() {
            self.items.push(Item::Branch(from, to));
        }
        if let Some(number) = loop_at(flow, to)
            && flow.loops.get(number).contains(from)
        {
            self.repeat(number);
            return;
        }
        while self.items.last().is_some_and(|&item| ends(flow, item, to)) {
            self.items.pop();
        }
        self.enter_loop(flow, to);
    }

    fn enter_loop(&mut self, flow: &FunctionFlow, block: BlockNumber) {
        if let Some(number) = loop_at(flow, block) {
            self.iterations.insert(number, 1);
            self.items.push(Item::Iteration(number, 1));
        }
    }

    fn repeat(&mut self, number: LoopNumber) {
        let own = |item: &Item| matches!(item, Item::Iteration(other, _) if *other == number);
        let position = self.items.iter().rposition(own);
        self.items
            .truncate(position.map_or(0, |position| position + 1));
        if let Some(Item::Iteration(_, count)) = self.items.last_mut() {
            *count += 1;
            self.iterations.insert(number, *count);
        }
    }
}

/// The loop that begins at a block.
fn loop_at(flow: &FunctionFlow, block: BlockNumber) -> Option<LoopNumber> {
    let number = flow.loops.innermost(block)?;
    (flow.loops.get(number).header == block).then_some(number)
}

/// Rule 4: a loop ends where all outcomes of its predicate do.
fn ends(flow: &FunctionFlow, item: Item, at: BlockNumber) -> bool {
    let branch = match item {
        Item::Branch(from, _) => from,
        Item::Iteration(number, _) if flow.loops.get(number).contains(at) => return false,
        Item::Iteration(number, _) => (flow.loops).predicate(number, &flow.graph, &flow.dominators),
    };
    flow.post_dominators.immediate(branch) == Some(Next::Block(at))
}

/// Calls `at` with the stack, the outermost function first, wherever the thread has
/// begun a block. An exception ends it: where it goes on is not in the steps.
pub fn record(
    flows: &mut Flows<'_>,
    steps: &[Step],
    mut at: impl FnMut(&mut Flows<'_>, &[Recorded]),
) {
    let mut stack: Vec<Recorded> = Vec::new();
    for step in steps {
        match *step {
            Step::Enter(function) => {
                let Some(flow) = flows.of(function) else {
                    return;
                };
                stack.push(Recorded::enter(flow, function));
            }
            Step::Block(block) => {
                let Some(innermost) = stack.last_mut() else {
                    return;
                };
                let Some(flow) = flows.of(innermost.function) else {
                    return;
                };
                innermost.go_on(flow, block);
            }
            Step::Return => {
                stack.pop();
                continue;
            }
            Step::Land => return,
        }
        at(flows, &stack);
    }
}

/// Whether all that a place nests in is single or can be put together.
pub fn is_exact(flow: &FunctionFlow, recorded: &Recorded) -> bool {
    let apart = |nesting: &Nesting| matches!(nesting, Nesting::NotAggregatable { .. });
    let of_item = |item: &Item| match *item {
        Item::Branch(from, _) => !apart(flow.nestings.of(from)),
        Item::Iteration(number, _) => !apart(flow.nestings.around(number)),
    };
    !apart(flow.nestings.of(recorded.block)) && recorded.items.iter().all(of_item)
}

/// Whether the index says of a function what was recorded.
pub fn is_same(flow: &FunctionFlow, recorded: &Recorded, level: &Level) -> bool {
    let mut items = recorded.items.as_slice();
    let mut entries = level.entries.iter().peekable();
    while let Some(entry) = entries.next() {
        let rest = match entry {
            Entry::Method { .. } => Some(items),
            Entry::Branch { edges, .. } => behind(flow, items, edges),
            Entry::Iteration {
                number,
                count,
                decided,
            } => {
                let told = count.map(|count| Item::Iteration(*number, count));
                let rest = items.split_first().filter(|(item, _)| Some(**item) == told);
                let predicate = (flow.loops).predicate(*number, &flow.graph, &flow.dominators);
                let rest = rest.map(|(_, rest)| match rest.split_first() {
                    Some((Item::Branch(from, _), inner)) if *decided && *from == predicate => inner,
                    _ => rest,
                });
                rest.map(
                    |rest| match nests_in_iteration(flow, entries.peek(), recorded.block) {
                        true => behind_others(flow, rest, entries.peek()),
                        false => rest,
                    },
                )
            }
        };
        match rest {
            Some(rest) => items = rest,
            None => return false,
        }
    }
    items.is_empty()
}

/// Whether what comes next within an iteration is said to nest in the iteration as a
/// whole, and in no branch of it: the predicate at the bottom of a loop, and what has
/// dependences on the predicate beside others. The index tells no more of these.
fn nests_in_iteration(flow: &FunctionFlow, next: Option<&&Entry>, place: BlockNumber) -> bool {
    let nesting = match next {
        None => flow.nestings.of(place),
        Some(Entry::Branch { edges, .. }) => match edges.first() {
            Some(edge) => flow.nestings.of(edge.from),
            None => return false,
        },
        Some(Entry::Iteration { number, .. }) => flow.nestings.around(*number),
        Some(Entry::Method { .. }) => return false,
    };
    matches!(nesting, Nesting::Loop { .. })
}

/// What is left behind branches that lead to the next entry.
fn behind_others<'i>(flow: &FunctionFlow, items: &'i [Item], next: Option<&&Entry>) -> &'i [Item] {
    let is_next = |item: &Item| match (next, item) {
        (Some(Entry::Branch { edges, .. }), Item::Branch(from, to)) => {
            let way = |edge: &Edge| edge.from == *from && flow.graph.target(*edge) == *to;
            edges.iter().any(way)
        }
        (_, Item::Iteration(..)) => true,
        _ => false,
    };
    let position = items.iter().position(is_next).unwrap_or(items.len());
    &items[position..]
}

/// What comes behind one of these edges, of which there is one at the beginning, or one
/// behind others of the same expression.
fn behind<'i>(flow: &FunctionFlow, items: &'i [Item], edges: &[Edge]) -> Option<&'i [Item]> {
    let is_one = |item: &Item| {
        let way = |edge: &Edge| Item::Branch(edge.from, flow.graph.target(*edge));
        edges.iter().any(|edge| way(edge) == *item)
    };
    let first = edges.iter().map(|edge| edge.from);
    let root = first.reduce(|one, other| flow.dominators.common(one, other))?;
    let position = items.iter().position(is_one)?;
    let in_expression = |item: &Item| {
        let Item::Branch(from, _) = *item else {
            return false;
        };
        edges.len() > 1 && flow.dominators.dominates(root, from)
    };
    let (before, rest) = items.split_at(position);
    before.iter().all(in_expression).then(|| &rest[1..])
}
