//! The store buffer of one thread: what waits in it, in which order it may leave,
//! and the exchange of bytes with memory.

use crate::peek;
use alloc::vec::Vec;
use bohr_event::{EventKind, MemoryOrder, Operation, ThreadIndex};
use core::cell::{Cell, RefCell};

/// Stores that can wait at once in one thread; one more has to wait for room. Solvers know
/// of no such limit, so it is far beyond what threads come to that are not made to.
const CAPACITY: usize = 256;

/// Queues that they can wait in, but for one.
const QUEUES: u8 = 16;

/// Bytes of the widest store that can wait.
pub const WIDEST: usize = 64;

/// What has to be true of a thread's buffer before its operation is possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Nothing.
    Nothing,
    /// Nothing waits in it.
    Empty,
    /// These bytes can be read: the last store that covers any of them covers all.
    Readable(usize, usize),
    /// A store to these bytes can wait in it, behind those that it overlaps.
    Room(usize, usize),
}

/// A store that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// What the buffer is about to do.
    write: Operation,
    queue: u8,
    /// Counts the stores of the thread.
    number: u64,
    /// All stores with smaller numbers have to be in memory first.
    behind: u64,
    /// While memory shows what the thread sees: what others see there. Otherwise
    /// what the thread has stored.
    aside: [u8; WIDEST],
    /// The memory is gone; there is nothing left to write to.
    lost: bool,
}

impl Waiting {
    fn address(&self) -> usize {
        self.write.object as usize
    }

    fn size(&self) -> usize {
        self.write.size as usize
    }

    fn overlaps(&self, address: usize, size: usize) -> bool {
        address < self.address() + self.size() && self.address() < address + size
    }

    fn covers(&self, address: usize, size: usize) -> bool {
        self.address() <= address && address + size <= self.address() + self.size()
    }

    /// Memory and what is kept aside change places. What code without hooks has
    /// written over the store since is taken for the store's.
    fn exchange(&mut self) {
        let mut address = self.address();
        let mut rest = &mut self.aside[..self.write.size as usize];
        while !rest.is_empty() && !self.lost {
            let (piece, behind) = rest.split_at_mut(match rest.len() {
                8.. => 8,
                4.. => 4,
                _ => 1,
            });
            self.lost = !peek::exchange(address, piece);
            address += piece.len();
            rest = behind;
        }
    }
}

/// See the module.
#[derive(Debug)]
pub struct StoreBuffer {
    /// The oldest first.
    waiting: RefCell<Vec<Waiting>>,
    /// By number of a queue: its index among the threads, once it has one.
    indices: RefCell<Vec<Option<ThreadIndex>>>,
    /// The number of the next store.
    next: Cell<u64>,
    /// Stores from here on wait behind all with smaller numbers.
    divided: Cell<u64>,
    /// Of the operation that the thread has announced.
    pub need: Cell<Need>,
}

impl StoreBuffer {
    /// Nothing waits.
    pub const fn new() -> StoreBuffer {
        StoreBuffer {
            waiting: RefCell::new(Vec::new()),
            indices: RefCell::new(Vec::new()),
            next: Cell::new(0),
            divided: Cell::new(0),
            need: Cell::new(Need::Nothing),
        }
    }

    /// Whether the thread's announced operation is possible, as far as the buffer
    /// is concerned.
    #[inline]
    pub fn admits(&self) -> bool {
        match self.need.get() {
            Need::Nothing => true,
            need => self.fulfils(need),
        }
    }

    /// Whether the operation may have to wait for the buffer.
    #[inline]
    pub fn may_hold_up(&self) -> bool {
        self.need.get() != Need::Nothing && !self.waiting.borrow().is_empty()
    }

    fn fulfils(&self, need: Need) -> bool {
        let waiting = self.waiting.borrow();
        match need {
            Need::Nothing => true,
            Need::Empty => waiting.is_empty(),
            Need::Readable(address, size) => {
                let mut newest_first = waiting.iter().rev();
                let last = newest_first.find(|store| store.overlaps(address, size));
                last.is_none_or(|store| store.covers(address, size))
            }
            Need::Room(address, size) => {
                let mut queues = overlapped(&waiting, address, size);
                let first = queues.next();
                let is_free = |queue| is_free(&waiting, queue);
                waiting.len() < CAPACITY
                    && queues.all(|queue| Some(queue) == first)
                    && (first.is_some() || (0..=QUEUES).any(is_free))
            }
        }
    }

