//! Store buffers: under TSO and PSO a store waits, seen by its own thread alone,
//! until its buffer writes it to memory. Each queue of a buffer is a thread to the
//! strategy, without a stack: it is enabled while something waits in it, and its
//! step is the write of the oldest store. So *when* stores become visible is part
//! of the schedule, and nothing here decides it.
//!
//! Memory always shows what the running thread sees. The bytes that its waiting
//! stores cover are kept aside; when another thread is switched to, the two change
//! places, and again when it comes back. Loads need nothing, and code without
//! hooks sees what its thread has to see.
//!
//! | operation | TSO | PSO |
//! | --- | --- | --- |
//! | plain, volatile, relaxed store | waits behind all before | waits behind those of its address |
//! | release store | the same | waits behind all before |
//! | sequentially consistent store, read-modify-write | buffer is empty, at once | the same |
//! | read | at once; from the buffer if all of it lies in one store there | the same |
//! | acquire fence | nothing | nothing |
//! | release fence | nothing | later stores wait behind all before |
//! | sequentially consistent fence | buffer is empty | the same |
//! | everything else but allocation | buffer is empty ([`EventKind::needs_empty_buffer`]) | the same |
//!
//! A read that a waiting store covers in part waits until that is in memory, as on
//! x86. Stores of more than [`WIDEST`] bytes or of a length known only when they
//! happen, and stores to the thread's own stack, where the next call may lay its
//! frame over them, wait until the buffer is empty and then go to memory at once:
//! later than they could, never earlier.

mod queue;

pub use queue::{Need, StoreBuffer};

use crate::{carrier::CarrierOnly, engine::ENGINE, thread::Thread};
use bohr_event::{EventKind, MemoryModel, MemoryOrder, Operation, ThreadIndex};
use core::cell::Cell;
use queue::WIDEST;

#[unsafe(link_section = "bohr_hot")]
static MODEL: CarrierOnly<Cell<MemoryModel>> =
    CarrierOnly::new(Cell::new(MemoryModel::SequentiallyConsistent));

/// Sets the memory model of this run.
pub fn begin(model: MemoryModel) {
    MODEL.set(model);
}

/// Whether stores wait anywhere in this run.
#[inline]
pub fn are_used() -> bool {
    MODEL.get().has_buffers()
}

/// A queue of a store buffer, in the place of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Whose stores wait in it.
    pub owner: ThreadIndex,
    /// Which of that thread's queues.
    pub number: u8,
}

/// The access as it is announced: a store that is to wait is one of kind `Store`.
/// While a thread is alone, nobody could see the difference.
pub fn announced(operation: Operation) -> Operation {
    if operation.kind != EventKind::Write || !are_used() || ENGINE.live_count() < 2 {
        return operation;
    }
    let fits = (1..=WIDEST as u32).contains(&operation.size);
    let waits = operation.order != MemoryOrder::SequentiallyConsistent;
    match fits && waits && !is_on_own_stack(operation.object as usize) {
        true => Operation {
            kind: EventKind::Store,
            ..operation
        },
        false => operation,
    }
}

fn is_on_own_stack(address: usize) -> bool {
    let (start, end) = ENGINE.current().stack.get();
    (start..end).contains(&address)
}

/// What an operation of a thread needs of its buffer before it is possible.
pub fn need(operation: &Operation) -> Need {
    let (address, size) = (operation.object as usize, operation.size as usize);
    match operation.kind {
        EventKind::Read => Need::Readable(address, size),
        EventKind::Store => Need::Room(address, size),
        kind if kind.needs_empty_buffer(operation.order) => Need::Empty,
        _ => Need::Nothing,
    }
}

/// The running thread has been let go on to this operation, which was announced.
pub fn executes(operation: &Operation) {
    match operation.kind {
        EventKind::Store => put(operation),
        EventKind::Fence if MODEL.get() == MemoryModel::PartialStoreOrder => {
            let orders = operation.order != MemoryOrder::Acquire;
            if orders {
                ENGINE.current().buffer.divide();
            }
        }
        _ => {}
    }
}

/// The thread is about to store: what is there now is what others see until the
/// store is in memory.
fn put(operation: &Operation) {
    let thread = ENGINE.current();
    let partial = MODEL.get() == MemoryModel::PartialStoreOrder;
    if let Some(number) = thread.buffer.put(operation, partial) {
        let queue = thread.buffer.index(number).unwrap_or_else(|| {
            let index = ENGINE.add_queue(thread, number);
            thread.buffer.set_index(number, index);
            index
        });
        announce_next(queue, thread, number);
    }
}

/// Has the strategy see what a queue is about to do, if anything.
fn announce_next(queue: ThreadIndex, owner: &Thread, number: u8) {
    ENGINE.queue_changed(queue, owner.buffer.oldest(number));
}

/// Whether a queue can go on.
pub fn is_ready(queue: Queue) -> bool {
    ENGINE.thread(queue.owner).buffer.is_ready(queue.number)
}

/// Memory shows what `after` sees, in place of what `before` sees.
#[inline]
pub fn show(before: &Thread, after: &Thread) {
    before.buffer.take_out();
    after.buffer.put_back();
}

/// Writes the oldest store of a queue to memory, where all see it, while `running`
/// is the thread that memory shows. `look` is called when memory shows what nobody
/// has hidden.
pub fn write_oldest(queue: Queue, index: ThreadIndex, running: &Thread, look: impl FnOnce()) {
    let owner = ENGINE.thread(queue.owner);
    running.buffer.take_out();
    owner.buffer.write_oldest(queue.number);
    look();
    running.buffer.put_back();
    announce_next(index, owner, queue.number);
}
