//! Sealed blocks: writing one behind the others, and finding out what one holds.

use crate::bytes::{checksum, read_u32, read_u64, write_u32, write_u64};
use crate::filter::Summary;
use crate::format::{
    BLOCK_EVENTS, BLOCK_HEADER, BLOCK_MAGIC, CHECKSUM_AT, COLUMNS, Column, EVENT_HEADER,
    FILE_HEADER, FILTER_AT, FILTER_BYTES, KIND_EVENTS, OPEN_BYTES, OPEN_COUNT_AT, OPEN_NOTE_AT,
    OPEN_THREAD_AT, column_at, room,
};
use crate::{Medium, Sequence, TraceError};

pub(crate) const COLUMN_ORDER: [Column; COLUMNS] = [
    Column::Control,
    Column::Thread,
    Column::Site,
    Column::Address,
    Column::Value,
    Column::Note,
];

/// Writes magic, kind, length and checksum of a block whose content is there.
pub(crate) fn stamp(block: &mut [u8], kind: u32) {
    let length = block.len() as u64;
    block[..4].copy_from_slice(&BLOCK_MAGIC);
    write_u32(block, 4, kind);
    write_u64(block, 8, length);
    let sum = checksum(&block[BLOCK_HEADER..]);
    write_u64(block, CHECKSUM_AT, sum);
}

/// Copies the open block to `end`; its length, or `None` if the medium cannot
/// grow that far.
pub(crate) fn seal_events<M: Medium>(
    medium: &mut M,
    end: usize,
    first: u64,
    used: &[usize; COLUMNS],
    summary: &Summary,
) -> Option<usize> {
    let length = EVENT_HEADER + used.iter().sum::<usize>();
    if !medium.grow(end + length) {
        return None;
    }
    let (written, free) = medium.bytes().split_at_mut(end);
    let open = &written[FILE_HEADER..FILE_HEADER + OPEN_BYTES];
    let columns = COLUMN_ORDER.map(|column| {
        let at = column_at(column);
        &open[at..at + used[column as usize]]
    });
    write_events(&mut free[..length], first, columns, summary);
    Some(length)
}

/// Fills a block of events.
pub(crate) fn write_events(
    block: &mut [u8],
    first: u64,
    columns: [&[u8]; COLUMNS],
    summary: &Summary,
) {
    write_u64(block, 24, first);
    write_u32(block, 32, columns[0].len() as u32);
    let mut at = EVENT_HEADER;
    for (position, column) in columns.iter().enumerate() {
        write_u32(block, 36 + 4 * position, column.len() as u32);
        block[at..at + column.len()].copy_from_slice(column);
        at += column.len();
    }
    write_u32(block, 60, summary.flags);
    write_u64(block, 64, summary.threads);
    block[FILTER_AT..EVENT_HEADER].copy_from_slice(&summary.lines);
    stamp(block, KIND_EVENTS);
}

/// The columns of one block of events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventBlock<'a> {
    pub first: Sequence,
    pub count: u32,
    pub columns: [&'a [u8]; COLUMNS],
    /// The whole block, if it is a sealed one.
    pub sealed: Option<&'a [u8]>,
}

impl<'a> EventBlock<'a> {
    /// Takes a sealed block apart. Lengths are checked, content is not.
    pub(crate) fn sealed(block: &'a [u8]) -> Option<EventBlock<'a>> {
        let count = read_u32(block, 32)?;
        let mut columns = [&block[..0]; COLUMNS];
        let mut rest = block.get(EVENT_HEADER..)?;
        for (position, column) in columns.iter_mut().enumerate() {
            let length = read_u32(block, 36 + 4 * position)? as usize;
            (*column, rest) = rest.split_at_checked(length)?;
        }
        let sound = rest.is_empty()
            && columns[Column::Control as usize].len() == count as usize
            && count as usize <= BLOCK_EVENTS;
        sound.then_some(EventBlock {
            first: Sequence(read_u64(block, 24)?),
            count,
            columns,
            sealed: Some(block),
        })
    }

    /// The open block, as far as it has got.
    pub(crate) fn open(open: &'a [u8; OPEN_BYTES]) -> Option<EventBlock<'a>> {
        let count = read_u32(open, OPEN_COUNT_AT)?;
        let mut columns = COLUMN_ORDER.map(|column| &open[column_at(column)..][..room(column)]);
        let mut cut = |column: Column, length: usize| {
            let bytes: &'a [u8] = columns[column as usize];
            columns[column as usize] = bytes.get(..length)?;
            Some(())
        };
        cut(Column::Control, count as usize)?;
        cut(Column::Thread, read_u32(open, OPEN_THREAD_AT)? as usize)?;
        cut(Column::Note, read_u32(open, OPEN_NOTE_AT)? as usize)?;
        Some(EventBlock {
            first: Sequence(read_u64(open, 0)?),
            count,
            columns,
            sealed: None,
        })
    }

    /// Refuses a sealed block whose bytes have changed since it was sealed.
    pub(crate) fn verify(&self) -> Result<(), TraceError> {
        let sound = self.sealed.is_none_or(|block| {
            read_u64(block, CHECKSUM_AT) == Some(checksum(&block[BLOCK_HEADER..]))
        });
        sound.then_some(()).ok_or(TraceError::DamagedBlock {
            first: self.first,
            expected: "the bytes that its checksum was made of",
        })
    }

    /// What is in it; `None` for the open block, which has no summary yet.
    pub(crate) fn summary(&self) -> Option<Summary> {
        let block = self.sealed?;
        let mut lines = [0; FILTER_BYTES];
        lines.copy_from_slice(block.get(FILTER_AT..EVENT_HEADER)?);
        Some(Summary {
            threads: read_u64(block, 64)?,
            flags: read_u32(block, 60)?,
            lines,
        })
    }
}
