//! What a dependence graph alone can leave out: ER (Tallam, Tian, Gupta and
//! Zhang, "Enabling Tracing of Long-Running Multithreaded Programs via Dynamic
//! Execution Reduction", ISSTA 2007), as LEAN's section 6.2 describes it. Events
//! are grouped into regions and threads, and regions from which no path leads to
//! the failure are removed; nothing is run again.
//!
//! A region is a node of [`graph`](crate::graph): the events of a thread from one
//! that depends on another thread to the next such one. Within a thread, later
//! regions depend on earlier ones, so what goes is the end of a thread.

use crate::footprint::Footprints;
use crate::graph::{Graph, NodeCount};
use crate::order::{Chain, Chains, Execution};
use bohr_event::{EventKind, ThreadIndex};

/// What is not needed, and what there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Irrelevant {
    /// Events that can go.
    pub events: u64,
    /// Regions that can go.
    pub regions: u64,
    /// Threads of which nothing is left.
    pub threads: u64,
}

/// What can be left out of an execution that fails at its end: by the thread of
/// the last event, or by those that wait for locks or conditions for ever.
#[must_use]
pub fn irrelevant(execution: Execution<'_>) -> Irrelevant {
    let chains = Chains::new(execution.steps);
    let footprints = Footprints::new(execution, &chains);
    let graph = Graph::new(&chains, &footprints, false);
    let needed = needed(&graph, &chains, &failing(execution));
    let mut result = Irrelevant::default();
    for (chain, &nodes) in (0..).map(Chain).zip(&needed) {
        let kept = graph.events_before(chain, nodes);
        result.events += u64::from(chains.lengths[chain.position()] - kept);
        result.regions += u64::from(graph.length(chain) - nodes);
        result.threads += u64::from(nodes == 0);
    }
    result
}

/// Who fails.
fn failing(execution: Execution<'_>) -> Vec<ThreadIndex> {
    use EventKind::{Acquire, AcquireShared, Wait};
    let waits = |kind| matches!(kind, Acquire | AcquireShared | Wait);
    let last = execution.steps.last().map(|step| step.thread);
    let waiting = execution.pending.iter();
    let waiting = waiting.filter(|step| waits(step.operation.kind));
    last.into_iter()
        .chain(waiting.map(|step| step.thread))
        .collect()
}

/// By chain: how many of its nodes precede the end of a failing thread.
fn needed(graph: &Graph, chains: &Chains, failing: &[ThreadIndex]) -> Vec<NodeCount> {
    let mut needed = vec![0; graph.chains()];
    let mut waiting = Vec::new();
    let raise = |needed: &mut [NodeCount], chain: Chain, nodes: NodeCount| {
        let here = &mut needed[chain.position()];
        let from = std::mem::replace(here, nodes.max(*here));
        (from..nodes).map(move |node| (chain, node))
    };
    for (chain, thread) in (0..).map(Chain).zip(&chains.threads) {
        if failing.contains(thread) {
            waiting.extend(raise(&mut needed, chain, graph.length(chain)));
        }
    }
    while let Some((chain, node)) = waiting.pop() {
        for need in graph.needs(chain, node) {
            waiting.extend(raise(&mut needed, need.chain, need.nodes));
        }
    }
    needed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::step;
    use bohr_event::control::Step;
    use proptest::prelude::*;

    #[test]
    fn what_nobody_who_fails_has_seen_goes() {
        use EventKind::{Read, Write};
        let steps = [
            step(1, Write, 0x10),
            step(2, Write, 0x20),
            step(0, Read, 0x10),
            step(1, Read, 0x20),
            step(1, Write, 0x10),
            step(3, Write, 0x30),
            step(0, Read, 0x40),
        ];
        // Thread 1 is needed up to its first region; 2 and 3 are not.
        let expected = Irrelevant {
            events: 4,
            regions: 4,
            threads: 2,
        };
        assert_eq!(irrelevant(Execution::of(&steps)), expected);
    }

    proptest! {
        /// Against the definition: paths over program order and conflicts. A
        /// region stays whole, so never more goes than by the definition.
        #[test]
        fn nothing_goes_that_the_failure_depends_on(
            events in prop::collection::vec((0u32..4, 0u64..5, any::<bool>()), 1..60),
        ) {
            let kind = |writes| if writes { EventKind::Write } else { EventKind::Read };
            let steps: Vec<Step> = { events.iter() }
                .map(|&(thread, object, writes)| step(thread, kind(writes), 8 * object))
                .collect();
            let mut needed = vec![false; steps.len()];
            *needed.last_mut().unwrap() = true;
            for later in (0..steps.len()).rev() {
                for earlier in 0..later {
                    let (a, b) = (&steps[earlier], &steps[later]);
                    let depends = a.thread == b.thread || a.operation.conflicts(&b.operation);
                    needed[earlier] |= needed[later] && depends;
                }
            }
            let irrelevant = irrelevant(Execution::of(&steps)).events;
            let by_definition = needed.iter().filter(|needed| !**needed).count() as u64;
            prop_assert!(irrelevant <= by_definition);
            // What goes beyond regions: never more than a region of each thread.
            if by_definition == 0 {
                prop_assert_eq!(irrelevant, 0);
            }
        }
    }
}
