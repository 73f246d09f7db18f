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

    /// Goes along edges that lead from a node to another. Of steps back between neighbours
    /// other threads alone take notice, so where there are store buffers, too, who is
    /// passed on the way may be what allows one, and nothing is left out.
    fn follow(&mut self, graph: &Graph, from: Place, to: Place, edges: &[EdgeNumber]) {
        if graph.has_buffers() && goes_back(graph, from, to, edges) {
            let along = |current, edge: &EdgeNumber| self.along(graph, current, *edge);
            let end = edges.iter().fold(from, along);
            self.neighbours(graph, end, to);
            return;
        }
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

/// Whether a way along edges takes a step back in a chain.
fn goes_back(graph: &Graph, from: Place, to: Place, edges: &[EdgeNumber]) -> bool {
    let edges = edges.iter().map(|edge| graph.edge(*edge));
    let mut at = from;
    let mut steps = edges.map(|edge| (graph.place(edge.from), graph.place(edge.to)));
    let back = steps.any(|(start, end)| {
        let back = start.position < at.position;
        at = end;
        back
    });
    back || to.position < at.position
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
        let chain = |edge: EdgeNumber| self.place(self.edge(edge).from).chain;
        // What comes back to this chain on the way can be left out.
        let leaves = |edge: &EdgeNumber| chain(*edge) == chain(edges[0]);
        let last = match self.has_buffers() {
            true => 0,
            false => edges.iter().rposition(leaves).unwrap_or(0),
        };
        let start = self.place(self.edge(edges[last]).from);
        let mut blame = Blame::default();
        let next = blame.along(self, start, edges[last]);
        blame.follow(self, next, start, &edges[last + 1..]);
        blame.finish(self)
    }
}
