//! Natural loops and how they nest.
//!
//! A. Aho, M. Lam, R. Sethi, J. Ullman, "Compilers", 2nd edition, section
//! 9.6.6: a back edge goes to a block that dominates its source; the natural
//! loop of a header holds every block that reaches one of its latches without
//! passing the header. Loops with the same header are one loop. Cycles with
//! several entries have no such header; [`IrreducibleRegion`] names them.
//!
//! [`IrreducibleRegion`]: super::IrreducibleRegion

use super::dominators::Dominators;
use super::flow::{Edge, FlowGraph};
use crate::BlockNumber;
use cranelift_entity::{EntityRef, PrimaryMap, entity_impl};

/// A loop of one function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LoopNumber(u32);
entity_impl!(LoopNumber, "loop");

/// What makes up a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The only block through which the loop is entered.
    pub header: BlockNumber,
    /// The blocks that go back to the header, ascending.
    pub latches: Vec<BlockNumber>,
    /// All blocks, header and inner loops included, ascending.
    pub blocks: Vec<BlockNumber>,
    /// The edges that leave it, ascending.
    pub exits: Vec<Edge>,
    /// The loop around it.
    pub parent: Option<LoopNumber>,
    /// 1 for an outermost loop.
    pub depth: u32,
}

impl Loop {
    /// Whether `block` belongs to the loop.
    #[must_use]
    pub fn contains(&self, block: BlockNumber) -> bool {
        self.blocks.binary_search(&block).is_ok()
    }
}

/// The loops of a function, outer ones before the loops inside them.
///
/// ```
/// use bohr_program::BlockNumber;
/// use bohr_program::graph::{Dominators, FlowGraph, Loops};
///
/// let [b0, b1, b2] = [0, 1, 2].map(BlockNumber::from_u32);
/// let graph = FlowGraph::new([vec![b1], vec![b1, b2], vec![]]);
/// let loops = Loops::new(&graph, &Dominators::new(&graph));
/// let (number, shape) = loops.iter().next().unwrap();
/// assert_eq!((shape.header, shape.latches.as_slice()), (b1, [b1].as_slice()));
/// assert_eq!(loops.innermost(b1), Some(number));
/// ```
#[derive(Clone, Debug)]
pub struct Loops {
    loops: PrimaryMap<LoopNumber, Loop>,
    innermost: Vec<Option<LoopNumber>>,
}

impl Loops {
    /// Finds them.
    #[must_use]
    pub fn new(graph: &FlowGraph, dominators: &Dominators) -> Loops {
        let mut loops = Loops {
            loops: PrimaryMap::new(),
            innermost: vec![None; graph.len()],
        };
        // A loop's header comes before the headers of the loops inside it.
        for &header in graph.reverse_postorder() {
            let latches: Vec<BlockNumber> = graph.predecessors(header).to_vec();
            let latches: Vec<BlockNumber> = latches
                .into_iter()
                .filter(|&from| dominators.dominates(header, from))
                .collect();
            if !latches.is_empty() {
                loops.add(graph, header, latches);
            }
        }
        loops
    }

    fn add(&mut self, graph: &FlowGraph, header: BlockNumber, latches: Vec<BlockNumber>) {
        let blocks = body(graph, header, &latches);
        let inside = |block: BlockNumber| blocks.binary_search(&block).is_ok();
        let exits = blocks
            .iter()
            .flat_map(|&block| graph.edges(block))
            .filter_map(|(edge, to)| (!inside(to)).then_some(edge))
            .collect();
        let parent = self.innermost(header);
        let depth = 1 + parent.map_or(0, |parent| self.loops[parent].depth);
        let number = self.loops.next_key();
        for block in &blocks {
            self.innermost[block.index()] = Some(number);
        }
        self.loops.push(Loop {
            header,
            latches,
            blocks,
            exits,
            parent,
            depth,
        });
    }

    /// How many loops.
    #[must_use]
    pub fn len(&self) -> usize {
        self.loops.len()
    }

    /// Whether the function has no loop.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.loops.is_empty()
    }

    /// Every loop, outer before inner.
    pub fn iter(&self) -> impl Iterator<Item = (LoopNumber, &Loop)> {
        self.loops.iter()
    }

    /// One loop.
    #[must_use]
    pub fn get(&self, number: LoopNumber) -> &Loop {
        &self.loops[number]
    }

    /// The smallest loop around `block`.
    #[must_use]
    pub fn innermost(&self, block: BlockNumber) -> Option<LoopNumber> {
        self.innermost[block.index()]
    }

    /// The branch that decides whether another iteration follows, which every
    /// iteration passes: the header if it can leave the loop; else the latch if
    /// there is one and it can; else the first block that can and dominates all
    /// latches. A loop without such a branch is counted at its header.
    #[must_use]
    pub fn predicate(
        &self,
        number: LoopNumber,
        graph: &FlowGraph,
        dominators: &Dominators,
    ) -> BlockNumber {
        let shape = &self.loops[number];
        let leaves = |block: BlockNumber| shape.exits.iter().any(|exit| exit.from == block);
        match shape.latches.as_slice() {
            _ if leaves(shape.header) => return shape.header,
            [latch] if leaves(*latch) => return *latch,
            _ => {}
        }
        let every_time = |block: &BlockNumber| {
            shape
                .latches
                .iter()
                .all(|&latch| dominators.dominates(*block, latch))
        };
        let leaving = shape.exits.iter().map(|exit| exit.from).filter(every_time);
        leaving
            .min_by_key(|&block| graph.position(block))
            .unwrap_or(shape.header)
    }
}

/// The blocks that reach a latch without passing the header, and the header.
fn body(graph: &FlowGraph, header: BlockNumber, latches: &[BlockNumber]) -> Vec<BlockNumber> {
    let mut inside = vec![false; graph.len()];
    inside[header.index()] = true;
    let mut blocks = vec![header];
    let mut work = latches.to_vec();
    while let Some(block) = work.pop() {
        if graph.is_reachable(block) && !std::mem::replace(&mut inside[block.index()], true) {
            blocks.push(block);
            work.extend_from_slice(graph.predecessors(block));
        }
    }
    blocks.sort_unstable();
    blocks
}
