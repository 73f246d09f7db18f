//! The memory of a process that is gone.

/// A piece of it.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    /// First address.
    pub start: u64,
    /// What was there.
    pub bytes: &'a [u8],
}

impl Segment<'_> {
    fn end(&self) -> u64 {
        self.start.saturating_add(self.bytes.len() as u64)
    }
}

/// What is known of a memory: pieces of the core, and of files that were mapped and
/// that the core leaves out.
#[derive(Clone, Debug, Default)]
pub struct Memory<'a> {
    /// By address.
    segments: Vec<Segment<'a>>,
}

impl<'a> Memory<'a> {
    /// Of these pieces. Where they overlap the one that begins later counts.
    #[must_use]
    pub fn new(mut segments: Vec<Segment<'a>>) -> Memory<'a> {
        segments.retain(|segment| !segment.bytes.is_empty());
        segments.sort_by_key(|segment| segment.start);
        Memory { segments }
    }

    /// Adds what is known from elsewhere, as far as the core does not have it.
    pub fn add(&mut self, segment: Segment<'a>) {
        let mut gaps = Vec::new();
        let mut next = segment.start;
        let there = self
            .segments
            .iter()
            .filter(|other| other.end() > segment.start);
        for other in there.take_while(|other| other.start < segment.end()) {
            gaps.push(next..other.start);
            next = next.max(other.end());
        }
        gaps.push(next..segment.end());
        for gap in gaps.into_iter().filter(|gap| gap.start < gap.end) {
            let from = (gap.start - segment.start) as usize;
            let to = (gap.end - segment.start) as usize;
            let bytes = &segment.bytes[from..to];
            let start = gap.start;
            self.segments.push(Segment { start, bytes });
        }
        self.segments.sort_by_key(|segment| segment.start);
    }

    /// What is known from this address on, up to `length` bytes.
    #[must_use]
    pub fn from(&self, address: u64, length: usize) -> &'a [u8] {
        let after = self
            .segments
            .partition_point(|segment| segment.start <= address);
        let Some(segment) = after.checked_sub(1).map(|last| &self.segments[last]) else {
            return &[];
        };
        let offset = usize::try_from(address - segment.start).unwrap_or(usize::MAX);
        let bytes = segment.bytes.get(offset..).unwrap_or_default();
        &bytes[..bytes.len().min(length)]
    }

    /// Exactly this many bytes. Pieces that follow each other are read as one.
    #[must_use]
    pub fn read(&self, address: u64, length: usize) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        while bytes.len() < length {
            let more = self.from(
                address.checked_add(bytes.len() as u64)?,
                length - bytes.len(),
            );
            if more.is_empty() {
                return None;
            }
            bytes.extend_from_slice(more);
        }
        Some(bytes)
    }

    /// A number of up to eight bytes.
    #[must_use]
    pub fn number(&self, address: u64, size: usize) -> Option<u64> {
        let mut number = [0; 8];
        number
            .get_mut(..size)?
            .copy_from_slice(&self.read(address, size)?);
        Some(u64::from_le_bytes(number))
    }

    /// A word.
    #[must_use]
    pub fn word(&self, address: u64) -> Option<u64> {
        self.number(address, 8)
    }

    /// Whether anything is known about this address.
    #[must_use]
    pub fn is_known(&self, address: u64) -> bool {
        !self.from(address, 1).is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a byte at a time: what was there first counts.
        #[test]
        fn pieces_are_added_where_nothing_is(
            pieces in prop::collection::vec((0..60u64, prop::collection::vec(any::<u8>(), 0..20)), 1..8),
            address in 0..80u64,
            length in 0..20usize,
        ) {
            let mut naive = [None; 120];
            let mut memory = Memory::default();
            for (start, bytes) in &pieces {
                for (place, &byte) in naive[*start as usize..].iter_mut().zip(bytes) {
                    place.get_or_insert(byte);
                }
                memory.add(Segment { start: *start, bytes });
            }
            let expected = &naive[address as usize..address as usize + length];
            let expected: Option<Vec<u8>> = expected.iter().copied().collect();
            prop_assert_eq!(memory.read(address, length), expected);
        }
    }
}
