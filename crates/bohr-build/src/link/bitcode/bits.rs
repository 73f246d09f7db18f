//! Numbers of any width out of a stream of bits, lowest bit first.

/// A position in bytes, counted in bits.
pub(super) struct Bits<'bytes> {
    bytes: &'bytes [u8],
    at: usize,
}

impl<'bytes> Bits<'bytes> {
    pub(super) fn new(bytes: &'bytes [u8]) -> Bits<'bytes> {
        Bits { bytes, at: 0 }
    }

    /// A number of so many bits, 32 at most.
    pub(super) fn fixed(&mut self, width: u32) -> Option<u64> {
        let mut number = 0;
        for bit in 0..width {
            let byte = self.bytes.get(self.at / 8)?;
            number |= u64::from(byte >> (self.at % 8) & 1) << bit;
            self.at += 1;
        }
        Some(number)
    }

    /// A number in groups of so many bits, of which the highest says whether
    /// another group follows.
    pub(super) fn variable(&mut self, width: u32) -> Option<u64> {
        let (mut number, mut shift) = (0_u64, 0);
        loop {
            let group = self.fixed(width)?;
            let more = group >> (width - 1) == 1;
            let value = group & ((1 << (width - 1)) - 1);
            number |= value.checked_shl(shift)?;
            if !more {
                return Some(number);
            }
            shift += width - 1;
        }
    }

    /// Goes on to the next multiple of 32 bits.
    pub(super) fn align(&mut self) {
        self.at = self.at.next_multiple_of(32);
    }

    /// The bytes from here on.
    pub(super) fn rest(&self) -> Option<&'bytes [u8]> {
        self.bytes.get(self.at / 8..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lie_lowest_bit_first() {
        let mut bits = Bits::new(&[0b1010_0110, 0xff, 0, 0, 7]);
        assert_eq!(bits.fixed(2), Some(0b10));
        assert_eq!(bits.fixed(5), Some(0b01001));
        assert_eq!(bits.fixed(3), Some(0b111));
        bits.align();
        assert_eq!(bits.rest(), Some(&[7][..]));
        assert_eq!(bits.fixed(8), Some(7));
        assert_eq!(bits.fixed(1), None);
    }

    #[test]
    fn groups_follow_as_long_as_they_say() {
        // 0b1_101, then 0b0_010: 5 + (2 << 3).
        assert_eq!(Bits::new(&[0b0010_1101]).variable(4), Some(21));
        assert_eq!(Bits::new(&[0xff; 2]).variable(4), None);
        assert_eq!(Bits::new(&[0xff; 100]).variable(4), None);
    }
}
