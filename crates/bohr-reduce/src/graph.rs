//! The dependence graph (SimTrace, Definition 6): T chains of nodes, a node
//! being the events of one thread from one that depends on another thread to
//! the next such one.
//!
//! Algorithm 1 of the paper, as printed, loses edges: the first node of a thread
//! gets none, so that the start of a thread forgets its creation, and an action
//! with a remote dependence gets none when no switch precedes it. This follows
//! the definition: *each* event with a remote dependence begins a node, and the
//! node has all of the event's edges.
//!
//! Dependences that follow from others are left out. Since the graph has T
//! chains, what precedes a node is one number for each chain, its *clock*, and
//! "is already ordered" is a comparison of two numbers. A node with k needs takes
//! O(k · T): each need is held against the clocks of the others, and each clock is
//! taken over. So building takes O(events + T · (nodes + edges)) time and T · nodes
//! words; a graph for which that is too much keeps redundant edges and has no bounds.

use crate::dependence::Dependences;
use crate::footprint::Footprints;
use crate::order::{Chain, Chains};

/// How many nodes of a chain: what is done of it, or must be.
pub type NodeCount = u32;

/// That so many nodes of a chain have to be done before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// Which chain.
    pub chain: Chain,
    /// How many of its nodes.
    pub nodes: NodeCount,
}

/// Words that clocks may take.
const MOST_CLOCK_WORDS: usize = 1 << 26;

/// One thread's part of the graph.
#[derive(Clone, Debug, Default)]
struct Nodes {
    /// By node: its first event, counted within the chain.
    starts: Vec<u32>,
    /// By node: where its needs end; they begin where those of the last node end.
    need_ends: Vec<u32>,
    needs: Vec<Need>,
    /// By node: how many nodes of each chain precede it. Empty if too many.
    clocks: Vec<NodeCount>,
    /// By node: how many nodes of its own chain precede it by way of others.
    returns: Vec<NodeCount>,
    /// By node: the first one that it precedes by way of others, or the length.
    breaks: Vec<NodeCount>,
    /// By number of nodes done: how many more runs the chain takes at least.
    bounds: Vec<u32>,
    events: u32,
}

/// The dependence graph of a trace.
#[derive(Clone, Debug)]
pub struct Graph {
    chains: Vec<Nodes>,
}

impl Graph {
    /// Builds the graph. With `pin_last`, the last event of the trace comes
    /// last in every order: a failure is where its execution ends.
    #[must_use]
    pub fn new(chains: &Chains, footprints: &Footprints, pin_last: bool) -> Graph {
        let mut builder = Builder::new(chains.count());
        let mut dependences = Dependences::new(footprints.variables());
        for (event, &chain) in chains.of.iter().enumerate() {
            builder.needs.clear();
            for touch in footprints.touches(event) {
                dependences.of(chain, touch, |other, nodes| {
                    builder.needs.push(Need {
                        chain: other,
                        nodes,
                    });
                });
            }
            if pin_last && event + 1 == chains.of.len() {
                builder.need_everything(chain);
            }
            let node = builder.place(chain);
            for touch in footprints.touches(event) {
                dependences.record(chain, node, touch);
            }
        }
        builder.finish()
    }

    /// How many chains.
    #[must_use]
    pub fn chains(&self) -> usize {
        self.chains.len()
    }

    /// How many nodes of a chain.
    #[must_use]
    pub fn length(&self, chain: Chain) -> NodeCount {
        self.chains[chain.position()].starts.len() as NodeCount
    }

    /// How many nodes altogether.
    #[must_use]
    pub fn nodes(&self) -> u64 {
        self.chains
            .iter()
            .map(|nodes| nodes.starts.len() as u64)
            .sum()
    }

    /// What has to be done before a node, by its position in its chain.
    #[must_use]
    #[inline]
    pub fn needs(&self, chain: Chain, node: NodeCount) -> &[Need] {
        let nodes = &self.chains[chain.position()];
        let node = node as usize;
        let start = node
            .checked_sub(1)
            .map_or(0, |before| nodes.need_ends[before]);
        &nodes.needs[start as usize..nodes.need_ends[node] as usize]
    }

    /// How many events of a chain its first `nodes` nodes have.
    #[must_use]
    pub fn events_before(&self, chain: Chain, nodes: NodeCount) -> u32 {
        let of = &self.chains[chain.position()];
        of.starts.get(nodes as usize).copied().unwrap_or(of.events)
    }

    /// How many runs a chain of which so much is done takes at least: where a
    /// node precedes a later one of its chain by way of another thread, there
    /// is a switch between them.
    #[must_use]
    #[inline]
    pub fn bound(&self, chain: Chain, done: NodeCount) -> u32 {
        self.chains[chain.position()].bounds[done as usize]
    }

    /// Where a run that begins at a node has to end at the latest. One that gets
    /// there is *full*: there is nothing better to do with the chain.
    #[must_use]
    #[inline]
    pub fn latest_end(&self, chain: Chain, start: NodeCount) -> NodeCount {
        self.chains[chain.position()].breaks[start as usize]
    }

    /// How many switches every order has at least.
    #[must_use]
    pub fn fewest_switches(&self) -> u64 {
        let runs: u64 = self
            .chains
            .iter()
            .map(|nodes| u64::from(nodes.bounds[0]))
            .sum();
        runs.saturating_sub(1)
    }
}

