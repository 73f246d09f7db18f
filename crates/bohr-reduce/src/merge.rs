//! The paper's own way (SimTrace, Algorithm 2), kept to compare with: go
//! through the local edges in some order and merge the two nodes of each if no
//! other path leads from one to the other, then sort topologically.
//!
//! Each test is a search in the graph as merged so far, so this is quadratic in
//! the nodes; [`crate::simplify`] does not use it.

use crate::graph::Graph;
use crate::order::Chain;

/// A node by chain and position.
type Node = (Chain, u32);

/// A graph some of whose neighbouring nodes are merged.
struct Merged<'g> {
    graph: &'g Graph,
    /// By chain and node: whether it is merged with the node before it.
    with_last: Vec<Vec<bool>>,
    /// By chain and node: nodes that need it.
    needed_by: Vec<Vec<Vec<Node>>>,
}

/// Merges greedily; `order` puts the local edges (each named by its later node)
/// into the order in which they are tried. The number of switches that remain.
#[must_use]
pub fn switches_after_merging(graph: &Graph, order: impl FnOnce(&mut Vec<(Chain, u32)>)) -> u64 {
    let mut merged = Merged::new(graph);
    let chains = (0..graph.chains() as u32).map(Chain);
    let mut edges: Vec<Node> = chains
        .flat_map(|chain| (1..graph.length(chain)).map(move |node| (chain, node)))
        .collect();
    order(&mut edges);
    let mut groups = graph.nodes();
    for edge in edges {
        if merged.merge(edge) {
            groups -= 1;
        }
    }
    groups.saturating_sub(1)
}

impl<'g> Merged<'g> {
    fn new(graph: &'g Graph) -> Merged<'g> {
        let chains = || (0..graph.chains() as u32).map(Chain);
        let table = |chain| vec![Vec::new(); graph.length(chain) as usize];
        let mut needed_by: Vec<Vec<Vec<Node>>> = chains().map(table).collect();
        for chain in chains() {
            for node in 0..graph.length(chain) {
                for need in graph.needs(chain, node) {
                    needed_by[need.chain.position()][need.nodes as usize - 1].push((chain, node));
                }
            }
        }
        let with_last = chains().map(|chain| vec![false; graph.length(chain) as usize]);
        Merged {
            graph,
            with_last: with_last.collect(),
            needed_by,
        }
    }

    /// Merges the node with the one before it, if that makes no cycle.
    fn merge(&mut self, (chain, node): Node) -> bool {
        let mut seen: Vec<Vec<bool>> = self
            .with_last
            .iter()
            .map(|nodes| vec![false; nodes.len()])
            .collect();
        let target = self.first((chain, node));
        let mut open: Vec<Node> = self.members((chain, node - 1));
        for &(_, member) in &open {
            seen[chain.position()][member as usize] = true;
        }
        // Every way out of the first group except the local edge itself.
        let mut on_the_way = false;
        while let Some(at) = open.pop() {
            for next in self.successors(at, (chain, node)) {
                let group = self.first(next);
                if group == target {
                    on_the_way = true;
                    open.clear();
                    break;
                }
                if !seen[group.0.position()][group.1 as usize] {
                    for member in self.members(group) {
                        seen[member.0.position()][member.1 as usize] = true;
                        open.push(member);
                    }
                }
            }
        }
        self.with_last[chain.position()][node as usize] = !on_the_way;
        !on_the_way
    }

    fn first(&self, (chain, mut node): Node) -> Node {
        while self.with_last[chain.position()][node as usize] {
            node -= 1;
        }
        (chain, node)
    }

    fn members(&self, node: Node) -> Vec<Node> {
        let (chain, first) = self.first(node);
        let merged = &self.with_last[chain.position()];
        let more = merged[first as usize + 1..]
            .iter()
            .take_while(|merged| **merged);
        (first..=first + more.count() as u32)
            .map(|node| (chain, node))
            .collect()
    }

    /// Where edges lead from a node, without the local edge to `except`.
    fn successors(&self, (chain, node): Node, except: Node) -> Vec<Node> {
        let mut next = self.needed_by[chain.position()][node as usize].clone();
        let local = (chain, node + 1);
        if node + 1 < self.graph.length(chain) && local != except {
            next.push(local);
        }
        next
    }
}
