//! Walking through a trace: all of it, from somewhere on, or one thread's or
//! one variable's part.

use crate::decoder::Decoder;
use crate::predictor::Predictor;
use crate::{BlockNumber, Record, Sequence, Trace, TraceError};
use bohr_event::{Operation, ThreadIndex};
use core::ops::Range;

/// Which events are wanted.
#[derive(Clone, Debug)]
enum Wanted {
    From(Sequence),
    Thread(ThreadIndex),
    Addresses(Range<u64>),
}

/// Events of a trace, in order. A damaged block yields one error in place of
/// its remaining events; the walk goes on with the block behind it.
pub struct Events<'a> {
    trace: &'a Trace<'a>,
    wanted: Wanted,
    next: BlockNumber,
    current: Option<Decoder<'a>>,
    predictor: Predictor,
}

impl<'a> Events<'a> {
    pub(crate) fn all(trace: &'a Trace<'a>) -> Events<'a> {
        Events::new(trace, Wanted::From(Sequence(0)), BlockNumber(0))
    }

    pub(crate) fn from(trace: &'a Trace<'a>, first: Sequence) -> Events<'a> {
        Events::new(trace, Wanted::From(first), trace.block_of(first))
    }

    pub(crate) fn of_thread(trace: &'a Trace<'a>, thread: ThreadIndex) -> Events<'a> {
        Events::new(trace, Wanted::Thread(thread), BlockNumber(0))
    }

    pub(crate) fn touching(trace: &'a Trace<'a>, addresses: Range<u64>) -> Events<'a> {
        Events::new(trace, Wanted::Addresses(addresses), BlockNumber(0))
    }

    fn new(trace: &'a Trace<'a>, wanted: Wanted, next: BlockNumber) -> Events<'a> {
        Events {
            trace,
            wanted,
            next,
            current: None,
            predictor: Predictor::new(),
        }
    }

    /// Goes to the next block that can hold something wanted; `None` at the end.
    fn advance(&mut self) -> Option<Result<(), TraceError>> {
        loop {
            let block = self.trace.block(self.next)?;
            self.next.0 += 1;
            let summary = block.summary();
            let worthwhile = summary.is_none_or(|summary| match &self.wanted {
                Wanted::From(_) => true,
                Wanted::Thread(thread) => summary.may_have_thread(*thread),
                Wanted::Addresses(addresses) => summary.may_touch(addresses),
            });
            if !worthwhile {
                continue;
            }
            self.predictor.reset();
            return Some(Decoder::new(block).map(|decoder| self.current = Some(decoder)));
        }
    }
}

impl Wanted {
    #[inline(always)]
    fn has(&self, sequence: Sequence, record: &Record) -> bool {
        match self {
            Wanted::From(first) => sequence >= *first,
            Wanted::Thread(thread) => record.thread == *thread,
            Wanted::Addresses(addresses) => overlaps(&record.operation, addresses),
        }
    }
}

fn overlaps(operation: &Operation, addresses: &Range<u64>) -> bool {
    let last = operation
        .object
        .saturating_add(u64::from(operation.size.max(1)) - 1);
    operation.object < addresses.end && addresses.start <= last
}

impl Iterator for Events<'_> {
    type Item = Result<(Sequence, Record), TraceError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Some(decoder) = &mut self.current else {
                match self.advance()? {
                    Ok(()) => continue,
                    Err(error) => return Some(Err(error)),
                }
            };
            match decoder.next(&mut self.predictor) {
                None => self.current = None,
                Some(Ok((sequence, record))) if !self.wanted.has(sequence, &record) => {}
                Some(item) => return Some(item),
            }
        }
    }
}