/// A graph under construction.
struct Builder {
    chains: Vec<Nodes>,
    /// By chain: how many nodes of each chain precede its next event.
    seen: Vec<Vec<NodeCount>>,
    /// Of the event at hand.
    needs: Vec<Need>,
    clock_words: usize,
}

impl Builder {
    fn new(chains: usize) -> Builder {
        Builder {
            chains: vec![Nodes::default(); chains],
            seen: vec![vec![0; chains]; chains],
            needs: Vec::new(),
            clock_words: 0,
        }
    }

    fn has_clocks(&self) -> bool {
        self.clock_words <= MOST_CLOCK_WORDS
    }

    /// The event follows everything that was there.
    fn need_everything(&mut self, chain: Chain) {
        for (other, nodes) in (0..).map(Chain).zip(&self.chains) {
            let count = nodes.starts.len() as NodeCount;
            if other != chain && count > 0 {
                self.needs.push(Need {
                    chain: other,
                    nodes: count,
                });
            }
        }
    }

    /// Puts the event at hand into the last node of its chain or into a new
    /// one; how many nodes the chain then has.
    fn place(&mut self, chain: Chain) -> NodeCount {
        let seen = &self.seen[chain.position()];
        self.needs
            .retain(|need| need.nodes > seen[need.chain.position()]);
        let empty = self.chains[chain.position()].starts.is_empty();
        if empty || !self.needs.is_empty() {
            self.begin(chain);
        }
        let nodes = &mut self.chains[chain.position()];
        nodes.events += 1;
        nodes.starts.len() as NodeCount
    }

    /// Begins a node with the needs of the event at hand, without those that
    /// follow from others.
    fn begin(&mut self, chain: Chain) {
        let mut needs = std::mem::take(&mut self.needs);
        needs.sort_unstable_by_key(|need| (need.chain, std::cmp::Reverse(need.nodes)));
        needs.dedup_by_key(|need| need.chain);
        let follows = |need: &Need, other: &Need| {
            self.clock(*other)
                .is_some_and(|clock| clock[need.chain.position()] >= need.nodes)
        };
        let kept: Vec<Need> = needs
            .iter()
            .copied()
            .filter(|need| !needs.iter().any(|other| follows(need, other)))
            .collect();
        needs.clear();
        self.needs = needs;
        let returns = kept
            .iter()
            .map(|&need| self.follow(chain, need))
            .max()
            .unwrap_or(0);
        let own = self.chains[chain.position()].starts.len() as NodeCount;
        self.seen[chain.position()][chain.position()] = own;
        let with_clocks = self.has_clocks();
        let nodes = &mut self.chains[chain.position()];
        nodes.starts.push(nodes.events);
        nodes.needs.extend(kept);
        nodes.need_ends.push(nodes.needs.len() as u32);
        nodes.returns.push(returns);
        if with_clocks {
            nodes.clocks.extend(&self.seen[chain.position()]);
            self.clock_words += self.seen.len();
        }
    }

    /// How many nodes of each chain precede a needed node, if that is known.
    fn clock(&self, need: Need) -> Option<&[NodeCount]> {
        let width = self.seen.len();
        let row = (need.nodes as usize - 1) * width;
        self.chains[need.chain.position()]
            .clocks
            .get(row..row + width)
    }

    /// Learns what precedes a needed node; how many nodes of the own chain do.
    fn follow(&mut self, chain: Chain, need: Need) -> NodeCount {
        let mut seen = std::mem::take(&mut self.seen[chain.position()]);
        let clock = self.clock(need);
        for (known, &more) in seen.iter_mut().zip(clock.unwrap_or_default()) {
            *known = (*known).max(more);
        }
        let returns = clock.map_or(0, |clock| clock[chain.position()]);
        seen[need.chain.position()] = need.nodes;
        self.seen[chain.position()] = seen;
        returns
    }

    fn finish(mut self) -> Graph {
        for nodes in &mut self.chains {
            nodes.clocks = Vec::new();
            nodes.breaks = breaks(&nodes.returns);
            nodes.bounds = bounds(&nodes.breaks);
        }
        Graph {
            chains: self.chains,
        }
    }
}

/// By node, where the run that begins there has to end at the latest: at the
/// first node that it precedes by way of others.
fn breaks(returns: &[NodeCount]) -> Vec<NodeCount> {
    let mut breaks = vec![returns.len() as NodeCount; returns.len()];
    let mut reached = 0;
    for (node, &returned) in (0..).zip(returns) {
        let returned = returned as usize;
        if reached < returned {
            breaks[reached..returned].fill(node);
            reached = returned;
        }
    }
    breaks
}

/// By number of nodes done, how many runs are left if each ends as late as it can.
fn bounds(breaks: &[NodeCount]) -> Vec<u32> {
    let mut bounds = vec![0; breaks.len() + 1];
    for (node, &end) in breaks.iter().enumerate().rev() {
        bounds[node] = 1 + bounds[end as usize];
    }
    bounds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_count_forced_switches() {
        // Node 2 follows node 0 by way of others, node 3 follows node 1.
        assert_eq!(breaks(&[0, 0, 1, 2]), [2, 3, 4, 4]);
        assert_eq!(bounds(&[2, 3, 4, 4]), [2, 2, 1, 1, 0]);
        assert_eq!(breaks(&[0, 1, 2]), [1, 2, 3]);
        assert_eq!(bounds(&[1, 2, 3]), [3, 2, 1, 0]);
        assert_eq!(bounds(&[]), [0]);
    }
}
