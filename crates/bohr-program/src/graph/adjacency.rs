//! Successor lists of a directed graph in two flat arrays, over plain node
//! numbers.
//!
//! The algorithms that need a node which is no block (the virtual exit) or
//! whose nodes are not blocks at all (functions, pointers) work on this; their
//! public faces use typed ids.

/// A directed graph with nodes `0..len`. Parallel edges are kept, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Adjacency {
    /// `starts[n]..starts[n + 1]` are the edges of node `n`; one longer than the nodes.
    starts: Vec<u32>,
    targets: Vec<u32>,
}

impl Adjacency {
    /// A graph with one node per list of successors.
    pub(crate) fn from_lists<I, L>(lists: I) -> Adjacency
    where
        I: IntoIterator<Item = L>,
        L: IntoIterator<Item = u32>,
    {
        let mut graph = Adjacency {
            starts: vec![0],
            targets: Vec::new(),
        };
        for list in lists {
            graph.targets.extend(list);
            graph.starts.push(graph.targets.len() as u32);
        }
        graph
    }

    /// A graph of `len` nodes from edges in any order.
    pub(crate) fn from_edges(len: u32, edges: &[(u32, u32)]) -> Adjacency {
        let mut starts = vec![0u32; len as usize + 1];
        for &(from, _) in edges {
            starts[from as usize + 1] += 1;
        }
        for node in 0..len as usize {
            starts[node + 1] += starts[node];
        }
        let mut next = starts.clone();
        let mut targets = vec![0u32; edges.len()];
        for &(from, to) in edges {
            let place = &mut next[from as usize];
            targets[*place as usize] = to;
            *place += 1;
        }
        Adjacency { starts, targets }
    }

    /// How many nodes.
    pub(crate) fn len(&self) -> u32 {
        self.starts.len().saturating_sub(1) as u32
    }

    /// Where the edges of `node` go.
    pub(crate) fn successors(&self, node: u32) -> &[u32] {
        let node = node as usize;
        &self.targets[self.starts[node] as usize..self.starts[node + 1] as usize]
    }

    /// Every edge as (from, to), ordered by source.
    pub(crate) fn edges(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        (0..self.len()).flat_map(|from| self.successors(from).iter().map(move |&to| (from, to)))
    }

    /// The same graph with every edge turned around.
    pub(crate) fn reversed(&self) -> Adjacency {
        let edges: Vec<(u32, u32)> = self.edges().map(|(from, to)| (to, from)).collect();
        Adjacency::from_edges(self.len(), &edges)
    }

    /// The nodes that can be reached from `root`, each after all nodes that a
    /// depth-first search leaves through it: a postorder.
    pub(crate) fn postorder(&self, root: u32) -> Vec<u32> {
        let mut seen = vec![false; self.len() as usize];
        let mut order = Vec::with_capacity(self.len() as usize);
        let mut path = vec![(root, 0usize)];
        seen[root as usize] = true;
        while let Some((node, next)) = path.last_mut() {
            match self.successors(*node).get(*next) {
                Some(&successor) => {
                    *next += 1;
                    if !std::mem::replace(&mut seen[successor as usize], true) {
                        path.push((successor, 0));
                    }
                }
                None => {
                    order.push(*node);
                    path.pop();
                }
            }
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_edges_give_the_same_graph() {
        let lists = Adjacency::from_lists([vec![1, 2, 1], vec![], vec![0]]);
        let edges = Adjacency::from_edges(3, &[(2, 0), (0, 1), (0, 2), (0, 1)]);
        assert_eq!(
            lists.edges().collect::<Vec<_>>(),
            edges.edges().collect::<Vec<_>>()
        );
        assert_eq!(lists.reversed().successors(1), [0, 0]);
        assert_eq!(lists.postorder(0), [1, 2, 0]);
    }
}
