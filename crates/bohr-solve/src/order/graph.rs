//! The theory of order: nodes in chains, edges between chains that hold while a
//! literal does, and neighbours in a chain that nothing may come between. Says
//! whether an order exists, and if not, which literals are to blame.
//!
//! Neighbours without anything between them are at the same place, all else is
//! *before*; there is an order exactly if no circle has an edge between chains in it.
//! Nodes of a chain that follow a reachable one are reachable, so a search keeps one
//! number per chain.

use crate::model::{Chains, NodeNumber};
use batsat::Lit;
use std::collections::BTreeMap;

/// An edge between chains.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub(crate) from: NodeNumber,
    pub(crate) to: NodeNumber,
    /// The literal that it is there for; `None` if it always is.
    why: Option<Lit>,
}

/// Where a search has come to in a chain.
#[derive(Clone, Copy)]
struct Reached {
    chain: usize,
    /// Where an edge led.
    entered: usize,
    /// Where its neighbours begin.
    first: usize,
    /// The edge, and the place it came from.
    by: Option<(usize, usize)>,
}

/// Edges and neighbours that hold at the moment.
pub(crate) struct Graph {
    place: Vec<(usize, usize)>,
    edges: Vec<Edge>,
    /// By chain, then by position: the edges that leave there.
    leaving: Vec<BTreeMap<usize, Vec<usize>>>,
    /// By chain and position: the literal by which nothing comes before it and
    /// behind its predecessor.
    joined: Vec<Vec<Option<Lit>>>,
    joins: Vec<(usize, usize)>,
}

/// A moment to go back to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mark {
    edges: usize,
    joins: usize,
}

impl Graph {
    /// The edges that always hold; an error if they alone make a circle.
    pub(crate) fn of(chains: &Chains) -> Result<Graph, Vec<Lit>> {
        let mut graph = Graph {
            place: chains
                .nodes
                .iter()
                .map(|node| (node.chain, node.position))
                .collect(),
            edges: Vec::new(),
            leaving: vec![BTreeMap::new(); chains.chains.len()],
            joined: chains
                .chains
                .iter()
                .map(|chain| vec![None; chain.len()])
                .collect(),
            joins: Vec::new(),
        };
        for (from, to) in &chains.fixed {
            graph.add(*from, *to, None)?;
        }
        Ok(graph)
    }

    pub(crate) fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// Whether nothing comes between a node and its predecessor.
    pub(crate) fn is_joined(&self, chain: usize, position: usize) -> bool {
        self.joined[chain][position].is_some()
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark {
            edges: self.edges.len(),
            joins: self.joins.len(),
        }
    }

    pub(crate) fn go_back(&mut self, mark: Mark) {
        while self.edges.len() > mark.edges {
            let edge = self.edges.pop().expect("there are more");
            let (chain, position) = self.place[edge.from.0];
            let leaving = self.leaving[chain]
                .get_mut(&position)
                .expect("it was put there");
            leaving.pop();
            if leaving.is_empty() {
                self.leaving[chain].remove(&position);
            }
        }
        while self.joins.len() > mark.joins {
            let (chain, position) = self.joins.pop().expect("there are more");
            self.joined[chain][position] = None;
        }
    }

    /// One node comes before another. The literals that forbid it, if any do.
    pub(crate) fn add(
        &mut self,
        from: NodeNumber,
        to: NodeNumber,
        why: Option<Lit>,
    ) -> Result<(), Vec<Lit>> {
        let ((chain, position), (other, end)) = (self.place[from.0], self.place[to.0]);
        if chain == other {
            return match position < end {
                true => Ok(()),
                false => Err(why.into_iter().collect()),
            };
        }
        let start = vec![self.enter(other, end, None)];
        if let Some(mut blame) = self.search(start, chain, position) {
            blame.extend(why);
            return Err(blame);
        }
        let number = self.edges.len();
        self.edges.push(Edge { from, to, why });
        self.leaving[chain]
            .entry(position)
            .or_default()
            .push(number);
        Ok(())
    }

