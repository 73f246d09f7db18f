//! Improves an order piece by piece: some runs in a row are taken out and put
//! back in the best way that leads from the same state to the same state. Where
//! a piece ends with the thread that goes on behind it, one more run is saved.

use crate::beam::{Runs, run};
use crate::exact::solve;
use crate::graph::{Graph, NodeCount};

/// Runs in a piece, from small to large, and states that solving one may take.
const SIZES: [usize; 3] = [6, 12, 24];
const MOST_STATES: usize = 2000;

/// Improves until no piece of any size can be improved, or until `keep_going`
/// says no.
#[must_use]
pub fn improve(graph: &Graph, mut runs: Runs, keep_going: &mut dyn FnMut() -> bool) -> Runs {
    for size in SIZES {
        // A shift by half a piece reaches what lies across its borders.
        let mut shift = 0;
        let mut fruitless = 0;
        while fruitless < 2 && runs.len() > 2 {
            let better = pass(graph, &runs, size, shift, keep_going);
            fruitless = if better.len() < runs.len() {
                0
            } else {
                fruitless + 1
            };
            runs = better;
            shift = size / 2 - shift;
            if !keep_going() {
                return runs;
            }
        }
    }
    runs
}

/// Takes each piece in turn.
fn pass(
    graph: &Graph,
    runs: &Runs,
    size: usize,
    shift: usize,
    keep_going: &mut dyn FnMut() -> bool,
) -> Runs {
    let mut done = vec![0; graph.chains()];
    let mut better = Runs::with_capacity(runs.len());
    let head = shift.min(runs.len());
    let pieces = runs[..head].chunks(size).chain(runs[head..].chunks(size));
    for piece in pieces.filter(|piece| !piece.is_empty()) {
        let mut end = done.clone();
        let effective = follow(graph, &mut end, piece);
        let bound =
            (0u32..)
                .map(crate::Chain)
                .zip(done.iter().zip(&end))
                .map(|(chain, (&from, &to))| {
                    (graph.bound(chain, from) - graph.bound(chain, to)).max(u32::from(from < to))
                });
        let tight = bound.sum::<u32>() as usize >= effective.len();
        let solved = match tight || !keep_going() {
            true => None,
            false => solve(graph, &done, &end, MOST_STATES, keep_going),
        };
        better.extend(
            solved
                .filter(|solved| solved.len() < effective.len())
                .unwrap_or(effective),
        );
        done = end;
    }
    // What was put back may join what follows it: go through the whole once more.
    follow(graph, &mut vec![0; graph.chains()], &better)
}

/// Carries runs out from a state; those that got anywhere.
#[must_use]
pub fn follow(graph: &Graph, done: &mut [NodeCount], runs: &[crate::Chain]) -> Runs {
    let mut effective = Runs::with_capacity(runs.len());
    for &chain in runs {
        let end = run(graph, done, chain, graph.length(chain));
        if end > done[chain.position()] {
            done[chain.position()] = end;
            effective.push(chain);
        }
    }
    effective
}
