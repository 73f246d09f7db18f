//! The file, byte by byte. All numbers are little endian; *varint* is LEB128.
//!
//! ```text
//!   0  magic "bohr-trc"
//!   8  major version u16, minor version u16
//!  12  state u32: 1 running, 2 finished
//!  16  where the open block lies, u64; 0 in a packed file
//!  24  where sealed blocks begin, u64
//!  32  where they end, u64: the one word whose change seals a block
//!  40  events that found no room, u64
//!  48  .. 64 zero
//!
//!      the open block, if any: first sequence number u64, events u32, bytes of
//!      the thread column u32, bytes of the note column u32, zero to 64; then
//!      six columns, each with room for the worst case of a whole block
//!
//!      sealed blocks, one behind the other:
//!   0  magic "blk1"
//!   4  kind u32: 1 events, 2 places, 3 regions, 4 labels, 5 pending
//!      operations (since 2.1); readers skip kinds they do not know
//!   8  length in bytes, this header included, u64
//!  16  checksum of all that follows, u64
//!  24  a table, in postcard's encoding; or, in a block of events:
//!  24  first sequence number u64
//!  32  events u32
//!  36  bytes in each of the six columns, 6 times u32
//!  60  flags u32: 1 = some access is too wide for the filter
//!  64  threads, one bit for each index modulo 64
//!  72  filter over the 64-byte lines that were touched, 4096 bits
//! 584  the six columns
//! ```
//!
//! Columns: *control* has one byte for each event, `site | address << 2 |
//! value << 5`, three codes that say how the parts follow from what the
//! [predictor](crate) expects:
//!
//! ```text
//! code  site                       address                        value
//! 0     likeliest successor        the site's last + its stride   none
//! 1     second likeliest           the site's last                what memory held
//! 2     slot u16                   thread's last + site's offset  the site's last + its step
//! 3     new, spelt out             site's last + i8               what memory held + i8
//! 4                                site's last + i16              what memory held + i16
//! 5                                thread's last + i16            what memory held + i32
//! 6                                site's last + i32              u64
//! 7                                u64                            u32
//! ```
//!
//! *thread* has one entry for each run of events of one thread: a varint, events
//! since the previous entry times 8 plus the thread's index if that is less than
//! 7; otherwise plus 7, and the index less 7 follows (varint). *site*: a slot u16, or a new
//! context: zigzag varint distance from the last place spelt out, kind u8,
//! order u8, size varint. *address* and *value*: the numbers that the control
//! byte asks for. *note*: what belongs between events, see
//! [`Note`](crate::Note): events since the previous note (varint), tag u8, content.
//!
//! The predictor begins each block with zeros everywhere. It has 4096 contexts,
//! 4096 cells of memory and 256 threads (by index modulo 256). With `K` =
//! 0x9e3779b97f4a7c15 and products modulo 2^64:
//!
//! ```text
//! shape             kind | order << 8 | lane << 16 | size << 32; a thread's lane is
//!                   its index modulo 8
//! slot of a context (place ^ rotate_left(shape, 23)) * K >> 52
//! cell of an object object * K >> 52; it holds an address and a value, and for
//!                   any other address what memory held counts as 0
//! after an event    if its slot is not the likeliest successor of the thread's
//!                   last slot, the likeliest becomes the second, the slot the likeliest;
//!                   stride = object - the site's last, offset = object - the
//!                   thread's last, both lasts = object;
//!                   with a value: step = value - the site's last, that last = value,
//!                   the object's cell = (object, value)
//! a new context     takes over its slot: everything 0 but place and shape, and
//!                   its last object is the thread's
//! ```
//!
//! A writer uses the first code that holds: for sites 0, 1, 2, 3; for addresses
//! in the order of the table; for values 1, 2, 3, 4, 5, 7, 6.
//!
//! While a program runs, the writer fills the open block and counts up its
//! events last. A full open block is copied behind the sealed ones, then the
//! end of the sealed blocks moves over it. A process that dies at any
//! instruction leaves a file that holds every event but the one being written;
//! an open block whose first number lies before the end of the sealed blocks
//! has been sealed already and is ignored.
//!
//! Versions: a reader refuses any other major version. A minor version only
//! adds kinds of blocks, so a reader reads those of its major version all.

use crate::TraceError;
use crate::bytes::{read_u16, read_u32, read_u64};
use core::fmt;
use core::sync::atomic::{Ordering, compiler_fence};

/// Version of the format: the major part changes when old readers cannot read
/// new files or new readers old ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FormatVersion {
    /// Changes with the meaning of what is there.
    pub major: u16,
    /// Changes when kinds of blocks are added.
    pub minor: u16,
}

impl FormatVersion {
    /// What this crate writes.
    pub const CURRENT: FormatVersion = FormatVersion { major: 2, minor: 1 };

    /// Whether this crate can read a file of that version.
    ///
    /// # Errors
    /// Which of the two is too old.
    pub fn readable(self) -> Result<(), TraceError> {
        match self.major.cmp(&FormatVersion::CURRENT.major) {
            core::cmp::Ordering::Less => Err(TraceError::TooOld(self)),
            core::cmp::Ordering::Greater => Err(TraceError::TooNew(self)),
            core::cmp::Ordering::Equal => Ok(()),
        }
    }
}

impl fmt::Display for FormatVersion {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}", self.major, self.minor)
    }
}

