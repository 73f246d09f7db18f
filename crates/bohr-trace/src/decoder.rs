//! Turns the columns of one block back into events: the writer's steps, with
//! every byte doubted.
//!
//! A batch is decoded column by column. Only where a context is spelt out does one
//! column wait for the others, since it begins with what its thread touched last: such an
//! event is the first of its batch.

use crate::batch::{BATCH, Batch, STRIPE, address_code, has_value, site_code, value_code};
use crate::block::EventBlock;
use crate::bytes::{take, take_varint, unzigzag};
use crate::format::Column;
use crate::numbers::{ADDRESSES, Numbers, VALUES};
use crate::predictor::{Predictor, Slot};
use crate::writer::{SHORT_THREADS, SITE_NEW, shape};
use crate::{Record, Sequence, TraceError};
use bohr_event::{EventKind, MemoryOrder, Operation, PlaceNumber, ThreadIndex};

/// Where decoding stands in a block.
pub(crate) struct Decoder<'a> {
    control: &'a [u8],
    threads: &'a [u8],
    sites: &'a [u8],
    addresses: Numbers<'a>,
    values: Numbers<'a>,
    thread: ThreadIndex,
    /// Events before the next entry of the thread column; `u64::MAX` if there is none.
    until_switch: u64,
    successor: ThreadIndex,
    /// What was decoded last.
    batch: Batch,
    /// Events of it that were handed out.
    taken: usize,
    /// The event behind it does not make sense.
    damaged: bool,
}

