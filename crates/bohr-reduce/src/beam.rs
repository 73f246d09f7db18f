//! Several orders at a time: the most promising states of every length are
//! carried on.
//!
//! A state is how much of each chain is done. It is enough to look at *maximal*
//! runs: a thread that can go on may do so before the switch, since moving its
//! next event forward breaks no dependence and adds no switch. So a step is the
//! choice of a thread that can run, and whether one can is a comparison of the
//! needs of its next node with the state: what takes the place of the paper's
//! search for a path between two nodes that are to be merged.
//!
//! A run is *full* if it gets as far as any run that begins there can get. If
//! some thread can make one, that is the step to take, and no other need be
//! looked at: whenever an order lets that thread run next, it gets no further,
//! and letting it run now takes nothing from others.
//!
//! States after equally many runs are ranked by how many runs they still take
//! at least ([`Graph::bound`]), then by how much is done. A pass costs
//! O(width · runs · (T + n)), n being the nodes that could run from a state, each with
//! its needs: every thread is tried before each choice.

use crate::graph::{Graph, Need, NodeCount};
use crate::order::Chain;
use std::collections::HashSet;

/// An order of runs, by their chains; each run is maximal.
pub type Runs = Vec<Chain>;

/// How far a chain gets if it runs now.
#[must_use]
pub fn run(graph: &Graph, done: &[NodeCount], chain: Chain, limit: NodeCount) -> NodeCount {
    let mut node = done[chain.position()];
    while node < limit && graph.needs(chain, node).iter().all(|need| met(need, done)) {
        node += 1;
    }
    node
}

#[inline]
fn met(need: &Need, done: &[NodeCount]) -> bool {
    done[need.chain.position()] >= need.nodes
}

/// The steps worth taking from a state towards another: chains that can run,
/// with where their runs end. A single one if it is full.
pub(crate) fn steps(
    graph: &Graph,
    done: &[NodeCount],
    to: impl Fn(Chain) -> NodeCount,
    steps: &mut Vec<(Chain, NodeCount)>,
) {
    steps.clear();
    for chain in (0..graph.chains() as u32).map(Chain) {
        let start = done[chain.position()];
        let end = run(graph, done, chain, to(chain));
        if end == start {
            continue;
        }
        if end == graph.latest_end(chain, start).min(to(chain)) {
            steps.clear();
            steps.push((chain, end));
            return;
        }
        steps.push((chain, end));
    }
}

/// One state in a beam.
#[derive(Clone)]
struct State {
    done: Vec<NodeCount>,
    /// Runs left at least.
    bound: u64,
    /// Nodes done.
    nodes: u64,
    /// Sum over chains of a mixed number of what is done, to tell states apart.
    tag: u64,
}

/// A step from a state of the beam.
struct Candidate {
    parent: u32,
    chain: Chain,
    end: NodeCount,
    bound: u64,
    nodes: u64,
    tag: u64,
}

fn mix(chain: Chain, done: NodeCount) -> u64 {
    let word = u64::from(chain.0) << 32 | u64::from(done);
    let mixed = (word ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xff51_afd7_ed55_8ccd);
    (mixed ^ mixed >> 32).wrapping_mul(0xc4ce_b9fe_1a85_ec53)
}

impl State {
    fn first(graph: &Graph) -> State {
        let chains = (0..graph.chains() as u32).map(Chain);
        State {
            done: vec![0; graph.chains()],
            bound: chains
                .clone()
                .map(|chain| u64::from(graph.bound(chain, 0)))
                .sum(),
            nodes: 0,
            tag: chains.map(|chain| mix(chain, 0)).fold(0, u64::wrapping_add),
        }
    }

