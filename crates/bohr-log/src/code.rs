//! A thread's path as words: bits, the earlier the higher, below a leading one.
//!
//! ```text
//!     0 … 0 1 b b b … b      a word that is not full, or that its writer gave
//!     1 b b b … b b b b      up because what came next did not fit
//! ```
//!
//! A word is never zero, so a stream of words ends at the first that is. The
//! last word is the one that the thread was still writing.

/// Reads a thread's bits.
#[derive(Clone, Debug)]
pub struct CodeReader<'w> {
    words: &'w [u64],
    /// The word at hand.
    word: usize,
    /// Bits of it that were read.
    read: u32,
    taken: u64,
}

impl<'w> CodeReader<'w> {
    /// The bits of some words.
    #[must_use]
    pub fn new(words: &'w [u64]) -> CodeReader<'w> {
        CodeReader {
            words,
            word: 0,
            read: 0,
            taken: 0,
        }
    }

    /// Where in the stream the next bit is: the byte of its word.
    #[must_use]
    pub fn byte(&self) -> u64 {
        self.word as u64 * 8
    }

    /// How many bits were read.
    #[must_use]
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// The next bit; `None` at the end.
    pub fn bit(&mut self) -> Option<bool> {
        loop {
            let word = *self.words.get(self.word)?;
            let held = payload(word);
            if self.read < held {
                self.read += 1;
                self.taken += 1;
                return Some(word >> (held - self.read) & 1 == 1);
            }
            self.word += 1;
            self.read = 0;
        }
    }

    /// The next `count` bits, the first one highest; `None` if there are fewer.
    pub fn bits(&mut self, count: u32) -> Option<u64> {
        let mut value = 0;
        for _ in 0..count {
            value = value << 1 | u64::from(self.bit()?);
        }
        Some(value)
    }
}

/// How many bits a word holds below its leading one.
fn payload(word: u64) -> u32 {
    word.checked_ilog2().unwrap_or(0)
}

/// Writes bits as a recorded thread does.
///
/// ```
/// use bohr_log::{CodeReader, CodeWriter};
///
/// let mut writer = CodeWriter::default();
/// writer.reserve(3);
/// writer.push(0b101, 3);
/// let words = writer.words();
/// assert_eq!(words, [0b1101]);
/// assert_eq!(CodeReader::new(&words).bits(3), Some(0b101));
/// ```
#[derive(Clone, Debug)]
pub struct CodeWriter {
    full: Vec<u64>,
    word: u64,
}

impl Default for CodeWriter {
    fn default() -> CodeWriter {
        CodeWriter {
            full: Vec::new(),
            word: 1,
        }
    }
}

impl CodeWriter {
    /// Makes room for so many bits, 63 at most.
    pub fn reserve(&mut self, bits: u32) {
        if bits > 0 && self.word >> (64 - bits) != 0 {
            self.full.push(self.word);
            self.word = 1;
        }
    }

    /// Appends bits for which there is room.
    ///
    /// # Panics
    /// If there is none.
    pub fn push(&mut self, value: u64, bits: u32) {
        let fits = bits == 0 || self.word >> (64 - bits) == 0;
        assert!(fits, "nobody made room for {bits} bits");
        self.word = self.word << bits | value;
    }

    /// Everything written so far.
    #[must_use]
    pub fn words(&self) -> Vec<u64> {
        let mut words = self.full.clone();
        words.push(self.word);
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(
            pieces in prop::collection::vec((0u32..20, any::<u64>()), 0..60),
        ) {
            let mut writer = CodeWriter::default();
            let mut expected = Vec::new();
            for (bits, value) in pieces {
                let value = value & ((1 << bits) - 1);
                writer.reserve(bits);
                writer.push(value, bits);
                expected.push((bits, value));
            }
            let words = writer.words();
            prop_assert!(words.iter().all(|word| *word != 0));
            let mut reader = CodeReader::new(&words);
            for (bits, value) in expected {
                prop_assert_eq!(reader.bits(bits), Some(value));
            }
            prop_assert_eq!(reader.bit(), None);
        }

        #[test]
        fn any_words_are_read(words in prop::collection::vec(any::<u64>(), 0..9)) {
            let mut reader = CodeReader::new(&words);
            let held: u64 = words.iter().map(|word| u64::from(payload(*word))).sum();
            while reader.bit().is_some() {}
            prop_assert_eq!(reader.taken(), held);
        }
    }
}
