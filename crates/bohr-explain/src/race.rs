//! Data races: conflicting accesses, not both atomic, that nothing orders.
//!
//! FastTrack (Flanagan and Freund, "FastTrack: Efficient and Precise Dynamic
//! Race Detection", PLDI 2009): a write is remembered as one epoch, reads as
//! one as long as they are ordered. What orders them is in
//! `happens_before.rs`. Deviations: accesses of different sizes are compared byte by
//! byte; of the races between two places the first is kept and the others are counted;
//! what a thread that has ended left on its stack is nothing to those that began later,
//! since one of them may have got its place.
//!
//! With n events, T threads and s synchronisation events this takes
//! O(n + s · T) time (of large accesses, a 512th of their bytes), and memory for the
//! blocks of 512 bytes that are touched and for T clocks of each thread that is alive.

mod locks;
mod memory;

pub use locks::locks_held;

use crate::happens_before::HappensBefore;
use bohr_event::abi::THREAD_SLOTS;
use bohr_event::control::Step;
use bohr_event::{EventKind, MemoryOrder, PlaceNumber, ThreadIndex};
use memory::{Epoch, Memory};
use serde::Serialize;
use std::collections::HashMap;

/// Two accesses that race; positions in the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Race {
    /// The earlier one.
    pub first: usize,
    /// The later one.
    pub second: usize,
    /// How many races there are between the two places.
    pub count: u64,
    /// Whether the failure needs the order in which one of them was resolved: it is
    /// one of the conflicts that were found by experiment.
    pub needed: bool,
}

/// The races of an execution, one per pair of places, in the order in which
/// they were seen. None are told of one in which stores waited in buffers: the
/// buffer, not the thread, writes there. A program that has a race has one without
/// buffers, too.
#[must_use]
pub fn races(steps: &[Step]) -> Vec<Race> {
    let buffered = |step: &Step| step.operation.kind == EventKind::Store;
    if steps.iter().any(buffered) {
        return Vec::new();
    }
    let mut detector = Detector::default();
    for (event, step) in steps.iter().enumerate() {
        detector.watch(event, step);
    }
    let mut races: Vec<(Race, (PlaceNumber, PlaceNumber))> = Vec::new();
    let mut known: HashMap<(PlaceNumber, PlaceNumber), usize> = HashMap::new();
    for (first, second) in detector.races {
        let [one, two] = [first, second].map(|event| steps[event].operation.place);
        let places = (one.min(two), one.max(two));
        let position = *known.entry(places).or_insert(races.len());
        match races.get_mut(position) {
            Some((race, _)) => race.count += 1,
            None => races.push((
                Race {
                    first,
                    second,
                    count: 1,
                    needed: false,
                },
                places,
            )),
        }
    }
    races.into_iter().map(|(race, _)| race).collect()
}

#[derive(Default)]
struct Detector {
    known: HappensBefore,
    memory: Memory,
    /// When the threads began that there are.
    born: HashMap<ThreadIndex, usize>,
    /// When threads ended, by their index, which is given again; ascending.
    ended: HashMap<ThreadIndex, Vec<usize>>,
    races: Vec<(usize, usize)>,
}

impl Detector {
    fn watch(&mut self, event: usize, step: &Step) {
        let operation = &step.operation;
        match operation.kind {
            kind if kind.is_access() => self.check(event, step),
            // What was done with memory says nothing about its next owner.
            EventKind::Alloc | EventKind::Free => {
                self.memory
                    .forget(operation.object, u64::from(operation.size));
            }
            EventKind::Start => {
                self.born.insert(step.thread, event);
            }
            EventKind::Exit => self.ended.entry(step.thread).or_default().push(event),
            _ => {}
        }
        self.known.watch(step);
    }

    fn check(&mut self, event: usize, step: &Step) {
        let operation = &step.operation;
        let known = self.known.of(step.thread);
        let epoch = Epoch {
            thread: step.thread,
            time: known.time(step.thread),
            event,
            // What is volatile may be seen by signal handlers and devices, and orders no threads.
            atomic: operation.order > MemoryOrder::Unordered,
            writes: operation.kind.writes(),
        };
        let in_slot = THREAD_SLOTS.contains(&operation.object);
        let born = self.born.get(&step.thread).filter(|_| in_slot).copied();
        let size = u64::from(operation.size.max(1));
        let ended = &self.ended;
        let still = born.map(|born| move |earlier: &Epoch| !had_ended(ended, earlier, born));
        let still = still.as_ref().map(|still| still as &dyn Fn(&Epoch) -> bool);
        let found = self
            .memory
            .access((operation.object, size), epoch, known, still);
        self.races.extend(found.map(|first| (first, event)));
    }
}

/// Whether the thread that made an access had ended before this event.
fn had_ended(ended: &HashMap<ThreadIndex, Vec<usize>>, access: &Epoch, event: usize) -> bool {
    let ends = ended.get(&access.thread).map_or(&[][..], Vec::as_slice);
    let next = ends.partition_point(|end| *end < access.event);
    ends.get(next).is_some_and(|end| *end < event)
}

#[cfg(test)]
mod tests;
