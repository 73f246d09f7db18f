//! Control dependence: which branch decides whether a block runs.
//!
//! J. Ferrante, K. Ottenstein, J. Warren, "The Program Dependence Graph and Its
//! Use in Optimization", TOPLAS 9(3), 1987, section 3.1. A block depends on an
//! edge of a branch if it post-dominates the edge's target and does not
//! strictly post-dominate the branch. Deviation: cycles that cannot be left
//! count as loops with a condition that never fails (see
//! [`PostDominators`]), so their blocks depend on the header although it may
//! have one successor only.

use super::flow::{Edge, FlowGraph};
use super::post_dominators::{Next, PostDominators};
use crate::BlockNumber;
use cranelift_entity::EntityRef;

/// The control dependences of every block of a function.
///
/// ```
/// use bohr_program::BlockNumber;
/// use bohr_program::graph::{ControlDependence, FlowGraph, PostDominators};
///
/// let [b0, b1, b2] = [0, 1, 2].map(BlockNumber::from_u32);
/// let graph = FlowGraph::new([vec![b1, b2], vec![b2], vec![]]);
/// let dependence = ControlDependence::new(&graph, &PostDominators::new(&graph));
/// assert_eq!(dependence.of(b1)[0].to_string(), "b0.0");
/// assert!(dependence.of(b2).is_empty());
/// ```
#[derive(Clone, Debug)]
pub struct ControlDependence {
    /// By block, ascending.
    of: Vec<Vec<Edge>>,
}

impl ControlDependence {
    /// Computes them for all blocks.
    #[must_use]
    pub fn new(graph: &FlowGraph, post: &PostDominators) -> ControlDependence {
        let mut of = vec![Vec::new(); graph.len()];
        for from in graph.blocks().filter(|&block| graph.is_reachable(block)) {
            let stop = post.immediate(from);
            for (edge, to) in graph.edges(from) {
                let mut runner = Some(Next::Block(to));
                while let Some(Next::Block(block)) = runner.filter(|_| runner != stop) {
                    of[block.index()].push(edge);
                    runner = post.immediate(block);
                }
            }
        }
        ControlDependence { of }
    }

    /// The edges of which one has to be taken for `block` to run; none if it
    /// runs in every call. Ascending.
    #[must_use]
    pub fn of(&self, block: BlockNumber) -> &[Edge] {
        &self.of[block.index()]
    }
}