    /// Nothing comes between a node and its predecessor.
    pub(crate) fn join(&mut self, chain: usize, position: usize, why: Lit) -> Result<(), Vec<Lit>> {
        if self.joined[chain][position].is_some() {
            return Ok(());
        }
        self.joined[chain][position] = Some(why);
        self.joins.push((chain, position));
        let first = self.first(chain, position);
        let last = (position..self.joined[chain].len() - 1)
            .take_while(|at| self.joined[chain][at + 1].is_some())
            .last()
            .map_or(position, |at| at + 1);
        // A way out of the neighbours and back to them.
        let mut starts = Vec::new();
        for (at, edges) in self.leaving[chain].range(first..=last) {
            starts.extend(edges.iter().map(|edge| (*at, *edge)));
        }
        for (at, edge) in starts {
            let (other, end) = self.place[self.edges[edge].to.0];
            let start = vec![self.enter(other, end, None)];
            if let Some(found) = self.search_within(start, chain, last) {
                let (back, mut blame) = found;
                blame.extend(self.edges[edge].why);
                let (low, high) = (at.min(back), at.max(back));
                blame.extend(self.joining(chain, low, high));
                return Err(blame);
            }
        }
        Ok(())
    }

    /// The literals that keep these positions together.
    fn joining(&self, chain: usize, low: usize, high: usize) -> impl Iterator<Item = Lit> {
        let range = (low + 1).min(high + 1)..high + 1;
        self.joined[chain][range].iter().filter_map(|why| *why)
    }

    fn first(&self, chain: usize, position: usize) -> usize {
        let mut first = position;
        while first > 0 && self.joined[chain][first].is_some() {
            first -= 1;
        }
        first
    }

    fn enter(&self, chain: usize, entered: usize, by: Option<(usize, usize)>) -> Reached {
        Reached {
            chain,
            entered,
            first: self.first(chain, entered),
            by,
        }
    }

    /// The literals of a way from the starts to a node, if there is one.
    fn search(&self, starts: Vec<Reached>, chain: usize, position: usize) -> Option<Vec<Lit>> {
        let (record, all) = self.walk(starts, |reached| {
            reached.chain == chain && reached.first <= position
        })?;
        Some(self.blame(&all, record, position))
    }

    /// The same, to any node of a chain up to a position; and where it comes in.
    fn search_within(
        &self,
        starts: Vec<Reached>,
        chain: usize,
        last: usize,
    ) -> Option<(usize, Vec<Lit>)> {
        let (record, all) = self.walk(starts, |reached| {
            reached.chain == chain && reached.entered <= last
        })?;
        let entered = all[record].entered;
        Some((entered, self.blame(&all, record, entered)))
    }

    fn walk(
        &self,
        starts: Vec<Reached>,
        is_goal: impl Fn(&Reached) -> bool,
    ) -> Option<(usize, Vec<Reached>)> {
        let mut best = vec![usize::MAX; self.joined.len()];
        let mut all = starts;
        let mut next = 0;
        while next < all.len() {
            let reached = all[next];
            if is_goal(&reached) {
                return Some((next, all));
            }
            let until = best[reached.chain];
            if reached.first < until {
                best[reached.chain] = reached.first;
                for edges in self.leaving[reached.chain].range(reached.first..until) {
                    for edge in edges.1 {
                        let (chain, position) = self.place[self.edges[*edge].to.0];
                        if position < best[chain] {
                            all.push(self.enter(chain, position, Some((*edge, next))));
                        }
                    }
                }
            }
            next += 1;
        }
        None
    }

    /// The literals of the way to a record, which is left at a position.
    fn blame(&self, all: &[Reached], record: usize, position: usize) -> Vec<Lit> {
        let mut blame = Vec::new();
        let (mut record, mut left) = (record, position);
        loop {
            let reached = all[record];
            if left < reached.entered {
                blame.extend(self.joining(reached.chain, left, reached.entered));
            }
            let Some((edge, from)) = reached.by else {
                return blame;
            };
            blame.extend(self.edges[edge].why);
            left = self.place[self.edges[edge].from.0].1;
            record = from;
        }
    }
}