pub(crate) const MAGIC: [u8; 8] = *b"bohr-trc";
/// Bytes of the file header: all that it takes to tell what else is to be read.
pub const FILE_HEADER: usize = 64;
pub(crate) const STATE_AT: usize = 12;
pub(crate) const OPEN_AT: usize = 16;
pub(crate) const BLOCKS_AT: usize = 24;
pub(crate) const END_AT: usize = 32;
pub(crate) const LOST_AT: usize = 40;
pub(crate) const RUNNING: u32 = 1;
pub(crate) const FINISHED: u32 = 2;

/// Events in a full block.
pub const BLOCK_EVENTS: usize = 1 << 15;

pub(crate) const BLOCK_MAGIC: [u8; 4] = *b"blk1";
pub(crate) const KIND_EVENTS: u32 = 1;
pub(crate) const KIND_PLACES: u32 = 2;
pub(crate) const KIND_REGIONS: u32 = 3;
pub(crate) const KIND_LABELS: u32 = 4;
pub(crate) const KIND_PENDING: u32 = 5;
pub(crate) const CHECKSUM_AT: usize = 16;
pub(crate) const BLOCK_HEADER: usize = 24;
pub(crate) const FLAG_WIDE: u32 = 1;
pub(crate) const FILTER_BYTES: usize = 512;
pub(crate) const FILTER_AT: usize = 72;
pub(crate) const EVENT_HEADER: usize = FILTER_AT + FILTER_BYTES;

/// A column of a block of events, by its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Column {
    Control = 0,
    Thread = 1,
    Site = 2,
    Address = 3,
    Value = 4,
    Note = 5,
}

/// How many columns a block of events has.
pub(crate) const COLUMNS: usize = 6;

/// Most bytes that one event puts into each column. Notes belong to no event:
/// their room is what it is, and a block ends early when it is used up.
const WORST: [usize; COLUMNS] = [1, 8, 17, 8, 8, 2];

pub(crate) const OPEN_HEADER: usize = 64;
pub(crate) const OPEN_COUNT_AT: usize = 8;
pub(crate) const OPEN_THREAD_AT: usize = 12;
pub(crate) const OPEN_NOTE_AT: usize = 16;

/// Room of a column in the open block.
pub(crate) const fn room(column: Column) -> usize {
    WORST[column as usize] * BLOCK_EVENTS
}

/// Where a column begins, from the start of the open block.
pub(crate) const fn column_at(column: Column) -> usize {
    let mut offset = OPEN_HEADER;
    let mut before = 0;
    while before < column as usize {
        offset += WORST[before] * BLOCK_EVENTS;
        before += 1;
    }
    offset
}

/// Bytes of the open block, all columns included.
pub(crate) const OPEN_BYTES: usize = column_at(Column::Note) + room(Column::Note);

/// The file header, as far as readers need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileHeader {
    pub state: u32,
    pub open: u64,
    pub blocks: u64,
    pub end: u64,
    pub lost: u64,
}

impl FileHeader {
    pub(crate) fn read(bytes: &[u8]) -> Result<FileHeader, TraceError> {
        if bytes.len() < MAGIC.len() || bytes[..MAGIC.len()] != MAGIC {
            return Err(TraceError::Foreign);
        }
        let cut = TraceError::Damaged {
            offset: bytes.len() as u64,
            expected: "a whole file header",
        };
        let version = FormatVersion {
            major: read_u16(bytes, 8).ok_or(cut)?,
            minor: read_u16(bytes, 10).ok_or(cut)?,
        };
        version.readable()?;
        let word = |at| read_u64(bytes, at).ok_or(cut);
        Ok(FileHeader {
            state: read_u32(bytes, STATE_AT).ok_or(cut)?,
            open: word(OPEN_AT)?,
            blocks: word(BLOCKS_AT)?,
            end: word(END_AT)?,
            lost: word(LOST_AT)?,
        })
    }

    pub(crate) fn write(&self, bytes: &mut [u8]) {
        let version = FormatVersion::CURRENT;
        bytes[8..10].copy_from_slice(&version.major.to_le_bytes());
        bytes[10..12].copy_from_slice(&version.minor.to_le_bytes());
        bytes[STATE_AT..OPEN_AT].copy_from_slice(&self.state.to_le_bytes());
        for (at, word) in [
            (OPEN_AT, self.open),
            (BLOCKS_AT, self.blocks),
            (END_AT, self.end),
            (LOST_AT, self.lost),
        ] {
            bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
        }
        // Who is killed in here leaves no trace rather than half a header.
        compiler_fence(Ordering::Release);
        bytes[..MAGIC.len()].copy_from_slice(&MAGIC);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_refused_by_their_age() {
        let version = |major, minor| FormatVersion { major, minor };
        assert_eq!(version(2, 9).readable(), Ok(()));
        assert_eq!(
            version(1, 3).readable(),
            Err(TraceError::TooOld(version(1, 3)))
        );
        assert_eq!(
            version(3, 0).readable(),
            Err(TraceError::TooNew(version(3, 0)))
        );
    }

    #[test]
    fn columns_lie_side_by_side() {
        assert_eq!(column_at(Column::Control), OPEN_HEADER);
        assert_eq!(
            column_at(Column::Thread),
            OPEN_HEADER + room(Column::Control)
        );
    }
}
