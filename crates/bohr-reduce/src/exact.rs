//! The best order, for graphs and parts of graphs that are small enough: A*
//! over states, with the runs that every chain still takes at least as the
//! estimate, which never overestimates and falls by at most one with each run.

use crate::beam::{Runs, steps};
use crate::graph::{Graph, NodeCount};
use crate::order::Chain;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

type Done = Box<[NodeCount]>;

/// How many runs were made, how many more there are at least, and the state.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    total: Reverse<u32>,
    /// Deeper states first: with equal totals they are nearer to the end.
    made: u32,
    done: Done,
}

/// The best way to a state that is known so far.
#[derive(Clone, Copy)]
struct Arrival {
    made: u32,
    /// The last run: whose, and where it began.
    chain: Chain,
    start: NodeCount,
}

/// The fewest maximal runs that lead from one state to another. `None` if more
/// than `most_states` states had to be looked at, or `keep_going` said no.
#[must_use]
pub fn solve(
    graph: &Graph,
    from: &[NodeCount],
    to: &[NodeCount],
    most_states: usize,
    keep_going: &mut dyn FnMut() -> bool,
) -> Option<Runs> {
    let mut queue = BinaryHeap::new();
    let mut reached: HashMap<Done, Arrival> = HashMap::new();
    let mut worthwhile = Vec::new();
    let done: Done = from.into();
    queue.push(Entry {
        total: Reverse(left(graph, &done, to)),
        made: 0,
        done,
    });
    while let Some(Entry { made, done, .. }) = queue.pop() {
        if *done == *to {
            return Some(backwards(from, &reached, done));
        }
        if reached.get(&done).is_some_and(|best| best.made < made) {
            continue;
        }
        if reached.len() > most_states || !keep_going() {
            return None;
        }
        steps(graph, &done, |chain| to[chain.position()], &mut worthwhile);
        for &(chain, end) in &worthwhile {
            let start = done[chain.position()];
            let mut next = done.clone();
            next[chain.position()] = end;
            let made = made + 1;
            if reached.get(&next).is_none_or(|best| best.made > made) {
                let total = Reverse(made + left(graph, &next, to));
                reached.insert(next.clone(), Arrival { made, chain, start });
                queue.push(Entry {
                    total,
                    made,
                    done: next,
                });
            }
        }
    }
    None
}

/// Runs that are left at least.
fn left(graph: &Graph, done: &[NodeCount], to: &[NodeCount]) -> u32 {
    let chains = (0..).map(Chain).zip(done.iter().zip(to));
    chains
        .map(|(chain, (&done, &to))| {
            let forced = graph.bound(chain, done) - graph.bound(chain, to);
            forced.max(u32::from(done < to))
        })
        .sum()
}

/// Follows the runs back to the first state.
fn backwards(from: &[NodeCount], reached: &HashMap<Done, Arrival>, last: Done) -> Runs {
    let mut runs = Vec::new();
    let mut state = last;
    while *state != *from {
        let arrival = reached[&state];
        runs.push(arrival.chain);
        state[arrival.chain.position()] = arrival.start;
    }
    runs.reverse();
    runs
}
