//! The static step as a whole: refuse what is no trace, build the graph, try
//! several orders, improve the best, prove it, report.

use crate::check::check;
use crate::error::SimplifyError;
use crate::footprint::Footprints;
use crate::graph::{Graph, NodeCount};
use crate::order::{Chain, Chains, Execution, Order};
use crate::preemption::preemptive;
use crate::{beam, circles, exact, lifecycle, window};
use bohr_event::control::Step;

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether the last event stays the last one. It is where a failing
    /// execution ends, so an order with events behind it cannot be replayed.
    pub pin_last: bool,
    /// Whether threads other than the first must begin with their start.
    pub whole_threads: bool,
    /// Whether the result is checked. It takes a pass over the trace.
    pub check: bool,
    /// Beams of width 1, 2, 4 and so on up to this.
    pub widest: usize,
    /// States that the exact solver may look at before it gives up.
    pub exact_states: usize,
    /// How often a thread may be tried for the first order, whether there is time or
    /// not: some tenths of a second, in which nearly every trace gets one.
    pub free_tries: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            pin_last: true,
            whole_threads: true,
            check: true,
            widest: 64,
            exact_states: 20_000,
            free_tries: 1 << 23,
        }
    }
}

/// What was found, in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Events of the trace.
    pub events: u64,
    /// Threads that were alive at some time.
    pub threads: u64,
    /// Variables that several threads touch and some thread writes.
    pub shared_variables: u64,
    /// Nodes of the dependence graph.
    pub graph_nodes: u64,
    /// Switches of the trace.
    pub switches_before: u64,
    /// Switches of the simplified order.
    pub switches_after: u64,
    /// Of those, how many take the processor from a thread that could go on.
    pub preemptive_after: u64,
    /// Every order that respects the dependences has so many switches at least.
    pub fewest_possible: u64,
    /// Whether it is proven that no order has fewer switches.
    pub optimal: bool,
    /// Whether the checker went over the result.
    pub verified: bool,
}

/// A simplified execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Simplified {
    /// The new order.
    pub order: Order,
    /// What was found.
    pub report: Report,
}

/// Finds an order of the same events with as few switches as it can. Searches
/// until there is nothing left to try or until `keep_going` says no; the best
/// order so far is then the result.
///
/// # Errors
/// If the steps are no trace of an execution, naming the offending event, or
/// if the checker refuses the result, which would be a bug.
pub fn simplify(
    execution: Execution<'_>,
    options: &Options,
    keep_going: &mut dyn FnMut() -> bool,
) -> Result<Simplified, SimplifyError> {
    let steps = execution.steps;
    if u32::try_from(steps.len()).is_err() {
        return Err(SimplifyError::TooLong(steps.len() as u64));
    }
    lifecycle::check(execution, options.whole_threads)?;
    circles::check(execution)?;
    let chains = Chains::new(steps);
    let footprints = Footprints::new(execution, &chains);
    let graph = Graph::new(&chains, &footprints, options.pin_last);
    let original = Order::of(steps);
    let (runs, optimal) = search(&graph, options, keep_going);
    let found = order(&graph, &chains, &runs);
    // Maximal runs never lose against the order they started from, but the
    // first beam need not pass through it.
    let better = found.switches() <= original.switches();
    let order = if better { found } else { original.clone() };
    if options.check {
        check(steps, &footprints, &order).map_err(SimplifyError::Wrong)?;
    }
    let report = Report {
        events: steps.len() as u64,
        threads: threads(steps, &chains),
        shared_variables: shared_variables(&chains, &footprints),
        graph_nodes: graph.nodes(),
        switches_before: original.switches(),
        switches_after: order.switches(),
        preemptive_after: preemptive(execution, &chains, &graph, &order).len() as u64,
        fewest_possible: if optimal {
            order.switches()
        } else {
            graph.fewest_switches()
        },
        optimal,
        verified: options.check,
    };
    Ok(Simplified { order, report })
}

/// The best runs that could be found, and whether none are better. They end early if
/// there was no time for a single order.
fn search(
    graph: &Graph,
    options: &Options,
    keep_going: &mut dyn FnMut() -> bool,
) -> (beam::Runs, bool) {
    let mut free = options.free_tries / graph.chains().max(1);
    let (mut best, is_whole) = beam::first(graph, &mut || {
        let is_free = free > 0;
        free = free.saturating_sub(1);
        is_free || keep_going()
    });
    if !is_whole {
        return (best, false);
    }
    let fewest = graph.fewest_switches();
    let proven = |runs: &beam::Runs| runs.len() as u64 <= fewest + 1;
    if proven(&best) {
        return (best, true);
    }
    let start = vec![0; graph.chains()];
    let end: Vec<NodeCount> = (0..graph.chains() as u32)
        .map(|chain| graph.length(Chain(chain)))
        .collect();
    if keep_going()
        && let Some(runs) = exact::solve(graph, &start, &end, options.exact_states, keep_going)
    {
        return (runs, true);
    }
    let mut width = 2;
    while width <= options.widest && keep_going() && !proven(&best) {
        let fewer_than = best.len() as u64;
        if let Some(runs) = beam::search(graph, width, width as u64, fewer_than, keep_going) {
            best = runs;
        }
        width *= 2;
    }
    if keep_going() && !proven(&best) {
        best = window::improve(graph, best, keep_going);
    }
    let optimal = proven(&best);
    (best, optimal)
}

/// Runs of nodes as an order of events. What they leave out comes behind them, in the
/// order in which it happened: all that it depends on is either before it there, or in
/// the runs.
fn order(graph: &Graph, chains: &Chains, runs: &[Chain]) -> Order {
    let mut order = Order::default();
    let mut done = vec![0; graph.chains()];
    for &chain in runs {
        let start = done[chain.position()];
        let end = beam::run(graph, &done, chain, graph.length(chain));
        done[chain.position()] = end;
        let events = graph.events_before(chain, end) - graph.events_before(chain, start);
        if events > 0 {
            order.push(chains.threads[chain.position()], u64::from(events));
        }
    }
    let taken = |chain: &Chain| graph.events_before(*chain, done[chain.position()]);
    let mut taken: Vec<u32> = (0..)
        .map(Chain)
        .take(done.len())
        .map(|chain| taken(&chain))
        .collect();
    for &chain in &chains.of {
        match taken[chain.position()].checked_sub(1) {
            Some(left) => taken[chain.position()] = left,
            None => order.push(chains.threads[chain.position()], 1),
        }
    }
    order
}

/// An index counts once for each thread that had it.
fn threads(steps: &[Step], chains: &Chains) -> u64 {
    let mut starts = vec![0u64; chains.count()];
    for (step, chain) in steps.iter().zip(&chains.of) {
        starts[chain.position()] += u64::from(step.is_start());
    }
    starts.iter().map(|&starts| starts.max(1)).sum()
}

fn shared_variables(chains: &Chains, footprints: &Footprints) -> u64 {
    #[derive(Clone, Copy, PartialEq)]
    struct Use {
        toucher: Option<Chain>,
        several: bool,
        written: bool,
    }
    let mut uses = vec![
        Use {
            toucher: None,
            several: false,
            written: false
        };
        footprints.variables()
    ];
    for (event, &chain) in chains.of.iter().enumerate() {
        for touch in footprints.touches(event) {
            let entry = &mut uses[touch.variable.0 as usize];
            entry.several |= *entry.toucher.get_or_insert(chain) != chain;
            entry.written |= touch.writes;
        }
    }
    uses.iter()
        .filter(|entry| entry.several && entry.written)
        .count() as u64
}
