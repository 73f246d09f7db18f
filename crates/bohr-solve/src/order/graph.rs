//! The theory of order: nodes in chains, edges between chains that hold while a
//! literal does, and neighbours in a chain that nothing may come between. Says
//! whether an order exists, and if not, which literals are to blame.
//!
//! Of a thread's neighbours, nothing of another *thread* comes between: what other threads
//! do before the later one they do before the earlier one, and what they do behind the
//! earlier one, behind the later one. Steps of store buffers may come between. There is an
//! order exactly if no node comes before itself.
//! What is reached from where is kept closed ([`super::closure`]); why, is put together
//! when somebody asks ([`super::blame`]).

use super::closure::{self, Closure, EdgeNumber, Fresh, JumpNumber, Link, Parts, Place};
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
    /// Chains of threads; those behind them are queues of store buffers.
    threads: u32,
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
            threads: chains.threads as u32,
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
        let (source, target) = self.ends(start, end);
        if self.way(source, target).is_some() {
            return Ok(());
        }
        if let Some(back) = self.way(target, source) {
            let (from, to) = (end, start);
            return Err(self.blame(&[reason], &[Way { from, to, ..back }]));
        }
        let edge = EdgeNumber(self.edges.len() as u32);
        self.edges.push(Edge { from, to, reason });
        self.connect(vec![(source, target, Link::Edge(edge))])
    }

    /// Nothing of other threads comes between a node and its predecessor.
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
        let mut links = Vec::new();
        for other in (0..self.threads).filter(|other| *other != place.chain) {
            let out = self.closure.earliest(before, other);
            let back = self.closure.latest(other, place);
            if let (Some((reached, out)), Some((left, back))) = (out, back)
                && reached.position <= left.position
            {
                // A way out of the neighbours and back to them.
                return Err(self.blame_circle(&[out, back]));
            }
            let earlier = self.closure.latest(other, end);
            let earlier = earlier.filter(|(from, _)| self.way(*from, start).is_none());
            links.extend(earlier.map(|(from, jump)| (from, start, Link::Jump(jump))));
            let later = self.closure.earliest(start, other);
            let later = later.filter(|(to, _)| self.way(end, *to).is_none());
            links.extend(later.map(|(to, jump)| (end, to, Link::Jump(jump))));
        }
        self.connect(links)
    }

    /// Nodes that come before others, and all that follows: what comes before the one
    /// comes before all behind the other. The literals that forbid it, if any do.
    fn connect(&mut self, mut open: Vec<(Place, Place, Link)>) -> Result<(), Vec<Lit>> {
        while let Some((from, to, link)) = open.pop() {
            if let (Link::Jump(out), Some(back)) = (link, self.way(to, from)) {
                let jumps: Vec<JumpNumber> = [out].into_iter().chain(back.by).collect();
                return Err(self.blame_circle(&jumps));
            }
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
                for (target, then) in behind.iter().copied() {
                    if source.chain == target.chain {
                        continue;
                    }
                    let link = Some(link);
                    let ends = self.ends(source, target);
                    let known = self
                        .closure
                        .insert(ends.0, ends.1, Parts { first, link, then });
                    let Some((fresh, jump)) = known else {
                        continue;
                    };
                    self.fresh.push(fresh);
                    if ends != (source, target) {
                        open.push((ends.0, ends.1, Link::Jump(jump)));
                    }
                }
            }
        }
        Ok(())
    }

    pub(super) fn has_buffers(&self) -> bool {
        self.closure.chains() > self.threads
    }

    /// What a node's coming before another says of their neighbours.
    fn ends(&self, from: Place, to: Place) -> (Place, Place) {
        match from.chain < self.threads && to.chain < self.threads {
            true => (from.at(self.last(from)), to.at(self.first(to))),
            false => (from, to),
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