    /// Stores from now on wait behind all that wait now.
    pub fn divide(&self) {
        self.divided.set(self.next.get());
    }

    /// Notes a store that is about to be made; in which queue it waits. `None` if
    /// its memory is not there: then the store will fault.
    pub fn put(&self, store: &Operation, partial: bool) -> Option<u8> {
        let (address, size) = (store.object as usize, store.size as usize);
        let mut aside = [0; WIDEST];
        for (offset, byte) in aside[..size].iter_mut().enumerate() {
            *byte = peek::peek(address + offset, 1)? as u8;
        }
        let mut waiting = self.waiting.borrow_mut();
        let queue = match partial {
            true => queue_for(&waiting, address, size),
            false => 0,
        };
        let number = self.next.replace(self.next.get() + 1);
        let releases = store.order >= MemoryOrder::Release;
        waiting.push(Waiting {
            write: Operation {
                kind: EventKind::Write,
                ..*store
            },
            queue,
            number,
            behind: if releases { number } else { self.divided.get() },
            aside,
            lost: false,
        });
        Some(queue)
    }

    /// What a queue is about to write.
    pub fn oldest(&self, queue: u8) -> Option<Operation> {
        let waiting = self.waiting.borrow();
        let oldest = waiting.iter().find(|store| store.queue == queue);
        oldest.map(|store| store.write)
    }

    /// Whether a queue may write now.
    pub fn is_ready(&self, queue: u8) -> bool {
        let waiting = self.waiting.borrow();
        let Some(oldest) = waiting.iter().find(|store| store.queue == queue) else {
            return false;
        };
        waiting.iter().all(|store| store.number >= oldest.behind)
    }

    /// Hides what waits, so that memory shows what all see. In the other order than
    /// the stores were made in: each covers what was there before it.
    #[inline]
    pub fn take_out(&self) {
        let mut waiting = self.waiting.borrow_mut();
        waiting.iter_mut().rev().for_each(Waiting::exchange);
    }

    /// Shows it again.
    #[inline]
    pub fn put_back(&self) {
        let mut waiting = self.waiting.borrow_mut();
        waiting.iter_mut().for_each(Waiting::exchange);
    }

    /// Makes the oldest store of a queue visible to all. Nothing that waits here is
    /// shown in memory now.
    pub fn write_oldest(&self, queue: u8) {
        let mut waiting = self.waiting.borrow_mut();
        if let Some(position) = waiting.iter().position(|store| store.queue == queue) {
            waiting.remove(position).exchange();
        }
    }

    /// The queue's index among the threads.
    pub fn index(&self, queue: u8) -> Option<ThreadIndex> {
        *self.indices.borrow().get(usize::from(queue))?
    }

    /// Sets it.
    pub fn set_index(&self, queue: u8, index: ThreadIndex) {
        let mut indices = self.indices.borrow_mut();
        let needed = indices.len().max(usize::from(queue) + 1);
        indices.resize(needed, None);
        indices[usize::from(queue)] = Some(index);
    }
}

/// The queues of the stores that a range overlaps.
fn overlapped(waiting: &[Waiting], address: usize, size: usize) -> impl Iterator<Item = u8> {
    let overlapping = waiting
        .iter()
        .filter(move |store| store.overlaps(address, size));
    overlapping.map(|store| store.queue)
}

/// The queue of stores that this one overlaps, or the first in which nothing waits.
fn queue_for(waiting: &[Waiting], address: usize, size: usize) -> u8 {
    overlapped(waiting, address, size)
        .next()
        .or_else(|| (0..=QUEUES).find(|queue| is_free(waiting, *queue)))
        .unwrap_or(0)
}

/// Whether nothing waits in a queue.
fn is_free(waiting: &[Waiting], queue: u8) -> bool {
    waiting.iter().all(|store| store.queue != queue)
}
