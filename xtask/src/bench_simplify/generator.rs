//! Traces by the million: threads that work on memory of their own and now and
//! then enter a critical section; a scheduler that knows nothing passes the
//! processor on after random times.

use super::models::Model;
use bohr_event::{EventKind, MemoryOrder, Operation, PlaceNumber, ThreadIndex, control::Step};

/// What one worker is in the middle of.
#[derive(Clone, Default)]
struct Worker {
    /// Left of its critical section: the lock and how many accesses.
    section: Option<(u64, u64)>,
    cursor: u64,
}

struct Generator {
    model: Model,
    random: u64,
    steps: Vec<Step>,
    workers: Vec<Worker>,
    held: Vec<bool>,
}

/// A trace after the model.
pub fn generate(model: &Model, seed: u64) -> Vec<Step> {
    let mut generator = Generator {
        model: *model,
        random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        steps: Vec::with_capacity(model.events),
        workers: vec![Worker::default(); model.threads as usize],
        held: vec![false; model.locks as usize],
    };
    generator.fill();
    generator.steps
}

impl Generator {
    fn random(&mut self, below: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % below
    }

    fn emit(&mut self, thread: u32, kind: EventKind, object: u64) {
        self.steps.push(Step {
            thread: ThreadIndex(thread),
            operation: Operation {
                kind,
                order: MemoryOrder::Plain,
                size: if kind.is_access() { 8 } else { 0 },
                object,
                place: PlaceNumber(u64::from(thread)),
            },
        });
    }

    fn fill(&mut self) {
        let children = 1..self.model.threads;
        for child in children.clone() {
            self.emit(0, EventKind::Fork, ThreadIndex(child).object());
        }
        for child in children.clone() {
            self.emit(child, EventKind::Start, ThreadIndex(child).object());
        }
        let closing = 3 * self.model.threads as usize;
        while self.steps.len() + closing < self.model.events {
            let thread = self.random(u64::from(self.model.threads)) as u32;
            self.turn(thread);
        }
        for thread in 0..self.model.threads {
            while self.workers[thread as usize].section.is_some() {
                self.work(thread);
            }
        }
        for child in children {
            self.emit(child, EventKind::Exit, ThreadIndex(child).object());
            self.emit(0, EventKind::Join, ThreadIndex(child).object());
        }
    }

    /// Runs a thread until its time is up or it would have to wait.
    fn turn(&mut self, thread: u32) {
        let length = 1 + self.random(2 * self.model.mean_run - 1);
        for _ in 0..length {
            if !self.work(thread) {
                return;
            }
        }
    }

    /// One event of a thread; `false` if it wants a lock that another has.
    fn work(&mut self, thread: u32) -> bool {
        let section = self.workers[thread as usize].section;
        let enters = self.random(self.model.between_sections) == 0;
        match section {
            None if enters => {
                let lock = self.random(self.model.locks);
                if self.held[lock as usize] {
                    return false;
                }
                self.held[lock as usize] = true;
                let accesses = 2 + self.random(6);
                self.workers[thread as usize].section = Some((lock, accesses));
                self.emit(thread, EventKind::Acquire, 0x100 + 64 * lock);
            }
            None => self.local(thread),
            Some((lock, 0)) => {
                self.held[lock as usize] = false;
                self.workers[thread as usize].section = None;
                self.emit(thread, EventKind::Release, 0x100 + 64 * lock);
            }
            Some((lock, left)) => {
                self.workers[thread as usize].section = Some((lock, left - 1));
                let per_lock = self.model.variables.div_ceil(self.model.locks);
                let variable =
                    (lock * per_lock + self.random(per_lock)).min(self.model.variables - 1);
                let kind = if self.random(3) == 0 {
                    EventKind::Write
                } else {
                    EventKind::Read
                };
                self.emit(thread, kind, 0x10_0000 + 8 * variable);
            }
        }
        true
    }

    /// Walks through memory of its own.
    fn local(&mut self, thread: u32) {
        let worker = &mut self.workers[thread as usize];
        worker.cursor = (worker.cursor + 1) % 4096;
        let object = ((u64::from(thread) + 1) << 32) + worker.cursor * 8;
        let kind = if worker.cursor.is_multiple_of(4) {
            EventKind::Write
        } else {
            EventKind::Read
        };
        self.emit(thread, kind, object);
    }
}
