//! Events on their way from the columns of a block to whoever walks through a trace.
//! They are decoded column by column, a batch at a time: every column's loop is short,
//! and what one event waits for is done while the next one is.

use crate::format::BLOCK_EVENTS;
use crate::predictor::{Predictor, Slot};
use crate::{Record, Sequence};
use bohr_event::{Operation, PlaceNumber, ThreadIndex};

/// Events of a full batch. What they take stays in the nearest cache.
pub(crate) const BATCH: usize = 128;
/// So many events are given their thread at once; the last ones may reach beyond the batch.
pub(crate) const STRIPE: usize = 8;

const _: () = assert!(BLOCK_EVENTS.is_multiple_of(BATCH));

/// The parts of some neighbouring events of a block.
pub(crate) struct Batch {
    /// The number of the first event.
    pub first: Sequence,
    /// How many there are.
    pub length: usize,
    pub controls: [u8; BATCH],
    pub threads: [ThreadIndex; BATCH + STRIPE],
    pub slots: [Slot; BATCH],
    pub objects: [u64; BATCH],
    /// Of events without a value, anything.
    pub values: [u64; BATCH],
}

impl Batch {
    /// No events, before the one with this number.
    pub(crate) fn empty(first: Sequence) -> Batch {
        Batch {
            first,
            length: 0,
            controls: [0; BATCH],
            threads: [ThreadIndex::MAIN; BATCH + STRIPE],
            slots: [Slot::default(); BATCH],
            objects: [0; BATCH],
            values: [0; BATCH],
        }
    }

    /// An event of the batch; its position is less than the batch's length. What has
    /// been decoded since then may have given its slot to another context.
    #[inline(always)]
    pub(crate) fn event(&self, position: usize, predictor: &Predictor) -> (Sequence, Record) {
        let at = position % BATCH;
        let context = predictor.context(self.slots[at]);
        let record = Record {
            thread: self.threads[at],
            operation: Operation {
                kind: context.kind,
                order: context.order,
                size: context.shape.size(),
                object: self.objects[at],
                place: PlaceNumber(context.place),
            },
            value: has_value(self.controls[at]).then_some(self.values[at]),
        };
        (Sequence(self.first.0 + at as u64), record)
    }
}

/// The code of an event's site.
#[inline(always)]
pub(crate) fn site_code(control: u8) -> u8 {
    control & 3
}

/// The code of its address.
#[inline(always)]
pub(crate) fn address_code(control: u8) -> usize {
    usize::from(control >> 2 & 7)
}

/// The code of its value.
#[inline(always)]
pub(crate) fn value_code(control: u8) -> usize {
    usize::from(control >> 5)
}

/// Whether it has one.
#[inline(always)]
pub(crate) fn has_value(control: u8) -> bool {
    control >= 1 << 5
}
