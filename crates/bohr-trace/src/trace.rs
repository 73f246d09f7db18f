//! A trace file, seen through its bytes: what is in it and where.

use crate::block::EventBlock;
use crate::bytes::{read_u32, read_u64};
use crate::format::{
    BLOCK_HEADER, BLOCK_MAGIC, Column, FILE_HEADER, FINISHED, FileHeader, KIND_EVENTS, OPEN_BYTES,
};
use crate::note::take_note;
use crate::{Completeness, Events, Note, Record, Sequence, Summary, Table, TraceError};
use alloc::vec::Vec;
use bohr_event::{ThreadIndex, ThreadPath, control::Step};
use core::ops::Range;

/// A block of events, by its position in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlockNumber(pub usize);

/// A trace file. Opening reads the header of each block and nothing else.
#[derive(Clone, Debug)]
pub struct Trace<'a> {
    completeness: Completeness,
    /// In the order of their events, without gaps.
    blocks: Vec<EventBlock<'a>>,
    /// Kind and content of the other blocks.
    tables: Vec<(u32, &'a [u8])>,
    events: u64,
}

impl<'a> Trace<'a> {
    /// Looks through a file.
    ///
    /// # Errors
    /// If it is no trace, of another version, or its structure is damaged. A
    /// file that was merely cut, or whose writer died, is a trace that
    /// [says so](Trace::completeness).
    pub fn open(bytes: &'a [u8]) -> Result<Trace<'a>, TraceError> {
        let header = FileHeader::read(bytes)?;
        let mut trace = Trace {
            completeness: completeness(&header, bytes.len() as u64),
            blocks: Vec::new(),
            tables: Vec::new(),
            events: 0,
        };
        trace.walk(bytes, &header)?;
        if header.open != 0 {
            trace.take_open(bytes, &header)?;
        }
        Ok(trace)
    }

    /// How much of the run is here.
    #[must_use]
    pub fn completeness(&self) -> Completeness {
        self.completeness
    }

    /// How many events.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.events
    }

