//! The columns of addresses and values: numbers of as many bytes as their codes
//! say. Nobody can foresee the codes of threads that race, so a number is read and
//! added to what it counts from without a branch: each code is a row of masks.

/// Bytes in front of a column that are read with its first number.
pub(crate) const LEAD: usize = 8;

/// What a code says of a number: what it takes of its column, and of what is expected.
#[derive(Clone, Copy)]
pub(crate) struct Code {
    bytes: usize,
    /// Moves the number's last byte out of a word that ends with it.
    shift: u32,
    /// 0 where there is no number.
    keep: u64,
    /// For each expectation, all bits or none.
    from: [u64; 4],
}

const fn code(bytes: usize, signed: bool, from: [bool; 4]) -> Code {
    let mut masks = [0; 4];
    let mut at = 0;
    while at < 4 {
        masks[at] = if from[at] { !0 } else { 0 };
        at += 1;
    }
    let shift = if bytes == 0 { 0 } else { 64 - 8 * bytes as u32 };
    let keep = match bytes {
        0 => 0,
        _ if signed => !0,
        _ => !0 >> shift,
    };
    Code {
        bytes,
        shift,
        keep,
        from: masks,
    }
}

const NOTHING: [bool; 4] = [false; 4];

/// From: the site's last object, its stride, the thread's last object, the site's offset.
pub(crate) const ADDRESSES: [Code; 8] = {
    const SITE: [bool; 4] = [true, false, false, false];
    const THREAD: [bool; 4] = [false, false, true, false];
    [
        code(0, true, [true, true, false, false]),
        code(0, true, SITE),
        code(0, true, [false, false, true, true]),
        code(1, true, SITE),
        code(2, true, SITE),
        code(2, true, THREAD),
        code(4, true, SITE),
        code(8, true, NOTHING),
    ]
};

/// From: what memory held, the site's last value, its step; nothing else.
pub(crate) const VALUES: [Code; 8] = {
    const HELD: [bool; 4] = [true, false, false, false];
    [
        code(0, true, NOTHING),
        code(0, true, HELD),
        code(0, true, [false, true, true, false]),
        code(1, true, HELD),
        code(2, true, HELD),
        code(4, true, HELD),
        code(8, true, NOTHING),
        code(4, false, NOTHING),
    ]
};

/// Bytes that each address code puts into its column.
pub(crate) const ADDRESS_BYTES: [usize; 8] = lengths(&ADDRESSES);

/// Bytes that each value code puts into its column.
pub(crate) const VALUE_BYTES: [usize; 8] = lengths(&VALUES);

const fn lengths(codes: &[Code; 8]) -> [usize; 8] {
    let mut bytes = [0; 8];
    let mut at = 0;
    while at < 8 {
        bytes[at] = codes[at].bytes;
        at += 1;
    }
    bytes
}

/// What is left of a column.
#[derive(Clone, Copy)]
pub(crate) struct Numbers<'a> {
    /// With the last bytes of what was taken, or what lies in front of the column.
    rest: &'a [u8],
}

impl<'a> Numbers<'a> {
    /// Begins a column, given with what lies in front of it.
    pub(crate) fn new(led: &'a [u8]) -> Numbers<'a> {
        Numbers { rest: led }
    }

    /// Bytes that nobody has taken.
    pub(crate) fn left(&self) -> usize {
        self.rest.len() - LEAD
    }

    /// The number that a code tells, given what it may count from; `None` if the
    /// column ends before it does.
    #[inline(always)]
    pub(crate) fn take(&mut self, code: &Code, expected: [u64; 4]) -> Option<u64> {
        let rest = self.rest.get(code.bytes..)?;
        let word = u64::from_le_bytes(*rest.first_chunk()?);
        self.rest = rest;
        let number = ((word as i64) >> code.shift) as u64 & code.keep;
        let base = expected
            .into_iter()
            .zip(code.from)
            .fold(0u64, |sum, (part, mask)| sum.wrapping_add(part & mask));
        Some(base.wrapping_add(number))
    }
}
