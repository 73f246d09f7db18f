//! Signals that have been sent and not yet handled, with what was sent along. A
//! real-time signal waits as often as it was sent, any other once.

use super::bit;
use crate::carrier::CarrierOnly;
use alloc::vec::Vec;
use bohr_event::ThreadIndex;
use core::cell::RefCell;

/// What comes with a signal: fields of `siginfo_t`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// How it was sent: `si_code`.
    pub code: i32,
    /// `si_value`.
    pub value: usize,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    signal: i32,
    /// For one thread, or for whoever takes it.
    thread: Option<ThreadIndex>,
    sent: Sent,
}

static QUEUE: CarrierOnly<RefCell<Vec<Entry>>> = CarrierOnly::new(RefCell::new(Vec::new()));

/// The first real-time signal that programs can use.
const REAL_TIME: i32 = 34;

/// Notes a signal.
pub fn add(signal: i32, thread: Option<ThreadIndex>, sent: Sent) {
    let mut queue = QUEUE.borrow_mut();
    let waits = |entry: &Entry| entry.signal == signal && entry.thread == thread;
    if signal >= REAL_TIME || !queue.iter().any(waits) {
        queue.push(Entry {
            signal,
            thread,
            sent,
        });
    }
}

/// Signals that wait for the thread, or for anybody, as a set.
pub fn waiting(thread: Option<ThreadIndex>) -> u64 {
    let queue = QUEUE.borrow();
    let matching = queue.iter().filter(|entry| entry.thread == thread);
    matching.fold(0, |set, entry| set | bit(entry.signal))
}

/// Takes the oldest of this number out.
pub fn take(signal: i32, thread: Option<ThreadIndex>) -> Option<Sent> {
    let mut queue = QUEUE.borrow_mut();
    let matching = |entry: &Entry| entry.signal == signal && entry.thread == thread;
    let position = queue.iter().position(matching)?;
    Some(queue.remove(position).sent)
}
