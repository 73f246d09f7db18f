//! Locks taken in orders that can make a circle of waiting threads, in a run that
//! came through.
//!
//! Goodlock (Havelund, "Using Runtime Analysis to Guide Model Checking of Java
//! Programs", SPIN 2000) for any number of threads, in the form of iGoodlock (Joshi,
//! Park, Sen and Naik, "A Randomized Dynamic Program Analysis Technique for Detecting
//! Real Deadlocks", PLDI 2009): a thread that wants a lock and holds others is a
//! *dependency*, and a cycle is dependencies of distinct threads, each of which wants
//! what the next one holds. Refinements: nobody is in a cycle with somebody who holds
//! the same lock (gate locks) or comes before or after by what is no lock (Agarwal,
//! Wang and Stoller, "Detecting Potential Deadlocks with Static Analysis and Run-Time
//! Monitoring", HVC 2005); locks that nobody wants or nobody holds are left out before
//! the search (MagicFuzzer: Cai and Chan, ICSE 2012); and the threads have to be able to
//! come there at once (acquisition histories: Kahlon, Ivančić and Gupta, "Reasoning
//! about Threads Communicating via Locks", CAV 2005).
//!
//! Deviations. Order comes from everything but locks, atomics included
//! (`happens_before.rs`), and from variables that somebody waits for under a lock
//! (`awaited.rs`), and holds for all runs. Readers do not exclude each other.
//! What was taken without waiting for it, or for a time only, closes no cycle, but is
//! held. `pthread_once` excludes others as a lock does; permits of semaphores and the
//! guards of C++ statics do not. Whether threads that are not in a cycle let those in
//! it come so far is not asked; nor is what the program reads on the way. Readers that
//! queue behind a waiting writer are taken not to. A lock is an address until
//! the memory it lies in changes hands.
//!
//! With n events, d dependencies, s events that order threads, and T threads this takes
//! O(n + s · T) time, and O(d + n + s · T) memory. The search for cycles is exponential
//! in their length and is given up after [`MOST_LOOKS`](search::MOST_LOOKS) looks;
//! dependencies that are alike, or too many, are not all kept (`dependency.rs`).

mod awaited;
mod dependency;
mod history;
mod search;
mod step;
mod timeline;

pub use awaited::{Awaited, Way, Written};
pub use step::LockStep;

use crate::circle::Link;
use crate::moment::Moment;
use awaited::Orders;
use bohr_event::control::{Recorded, Step, ThreadState};
use bohr_event::{EventKind, Operation, PlaceNumber};
use dependency::Watch;
use serde::Serialize;
use std::collections::HashMap;

/// A thread of a cycle; positions in the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Taking {
    /// How it took what the thread before it in the cycle wants.
    pub held: usize,
    /// How it took what the next one holds.
    pub wanted: usize,
}

/// Threads that can come to wait for each other: each wants what the next one holds,
/// the last one what the first holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LockCycle {
    /// One for each thread.
    pub links: Vec<Taking>,
    /// How many there are: of the same locks at the same places, and with the first one of
    /// its places those that there are too many of.
    pub count: u64,
}

/// Cycles at the same places, of other locks, that are told one by one: of locks that
/// a library takes, the places say little.
const MOST_ALIKE: u64 = 8;

/// The cycles of an execution, one for the places and locks of each. Of an access, `words` tells
/// what it does to a lock that is made of atomics, if it belongs to one. None are told
/// of an execution in which stores waited in buffers: who wrote what for whom is not
/// known there.
#[must_use]
pub fn lock_cycles(
    steps: &[Step],
    awaited: &[Awaited],
    words: &mut dyn FnMut(&Operation) -> Option<LockStep>,
) -> Vec<LockCycle> {
    let buffered = |step: &Step| step.operation.kind == EventKind::Store;
    if steps.iter().any(buffered) {
        return Vec::new();
    }
    let orders = Orders::of(steps, awaited, &mut |step| told(&step.operation, words));
    let mut watch = Watch::ordered_by(orders);
    for (event, step) in (0..u32::MAX).zip(steps) {
        watch.take_in(event, step, told(&step.operation, words));
    }
    let mut cycles: Vec<LockCycle> = Vec::new();
    // By places: the first one there, and how many. By places and locks: which one.
    let mut firsts: HashMap<Vec<[PlaceNumber; 2]>, (usize, u64)> = HashMap::new();
    let mut known = HashMap::new();
    for links in search::cycles(&watch) {
        let (places, objects) = places_and_objects(&links, steps);
        let (first, alike) = firsts.entry(places.clone()).or_insert((cycles.len(), 0));
        if let Some(&same) = known.get(&(places.clone(), objects.clone())) {
            let cycle: &mut LockCycle = &mut cycles[same];
            cycle.count += 1;
        } else if *alike < MOST_ALIKE {
            *alike += 1;
            known.insert((places, objects), cycles.len());
            cycles.push(LockCycle { links, count: 1 });
        } else {
            cycles[*first].count += 1;
        }
    }
    cycles
}

