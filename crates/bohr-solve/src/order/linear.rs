//! From choices to an order of all events, and whether memory and locks agree with
//! the choices in it. Where they do not, a *lemma* says what any order has to keep.

use super::encode::{Choices, Section};
use super::graph::Graph;
use super::readings::Readings;
use super::values::Values;
use crate::check::Turn;
use crate::event::{EventId, Problem};
use crate::model::{Chains, NodeNumber};
use batsat::Lit;
use std::collections::HashMap;

/// A part of a lemma; one of them has to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Part {
    /// A literal.
    Literal(Lit),
    /// One node comes before another.
    Before(NodeNumber, NodeNumber),
    /// An event does not happen.
    Absent(EventId),
}

/// Which constraints a lemma belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    ReadWrite,
    Synchronisation,
    Switches,
}

/// Something that every order has to keep.
pub(crate) type Lemma = (Kind, Vec<Part>);

/// What an order is made from.
pub(crate) struct Linear<'a> {
    pub(crate) problem: &'a Problem,
    pub(crate) chains: &'a Chains,
    pub(crate) choices: &'a Choices,
    pub(crate) readings: &'a Readings,
    pub(crate) graph: &'a Graph,
    pub(crate) values: &'a Values,
    /// By thread: how many of its events happen.
    pub(crate) happen: &'a [usize],
    /// By thread and position: the literal that allows a switch before it.
    pub(crate) switches: &'a HashMap<(usize, usize), Lit>,
    /// Whether a literal holds.
    pub(crate) holds: &'a dyn Fn(Lit) -> bool,
}

