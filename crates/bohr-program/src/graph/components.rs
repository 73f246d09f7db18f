//! Strongly connected components: sets of nodes that reach one another.
//!
//! R. Tarjan, "Depth-first search and linear graph algorithms", SIAM J.
//! Comput. 1(2), 1972. Deviation: an explicit stack instead of recursion,
//! because functions with tens of thousands of blocks exist.

use super::adjacency::Adjacency;

/// The components of a graph, numbered so that every edge between two
/// components goes from the higher number to the lower: sinks come first.
#[derive(Clone, Debug)]
pub(crate) struct Components {
    /// Component of each node; `None` where the node was not searched.
    component_of: Vec<Option<u32>>,
    members: Vec<Vec<u32>>,
}

impl Components {
    /// Components among the nodes for which `inside` holds, edges to others ignored.
    pub(crate) fn among(graph: &Adjacency, inside: impl Fn(u32) -> bool) -> Components {
        let mut search = Search::new(graph.len());
        for root in (0..graph.len()).filter(|&node| inside(node)) {
            if search.number[root as usize] == UNSEEN {
                search.run(graph, &inside, root);
            }
        }
        Components {
            component_of: search.component_of,
            members: search.members,
        }
    }

    /// Members of every component, sinks first; within one, ascending.
    pub(crate) fn members(&self) -> &[Vec<u32>] {
        &self.members
    }

    /// The component of `node`, if it was searched.
    pub(crate) fn of(&self, node: u32) -> Option<u32> {
        self.component_of[node as usize]
    }

    /// Whether the component has a cycle: several nodes, or an edge to itself.
    pub(crate) fn is_cyclic(&self, component: u32, graph: &Adjacency) -> bool {
        match self.members[component as usize].as_slice() {
            [only] => graph.successors(*only).contains(only),
            _ => true,
        }
    }
}

const UNSEEN: u32 = u32::MAX;

struct Search {
    /// Order of discovery, [`UNSEEN`] before.
    number: Vec<u32>,
    /// Lowest number known to be reachable while staying on the stack.
    low: Vec<u32>,
    /// Nodes whose component is not closed yet.
    open: Vec<u32>,
    discovered: u32,
    component_of: Vec<Option<u32>>,
    members: Vec<Vec<u32>>,
}

impl Search {
    fn new(len: u32) -> Search {
        let len = len as usize;
        Search {
            number: vec![UNSEEN; len],
            low: vec![UNSEEN; len],
            open: Vec::new(),
            discovered: 0,
            component_of: vec![None; len],
            members: Vec::new(),
        }
    }

    fn discover(&mut self, node: u32) {
        self.number[node as usize] = self.discovered;
        self.low[node as usize] = self.discovered;
        self.discovered += 1;
        self.open.push(node);
    }

    fn run(&mut self, graph: &Adjacency, inside: &impl Fn(u32) -> bool, root: u32) {
        self.discover(root);
        let mut path = vec![(root, 0usize)];
        while let Some((node, next)) = path.last_mut() {
            let node = *node;
            match graph.successors(node).get(*next) {
                Some(&to) => {
                    *next += 1;
                    if self.number[to as usize] == UNSEEN && inside(to) {
                        self.discover(to);
                        path.push((to, 0));
                    } else if inside(to) && self.component_of[to as usize].is_none() {
                        let number = self.number[to as usize];
                        self.low[node as usize] = self.low[node as usize].min(number);
                    }
                }
                None => {
                    path.pop();
                    self.close(node);
                    if let Some(&(parent, _)) = path.last() {
                        let low = self.low[node as usize];
                        self.low[parent as usize] = self.low[parent as usize].min(low);
                    }
                }
            }
        }
    }

    /// Ends the component of `node` if it is the first of it to be discovered.
    fn close(&mut self, node: u32) {
        if self.low[node as usize] != self.number[node as usize] {
            return;
        }
        let start = self.open.iter().rposition(|&open| open == node);
        let mut members = self
            .open
            .split_off(start.expect("an open node is on the stack"));
        members.sort_unstable();
        let component = self.members.len() as u32;
        for &member in &members {
            self.component_of[member as usize] = Some(component);
        }
        self.members.push(members);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reaches(graph: &Adjacency, from: u32, to: u32) -> bool {
        graph.postorder(from).contains(&to)
    }

    proptest! {
        /// Two nodes share a component exactly if each reaches the other, and
        /// edges never go to a component with a higher number.
        #[test]
        fn components_are_mutual_reachability(
            edges in prop::collection::vec((0u32..9, 0u32..9), 0..24)
        ) {
            let graph = Adjacency::from_edges(9, &edges);
            let components = Components::among(&graph, |_| true);
            for a in 0..9 {
                for b in 0..9 {
                    let together = reaches(&graph, a, b) && reaches(&graph, b, a);
                    prop_assert_eq!(components.of(a) == components.of(b), together);
                }
            }
            for (from, to) in graph.edges() {
                prop_assert!(components.of(from) >= components.of(to));
            }
        }
    }
}
