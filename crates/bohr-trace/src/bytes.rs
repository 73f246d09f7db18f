//! Numbers in byte slices: fixed ones, varints, and the checksum of a block.

/// The little-endian number at `at`, if the bytes reach that far.
pub(crate) fn read_u16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The little-endian number at `at`, if the bytes reach that far.
pub(crate) fn read_u32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The little-endian number at `at`, if the bytes reach that far.
pub(crate) fn read_u64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[inline(always)]
pub(crate) fn write_u32(bytes: &mut [u8], at: usize, number: u32) {
    bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
}

#[inline(always)]
pub(crate) fn write_u64(bytes: &mut [u8], at: usize, number: u64) {
    bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
}

/// Writes a varint at the front of `bytes` and tells how long it is.
#[inline(always)]
pub(crate) fn write_varint(bytes: &mut [u8], mut number: u64) -> usize {
    let mut length = 0;
    while number >= 0x80 {
        bytes[length] = number as u8 | 0x80;
        number >>= 7;
        length += 1;
    }
    bytes[length] = number as u8;
    length + 1
}

/// Takes a varint from the front of `bytes`; `None` if it does not end, or
/// holds more than 64 bits.
#[inline(always)]
pub(crate) fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let part = u64::from(byte & 0x7f);
        if shift == 63 && part > 1 {
            return None;
        }
        number |= part << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// Takes `N` bytes from the front.
#[inline(always)]
pub(crate) fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (chunk, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*chunk)
}

/// Small distances of either sign become small numbers.
#[inline(always)]
pub(crate) fn zigzag(distance: i64) -> u64 {
    (distance << 1 ^ distance >> 63) as u64
}

#[inline(always)]
pub(crate) fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

/// Tells accidents, not attacks: multiply and mix, eight bytes at a time, in
/// two independent lanes.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    let mix = |sum: u64, word: u64| {
        (sum ^ word)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(29)
    };
    let mut lanes = [bytes.len() as u64, !0];
    let (pairs, tail) = bytes.as_chunks::<16>();
    for pair in pairs {
        for (lane, half) in lanes.iter_mut().zip(pair.as_chunks::<8>().0) {
            *lane = mix(*lane, u64::from_le_bytes(*half));
        }
    }
    let last = tail
        .iter()
        .fold(lanes[0], |sum, &byte| mix(sum, u64::from(byte)));
    let sum = mix(last, lanes[1]);
    sum ^ sum >> 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn varints_round_trip(number: u64, tail: u8) {
            let mut bytes = [tail; 11];
            let length = write_varint(&mut bytes, number);
            let mut rest = &bytes[..];
            prop_assert_eq!(take_varint(&mut rest), Some(number));
            prop_assert_eq!(rest.len(), 11 - length);
            prop_assert_eq!(take_varint(&mut &bytes[..length - 1]), None);
        }

        #[test]
        fn zigzag_round_trips(distance: i64) {
            prop_assert_eq!(unzigzag(zigzag(distance)), distance);
        }

        #[test]
        fn a_flipped_bit_changes_the_checksum(bytes in prop::collection::vec(any::<u8>(), 1..80), at: prop::sample::Index, bit in 0..8) {
            let mut other = bytes.clone();
            other[at.index(bytes.len())] ^= 1u8 << bit;
            prop_assert_ne!(checksum(&bytes), checksum(&other));
        }
    }

    #[test]
    fn an_overlong_varint_is_refused() {
        assert_eq!(take_varint(&mut &[0xff; 12][..]), None);
        assert_eq!(
            take_varint(&mut &[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2][..]),
            None
        );
    }
}