/// What makes two cycles of a run the same, whichever thread comes first: where each
/// takes both locks, and which it takes then.
fn places_and_objects(links: &[Taking], steps: &[Step]) -> (Vec<[PlaceNumber; 2]>, Vec<u64>) {
    let place = |event: usize| steps[event].operation.place;
    let of = |link: &Taking| {
        let places = [place(link.held), place(link.wanted)];
        (places, steps[link.wanted].operation.object)
    };
    let all: Vec<_> = links.iter().map(of).collect();
    let rotated = |by: usize| [&all[by..], &all[..by]].concat();
    let least = (0..all.len()).map(rotated).min();
    least.unwrap_or_default().into_iter().unzip()
}

/// What an execution tells of the orders in which locks are taken.
#[derive(Clone, Debug, Default)]
pub struct LockOrders {
    /// Those that can make a circle of waiting threads, and have not.
    pub cycles: Vec<LockCycle>,
    /// The one that has: its threads wait in it at the end.
    pub closed: Option<LockCycle>,
}

impl LockOrders {
    /// Of an execution at whose end these threads are there; the rest as for
    /// [`lock_cycles`].
    #[must_use]
    pub fn of(
        steps: &[Step],
        states: &[ThreadState],
        awaited: &[Awaited],
        words: &mut dyn FnMut(&Operation) -> Option<LockStep>,
    ) -> LockOrders {
        let mut cycles = lock_cycles(steps, awaited, words);
        let mut ends_in = |link: &Taking| is_last(link, steps, states, words);
        let closed = cycles
            .iter()
            .position(|cycle| cycle.links.iter().all(&mut ends_in));
        LockOrders {
            closed: closed.map(|position| cycles.remove(position)),
            cycles,
        }
    }
}

/// Whether a thread sleeps at the end, and has done nothing to any lock since it began to
/// want that one but try to get it: an attempt at a lock that is made of atomics is not told
/// from taking it.
fn is_last(
    link: &Taking,
    steps: &[Step],
    states: &[ThreadState],
    words: &mut dyn FnMut(&Operation) -> Option<LockStep>,
) -> bool {
    let wanted = steps[link.wanted];
    let sleeps = |state: &ThreadState| !state.enabled && state.operation.kind == EventKind::Wait;
    let state = states.iter().find(|state| state.thread == wanted.thread);
    state.is_some_and(sleeps) && { steps[link.wanted..].iter() }
        .filter(|step| step.thread == wanted.thread)
        .all(|step| match told(&step.operation, words) {
            Some(LockStep::Take { .. }) => step.operation.object == wanted.operation.object,
            Some(LockStep::Give) => false,
            Some(LockStep::Pass | LockStep::Inside) | None => true,
        })
}

/// What an event does to a lock.
fn told(
    operation: &Operation,
    words: &mut dyn FnMut(&Operation) -> Option<LockStep>,
) -> Option<LockStep> {
    match operation.kind.is_access() {
        true => words(operation),
        false => LockStep::of(operation),
    }
}

impl LockCycle {
    /// As threads that do wait for each other.
    #[must_use]
    pub fn as_circle(&self, run: &Recorded) -> Vec<Link> {
        let links = self.links.iter();
        let link = |link: &Taking| Link {
            holds: Some(Moment::at(run, link.held)),
            waits: Moment::at(run, link.wanted),
        };
        links.map(link).collect()
    }
}

#[cfg(test)]
mod tests;
