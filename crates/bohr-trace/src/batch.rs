//! What is read ahead of some neighbouring events of a block: all that does not depend on
//! what the predictor expects. Nobody can foresee when threads that race take turns, nor
//! how many bytes their next number has, so neither is asked by a branch.

use crate::block::EventBlock;
use crate::bytes::take_varint;
use crate::format::Column;
use crate::numbers::{ADDRESS_CODES, Numbers, VALUE_CODES};
use crate::writer::SHORT_THREADS;
use bohr_event::ThreadIndex;

/// Events of a full batch. What they take stays in the nearest cache.
pub(crate) const BATCH: usize = 128;

/// So many events are given their thread at once; the last ones may reach beyond the batch.
const STRIPE: usize = 8;

/// See the module.
pub(crate) struct Batch<'a> {
    control: &'a [u8],
    turns: &'a [u8],
    thread: ThreadIndex,
    /// Events before the next entry of the thread column; `u64::MAX` if there is none.
    until_switch: u64,
    successor: ThreadIndex,
    controls: [u8; BATCH],
    threads: [ThreadIndex; BATCH + STRIPE],
    addresses: Numbers<'a>,
    values: Numbers<'a>,
    length: usize,
}

impl<'a> Batch<'a> {
    /// Nothing yet of a block; `None` if it does not say which thread comes first.
    pub(crate) fn new(block: &EventBlock<'a>) -> Option<Batch<'a>> {
        let column = |column: Column| block.columns[column as usize];
        let mut batch = Batch {
            control: column(Column::Control),
            turns: column(Column::Thread),
            thread: ThreadIndex::MAIN,
            until_switch: 0,
            successor: ThreadIndex::MAIN,
            controls: [0; BATCH],
            threads: [ThreadIndex::MAIN; BATCH + STRIPE],
            addresses: Numbers::of(column(Column::Address)),
            values: Numbers::of(column(Column::Value)),
            length: 0,
        };
        if batch.control.is_empty() {
            return Some(batch);
        }
        batch.announce()?;
        (batch.until_switch == 0).then_some(batch)
    }

    /// How many events it has.
    #[inline(always)]
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// Goes to the next events, once those before are done; how many they are. `None` if
    /// the next one has no thread.
    pub(crate) fn read_ahead(&mut self) -> Option<usize> {
        self.addresses.read_ahead();
        self.values.read_ahead();
        let ahead = self.control.len().min(BATCH);
        self.length = self.lay_out(ahead);
        let (controls, rest) = self.control.split_at(self.length);
        self.controls[..self.length].copy_from_slice(controls);
        self.control = rest;
        (self.length > 0 || ahead == 0).then_some(self.length)
    }

    /// Control byte and thread of one of them.
    #[inline(always)]
    pub(crate) fn event(&self, at: usize) -> (u8, ThreadIndex) {
        (self.controls[at % BATCH], self.threads[at % BATCH])
    }

    /// The number that an event's address code asks for.
    #[inline(always)]
    pub(crate) fn address(&mut self, code: u8) -> Option<u64> {
        self.addresses.take(&ADDRESS_CODES[usize::from(code)])
    }

    /// The number that its value code asks for.
    #[inline(always)]
    pub(crate) fn value(&mut self, code: u8) -> Option<u64> {
        self.values.take(&VALUE_CODES[usize::from(code)])
    }

    /// Bytes left over in the address and value columns.
    pub(crate) fn unused(&self) -> [usize; 2] {
        [self.addresses.unused(), self.values.unused()]
    }

    /// There is nothing behind what was decoded.
    pub(crate) fn end(&mut self) {
        (self.control, self.length) = (&[], 0);
    }

    /// Tells the threads of so many events; of how many it could.
    fn lay_out(&mut self, count: usize) -> usize {
        let mut at = 0;
        while at < count {
            if self.until_switch == 0 {
                self.thread = self.successor;
                if self.announce().is_none() || self.until_switch == 0 {
                    return at;
                }
            }
            let length = self.until_switch.min((count - at) as u64) as usize;
            // Eight events always: of how many they are, turns that are short are not asked.
            let (stripe, more) = self.threads[at..]
                .split_first_chunk_mut::<STRIPE>()
                .expect("there is a stripe behind the batch");
            *stripe = [self.thread; STRIPE];
            if length > STRIPE {
                more[..length - STRIPE].fill(self.thread);
            }
            at += length;
            self.until_switch -= length as u64;
        }
        count
    }

    /// Reads when and to whom the processor passes next.
    #[inline(always)]
    fn announce(&mut self) -> Option<()> {
        if self.turns.is_empty() {
            self.until_switch = u64::MAX;
            return Some(());
        }
        let entry = take_varint(&mut self.turns)?;
        self.until_switch = entry / SHORT_THREADS;
        let mut index = entry % SHORT_THREADS;
        if index == SHORT_THREADS - 1 {
            index = index.checked_add(take_varint(&mut self.turns)?)?;
        }
        self.successor = ThreadIndex(u32::try_from(index).ok()?);
        Some(())
    }
}
