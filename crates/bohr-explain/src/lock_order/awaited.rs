//! Threads that wait, under a lock, until a variable says that they can go on.
//!
//! A loop around a wait on a condition orders two threads, whether somebody waits in it or
//! comes too late for that: in a run in which `ready` has been set before, there is no
//! wait and no signal between them, only the lock, which orders nobody. What the reader
//! has seen was written before, and without some such write it would still be
//! in the loop. So it comes behind what *all* writes have in common that could have let
//! it go on: behind the one that did, if there is no other.
//!
//! What is known to come before the reader anyway is where it starts from: if that lets
//! it go on, nobody is waited for. Writes behind it count as well, for in another run
//! they may come first. A write that stores a constant that keeps the thread in the loop
//! lets nobody go on; of any other the value may be another one in another run.
//!
//! This is an order for the search for cycles only: for data races, what locks protect
//! is not ordered by what it says.
//!
//! Limits. That a thread comes to the loop at all is taken from the run; so is what
//! was written without a trace of it (constructors that run before `main`).

use super::dependency::Watch;
use super::step::LockStep;
use crate::happens_before::Clock;
use bohr_event::ThreadIndex;
use bohr_event::control::Step;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A thread has read what lets it go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Awaited {
    /// By this event.
    pub event: u32,
    /// What could have let it.
    pub ways: Vec<Way>,
}

/// A variable that lets a thread go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    /// Whether what it holds before all writes does.
    pub initially: bool,
    /// All writes of the run, in order.
    pub writes: Arc<[Written]>,
}

/// A write to an awaited variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Which event.
    pub event: u32,
    /// Whether what is there then lets the thread go on.
    pub opens: bool,
    /// Whether it is the same in every run.
    pub is_fixed: bool,
}

/// Writes and reads of which clocks are kept, at most.
const MOST: usize = 1 << 13;

/// What a thread knew, and left behind, at an event.
#[derive(Clone, Debug)]
struct Mark {
    thread: ThreadIndex,
    clock: Clock,
}

/// The orders in which awaited variables put threads.
#[derive(Default)]
pub struct Orders {
    marks: BTreeMap<u32, Option<Mark>>,
    /// By reader: the writes, one of which comes before it in every run.
    behind: BTreeMap<u32, Vec<u32>>,
}

impl Orders {
    /// Of an execution. Takes `watch` through it once.
    pub fn of(
        steps: &[Step],
        awaited: &[Awaited],
        told: &mut dyn FnMut(&Step) -> Option<LockStep>,
    ) -> Orders {
        let events = awaited.iter().flat_map(|one| {
            let ways = one.ways.iter();
            let writes = ways.flat_map(|way| way.writes.iter().map(|written| written.event));
            writes.chain([one.event])
        });
        let wanted: BTreeSet<u32> = events.collect();
        if wanted.is_empty() || wanted.len() > MOST {
            return Orders::default();
        }
        let mut first = Watch::ordered_by(Orders {
            marks: wanted.into_iter().map(|event| (event, None)).collect(),
            behind: BTreeMap::new(),
        });
        for (event, step) in (0..u32::MAX).zip(steps) {
            first.take_in(event, step, told(step));
        }
        let mut orders = first.into_orders();
        let behind = awaited.iter().filter_map(|one| {
            let writes = orders.openers(one)?;
            Some((one.event, writes))
        });
        orders.behind = behind.collect();
        orders
    }

    /// Whether a thread passes something on by an event.
    pub fn is_marked(&self, event: u32) -> bool {
        self.marks.contains_key(&event)
    }

    /// Notes what a thread knew at a marked event.
    pub fn mark(&mut self, event: u32, thread: ThreadIndex, clock: Clock) {
        self.marks.insert(event, Some(Mark { thread, clock }));
    }

    /// What a reader knows by what it has read. Of writes that are still to come, what
    /// the first time through told is taken.
    pub fn learnt(&self, event: u32) -> Option<Clock> {
        let mut clocks = self.behind.get(&event)?.iter().map(|write| self.at(*write));
        let mut common = clocks.next()??.clock.clone();
        for mark in clocks {
            common.meet(&mark?.clock);
        }
        Some(common)
    }

    fn at(&self, event: u32) -> Option<&Mark> {
        self.marks.get(&event)?.as_ref()
    }

    /// Whether one marked event comes before another one.
    fn precedes(&self, one: u32, other: u32) -> bool {
        let (Some(first), Some(second)) = (self.at(one), self.at(other)) else {
            return false;
        };
        one < other && second.clock.time(first.thread) >= first.clock.time(first.thread)
    }

    /// The writes, one of which comes before a reader; `None` if it needs none.
    fn openers(&self, one: &Awaited) -> Option<Vec<u32>> {
        let mut found = Vec::new();
        for way in &one.ways {
            let comes_before = |written: &&Written| self.precedes(written.event, one.event);
            let before: Vec<&Written> = way.writes.iter().filter(comes_before).collect();
            let is_last = |written: &&&Written| {
                let mut others = before.iter();
                !others.any(|other| self.precedes(written.event, other.event))
            };
            let is_open = match before.is_empty() {
                true => way.initially,
                false => before.iter().filter(is_last).any(|written| written.opens),
            };
            if is_open {
                return None;
            }
            let others = way.writes.iter().filter(|written| {
                (written.opens || !written.is_fixed)
                    && !self.precedes(written.event, one.event)
                    && !self.precedes(one.event, written.event)
            });
            found.extend(others.map(|written| written.event));
        }
        (!found.is_empty()).then_some(found)
    }
}
