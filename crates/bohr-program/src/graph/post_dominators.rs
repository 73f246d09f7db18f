//! Post-dominators: which blocks every path from a block to the function's end
//! goes through.
//!
//! They are the dominators of the reversed graph, seen from a virtual exit
//! that these blocks lead to:
//!
//! - every reachable block without successors, whether it returns, unwinds or
//!   calls something that does not return;
//! - one block of every cycle that cannot be left. A set of blocks that reach
//!   one another and nothing else would otherwise have no post-dominators at
//!   all. The block is the first of the set in reverse postorder, which for a
//!   natural loop is its header: `for (;;)` is treated as `while (true)`, so its
//!   body depends on the header as it would on a loop condition.

use super::adjacency::Adjacency;
use super::components::Components;
use super::dominators::DominatorTree;
use super::flow::FlowGraph;
use crate::BlockNumber;

/// What comes next on every way out of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// This block is always passed.
    Block(BlockNumber),
    /// The ways out have nothing in common but the end of the function.
    Exit,
}

/// The post-dominator tree of a function. Unreachable blocks are not in it.
///
/// ```
/// use bohr_program::BlockNumber;
/// use bohr_program::graph::{FlowGraph, Next, PostDominators};
///
/// let [b0, b1, b2] = [0, 1, 2].map(BlockNumber::from_u32);
/// let graph = FlowGraph::new([vec![b1, b2], vec![b2], vec![]]);
/// let post = PostDominators::new(&graph);
/// assert_eq!(post.immediate(b0), Some(Next::Block(b2)));
/// assert_eq!(post.immediate(b2), Some(Next::Exit));
/// ```
#[derive(Clone, Debug)]
pub struct PostDominators {
    tree: DominatorTree,
    exit: u32,
    endless: Vec<BlockNumber>,
}

impl PostDominators {
    /// Computes the tree.
    #[must_use]
    pub fn new(graph: &FlowGraph) -> PostDominators {
        let exit = graph.len() as u32;
        let endless = endless(graph);
        let ends = graph.reverse_postorder().iter().copied();
        let ends = ends.filter(|&block| graph.successors(block).is_empty());
        let mut edges: Vec<(u32, u32)> = ends
            .chain(endless.iter().copied())
            .map(|block| (exit, block.as_u32()))
            .collect();
        for (from, to) in graph.adjacency().edges() {
            if graph.is_reachable(BlockNumber::from_u32(from)) {
                edges.push((to, from));
            }
        }
        let tree = DominatorTree::new(&Adjacency::from_edges(exit + 1, &edges), exit);
        PostDominators {
            tree,
            exit,
            endless,
        }
    }

    /// The closest strict post-dominator; none for unreachable blocks.
    #[must_use]
    pub fn immediate(&self, block: BlockNumber) -> Option<Next> {
        let parent = self.tree.parent(block.as_u32())?;
        Some(if parent == self.exit {
            Next::Exit
        } else {
            Next::Block(BlockNumber::from_u32(parent))
        })
    }

    /// Whether every path from `before` to the exit goes through `after`.
    /// A reachable block post-dominates itself.
    #[must_use]
    pub fn post_dominates(&self, after: BlockNumber, before: BlockNumber) -> bool {
        self.tree.dominates(after.as_u32(), before.as_u32())
    }

    /// The blocks that stand for the end of cycles which cannot be left.
    #[must_use]
    pub fn endless(&self) -> &[BlockNumber] {
        &self.endless
    }
}

/// The first block of each reachable cycle without a way out.
fn endless(graph: &FlowGraph) -> Vec<BlockNumber> {
    let nodes = graph.adjacency();
    let components = Components::among(nodes, |node| {
        graph.is_reachable(BlockNumber::from_u32(node))
    });
    let mut found: Vec<BlockNumber> = (0u32..)
        .zip(components.members())
        .filter(|&(number, members)| {
            let stays = |&to: &u32| components.of(to) == Some(number);
            components.is_cyclic(number, nodes)
                && members
                    .iter()
                    .all(|&node| nodes.successors(node).iter().all(stays))
        })
        .filter_map(|(_, members)| {
            let blocks = members.iter().map(|&node| BlockNumber::from_u32(node));
            blocks.min_by_key(|&block| graph.position(block))
        })
        .collect();
    found.sort_unstable();
    found
}
