//! Turns the columns of one block back into events: the writer's steps, with
//! every byte doubted.

use crate::block::EventBlock;
use crate::bytes::{take, take_varint, unzigzag};
use crate::format::Column;
use crate::predictor::{Predictor, Shape, Slot};
use crate::writer::{SHORT_THREADS, SITE_NEW, shape};
use crate::{Record, Sequence, TraceError};
use bohr_event::{EventKind, MemoryOrder, Operation, PlaceNumber, ThreadIndex};

/// Where decoding stands in a block.
pub(crate) struct Decoder<'a> {
    control: &'a [u8],
    threads: &'a [u8],
    sites: &'a [u8],
    addresses: &'a [u8],
    values: &'a [u8],
    sequence: u64,
    thread: ThreadIndex,
    /// Events before the next entry of the thread column; `u64::MAX` if there is none.
    until_switch: u64,
    successor: ThreadIndex,
}

impl<'a> Decoder<'a> {
    /// Begins a block. The predictor must be empty.
    pub(crate) fn new(block: &EventBlock<'a>) -> Result<Decoder<'a>, TraceError> {
        block.verify()?;
        let column = |column: Column| block.columns[column as usize];
        let mut decoder = Decoder {
            control: column(Column::Control),
            threads: column(Column::Thread),
            sites: column(Column::Site),
            addresses: column(Column::Address),
            values: column(Column::Value),
            sequence: block.first.0,
            thread: ThreadIndex::MAIN,
            until_switch: 0,
            successor: ThreadIndex::MAIN,
        };
        let begun = decoder.control.is_empty() || decoder.announce().is_some();
        if begun && (decoder.control.is_empty() || decoder.until_switch == 0) {
            return Ok(decoder);
        }
        Err(decoder.damaged("a thread at the first event"))
    }

    /// The next event; `None` at the end of the block.
    #[inline(always)]
    pub(crate) fn next(
        &mut self,
        predictor: &mut Predictor,
    ) -> Option<Result<(Sequence, Record), TraceError>> {
        let (&control, rest) = self.control.split_first()?;
        self.control = rest;
        if self.until_switch == 0
            && let Err(error) = self.switch()
        {
            return Some(Err(error));
        }
        self.until_switch -= 1;
        let sequence = Sequence(self.sequence);
        let Some(record) = self.record(control, predictor) else {
            return Some(Err(self.damaged("an event")));
        };
        self.sequence += 1;
        Some(Ok((sequence, record)))
    }

    /// Bytes left over in the site, address and value columns.
    pub(crate) fn unused(&self) -> [usize; 3] {
        [self.sites, self.addresses, self.values].map(<[u8]>::len)
    }

    fn damaged(&mut self, expected: &'static str) -> TraceError {
        self.control = &[];
        TraceError::DamagedBlock {
            first: Sequence(self.sequence),
            expected,
        }
    }

    /// Reads ahead when and to whom the processor passes.
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

    #[cold]
    fn switch(&mut self) -> Result<(), TraceError> {
        self.thread = self.successor;
        if self.announce().is_none() || self.until_switch == 0 {
            return Err(self.damaged("a run of at least one event"));
        }
        Ok(())
    }

    #[inline(always)]
    fn record(&mut self, control: u8, predictor: &mut Predictor) -> Option<Record> {
        let slot = self.site(control & 3, predictor)?;
        let object = self.object(control >> 2 & 7, slot, predictor)?;
        let value = self.value(control >> 5, slot, object, predictor)?;
        predictor.learn(self.thread, slot, object, value);
        let context = predictor.context(slot);
        Some(Record {
            thread: self.thread,
            operation: operation(context.place, context.shape, object)?,
            value,
        })
    }

    #[inline(always)]
    fn site(&mut self, code: u8, predictor: &mut Predictor) -> Option<Slot> {
        if code < 2 {
            return Some(predictor.successors(self.thread)[usize::from(code)]);
        }
        if code != SITE_NEW {
            return Slot::from_number(u16::from_le_bytes(take(&mut self.sites)?));
        }
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
        let shape = shape(&operation, self.thread);
        let slot = Slot::of(place, shape);
        predictor.replace(slot, self.thread, place, shape);
        Some(slot)
    }

    #[inline(always)]
    fn object(&mut self, code: u8, slot: Slot, predictor: &Predictor) -> Option<u64> {
        let context = predictor.context(slot);
        let from = &mut self.addresses;
        let last = || predictor.last_object(self.thread);
        Some(match code {
            0 => context.object.wrapping_add(context.stride),
            1 => context.object,
            2 => last().wrapping_add(context.offset),
            3 => context
                .object
                .wrapping_add_signed(i64::from(i8::from_le_bytes(take(from)?))),
            4 => context
                .object
                .wrapping_add_signed(i64::from(i16::from_le_bytes(take(from)?))),
            5 => last().wrapping_add_signed(i64::from(i16::from_le_bytes(take(from)?))),
            6 => context
                .object
                .wrapping_add_signed(i64::from(i32::from_le_bytes(take(from)?))),
            _ => u64::from_le_bytes(take(from)?),
        })
    }

    #[inline(always)]
    fn value(
        &mut self,
        code: u8,
        slot: Slot,
        object: u64,
        predictor: &Predictor,
    ) -> Option<Option<u64>> {
        let context = predictor.context(slot);
        let from = &mut self.values;
        let held = || predictor.remembered(object);
        Some(Some(match code {
            0 => return Some(None),
            1 => held(),
            2 => context.value.wrapping_add(context.step),
            3 => held().wrapping_add_signed(i64::from(i8::from_le_bytes(take(from)?))),
            4 => held().wrapping_add_signed(i64::from(i16::from_le_bytes(take(from)?))),
            5 => held().wrapping_add_signed(i64::from(i32::from_le_bytes(take(from)?))),
            6 => u64::from_le_bytes(take(from)?),
            _ => u64::from(u32::from_le_bytes(take(from)?)),
        }))
    }
}

/// The operation in a context. Kind and order were checked when the context was
/// spelt out, so this never fails; the check costs less than a table of them.
#[inline(always)]
fn operation(place: u64, shape: Shape, object: u64) -> Option<Operation> {
    Some(Operation {
        kind: EventKind::from_number(shape.0 as u8)?,
        order: MemoryOrder::from_number((shape.0 >> 8) as u8)?,
        size: (shape.0 >> 32) as u32,
        object,
        place: PlaceNumber(place),
    })
}