    fn candidates(
        &self,
        graph: &Graph,
        parent: u32,
        scratch: &mut Vec<(Chain, NodeCount)>,
        candidates: &mut Vec<Candidate>,
    ) {
        steps(graph, &self.done, |chain| graph.length(chain), scratch);
        for &(chain, end) in scratch.iter() {
            let start = self.done[chain.position()];
            let saved = graph.bound(chain, start) - graph.bound(chain, end);
            candidates.push(Candidate {
                parent,
                chain,
                end,
                bound: self.bound - u64::from(saved),
                nodes: self.nodes + u64::from(end - start),
                tag: self
                    .tag
                    .wrapping_sub(mix(chain, start))
                    .wrapping_add(mix(chain, end)),
            });
        }
    }

    fn step(&self, candidate: &Candidate) -> State {
        let mut done = self.done.clone();
        done[candidate.chain.position()] = candidate.end;
        State {
            done,
            bound: candidate.bound,
            nodes: candidate.nodes,
            tag: candidate.tag,
        }
    }
}

/// Searches with a beam of some width, ties broken by `seed`. `None` if
/// `keep_going` said no before the end was reached, or if no order has fewer
/// than `fewer_than` runs on this way.
///
/// # Panics
/// If the graph has a cycle, which the graph of a trace has not.
pub fn search(
    graph: &Graph,
    width: usize,
    seed: u64,
    fewer_than: u64,
    keep_going: &mut dyn FnMut() -> bool,
) -> Option<Runs> {
    let (runs, is_whole) = advance(graph, width, seed, fewer_than, keep_going);
    is_whole.then_some(runs)
}

/// Takes the most promising step again and again; the runs up to the end, or as many
/// as were found when `keep_going` said no, and whether that is all.
///
/// # Panics
/// If the graph has a cycle, which the graph of a trace has not.
pub fn first(graph: &Graph, keep_going: &mut dyn FnMut() -> bool) -> (Runs, bool) {
    advance(graph, 1, 0, u64::MAX, keep_going)
}

/// The best runs so far, and whether they reach the end.
fn advance(
    graph: &Graph,
    width: usize,
    seed: u64,
    fewer_than: u64,
    keep_going: &mut dyn FnMut() -> bool,
) -> (Runs, bool) {
    let mut beam = vec![State::first(graph)];
    let mut levels: Vec<Vec<(u32, Chain)>> = Vec::new();
    let mut candidates = Vec::new();
    let mut scratch = Vec::new();
    let mut known = HashSet::new();
    while beam[0].nodes < graph.nodes() {
        if !keep_going() {
            return (backwards(&levels), false);
        }
        candidates.clear();
        for (parent, state) in (0..).zip(&beam) {
            state.candidates(graph, parent, &mut scratch, &mut candidates);
        }
        assert!(!candidates.is_empty(), "the graph of a trace has no cycle");
        rank(&mut candidates, seed);
        if levels.len() as u64 + 1 + candidates[0].bound >= fewer_than {
            return (Runs::new(), false);
        }
        known.clear();
        candidates.retain(|candidate| known.len() < width && known.insert(candidate.tag));
        let next = candidates
            .iter()
            .map(|candidate| beam[candidate.parent as usize].step(candidate));
        let next = next.collect();
        levels.push(
            candidates
                .iter()
                .map(|candidate| (candidate.parent, candidate.chain))
                .collect(),
        );
        beam = next;
    }
    (backwards(&levels), true)
}

/// Finished states first, then the most promising.
fn rank(candidates: &mut [Candidate], seed: u64) {
    candidates.sort_unstable_by_key(|candidate| {
        let tie = (candidate.tag ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (candidate.bound, std::cmp::Reverse(candidate.nodes), tie)
    });
}

/// The way to the first state of the last level.
fn backwards(levels: &[Vec<(u32, Chain)>]) -> Runs {
    let mut position = 0;
    let mut runs: Runs = levels
        .iter()
        .rev()
        .map(|level| {
            let (parent, chain) = level[position];
            position = parent as usize;
            chain
        })
        .collect();
    runs.reverse();
    runs
}
