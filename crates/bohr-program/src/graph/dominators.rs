//! Dominators: which blocks every path from the entry to a block goes through.
//!
//! K. Cooper, T. Harvey, K. Kennedy, "A Simple, Fast Dominance Algorithm",
//! Rice University TR-06-33870, 2001. Deviation: none in the computation; the
//! finished tree is numbered by a walk, so that a query takes constant time.

use super::adjacency::Adjacency;
use super::flow::FlowGraph;
use crate::BlockNumber;

/// A tree of immediate dominators over node numbers, for either direction.
#[derive(Clone, Debug)]
pub(crate) struct DominatorTree {
    /// `None` for the root and for nodes that the root does not reach.
    parent: Vec<Option<u32>>,
    /// First and last number of the walk below each node; `None` if unreached.
    span: Vec<Option<(u32, u32)>>,
    root: u32,
}

impl DominatorTree {
    /// The tree of `graph` as seen from `root`.
    pub(crate) fn new(graph: &Adjacency, root: u32) -> DominatorTree {
        let postorder = graph.postorder(root);
        let mut rank = vec![None; graph.len() as usize];
        for (place, &node) in (0u32..).zip(&postorder) {
            rank[node as usize] = Some(place);
        }
        let parent = iterate(graph, &postorder, &rank);
        let span = walk(&parent, root);
        DominatorTree { parent, span, root }
    }

    /// The closest strict dominator.
    pub(crate) fn parent(&self, node: u32) -> Option<u32> {
        self.parent[node as usize]
    }

    /// Whether every path from the root to `below` goes through `above`.
    /// No unreached node dominates or is dominated.
    pub(crate) fn dominates(&self, above: u32, below: u32) -> bool {
        match (self.span[above as usize], self.span[below as usize]) {
            (Some((first, last)), Some((place, _))) => first <= place && place <= last,
            _ => false,
        }
    }

    /// The closest node that dominates both.
    pub(crate) fn common(&self, one: u32, other: u32) -> u32 {
        let mut node = one;
        while !self.dominates(node, other) {
            match self.parent(node) {
                Some(parent) => node = parent,
                None => return self.root,
            }
        }
        node
    }
}

/// The fixed point of "my dominator is the common one of my predecessors",
/// nodes taken in reverse postorder; `rank` is the place in the postorder.
fn iterate(graph: &Adjacency, postorder: &[u32], rank: &[Option<u32>]) -> Vec<Option<u32>> {
    let last = postorder.len() - 1;
    let predecessors = graph.reversed();
    // By rank: the rank of the dominator. The root is its own until the end.
    let mut dominator: Vec<Option<u32>> = vec![None; postorder.len()];
    dominator[last] = Some(last as u32);
    let mut changed = true;
    while changed {
        changed = false;
        for place in (0..last).rev() {
            let known = predecessors.successors(postorder[place]).iter();
            let new = known
                .filter_map(|&from| rank[from as usize])
                .filter(|&from| dominator[from as usize].is_some())
                .reduce(|one, other| intersect(&dominator, one, other));
            changed |= dominator[place] != new;
            dominator[place] = new;
        }
    }
    let mut parent = vec![None; rank.len()];
    for place in 0..last {
        parent[postorder[place] as usize] = dominator[place].map(|rank| postorder[rank as usize]);
    }
    parent
}

fn intersect(dominator: &[Option<u32>], mut one: u32, mut other: u32) -> u32 {
    let up = |rank: u32| dominator[rank as usize].expect("a processed node has a dominator");
    while one != other {
        while one < other {
            one = up(one);
        }
        while other < one {
            other = up(other);
        }
    }
    one
}

/// Numbers the tree in preorder: node `n` dominates those within its span.
fn walk(parent: &[Option<u32>], root: u32) -> Vec<Option<(u32, u32)>> {
    let edges: Vec<(u32, u32)> = (0..)
        .zip(parent)
        .filter_map(|(node, parent)| parent.map(|parent| (parent, node)))
        .collect();
    let children = Adjacency::from_edges(parent.len() as u32, &edges);
    let mut span = vec![None; parent.len()];
    let mut next = 0;
    let mut path = vec![(root, 0usize)];
    span[root as usize] = Some((0, 0));
    while let Some((node, child)) = path.last_mut() {
        match children.successors(*node).get(*child) {
            Some(&below) => {
                *child += 1;
                next += 1;
                span[below as usize] = Some((next, next));
                path.push((below, 0));
            }
            None => {
                if let Some(span) = &mut span[*node as usize] {
                    span.1 = next;
                }
                path.pop();
            }
        }
    }
    span
}

/// The dominator tree of a function. Unreachable blocks are not in it.
///
/// ```
/// use bohr_program::BlockNumber;
/// use bohr_program::graph::{Dominators, FlowGraph};
///
/// let [b0, b1, b2] = [0, 1, 2].map(BlockNumber::from_u32);
/// let graph = FlowGraph::new([vec![b1, b2], vec![b2], vec![]]);
/// let dominators = Dominators::new(&graph);
/// assert_eq!(dominators.immediate(b2), Some(b0));
/// assert!(!dominators.dominates(b1, b2));
/// ```
#[derive(Clone, Debug)]
pub struct Dominators(DominatorTree);

impl Dominators {
    /// Computes the tree.
    ///
    /// # Panics
    /// If the graph has no block.
    #[must_use]
    pub fn new(graph: &FlowGraph) -> Dominators {
        Dominators(DominatorTree::new(
            graph.adjacency(),
            graph.entry().as_u32(),
        ))
    }

    /// The closest strict dominator; none for the entry and unreachable blocks.
    #[must_use]
    pub fn immediate(&self, block: BlockNumber) -> Option<BlockNumber> {
        self.0.parent(block.as_u32()).map(BlockNumber::from_u32)
    }

    /// Whether every path from the entry to `below` goes through `above`.
    /// A reachable block dominates itself.
    #[must_use]
    pub fn dominates(&self, above: BlockNumber, below: BlockNumber) -> bool {
        self.0.dominates(above.as_u32(), below.as_u32())
    }

    /// The closest block that dominates both.
    #[must_use]
    pub fn common(&self, one: BlockNumber, other: BlockNumber) -> BlockNumber {
        BlockNumber::from_u32(self.0.common(one.as_u32(), other.as_u32()))
    }
}
