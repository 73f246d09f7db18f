//! What a dependence graph alone can leave out: ER (Tallam, Tian, Gupta and
//! Zhang, "Enabling Tracing of Long-Running Multithreaded Programs via Dynamic
//! Execution Reduction", ISSTA 2007), as LEAN's section 6.2 describes it. Events
//! are grouped into regions and threads, and regions from which no path leads to
//! the failure are removed; nothing is run again.
//!
//! A region is what a thread does from one event that depends on another thread to
//! the next such one. Within a thread, later regions depend on earlier ones, so what
//! goes is the end of a thread.
//!
//! Two passes over the events do: one forward, to find where regions begin, and one
//! backward, which carries along what somebody needs. The dependence graph that
//! simplification works on knows for each of its nodes what comes before it in every
//! thread, which nobody asks here.

use crate::dependence::Dependences;
use crate::footprint::Footprints;
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
    let regions = regions(&chains, &footprints);
    let needed = needed(&chains, &footprints, &failing(execution));
    let mut result = Irrelevant::default();
    for ((regions, needed), &length) in regions.iter().zip(&needed).zip(&chains.lengths) {
        // Whoever needs some of a region gets all of it.
        let kept = regions.partition_point(|start| start < needed);
        let end = regions.get(kept).copied().unwrap_or(length);
        result.events += u64::from(length - end);
        result.regions += (regions.len() - kept) as u64;
        result.threads += u64::from(kept == 0);
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

/// By chain: the events with which its regions begin, counted within the chain.
fn regions(chains: &Chains, footprints: &Footprints) -> Vec<Vec<u32>> {
    let mut regions = vec![Vec::new(); chains.count()];
    let mut lengths = vec![0; chains.count()];
    let mut dependences = Dependences::new(footprints.variables());
    for (event, &chain) in chains.of.iter().enumerate() {
        let length = &mut lengths[chain.position()];
        let mut begins = *length == 0;
        for touch in footprints.touches(event) {
            dependences.of(chain, touch, |_, ()| begins = true);
        }
        if begins {
            regions[chain.position()].push(*length);
        }
        *length += 1;
        for touch in footprints.touches(event) {
            dependences.record(chain, (), touch);
        }
    }
    regions
}

/// Who needs a variable after a moment.
#[derive(Clone, Copy, Default)]
struct Later {
    reads: bool,
    writes: bool,
}

/// By chain: how many of its events a failing thread depends on, or are its own.
fn needed(chains: &Chains, footprints: &Footprints, failing: &[ThreadIndex]) -> Vec<u32> {
    let mut needed = chains.lengths.clone();
    let threads = (0..).map(Chain).zip(&chains.threads);
    for (chain, _) in threads.filter(|(_, thread)| !failing.contains(thread)) {
        needed[chain.position()] = 0;
    }
    let mut before = chains.lengths.clone();
    let mut later = vec![Later::default(); footprints.variables()];
    for (event, &chain) in chains.of.iter().enumerate().rev() {
        let chain = chain.position();
        let is_needed = needed[chain] > 0 || { footprints.touches(event) }.any(|touch| {
            let later = later[touch.variable.0 as usize];
            later.writes || touch.writes && later.reads
        });
        if is_needed {
            needed[chain] = needed[chain].max(before[chain]);
            for touch in footprints.touches(event) {
                let later = &mut later[touch.variable.0 as usize];
                later.writes |= touch.writes;
                later.reads |= !touch.writes;
            }
        }
        before[chain] -= 1;
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
        /// Against the definition: paths over program order and conflicts, and of a
        /// region of which somebody needs an event all of it.
        #[test]
        fn what_goes_is_the_regions_that_the_failure_does_not_depend_on(
            events in prop::collection::vec((0u32..4, 0u64..5, any::<bool>()), 1..60),
        ) {
            let kind = |writes| if writes { EventKind::Write } else { EventKind::Read };
            let steps: Vec<Step> = { events.iter() }
                .map(|&(thread, object, writes)| step(thread, kind(writes), 8 * object))
                .collect();
            let is_own = |one: usize, other: usize| steps[one].thread == steps[other].thread;
            let depends = |earlier: usize, later: usize| {
                let (a, b) = (&steps[earlier], &steps[later]);
                is_own(earlier, later) || a.operation.conflicts(&b.operation)
            };
            let mut needed = vec![false; steps.len()];
            *needed.last_mut().unwrap() = true;
            for later in (0..steps.len()).rev() {
                for earlier in 0..later {
                    needed[earlier] |= needed[later] && depends(earlier, later);
                }
            }
            let is_first = |event: usize| !(0..event).any(|before| is_own(before, event));
            // The last access of another kind tells, whoever made those before it.
            let is_direct = |earlier: usize, later: usize| {
                let (a, b) = (&steps[earlier].operation, &steps[later].operation);
                let is_between = |between: usize| {
                    let operation = &steps[between].operation;
                    operation.object == b.object && operation.kind == EventKind::Write
                };
                a.conflicts(b) && !(earlier + 1..later).any(is_between)
            };
            let begins = |event: usize| {
                let from_others = |earlier: usize| {
                    !is_own(earlier, event) && is_direct(earlier, event)
                };
                is_first(event) || (0..event).any(from_others)
            };
            let goes = |event: usize| {
                let mut before = (0..=event).rev().filter(|before| is_own(*before, event));
                let region = before.find(|before| begins(*before)).unwrap();
                let rest = (region..steps.len()).filter(|other| is_own(*other, event));
                let mut region = rest.enumerate().take_while(|(at, other)| *at == 0 || !begins(*other));
                !region.any(|(_, other)| needed[other])
            };
            let all = 0..steps.len();
            let expected = all.clone().filter(|event| goes(*event)).count() as u64;
            let irrelevant = irrelevant(Execution::of(&steps));
            prop_assert_eq!(irrelevant.events, expected);
            let regions = all.filter(|event| goes(*event) && begins(*event)).count() as u64;
            prop_assert_eq!(irrelevant.regions, regions);
        }
    }
}
