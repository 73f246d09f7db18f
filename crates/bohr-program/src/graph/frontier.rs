//! Dominance frontiers: where the dominance of a block ends.
//!
//! K. Cooper, T. Harvey, K. Kennedy, "A Simple, Fast Dominance Algorithm",
//! 2001, figure 5.

use super::dominators::Dominators;
use super::flow::FlowGraph;
use crate::BlockNumber;
use cranelift_entity::EntityRef;

/// For each block, the blocks that it does not strictly dominate but one of
/// whose reachable predecessors it dominates; ascending.
///
/// ```
/// use bohr_program::BlockNumber;
/// use bohr_program::graph::{Dominators, FlowGraph, dominance_frontiers};
///
/// let [b0, b1, b2] = [0, 1, 2].map(BlockNumber::from_u32);
/// let graph = FlowGraph::new([vec![b1, b2], vec![b2], vec![]]);
/// let frontiers = dominance_frontiers(&graph, &Dominators::new(&graph));
/// assert_eq!(frontiers[1], [b2]);
/// ```
#[must_use]
pub fn dominance_frontiers(graph: &FlowGraph, dominators: &Dominators) -> Vec<Vec<BlockNumber>> {
    let mut frontiers: Vec<Vec<BlockNumber>> = vec![Vec::new(); graph.len()];
    for block in graph.blocks().filter(|&block| graph.is_reachable(block)) {
        let top = dominators.immediate(block);
        for &predecessor in graph.predecessors(block) {
            let mut runner = graph.is_reachable(predecessor).then_some(predecessor);
            while let Some(here) = runner.filter(|&here| Some(here) != top) {
                // Blocks come in ascending order, so a repetition is the last entry.
                if frontiers[here.index()].last() != Some(&block) {
                    frontiers[here.index()].push(block);
                }
                runner = dominators.immediate(here);
            }
        }
    }
    frontiers
}
