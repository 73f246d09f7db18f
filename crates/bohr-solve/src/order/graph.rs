//! The theory of order: nodes in chains, edges between chains that hold while a
//! literal does, and neighbours in a chain that nothing may come between. Says
//! whether an order exists, and if not, which literals are to blame.
//!
//! Neighbours without anything between them are at the same place, all else is
//! *before*; there is an order exactly if no circle has an edge between chains in it.
//! What is reached from where is kept closed ([`super::closure`]); why, is put together
//! when somebody asks ([`super::blame`]).

use super::closure::{self, Closure, EdgeNumber, Fresh, JumpNumber, Parts, Place};
use crate::model::{Chains, NodeNumber};
use batsat::Lit;
use std::collections::BTreeSet;

/// A way from a node to one that comes later: along a jump, or within a chain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub(crate) from: Place,
    pub(crate) to: Place,
    pub(crate) by: Option<JumpNumber>,
}

/// Why an edge is there.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reason {
    /// It always is.
    Always,
    /// A literal says so.
    Literal(Lit),
    /// It follows from a literal and from what comes before what.
    Follows(Lit, Way),
}

/// An edge between chains.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub(crate) from: NodeNumber,
    pub(crate) to: NodeNumber,
    pub(super) reason: Reason,
}

/// Edges and neighbours that hold at the moment.
pub(crate) struct Graph {
    places: Vec<Place>,
    edges: Vec<Edge>,
    pub(super) closure: Closure,
    /// By chain and position: the literal by which nothing comes before it and
    /// behind its predecessor.
    pub(super) joined: Vec<Vec<Option<Lit>>>,
    /// By chain: the positions that are not joined to their predecessor.
    apart: Vec<BTreeSet<u32>>,
    joins: Vec<Place>,
    /// Jumps that nobody has asked for yet.
    fresh: Vec<Fresh>,
}

/// A moment to go back to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mark {
    edges: usize,
    joins: usize,
    closure: closure::Mark,
}

impl Graph {
    /// The edges that always hold; an error if they alone make a circle.
    pub(crate) fn of(chains: &Chains) -> Result<Graph, Vec<Lit>> {
        let lengths = || chains.chains.iter().map(Vec::len);
        let places = chains.nodes.iter();
        let mut graph = Graph {
            places: places
                .map(|node| Place::new(node.chain, node.position))
                .collect(),
            edges: Vec::new(),
            closure: Closure::of(chains.chains.len()),
            joined: lengths().map(|length| vec![None; length]).collect(),
            apart: lengths()
                .map(|length| (0..length as u32).collect())
                .collect(),
            joins: Vec::new(),
            fresh: Vec::new(),
        };
        for (from, to) in &chains.fixed {
            graph.add(*from, *to, Reason::Always)?;
        }
        Ok(graph)
    }

    /// Edges from which all others follow.
    pub(crate) fn edges(&self) -> &[Edge] {
        &self.edges
    }

    pub(super) fn edge(&self, number: EdgeNumber) -> &Edge {
        &self.edges[number.0 as usize]
    }

    pub(crate) fn place(&self, node: NodeNumber) -> Place {
        self.places[node.0]
    }

    /// Whether nothing comes between a node and its predecessor.
    pub(crate) fn is_joined(&self, chain: usize, position: usize) -> bool {
        self.joined[chain][position].is_some()
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark {
            edges: self.edges.len(),
            joins: self.joins.len(),
            closure: self.closure.mark(),
        }
    }

    pub(crate) fn go_back(&mut self, mark: Mark) {
        self.edges.truncate(mark.edges);
        self.closure.go_back(mark.closure);
        self.fresh.clear();
        for place in self.joins.drain(mark.joins..) {
            self.joined[place.chain as usize][place.position as usize] = None;
            self.apart[place.chain as usize].insert(place.position);
        }
    }

    /// What has come to be known since this was last asked.
    pub(crate) fn take_fresh(&mut self) -> Vec<Fresh> {
        std::mem::take(&mut self.fresh)
    }