impl Linear<'_> {
    /// An order, or what is wrong with it.
    pub(crate) fn order(&self) -> Result<Vec<Turn>, Vec<Lemma>> {
        let nodes = self.sorted();
        let mut lemmas = self.memory(&nodes);
        lemmas.extend(self.locks(&nodes));
        lemmas.extend(self.interruptions(&nodes));
        match lemmas.is_empty() {
            true => Ok(nodes.into_iter().map(|node| self.turn(node)).collect()),
            false => Err(lemmas),
        }
    }

    fn turn(&self, node: NodeNumber) -> Turn {
        let node = self.chains.node(node);
        match node.commits {
            true => Turn::Commit(node.event),
            false => Turn::Event(node.event),
        }
    }

    fn happens(&self, node: NodeNumber) -> bool {
        let event = self.chains.node(node).event;
        event.event < self.happen[event.thread]
    }

    /// All nodes in an order that keeps every edge, staying in a chain as long as
    /// it can.
    fn sorted(&self) -> Vec<NodeNumber> {
        let count = self.chains.nodes.len();
        let mut waits = vec![0u32; count];
        let mut next: Vec<Vec<NodeNumber>> = vec![Vec::new(); count];
        for edge in self.graph.edges() {
            if self.happens(edge.from) && self.happens(edge.to) {
                waits[edge.to.0] += 1;
                next[edge.from.0].push(edge.to);
            }
        }
        let mut at = vec![0; self.chains.chains.len()];
        let mut order = Vec::with_capacity(count);
        let mut current = 0;
        loop {
            let buffers = self.chains.threads..self.chains.chains.len();
            let others = match self.is_between_neighbours(current, &at) {
                true => 0..0,
                false => 0..self.chains.threads,
            };
            let mut candidate = std::iter::once(current).chain(others).chain(buffers);
            let Some(chain) = candidate.find(|chain| self.is_ready(*chain, &at, &waits)) else {
                return order;
            };
            let node = self.chains.chains[chain][at[chain]];
            order.push(node);
            for after in &next[node.0] {
                waits[after.0] -= 1;
            }
            at[chain] += 1;
            if chain < self.chains.threads {
                current = chain;
            }
        }
    }

    /// Whether a thread is not to be interrupted where it is.
    fn is_between_neighbours(&self, chain: usize, at: &[usize]) -> bool {
        let next = self.chains.chains[chain].get(at[chain]);
        next.is_some_and(|node| self.happens(*node)) && self.graph.is_joined(chain, at[chain])
    }

    /// Whether a chain's next node waits for nobody, nor, of other threads, do those that
    /// it is not to be parted from.
    fn is_ready(&self, chain: usize, at: &[usize], waits: &[u32]) -> bool {
        let next = self.chains.chains[chain].get(at[chain]);
        let Some(node) = next.filter(|node| self.happens(**node) && waits[node.0] == 0) else {
            return false;
        };
        let joined = |position: usize| {
            let length = self.chains.chains[chain].len();
            position < length && self.graph.is_joined(chain, position)
        };
        if joined(at[chain]) || !joined(at[chain] + 1) {
            return true;
        }
        let place = self.graph.place(*node);
        let mut others = (0..self.chains.threads).filter(|other| *other != chain);
        others.all(|other| {
            let latest = self.graph.closure.latest(other as u32, place);
            let needed = latest.map_or(0, |(earlier, _)| earlier.position as usize + 1);
            needed.min(self.happen[other]) <= at[other]
        })
    }

    /// Whether every read finds the write that was chosen for it.
    fn memory(&self, nodes: &[NodeNumber]) -> Vec<Lemma> {
        let mut writes_of: HashMap<EventId, Vec<usize>> = HashMap::new();
        for (number, write) in self.choices.writes.iter().enumerate() {
            writes_of.entry(write.id).or_default().push(number);
        }
        let mut choices_of: HashMap<EventId, Vec<usize>> = HashMap::new();
        for (number, choice) in self.choices.choices.iter().enumerate() {
            choices_of.entry(choice.id).or_default().push(number);
        }
        let place = |write: usize| {
            let write = &self.choices.writes[write];
            let address = self.values.value(self.problem, write.address).unwrap_or(0) as u64;
            address..address + u64::from(write.size)
        };
        let mut memory: HashMap<u64, usize> = HashMap::new();
        let mut waiting: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut lemmas = Vec::new();
        for node in nodes {
            let node = *self.chains.node(*node);
            let writes = writes_of.get(&node.event).map_or(&[][..], |all| &all[..]);
            if node.commits {
                let own = waiting.entry(node.event.thread).or_default();
                own.retain(|write| !writes.contains(write));
            } else {
                let own = waiting
                    .get(&node.event.thread)
                    .map_or(&[][..], |own| &own[..]);
                for choice in choices_of.get(&node.event).into_iter().flatten() {
                    lemmas.extend(self.read(*choice, &memory, own, &place));
                }
                if self.chains.stores.contains_key(&node.event) {
                    waiting.entry(node.event.thread).or_default().extend(writes);
                    continue;
                }
            }
            for write in writes {
                memory.extend(place(*write).map(|at| (at, *write)));
            }
        }
        lemmas
    }

    fn read(
        &self,
        number: usize,
        memory: &HashMap<u64, usize>,
        own: &[usize],
        place: &dyn Fn(usize) -> std::ops::Range<u64>,
    ) -> Vec<Lemma> {
        let choice = &self.choices.choices[number];
        let Some((candidate, literal)) = self.values.chosen[number] else {
            return Vec::new();
        };
        let chosen = choice.candidates[candidate];
        let Some(address) = self.values.value(self.problem, choice.address) else {
            return Vec::new();
        };
        let address = address as u64;
        let start = address + u64::from(choice.offset);
        for at in start..start + u64::from(choice.size) {
            let forwarded = own
                .iter()
                .rev()
                .find(|write| place(**write).contains(&at))
                .copied();
            let found = forwarded.or_else(|| memory.get(&at).copied());
            if found != chosen {
                // Where one comes between, others would next.
                let thirds = self.readings.thirds(self.choices, number, chosen).map(Some);
                let thirds = thirds.filter(|third| *third != found);
                return std::iter::once(found)
                    .chain(thirds)
                    .map(|found| (Kind::ReadWrite, self.demand(number, literal, chosen, found)))
                    .collect();
            }
        }
        Vec::new()
    }

    /// What keeps a read from finding another write than the one that was chosen.
    pub(crate) fn demand(
        &self,
        number: usize,
        literal: Lit,
        chosen: Option<usize>,
        found: Option<usize>,
    ) -> Vec<Part> {
        let read = self.chains.event(self.choices.choices[number].id);
        let visible = |write: usize| self.chains.visible(self.choices.writes[write].id);
        let mut parts = vec![Part::Literal(!literal)];
        let Some(found) = found else {
            // The chosen one has not come yet: its edge has to be there, or the places
            // that were computed are not these.
            return parts;
        };
        let blame = self.values.blame_places(self.choices, number, found);
        parts.extend(blame.into_iter().map(|literal| Part::Literal(!literal)));
        let thread = self.choices.choices[number].id.thread;
        let is_own = |write: usize| self.choices.writes[write].id.thread == thread;
        let earlier = |write: usize| {
            is_own(write) && self.choices.writes[write].id < self.choices.choices[number].id
        };
        parts.push(Part::Absent(self.choices.writes[found].id));
        if !earlier(found) {
            parts.push(Part::Before(read, visible(found)));
        }
        if let Some(chosen) = chosen {
            let blame = self.values.blame_places(self.choices, number, chosen);
            parts.extend(blame.into_iter().map(|literal| Part::Literal(!literal)));
            parts.push(Part::Before(visible(found), visible(chosen)));
            if earlier(chosen) {
                parts.push(Part::Before(read, visible(chosen)));
            }
        }
        parts
    }

    /// Whether nobody takes a lock that another holds.
    fn locks(&self, nodes: &[NodeNumber]) -> Vec<Lemma> {
        let place: HashMap<NodeNumber, usize> = nodes.iter().copied().zip(0..).collect();
        let mut lemmas = Vec::new();
        for sections in self.choices.sections.values() {
            let taken = sections
                .iter()
                .filter_map(|one| Some((*place.get(&one.taken)?, one)));
            let mut taken: Vec<_> = taken.collect();
            taken.sort_by_key(|one| one.0);
            for (index, (_, first)) in taken.iter().enumerate() {
                let end = first.given.and_then(|given| place.get(&given)).copied();
                for (start, second) in &taken[index + 1..] {
                    if end.is_some_and(|end| end < *start) {
                        break;
                    }
                    if first.thread != second.thread && !(first.shared && second.shared) {
                        lemmas.push((Kind::Synchronisation, exclusion(self.chains, first, second)));
                    }
                }
            }
        }
        lemmas
    }

    /// Whether threads are only interrupted where that is allowed; of store buffers,
    /// whose steps interrupt nobody, the graph does not know that.
    fn interruptions(&self, nodes: &[NodeNumber]) -> Vec<Lemma> {
        let threads = self.chains.threads;
        let mut lemmas = Vec::new();
        // By thread: the first and the last event of others since its own last one.
        let mut since: Vec<Option<(NodeNumber, NodeNumber)>> = vec![None; threads];
        let events = nodes
            .iter()
            .filter(|node| self.chains.node(**node).chain < threads);
        for node in events {
            let place = *self.chains.node(*node);
            if let Some((first, latest)) = since[place.chain].take()
                && let Some(switch) = self.switches.get(&(place.chain, place.position))
                && !(self.holds)(*switch)
            {
                let before = self.chains.chains[place.chain][place.position - 1];
                let lemma = |other: NodeNumber| {
                    vec![
                        Part::Literal(*switch),
                        Part::Before(other, before),
                        Part::Before(*node, other),
                        Part::Absent(self.chains.node(other).event),
                        Part::Absent(place.event),
                    ]
                };
                lemmas.extend([first, latest].map(|other| (Kind::Switches, lemma(other))));
            }
            for (thread, between) in since.iter_mut().enumerate() {
                if thread != place.chain {
                    *between = Some((between.map_or(*node, |between| between.0), *node));
                }
            }
        }
        lemmas
    }
}

/// One of two stretches in which a lock is held comes first.
pub(crate) fn exclusion(chains: &Chains, first: &Section, second: &Section) -> Vec<Part> {
    let mut parts = Vec::new();
    for (one, other) in [(first, second), (second, first)] {
        parts.push(Part::Absent(chains.node(one.taken).event));
        if let Some(given) = one.given {
            parts.push(Part::Before(given, other.taken));
        }
    }
    parts
}
