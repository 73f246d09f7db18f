//! Cycles that can be entered at several blocks: no block of such a region
//! dominates the others, so it is no natural loop and has no iterations to
//! count at one place.
//!
//! B. Steensgaard, "Sequentializing Program Dependence Graphs for Irreducible
//! Programs", MSR-TR-93-14, 1993: strongly connected regions, and again within
//! each of them after its entries are taken away.

use super::components::Components;
use super::flow::FlowGraph;
use crate::BlockNumber;
use cranelift_entity::EntityRef;

/// A cyclic region with more than one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IrreducibleRegion {
    /// The blocks through which it is entered from outside, ascending.
    pub entries: Vec<BlockNumber>,
    /// All blocks, ascending.
    pub blocks: Vec<BlockNumber>,
}

/// The irreducible regions of a function, outer ones before those inside them.
///
/// ```
/// use bohr_program::BlockNumber;
/// use bohr_program::graph::{FlowGraph, irreducible_regions};
///
/// let [b1, b2] = [1, 2].map(BlockNumber::from_u32);
/// let graph = FlowGraph::new([vec![b1, b2], vec![b2], vec![b1]]);
/// assert_eq!(irreducible_regions(&graph)[0].entries, [b1, b2]);
/// ```
#[must_use]
pub fn irreducible_regions(graph: &FlowGraph) -> Vec<IrreducibleRegion> {
    let nodes = graph.adjacency();
    let mut found = Vec::new();
    // Which blocks are still searched: in the region at hand, entries removed.
    let mut level: Vec<bool> = graph
        .blocks()
        .map(|block| graph.is_reachable(block))
        .collect();
    loop {
        let components = Components::among(nodes, |node| level[node as usize]);
        let cycles: Vec<&Vec<u32>> = (0u32..)
            .zip(components.members())
            .filter(|&(number, _)| components.is_cyclic(number, nodes))
            .map(|(_, members)| members)
            .collect();
        if cycles.is_empty() {
            return found;
        }
        level.fill(false);
        for members in cycles {
            let blocks: Vec<BlockNumber> = members
                .iter()
                .map(|&node| BlockNumber::from_u32(node))
                .collect();
            let entries = entries(graph, &blocks);
            for block in blocks.iter().filter(|block| !entries.contains(block)) {
                level[block.index()] = true;
            }
            if entries.len() > 1 {
                found.push(IrreducibleRegion { entries, blocks });
            }
        }
    }
}

fn entries(graph: &FlowGraph, blocks: &[BlockNumber]) -> Vec<BlockNumber> {
    let outside =
        |&from: &BlockNumber| graph.is_reachable(from) && blocks.binary_search(&from).is_err();
    let entered = |block: &BlockNumber| {
        *block == graph.entry() || graph.predecessors(*block).iter().any(outside)
    };
    blocks.iter().copied().filter(entered).collect()
}
