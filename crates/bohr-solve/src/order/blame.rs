//! Why one node comes before another: the literals of the edges on a way between them,
//! of what those edges follow from, and of neighbours that a way goes back along. Ways
//! enter no chain twice, so the literals are few.

use super::closure::{EdgeNumber, JumpNumber, Place};
use super::graph::{Graph, Reason, Way};
use batsat::Lit;
use std::collections::HashSet;

/// Literals on the way to being complete.
#[derive(Default)]
struct Blame {
    literals: Vec<Lit>,
    ways: Vec<Way>,
    seen: HashSet<EdgeNumber>,
}

impl Blame {
    fn reason(&mut self, reason: Reason) {
        match reason {
            Reason::Always => {}
            Reason::Literal(literal) => self.literals.push(literal),
            Reason::Follows(literal, way) => {
                self.literals.push(literal);
                self.ways.push(way);
            }
        }
    }

    fn finish(mut self, graph: &Graph) -> Vec<Lit> {
        while let Some(way) = self.ways.pop() {
            let edges = way.by.map(|jump| graph.closure.edges(jump));
            self.follow(graph, way.from, way.to, &edges.unwrap_or_default());
        }
        self.literals.sort_unstable();
        self.literals.dedup();
        self.literals
    }

    /// Goes along edges that lead from a node to another.
    fn follow(&mut self, graph: &Graph, from: Place, to: Place, edges: &[EdgeNumber]) {
        let mut left = edges;
        let mut current = from;
        while current.chain != to.chain {
            let leaves =
                |edge: &EdgeNumber| graph.place(graph.edge(*edge).from).chain == current.chain;
            // What comes back to this chain can be left out.
            let last = left.iter().rposition(leaves);
            let last = last.expect("a jump leads from where it begins to where it ends");
            current = self.along(graph, current, left[last]);
            left = &left[last + 1..];
        }
        self.neighbours(graph, current, to);
    }

    /// Goes to an edge in the same chain and along it.
    fn along(&mut self, graph: &Graph, current: Place, number: EdgeNumber) -> Place {
        let edge = *graph.edge(number);
        self.neighbours(graph, current, graph.place(edge.from));
        if self.seen.insert(number) {
            self.reason(edge.reason);
        }
        graph.place(edge.to)
    }

    /// Goes on in a chain, or back between neighbours.
    fn neighbours(&mut self, graph: &Graph, from: Place, to: Place) {
        if to.position < from.position {
            let joined = &graph.joined[from.chain as usize];
            let back = to.position as usize + 1..=from.position as usize;
            self.literals.extend(joined[back].iter().flatten());
        }
    }
}

impl Graph {
    /// The literals that these reasons and ways rest on.
    pub(crate) fn blame(&self, reasons: &[Reason], ways: &[Way]) -> Vec<Lit> {
        let mut blame = Blame::default();
        reasons.iter().for_each(|reason| blame.reason(*reason));
        blame.ways.extend_from_slice(ways);
        blame.finish(self)
    }

    /// The literals of a circle: jumps that lead from a node to a neighbour of it.
    pub(super) fn blame_circle(&self, jumps: &[JumpNumber]) -> Vec<Lit> {
        let edges = jumps.iter().flat_map(|jump| self.closure.edges(*jump));
        let edges: Vec<EdgeNumber> = edges.collect();
        let start = self.place(self.edge(edges[0]).from);
        let mut blame = Blame::default();
        let next = blame.along(self, start, edges[0]);
        blame.follow(self, next, start, &edges[1..]);
        blame.finish(self)
    }
}
