//! Data races: conflicting accesses, not both atomic, that nothing orders.
//!
//! FastTrack (Flanagan and Freund, "FastTrack: Efficient and Precise Dynamic
//! Race Detection", PLDI 2009): a write is remembered as one epoch, reads as
//! one as long as they are ordered. Deviations: C11 atomics and fences order as
//! their memory order says (a relaxed store heads no release sequence, a fence
//! makes the relaxed accesses around it count); accesses of different sizes are
//! compared byte by byte; of the races between two places the first is kept and
//! the others are counted.
//!
//! With n events, T threads and s synchronisation events this takes
//! O(n + s · T) time, and memory for the addresses that are touched and for T clocks of
//! each thread that is alive.

mod barrier;
mod clock;
mod locks;
mod memory;

pub use locks::locks_held;

use barrier::Barrier;
use bohr_event::control::Step;
use bohr_event::{EventKind, MemoryOrder, PlaceNumber, ThreadIndex};
use clock::Clock;
use memory::{Epoch, Word, words};
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

/// What a thread knows.
#[derive(Clone, Debug, Default)]
struct Thread {
    now: Clock,
    /// What a release fence passed on: joined by later relaxed stores.
    fenced: Clock,
    /// What relaxed loads have seen: joined at an acquire fence.
    seen: Clock,
}

#[derive(Default)]
struct Detector {
    threads: HashMap<ThreadIndex, Thread>,
    /// What locks, conditions, threads and messages pass on.
    objects: HashMap<u64, Clock>,
    barriers: HashMap<u64, Barrier>,
    /// What readers of a lock pass on to the next writer: to each other, nothing.
    readers: HashMap<u64, Clock>,
    /// What atomic variables pass on.
    atomics: HashMap<u64, Clock>,
    memory: HashMap<u64, Word>,
    races: Vec<(usize, usize)>,
}

impl Detector {
    fn watch(&mut self, event: usize, step: &Step) {
        use EventKind::*;
        let (thread, object) = (step.thread, step.operation.object);
        match step.operation.kind {
            Read | Write | Update => self.access(event, step),
            Fence => self.fence(thread, step.operation.order),
            Release | Signal | Broadcast | Send | Fork => {
                let passed = self.pass_on(thread);
                self.objects.entry(object).or_default().join(&passed);
            }
            Exit => {
                let last = self.threads.remove(&thread).unwrap_or_default();
                self.objects.entry(object).or_default().join(&last.now);
            }
            Join => {
                self.take_over(thread, object);
                // Threads come and go, and nobody asks again what one knew.
                self.objects.remove(&object);
            }
            ReleaseShared => {
                let passed = self.pass_on(thread);
                self.readers.entry(object).or_default().join(&passed);
            }
            AcquireShared | Wait | Receive | Start => {
                self.take_over(thread, object);
            }
            // Whoever does not get a lock knows nothing of what its holder did.
            Look if step.operation.order < MemoryOrder::Acquire => {}
            Look => self.take_over(thread, object),
            Arrive => {
                let passed = self.pass_on(thread);
                self.barriers
                    .entry(object)
                    .or_default()
                    .arrive(thread, &passed);
            }
            Depart => {
                let passed = self.barriers.entry(object).or_default().depart(thread);
                self.thread(thread).now.join(&passed);
            }
            Acquire => {
                self.take_over(thread, object);
                if let Some(passed) = self.readers.get(&object).cloned() {
                    self.thread(thread).now.join(&passed);
                }
            }
            Alloc | Free => self.forget(object, step.operation.size),
            Yield | Sleep | Handle | External | Store => {}
        }
    }

    fn thread(&mut self, thread: ThreadIndex) -> &mut Thread {
        self.threads.entry(thread).or_insert_with(|| {
            let mut new = Thread::default();
            new.now.tick(thread);
            new
        })
    }

    /// What the thread knows now; what it does next is news.
    fn pass_on(&mut self, thread: ThreadIndex) -> Clock {
        let known = self.thread(thread);
        let now = known.now.clone();
        known.now.tick(thread);
        now
    }

    fn take_over(&mut self, thread: ThreadIndex, object: u64) {
        if let Some(passed) = self.objects.get(&object).cloned() {
            self.thread(thread).now.join(&passed);
        }
    }

    fn fence(&mut self, thread: ThreadIndex, order: MemoryOrder) {
        let known = self.thread(thread);
        if acquires(order) {
            let seen = known.seen.clone();
            known.now.join(&seen);
        }
        if releases(order) {
            known.fenced = known.now.clone();
            known.now.tick(thread);
        }
    }

    fn access(&mut self, event: usize, step: &Step) {
        let operation = &step.operation;
        let atomic = operation.order > MemoryOrder::Plain;
        self.check(event, step, atomic);
        if !atomic {
            return;
        }
        let (object, order) = (operation.object, operation.order);
        if operation.kind != EventKind::Write
            && let Some(passed) = self.atomics.get(&object).cloned()
        {
            let known = self.thread(step.thread);
            known.seen.join(&passed);
            if acquires(order) {
                known.now.join(&passed);
            }
        }
        if operation.kind.writes() {
            self.store(step, order);
        }
    }

    /// An atomic store begins a release sequence; a read-modify-write goes on
    /// with the one that it reads from.
    fn store(&mut self, step: &Step, order: MemoryOrder) {
        let known = self.thread(step.thread);
        let passed = match releases(order) {
            true => known.now.clone(),
            false => known.fenced.clone(),
        };
        known.now.tick(step.thread);
        let entry = self.atomics.entry(step.operation.object).or_default();
        if step.operation.kind == EventKind::Write {
            *entry = passed;
        } else {
            entry.join(&passed);
        }
    }

    fn check(&mut self, event: usize, step: &Step, atomic: bool) {
        let operation = &step.operation;
        self.thread(step.thread);
        let known = &self.threads[&step.thread].now;
        let epoch = Epoch {
            thread: step.thread,
            time: known.time(step.thread),
            event,
            atomic,
            writes: operation.kind.writes(),
        };
        let mut found = None;
        for (word, bytes) in words(operation.object, u64::from(operation.size.max(1))) {
            let word = self.memory.entry(word).or_default();
            found = word.access(bytes, epoch, known).or(found);
        }
        self.races.extend(found.map(|first| (first, event)));
    }

    /// What was done with memory says nothing about its next owner.
    fn forget(&mut self, start: u64, size: u32) {
        for (word, bytes) in words(start, u64::from(size)) {
            if let Some(word) = self.memory.get_mut(&word) {
                word.forget(bytes);
            }
        }
    }
}

fn acquires(order: MemoryOrder) -> bool {
    use MemoryOrder::*;
    matches!(order, Acquire | AcquireRelease | SequentiallyConsistent)
}

fn releases(order: MemoryOrder) -> bool {
    use MemoryOrder::*;
    matches!(order, Release | AcquireRelease | SequentiallyConsistent)
}

#[cfg(test)]
mod tests;
