//! Who knows what of whom: vector clocks of threads, and what they leave behind for
//! each other by what they synchronise with.
//!
//! The happens-before relation of the C11 memory model, as FastTrack computes it
//! (Flanagan and Freund, PLDI 2009). A relaxed store heads no release sequence, and a
//! fence makes the relaxed accesses around it count.

mod barrier;
mod clock;

pub use clock::Clock;

use barrier::Barrier;
use bohr_event::control::Step;
use bohr_event::{EventKind, MemoryOrder, ThreadIndex};
use std::collections::HashMap;

/// What a thread knows.
#[derive(Clone, Debug, Default)]
struct Thread {
    now: Clock,
    /// How often it has learnt something from others.
    lessons: u64,
    /// What a release fence passed on: joined by later relaxed stores.
    fenced: Clock,
    /// What relaxed loads have seen: joined at an acquire fence.
    seen: Clock,
}

impl Thread {
    fn learn(&mut self, passed: &Clock) {
        self.lessons += u64::from(self.now.join(passed));
    }
}

/// See the module.
#[derive(Default)]
pub struct HappensBefore {
    threads: HashMap<ThreadIndex, Thread>,
    /// What locks, conditions, threads and messages pass on.
    objects: HashMap<u64, Clock>,
    barriers: HashMap<u64, Barrier>,
    /// What readers of a lock pass on to the next writer: to each other, nothing.
    readers: HashMap<u64, Clock>,
    /// What atomic variables pass on.
    atomics: HashMap<u64, Clock>,
}

impl HappensBefore {
    /// Takes in the next event.
    pub fn watch(&mut self, step: &Step) {
        use EventKind::*;
        let (thread, object) = (step.thread, step.operation.object);
        match step.operation.kind {
            Read | Write | Update => self.access(step),
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
                self.thread(thread).learn(&passed);
            }
            Acquire => {
                self.take_over(thread, object);
                if let Some(passed) = self.readers.get(&object).cloned() {
                    self.thread(thread).learn(&passed);
                }
            }
            Alloc | Free | Yield | Sleep | Handle | External | Store => {}
        }
    }

    /// What a thread knows now.
    pub fn of(&mut self, thread: ThreadIndex) -> &Clock {
        &self.thread(thread).now
    }

    /// How often a thread has learnt something from others.
    pub fn lessons(&mut self, thread: ThreadIndex) -> u64 {
        self.thread(thread).lessons
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

    /// What a thread knows now, as something that it leaves behind for others.
    pub fn leave(&mut self, thread: ThreadIndex) -> Clock {
        self.pass_on(thread)
    }

    /// A thread finds what others have left behind.
    pub fn find(&mut self, thread: ThreadIndex, left: &Clock) {
        self.thread(thread).learn(left);
    }

    fn take_over(&mut self, thread: ThreadIndex, object: u64) {
        if let Some(passed) = self.objects.get(&object).cloned() {
            self.thread(thread).learn(&passed);
        }
    }

    fn fence(&mut self, thread: ThreadIndex, order: MemoryOrder) {
        let known = self.thread(thread);
        if acquires(order) {
            let seen = known.seen.clone();
            known.learn(&seen);
        }
        if releases(order) {
            known.fenced = known.now.clone();
            known.now.tick(thread);
        }
    }

    fn access(&mut self, step: &Step) {
        let operation = &step.operation;
        let (object, order) = (operation.object, operation.order);
        if order <= MemoryOrder::Plain {
            return;
        }
        if operation.kind != EventKind::Write
            && let Some(passed) = self.atomics.get(&object).cloned()
        {
            let known = self.thread(step.thread);
            known.seen.join(&passed);
            if acquires(order) {
                known.learn(&passed);
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
}

/// Whether an access with this order learns what others have released.
pub fn acquires(order: MemoryOrder) -> bool {
    use MemoryOrder::*;
    matches!(order, Acquire | AcquireRelease | SequentiallyConsistent)
}

/// Whether an access with this order tells others what its thread knows.
pub fn releases(order: MemoryOrder) -> bool {
    use MemoryOrder::*;
    matches!(order, Release | AcquireRelease | SequentiallyConsistent)
}
