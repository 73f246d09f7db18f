//! Where in its execution a thread was, in words that hold in other executions:
//! the calls, iterations and branches that its place is nested in, from the
//! thread's start to the place.
//!
//! D. Weeratunge, X. Zhang, S. Jagannathan, "Analyzing Multicore Dumps to
//! Facilitate Concurrency Bug Reproduction", ASPLOS 2010, section 3: algorithm 1
//! makes such an index of what a core file tells ([`Index::of`]), the rules of
//! figure 7 find its place in another run ([`route`]).
//!
//! Deviations: the entry of a method carries the call that led to it, since two
//! calls of one function in one region would pass for each other; a loop is one
//! entry with its iteration and not as many entries as it has had iterations; a
//! place behind a predicate at the bottom of its loop nests in no outcome of it
//! during the first iteration, and that predicate itself nests in its iteration, whatever
//! branches of it have led there; branches inside a loop that cannot be put together
//! nest in its iteration, if nothing closer encloses them all.

mod points;
mod route;

pub use points::{BLOCK_COUNTER, PointNumber, Points};
pub use route::{Route, Step, StepKind, counted, route};

use crate::flow::FunctionFlow;
use crate::graph::{Edge, LoopNumber, Nesting};
use crate::ids::{BlockNumber, FunctionNumber, InstructionNumber};
use crate::program::Program;
use std::collections::{BTreeMap, HashMap};

/// One function of a stack, as a stopped process shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activation {
    /// The function.
    pub function: FunctionNumber,
    /// The block it is in.
    pub block: BlockNumber,
    /// The call that it is in, if it is in one.
    pub call: Option<InstructionNumber>,
    /// The iterations that its loops are in, as far as they are known.
    pub iterations: BTreeMap<LoopNumber, u64>,
}

/// A part of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A function is entered.
    Method {
        /// Which.
        function: FunctionNumber,
        /// By this call of the function around; at a thread's start there is none.
        call: Option<InstructionNumber>,
    },
    /// A loop has begun an iteration.
    Iteration {
        /// Which loop.
        number: LoopNumber,
        /// Which iteration, from 1; `None` if nothing told.
        count: Option<u64>,
        /// Whether the loop's predicate has been evaluated in that iteration.
        decided: bool,
    },
    /// A branch, or several that count as one, went one of these ways.
    Branch {
        /// The ways.
        edges: Vec<Edge>,
        /// Whether other branches decided as well, which cannot be put together:
        /// this is the closest that all of them nest in.
        skips: bool,
    },
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    /// The functions, the outermost first.
    pub levels: Vec<Level>,
}

/// What an index says of one function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// Entering it.
    pub entered: Entry,
    /// What its place nests in, from the outside to the inside.
    pub entries: Vec<Entry>,
    /// The place.
    pub place: Activation,
}

/// The control flow of functions, analysed when somebody asks.
pub struct Flows<'p> {
    program: &'p Program,
    known: HashMap<FunctionNumber, Option<FunctionFlow>>,
}

impl<'p> Flows<'p> {
    /// Of this program.
    #[must_use]
    pub fn new(program: &'p Program) -> Flows<'p> {
        Flows {
            program,
            known: HashMap::new(),
        }
    }

    /// Of a function; `None` if it is only declared.
    pub fn of(&mut self, function: FunctionNumber) -> Option<&FunctionFlow> {
        let program = self.program;
        let flow = self.known.entry(function);
        flow.or_insert_with(|| FunctionFlow::new(program, function))
            .as_ref()
    }
}

impl Index {
    /// Algorithm 1: of a stack, the outermost function first.
    #[must_use]
    pub fn of(flows: &mut Flows<'_>, stack: &[Activation]) -> Index {
        let mut levels: Vec<Level> = Vec::new();
        for place in stack {
            let Some(flow) = flows.of(place.function) else {
                continue;
            };
            levels.push(Level {
                entered: Entry::Method {
                    function: place.function,
                    call: levels.last().and_then(|outer| outer.place.call),
                },
                entries: nested_in(flow, place),
                place: place.clone(),
            });
        }
        Index { levels }
    }

    /// How many entries it has; a loop counts once.
    #[must_use]
    pub fn len(&self) -> usize {
        let entries = self.levels.iter().map(|level| 1 + level.entries.len());
        entries.sum()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.levels.is_empty()
    }
}

/// What a place nests in, within its function.
fn nested_in(flow: &FunctionFlow, place: &Activation) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut block = place.block;
    let mut nesting = of_block(flow, block);
    // Every round leads outwards, or to an earlier block: dependences that go
    // round in a circle (irreducible regions) end here.
    for _ in 0..=2 * flow.graph.len() {
        nesting = match nesting {
            Nesting::Body => break,
            Nesting::One(edge) => {
                entries.push(Entry::Branch {
                    edges: vec![edge],
                    skips: false,
                });
                block = edge.from;
                of_block(flow, block)
            }
            Nesting::Aggregated { root, edges } => {
                entries.push(Entry::Branch {
                    edges,
                    skips: false,
                });
                block = root;
                of_block(flow, block)
            }
            Nesting::NotAggregatable { ancestor, .. } => {
                let Some(edge) = ancestor else {
                    break;
                };
                entries.push(Entry::Branch {
                    edges: vec![edge],
                    skips: true,
                });
                block = edge.from;
                of_block(flow, block)
            }
            Nesting::Loop { number, predicate } => {
                let behind = predicate != block && flow.dominators.dominates(predicate, block);
                entries.push(Entry::Iteration {
                    number,
                    count: place.iterations.get(&number).copied(),
                    decided: behind,
                });
                // From here on it is about the loop as a whole.
                let shape = flow.loops.get(number);
                block = shape.header;
                in_iterations(flow, flow.nestings.around(number), block, shape.parent)
            }
        };
    }
    entries.reverse();
    entries
}

/// What a block nests in.
fn of_block(flow: &FunctionFlow, block: BlockNumber) -> Nesting {
    let around = flow.loops.innermost(block);
    in_iterations(flow, flow.nestings.of(block), block, around)
}

/// What a block, or the loop that it is the header of, nests in, given the innermost
/// loop around it. What runs in the first iteration whatever the predicate at the
/// bottom of its loop will say nests in an iteration, and not in an outcome of that
/// predicate; nor can an iteration be left out where branches are.
fn in_iterations(
    flow: &FunctionFlow,
    nesting: &Nesting,
    block: BlockNumber,
    around: Option<LoopNumber>,
) -> Nesting {
    let number = match nesting {
        Nesting::One(edge)
            if edge.from == block || !flow.dominators.dominates(edge.from, block) =>
        {
            loop_decided_by(flow, edge.from, block)
        }
        Nesting::NotAggregatable { ancestor, .. } => around.filter(|&number| {
            let shape = flow.loops.get(number);
            !ancestor.is_some_and(|edge| shape.contains(edge.from))
        }),
        _ => None,
    };
    match number {
        Some(number) => Nesting::Loop {
            number,
            predicate: flow.loops.predicate(number, &flow.graph, &flow.dominators),
        },
        None => nesting.clone(),
    }
}

/// The loop around a block whose predicate this branch is.
fn loop_decided_by(
    flow: &FunctionFlow,
    branch: BlockNumber,
    block: BlockNumber,
) -> Option<LoopNumber> {
    let around = |number: LoopNumber| flow.loops.get(number).parent;
    let mut loops = std::iter::successors(flow.loops.innermost(block), |&number| around(number));
    loops.find(|&number| {
        let predicate = flow.loops.predicate(number, &flow.graph, &flow.dominators);
        predicate == branch
    })
}
