//! Turns the columns of one block back into events: the writer's steps, with
//! every byte doubted.

use crate::batch::Batch;
use crate::block::EventBlock;
use crate::bytes::{take, take_varint, unzigzag};
use crate::format::Column;
use crate::predictor::{Context, Predictor, Slot};
use crate::writer::{SITE_NEW, shape};
use crate::{Record, Sequence, TraceError};
use bohr_event::{EventKind, MemoryOrder, Operation, PlaceNumber, ThreadIndex};

/// For each value code that does not count from the site's last value, whether it counts
/// from what memory held: all bits or none.
const FROM_HELD: [u64; 8] = [0, !0, 0, !0, !0, !0, 0, 0];

/// Where decoding stands in a block.
pub(crate) struct Decoder<'a> {
    /// What is read ahead.
    batch: Batch<'a>,
    sites: &'a [u8],
    /// The number of the batch's first event.
    first: Sequence,
    /// Events of the batch that were decoded.
    at: usize,
}

impl<'a> Decoder<'a> {
    /// Begins a block. The predictor must be empty.
    pub(crate) fn new(block: &EventBlock<'a>) -> Result<Decoder<'a>, TraceError> {
        block.verify()?;
        let batch = Batch::new(block).ok_or(TraceError::DamagedBlock {
            first: block.first,
            expected: "a thread at the first event",
        })?;
        Ok(Decoder {
            batch,
            sites: block.columns[Column::Site as usize],
            first: block.first,
            at: 0,
        })
    }

    /// The next event; `None` at the end of the block.
    #[inline(always)]
    pub(crate) fn next(
        &mut self,
        predictor: &mut Predictor,
    ) -> Option<Result<(Sequence, Record), TraceError>> {
        if self.at == self.batch.length() {
            self.first.0 += self.at as u64;
            self.at = 0;
            match self.batch.read_ahead() {
                None => return Some(Err(self.damaged("a run of at least one event"))),
                Some(0) => return None,
                Some(_) => {}
            }
        }
        let sequence = Sequence(self.first.0 + self.at as u64);
        let Some(record) = self.record(predictor) else {
            return Some(Err(self.damaged("an event")));
        };
        self.at += 1;
        Some(Ok((sequence, record)))
    }

    /// Bytes left over in the site, address and value columns.
    pub(crate) fn unused(&self) -> [usize; 3] {
        let [addresses, values] = self.batch.unused();
        [self.sites.len(), addresses, values]
    }

    #[cold]
    fn damaged(&mut self, expected: &'static str) -> TraceError {
        let first = Sequence(self.first.0 + self.at as u64);
        self.batch.end();
        self.at = 0;
        TraceError::DamagedBlock { first, expected }
    }

    #[inline(always)]
    fn record(&mut self, predictor: &mut Predictor) -> Option<Record> {
        let (control, thread) = self.batch.event(self.at);
        let slot = self.site(control & 3, thread, predictor)?;
        let (context, last) = predictor.touching(thread, slot);
        let object = self.object(control >> 2 & 7, context, *last)?;
        context.touch(object, last);
        let (context, cell) = predictor.holding(slot, object);
        let mut value = None;
        if control >> 5 != 0 {
            let held = cell.held(object);
            let found = self.value(control >> 5, context, held)?;
            context.hold(found);
            cell.hold(object, found);
            value = Some(found);
        }
        Some(Record {
            thread,
            operation: Operation {
                kind: context.kind,
                order: context.order,
                size: context.shape.size(),
                object,
                place: PlaceNumber(context.place),
            },
            value,
        })
    }

    #[inline(always)]
    fn site(&mut self, code: u8, thread: ThreadIndex, predictor: &mut Predictor) -> Option<Slot> {
        let slot = match code {
            0 | 1 => predictor.successors(thread)[usize::from(code)],
            SITE_NEW => self.spelt(thread, predictor)?,
            _ => Slot::from_number(u16::from_le_bytes(take(&mut self.sites)?))?,
        };
        predictor.follow(thread, slot);
        Some(slot)
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

    #[inline(always)]
    fn object(&mut self, code: u8, context: &Context, last: u64) -> Option<u64> {
        let number = self.batch.address(code)?;
        let from = match code {
            1 | 3 | 4 | 6 => context.object,
            0 => context.object.wrapping_add(context.stride),
            2 => last.wrapping_add(context.offset),
            5 => last,
            _ => 0,
        };
        Some(from.wrapping_add(number))
    }

    #[inline(always)]
    fn value(&mut self, code: u8, context: &Context, held: u64) -> Option<u64> {
        let number = self.batch.value(code)?;
        let from = match code {
            2 => context.value.wrapping_add(context.step),
            // Whether a value that nobody foresees is told by itself is not asked by a branch.
            _ => held & FROM_HELD[usize::from(code)],
        };
        Some(from.wrapping_add(number))
    }
}