    /// The way from a node to one that is known to come behind it.
    pub(crate) fn way(&self, from: Place, to: Place) -> Option<Way> {
        if from.chain == to.chain {
            let is_before = from.position < to.position;
            return is_before.then_some(Way { from, to, by: None });
        }
        let (source, jump) = self.closure.latest(from.chain, to)?;
        let by = Some(jump);
        (source.position >= from.position).then_some(Way { from, to, by })
    }

    /// One node comes before another. The literals that forbid it, if any do.
    pub(crate) fn add(
        &mut self,
        from: NodeNumber,
        to: NodeNumber,
        reason: Reason,
    ) -> Result<(), Vec<Lit>> {
        let (start, end) = (self.place(from), self.place(to));
        if start.chain == end.chain {
            return match start.position < end.position {
                true => Ok(()),
                false => Err(self.blame(&[reason], &[])),
            };
        }
        let (source, target) = (start.at(self.last(start)), end.at(self.first(end)));
        if self.way(source, target).is_some() {
            return Ok(());
        }
        if let Some(back) = self.way(target, source) {
            let (from, to) = (end, start);
            return Err(self.blame(&[reason], &[Way { from, to, ..back }]));
        }
        let edge = EdgeNumber(self.edges.len() as u32);
        self.edges.push(Edge { from, to, reason });
        self.connect(source, target, Some(edge));
        Ok(())
    }

    /// Nothing comes between a node and its predecessor.
    pub(crate) fn join(&mut self, chain: usize, position: usize, why: Lit) -> Result<(), Vec<Lit>> {
        if self.joined[chain][position].is_some() {
            return Ok(());
        }
        let place = Place::new(chain, position);
        let end = place.at(self.last(place));
        let before = place.at(place.position - 1);
        let start = before.at(self.first(before));
        self.joined[chain][position] = Some(why);
        self.joins.push(place);
        self.apart[chain].remove(&place.position);
        // A way out of the neighbours and back to them.
        for other in 0..self.closure.chains() {
            let out = self.closure.earliest(before, other);
            let back = self.closure.latest(other, place);
            if let (Some((reached, out)), Some((left, back))) = (out, back)
                && reached.position <= left.position
            {
                return Err(self.blame_circle(&[out, back]));
            }
        }
        self.connect(end, start, None);
        Ok(())
    }

    /// All that comes before a node comes before all behind another.
    fn connect(&mut self, from: Place, to: Place, edge: Option<EdgeNumber>) {
        let chains = 0..self.closure.chains();
        let others = |than: u32| chains.clone().filter(move |chain| *chain != than);
        let before = others(from.chain)
            .filter_map(|chain| self.closure.latest(chain, from))
            .map(|(place, jump)| (place, Some(jump)));
        let before: Vec<_> = std::iter::once((from, None)).chain(before).collect();
        let behind = others(to.chain)
            .filter_map(|chain| self.closure.earliest(to, chain))
            .map(|(place, jump)| (place, Some(jump)));
        let behind: Vec<_> = std::iter::once((to, None)).chain(behind).collect();
        for (source, first) in before {
            for (target, then) in &behind {
                if source.chain != target.chain {
                    let parts = Parts {
                        first,
                        edge,
                        then: *then,
                    };
                    let source = source.at(self.last(source));
                    let target = target.at(self.first(*target));
                    self.fresh
                        .extend(self.closure.insert(source, target, parts));
                }
            }
        }
    }

    /// The first of a node's neighbours.
    fn first(&self, place: Place) -> u32 {
        let apart = &self.apart[place.chain as usize];
        let first = apart.range(..=place.position).next_back();
        first.copied().unwrap_or(0)
    }

    /// The last of them.
    fn last(&self, place: Place) -> u32 {
        let apart = &self.apart[place.chain as usize];
        let next = apart.range(place.position + 1..).next();
        next.map_or(self.joined[place.chain as usize].len() as u32, |next| *next) - 1
    }
}
