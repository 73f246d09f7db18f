//! The control-flow graph of one function: blocks, their branches, and the
//! order in which a depth-first search from the entry meets them.

use super::adjacency::Adjacency;
use crate::BlockNumber;
use cranelift_entity::EntityRef;
use std::fmt;

/// Which way a branch goes: the position of the target in the list of
/// successors of its block. Where several positions name the same target (the
/// cases of a switch), the first of them stands for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Outcome(pub u32);

/// One way out of a block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge {
    /// The block that branches.
    pub from: BlockNumber,
    /// Which way.
    pub outcome: Outcome,
}

impl fmt::Display for Edge {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}", self.from, self.outcome.0)
    }
}

impl fmt::Debug for Edge {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

/// A control-flow graph. The first block is the entry; blocks without
/// successors leave the function, by returning or by not returning.
///
/// ```
/// use bohr_program::BlockNumber;
/// use bohr_program::graph::{FlowGraph};
///
/// let [b0, b1, b2] = [0, 1, 2].map(BlockNumber::from_u32);
/// let graph = FlowGraph::new([vec![b1, b2], vec![b2], vec![]]);
/// assert_eq!(graph.predecessors(b2), [b0, b1]);
/// assert_eq!(graph.reverse_postorder(), [b0, b1, b2]);
/// ```
#[derive(Clone, Debug)]
pub struct FlowGraph {
    forward: Adjacency,
    successors: Vec<Vec<BlockNumber>>,
    predecessors: Vec<Vec<BlockNumber>>,
    /// Reachable blocks only.
    reverse_postorder: Vec<BlockNumber>,
    /// Place in `reverse_postorder`; `None` for unreachable blocks.
    position: Vec<Option<u32>>,
}

impl FlowGraph {
    /// A graph from the successor list of each block, in the order of the
    /// blocks' numbers.
    ///
    /// # Panics
    /// If a list names a block that has no list itself.
    pub fn new(successors: impl IntoIterator<Item = Vec<BlockNumber>>) -> FlowGraph {
        let successors: Vec<Vec<BlockNumber>> = successors.into_iter().collect();
        let forward = Adjacency::from_lists(
            successors
                .iter()
                .map(|list| list.iter().map(|block| block.as_u32())),
        );
        let mut predecessors = vec![Vec::new(); successors.len()];
        for (from, list) in blocks(successors.len()).zip(&successors) {
            for to in distinct(list) {
                predecessors[to.index()].push(from);
            }
        }
        let mut order = if successors.is_empty() {
            Vec::new()
        } else {
            forward.postorder(0)
        };
        order.reverse();
        let mut position = vec![None; successors.len()];
        for (place, &node) in (0..).zip(&order) {
            position[node as usize] = Some(place);
        }
        let reverse_postorder = order.into_iter().map(BlockNumber::from_u32).collect();
        FlowGraph {
            forward,
            successors,
            predecessors,
            reverse_postorder,
            position,
        }
    }

    /// How many blocks, unreachable ones included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.successors.len()
    }

    /// Whether there is no block at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.successors.is_empty()
    }

    /// The block that the function begins with.
    #[must_use]
    pub fn entry(&self) -> BlockNumber {
        BlockNumber::from_u32(0)
    }

    /// Every block, by number.
    pub fn blocks(&self) -> impl Iterator<Item = BlockNumber> + use<> {
        blocks(self.len())
    }

    /// Where `block` can go, one entry per outcome.
    #[must_use]
    pub fn successors(&self, block: BlockNumber) -> &[BlockNumber] {
        &self.successors[block.index()]
    }

    /// The blocks that can go to `block`, each once, ascending.
    #[must_use]
    pub fn predecessors(&self, block: BlockNumber) -> &[BlockNumber] {
        &self.predecessors[block.index()]
    }

    /// The ways out of `block`, one per distinct target.
    pub fn edges(&self, block: BlockNumber) -> impl Iterator<Item = (Edge, BlockNumber)> + '_ {
        let list = self.successors(block);
        (0..).zip(list).filter_map(move |(outcome, &to)| {
            let first = !list[..outcome as usize].contains(&to);
            first.then_some((
                Edge {
                    from: block,
                    outcome: Outcome(outcome),
                },
                to,
            ))
        })
    }

    /// Where an edge goes.
    #[must_use]
    pub fn target(&self, edge: Edge) -> BlockNumber {
        self.successors(edge.from)[edge.outcome.0 as usize]
    }

    /// Whether the function can get to `block` at all.
    #[must_use]
    pub fn is_reachable(&self, block: BlockNumber) -> bool {
        self.position[block.index()].is_some()
    }

    /// The reachable blocks, every block before its successors unless a cycle
    /// leads back.
    #[must_use]
    pub fn reverse_postorder(&self) -> &[BlockNumber] {
        &self.reverse_postorder
    }

    /// The place of `block` in [`FlowGraph::reverse_postorder`].
    #[must_use]
    pub fn position(&self, block: BlockNumber) -> Option<u32> {
        self.position[block.index()]
    }

    /// The successor lists as plain numbers.
    pub(crate) fn adjacency(&self) -> &Adjacency {
        &self.forward
    }
}

fn blocks(len: usize) -> impl Iterator<Item = BlockNumber> + use<> {
    (0..len as u32).map(BlockNumber::from_u32)
}

fn distinct(list: &[BlockNumber]) -> impl Iterator<Item = BlockNumber> + '_ {
    list.iter()
        .enumerate()
        .filter(|(place, to)| !list[..*place].contains(to))
        .map(|(_, &to)| to)
}