    /// Whether there is no event.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.events == 0
    }

    /// Every event, in order.
    #[must_use]
    pub fn events(&self) -> Events<'_> {
        Events::all(self)
    }

    /// Every event without its value, as analyses of whole executions want them.
    ///
    /// # Errors
    /// If a block is damaged: half an execution is none.
    pub fn steps(&self) -> Result<Vec<Step>, TraceError> {
        let step = |(_, record): (Sequence, Record)| Step {
            thread: record.thread,
            operation: record.operation,
        };
        self.events().map(|event| event.map(step)).collect()
    }

    /// The events from this number on.
    #[must_use]
    pub fn from(&self, first: Sequence) -> Events<'_> {
        Events::from(self, first)
    }

    /// The events of one thread. Passes over blocks in which it did not run.
    #[must_use]
    pub fn of_thread(&self, thread: ThreadIndex) -> Events<'_> {
        Events::of_thread(self, thread)
    }

    /// The events that touch one of these addresses. Passes over blocks that
    /// hold none.
    #[must_use]
    pub fn touching(&self, addresses: Range<u64>) -> Events<'_> {
        Events::touching(self, addresses)
    }

    /// The blocks of events.
    pub fn blocks(&self) -> impl Iterator<Item = BlockNumber> + use<> {
        (0..self.blocks.len()).map(BlockNumber)
    }

    /// The numbers of the events in a block.
    ///
    /// # Panics
    /// If there is no such block.
    #[must_use]
    pub fn block_range(&self, number: BlockNumber) -> Range<Sequence> {
        let block = &self.blocks[number.0];
        block.first..Sequence(block.first.0 + u64::from(block.count))
    }

    /// What a block is about; `None` if it was still open when its writer died.
    ///
    /// # Panics
    /// If there is no such block.
    #[must_use]
    pub fn summary(&self, number: BlockNumber) -> Option<Summary> {
        self.blocks[number.0].summary()
    }

    /// The notes, each with the number of the event that it stands before.
    ///
    /// # Errors
    /// If a block is damaged.
    pub fn notes(&self) -> Result<Vec<(Sequence, Note)>, TraceError> {
        let mut notes = Vec::new();
        for block in &self.blocks {
            let mut bytes = block.columns[Column::Note as usize];
            let mut sequence = block.first;
            if !bytes.is_empty() {
                block.verify()?;
            }
            while !bytes.is_empty() {
                let (distance, note) = take_note(&mut bytes).ok_or(TraceError::DamagedBlock {
                    first: sequence,
                    expected: "a note",
                })?;
                sequence = Sequence(sequence.0.saturating_add(distance));
                notes.push((sequence, note));
            }
        }
        Ok(notes)
    }

    /// Who was who: each index with its path, from which event on. An index
    /// is given again after its thread has ended, so it may occur twice.
    ///
    /// # Errors
    /// If a block is damaged.
    pub fn threads(&self) -> Result<Vec<(Sequence, ThreadIndex, ThreadPath)>, TraceError> {
        let thread = |(sequence, note)| match note {
            Note::Thread { index, path } => Some((sequence, index, path)),
            Note::Choice { .. } => None,
        };
        Ok(self.notes()?.into_iter().filter_map(thread).collect())
    }

    /// The tables that were added to the file, in the order in which they were.
    ///
    /// # Errors
    /// If one is damaged.
    pub fn tables(&self) -> Result<Vec<Table>, TraceError> {
        let read = |&(kind, bytes): &(u32, &[u8])| Table::read(kind, bytes).transpose();
        self.tables.iter().filter_map(read).collect()
    }

    pub(crate) fn block(&self, number: BlockNumber) -> Option<&EventBlock<'a>> {
        self.blocks.get(number.0)
    }

    pub(crate) fn raw_tables(&self) -> &[(u32, &'a [u8])] {
        &self.tables
    }

    /// The block that holds an event, or the number behind the last block.
    pub(crate) fn block_of(&self, sequence: Sequence) -> BlockNumber {
        BlockNumber(
            self.blocks
                .partition_point(|block| block.first.0 + u64::from(block.count) <= sequence.0),
        )
    }

    /// Finds the sealed blocks.
    fn walk(&mut self, bytes: &'a [u8], header: &FileHeader) -> Result<(), TraceError> {
        let end = usize::try_from(header.end)
            .unwrap_or(usize::MAX)
            .min(bytes.len());
        let mut at = usize::try_from(header.blocks).unwrap_or(usize::MAX);
        if at < FILE_HEADER {
            return Err(damaged(24, "blocks behind the file header"));
        }
        while at < end {
            let rest = &bytes[at..end];
            match whole_block(rest, at)? {
                Some(block) => {
                    self.take_block(block, at)?;
                    at += block.len();
                }
                None if end as u64 != header.end => break,
                None => return Err(damaged(at, "a whole block")),
            }
        }
        Ok(())
    }

    fn take_block(&mut self, block: &'a [u8], at: usize) -> Result<(), TraceError> {
        let kind = read_u32(block, 4).unwrap_or_default();
        if kind != KIND_EVENTS {
            self.tables.push((kind, block));
            return Ok(());
        }
        let events = EventBlock::sealed(block)
            .filter(|events| events.first.0 == self.events)
            .ok_or(damaged(at, "a block of events that continues the last one"))?;
        self.events += u64::from(events.count);
        self.blocks.push(events);
        Ok(())
    }

    /// Takes the open block in, unless it is a copy of one that was sealed, or
    /// the file has lost what lies between.
    fn take_open(&mut self, bytes: &'a [u8], header: &FileHeader) -> Result<(), TraceError> {
        let open = usize::try_from(header.open)
            .ok()
            .and_then(|at| bytes.get(at..)?.first_chunk::<OPEN_BYTES>());
        let Some(open) = open else {
            // Cut within the open block: what is left of it cannot be told
            // from what was never written.
            self.completeness = Completeness::Truncated {
                expected: header.open.saturating_add(OPEN_BYTES as u64),
                found: bytes.len() as u64,
            };
            return Ok(());
        };
        let block = EventBlock::open(open).ok_or(damaged(header.open as usize, "an open block"))?;
        let notes = block.columns[Column::Note as usize];
        if block.first.0 == self.events && (block.count > 0 || !notes.is_empty()) {
            self.events += u64::from(block.count);
            self.blocks.push(block);
        }
        Ok(())
    }
}

fn damaged(offset: usize, expected: &'static str) -> TraceError {
    TraceError::Damaged {
        offset: offset as u64,
        expected,
    }
}

/// The block at the front of `rest`; `None` if it is longer than that.
fn whole_block(rest: &[u8], at: usize) -> Result<Option<&[u8]>, TraceError> {
    if rest.len() < BLOCK_HEADER {
        return Ok(None);
    }
    let length = read_u64(rest, 8).unwrap_or_default();
    if rest[..4] != BLOCK_MAGIC || length < BLOCK_HEADER as u64 {
        return Err(damaged(at, "the start of a block"));
    }
    Ok(usize::try_from(length)
        .ok()
        .and_then(|length| rest.get(..length)))
}

fn completeness(header: &FileHeader, found: u64) -> Completeness {
    if header.end > found {
        Completeness::Truncated {
            expected: header.end,
            found,
        }
    } else if header.lost > 0 {
        Completeness::Full { lost: header.lost }
    } else if header.state == FINISHED {
        Completeness::Complete
    } else {
        Completeness::Unfinished
    }
}
