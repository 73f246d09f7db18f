//! The columns of addresses and values: numbers of as many bytes as their codes say,
//! read without asking how many these are.

use crate::batch::BATCH;

/// Bytes of the longest number.
const LONGEST: usize = 8;

/// What a code says of a number.
#[derive(Clone, Copy)]
pub(crate) struct Code {
    bytes: u16,
    /// Moves the number's last byte out of a word that ends with it.
    shift: u16,
    /// 0 where there is no number.
    keep: u64,
}

const SIGNED: bool = true;

const fn code(bytes: u16, signed: bool) -> Code {
    let shift = if bytes == 0 { 0 } else { 64 - 8 * bytes };
    let keep = match bytes {
        0 => 0,
        _ if signed => !0,
        _ => !0 >> shift,
    };
    Code { bytes, shift, keep }
}

const NONE: Code = code(0, SIGNED);

pub(crate) const ADDRESS_CODES: [Code; 8] = [
    NONE,
    NONE,
    NONE,
    code(1, SIGNED),
    code(2, SIGNED),
    code(2, SIGNED),
    code(4, SIGNED),
    code(8, SIGNED),
];

pub(crate) const VALUE_CODES: [Code; 8] = [
    NONE,
    NONE,
    NONE,
    code(1, SIGNED),
    code(2, SIGNED),
    code(4, SIGNED),
    code(8, SIGNED),
    code(4, !SIGNED),
];

/// Bytes that each address code puts into its column.
pub(crate) const ADDRESS_BYTES: [usize; 8] = lengths(&ADDRESS_CODES);

/// Bytes that each value code puts into its column.
pub(crate) const VALUE_BYTES: [usize; 8] = lengths(&VALUE_CODES);

const fn lengths(codes: &[Code; 8]) -> [usize; 8] {
    let mut bytes = [0; 8];
    let mut at = 0;
    while at < 8 {
        bytes[at] = codes[at].bytes as usize;
        at += 1;
    }
    bytes
}

/// Bytes of the numbers of a batch, at most.
const MOST: usize = LONGEST * BATCH;

/// A power of two, so that no position below it has to be compared with anything.
const ROOM: usize = 2 * MOST;

/// A column, of which a batch's numbers are copied to where words can be read around them.
pub(crate) struct Numbers<'a> {
    /// From the batch's first number on.
    column: &'a [u8],
    /// The first number comes behind as many bytes as the longest has: whatever its
    /// length, a word ends with it.
    bytes: [u8; LONGEST + ROOM],
    /// How many bytes of the batch were taken.
    taken: usize,
    /// How many there are.
    there: usize,
}

impl<'a> Numbers<'a> {
    /// Of a column.
    pub(crate) fn of(column: &'a [u8]) -> Numbers<'a> {
        Numbers {
            column,
            bytes: [0; LONGEST + ROOM],
            taken: 0,
            there: 0,
        }
    }

    /// Begins another batch.
    pub(crate) fn read_ahead(&mut self) {
        self.column = &self.column[self.taken..];
        self.there = self.column.len().min(MOST);
        self.bytes[LONGEST..LONGEST + self.there].copy_from_slice(&self.column[..self.there]);
        self.taken = 0;
    }

    /// Bytes that were not taken.
    pub(crate) fn unused(&self) -> usize {
        self.column.len() - self.taken
    }

    /// The number that a code asks for; `None` if the column ends before it does.
    #[inline(always)]
    pub(crate) fn take(&mut self, code: &Code) -> Option<u64> {
        let taken = self.taken + usize::from(code.bytes);
        if taken > self.there {
            return None;
        }
        self.taken = taken;
        let word = self.bytes[taken % ROOM..].first_chunk();
        let word = u64::from_le_bytes(*word.expect("there is a word behind every position"));
        Some(((word as i64) >> code.shift) as u64 & code.keep)
    }
}