impl<'a> Decoder<'a> {
    /// Begins a block. The predictor must be empty.
    pub(crate) fn new(block: &EventBlock<'a>) -> Result<Decoder<'a>, TraceError> {
        block.verify()?;
        let column = |column: Column| block.columns[column as usize];
        let [addresses, values] = block.led;
        let mut decoder = Decoder {
            control: column(Column::Control),
            threads: column(Column::Thread),
            sites: column(Column::Site),
            addresses: Numbers::new(addresses),
            values: Numbers::new(values),
            thread: ThreadIndex::MAIN,
            until_switch: 0,
            successor: ThreadIndex::MAIN,
            batch: Batch::empty(block.first),
            taken: 0,
            damaged: false,
        };
        let begun = decoder.control.is_empty() || decoder.announce().is_some();
        if begun && (decoder.control.is_empty() || decoder.until_switch == 0) {
            return Ok(decoder);
        }
        Err(damaged(block.first, "a thread at the first event"))
    }

    /// The next event that [`advance`](Decoder::advance) has decoded, unless all were
    /// handed out.
    #[inline(always)]
    pub(crate) fn next(&mut self, predictor: &Predictor) -> Option<(Sequence, Record)> {
        if self.taken == self.batch.length {
            return None;
        }
        let event = self.batch.event(self.taken, predictor);
        self.taken += 1;
        Some(event)
    }

    /// Decodes the next few events; `false` at the end of the block. Nothing may be
    /// left of the ones before.
    pub(crate) fn advance(&mut self, predictor: &mut Predictor) -> Result<bool, TraceError> {
        let first = Sequence(self.batch.first.0 + self.batch.length as u64);
        (self.batch.first, self.batch.length, self.taken) = (first, 0, 0);
        if self.damaged {
            self.control = &[];
            self.damaged = false;
            return Err(damaged(first, "an event"));
        }
        let ahead = &self.control[..self.control.len().min(BATCH)];
        let mut later = ahead.iter().skip(1);
        let spelt = later.position(|&control| site_code(control) == SITE_NEW);
        let count = spelt.map_or(ahead.len(), |position| position + 1);
        self.batch.controls[..count].copy_from_slice(&ahead[..count]);
        self.control = &self.control[count..];

        let sound = self.lay_out(count);
        let sound = self.place(sound, predictor);
        let sound = self.locate(sound, predictor);
        self.batch.length = self.evaluate(sound, predictor);
        self.damaged = self.batch.length < count;
        Ok(self.batch.length > 0 || self.damaged)
    }

    /// Bytes left over in the site, address and value columns.
    pub(crate) fn unused(&self) -> [usize; 3] {
        [self.sites.len(), self.addresses.left(), self.values.left()]
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
            // Threads that race take turns at random: of how many events, is not asked
            // if they are few.
            let threads = &mut self.batch.threads[at..];
            let (stripe, more) = threads
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

    /// Reads ahead when and to whom the processor passes.
    #[inline(always)]
    fn announce(&mut self) -> Option<()> {
        if self.threads.is_empty() {
            self.until_switch = u64::MAX;
            return Some(());
        }
        let entry = take_varint(&mut self.threads)?;
        self.until_switch = entry / SHORT_THREADS;
        let mut index = entry % SHORT_THREADS;
        if index == SHORT_THREADS - 1 {
            index = index.checked_add(take_varint(&mut self.threads)?)?;
        }
        self.successor = ThreadIndex(u32::try_from(index).ok()?);
        Some(())
    }

    /// Finds the contexts of so many events; of how many it could.
    fn place(&mut self, count: usize, predictor: &mut Predictor) -> usize {
        for at in 0..count {
            let thread = self.batch.threads[at];
            let code = site_code(self.batch.controls[at]);
            let slot = if code < 2 {
                predictor.successors(thread)[usize::from(code)]
            } else {
                let slot = match code {
                    SITE_NEW => self.spelt(thread, predictor),
                    _ => take(&mut self.sites)
                        .map(u16::from_le_bytes)
                        .and_then(Slot::from_number),
                };
                let Some(slot) = slot else {
                    return at;
                };
                slot
            };
            self.batch.slots[at] = slot;
            predictor.follow(thread, slot);
        }
        count
    }

    /// Takes in a context that is spelt out.
    #[cold]
    fn spelt(&mut self, thread: ThreadIndex, predictor: &mut Predictor) -> Option<Slot> {
        let distance = unzigzag(take_varint(&mut self.sites)?);
        let place = predictor.spelt.wrapping_add_signed(distance);
        let [kind, order] = take(&mut self.sites)?;
        let operation = Operation {
            kind: EventKind::from_number(kind)?,
            order: MemoryOrder::from_number(order)?,
            size: u32::try_from(take_varint(&mut self.sites)?).ok()?,
            object: 0,
            place: PlaceNumber(place),
        };
        let slot = Slot::of(place, shape(&operation, thread));
        predictor.replace(slot, thread, &operation);
        Some(slot)
    }

    /// Tells the objects of so many events; of how many it could.
    fn locate(&mut self, count: usize, predictor: &mut Predictor) -> usize {
        let batch = &mut self.batch;
        let mut numbers = self.addresses;
        let mut sound = 0;
        let events = batch.controls.iter().zip(&batch.threads).zip(&batch.slots);
        for (((&control, &thread), &slot), object) in events.zip(&mut batch.objects).take(count) {
            let (context, last) = predictor.touching(thread, slot);
            let expected = [context.object, context.stride, *last, context.offset];
            let code = &ADDRESSES[address_code(control)];
            let Some(found) = numbers.take(code, expected) else {
                break;
            };
            *object = found;
            context.touch(found, last);
            sound += 1;
        }
        self.addresses = numbers;
        sound
    }

    /// Tells the values of so many events; of how many it could.
    fn evaluate(&mut self, count: usize, predictor: &mut Predictor) -> usize {
        let batch = &mut self.batch;
        let mut numbers = self.values;
        let mut sound = 0;
        let events = batch.controls.iter().zip(&batch.slots).zip(&batch.objects);
        for (((&control, &slot), &object), value) in events.zip(&mut batch.values).take(count) {
            let (context, cell) = predictor.holding(slot, object);
            let expected = [cell.held(object), context.value, context.step, 0];
            let code = &VALUES[value_code(control)];
            let Some(found) = numbers.take(code, expected) else {
                break;
            };
            *value = found;
            if has_value(control) {
                context.hold(found);
                cell.hold(object, found);
            }
            sound += 1;
        }
        self.values = numbers;
        sound
    }
}

fn damaged(first: Sequence, expected: &'static str) -> TraceError {
    TraceError::DamagedBlock { first, expected }
}
