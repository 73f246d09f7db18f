//! What a thread got from outside in a recorded run and no other run would get
//! again: the time, and randomness. Given to a controlled run, call by call, it goes
//! the same way.
//!
//! A recorded thread writes each as one word or several, none of which is 0:
//!
//! ```text
//!     1 1 nanoseconds since 1970 (62 bits)       a time
//!     1 0 001 length (56 bits)                   random bytes; those follow
//!     1 0 010 0                                  a number; its bytes follow
//!     1 0 000 seven bytes, the first lowest      bytes that follow
//!     1 0 111 0                                  `main` begins; all before is forgotten
//! ```

use crate::ThreadPath;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// One answer from outside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Input {
    /// What a clock showed, in nanoseconds.
    Time(u64),
    /// Random bytes.
    Random(Vec<u8>),
    /// What a generator of random numbers gave.
    Number(u64),
}

/// The answers that a thread got, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadInputs {
    /// Which thread.
    pub thread: ThreadPath,
    /// What it got.
    pub inputs: Vec<Input>,
}

const TIME: u64 = 0b11 << 62;
const OTHER: u64 = 0b10 << 62;
const KIND: u32 = 59;
const RANDOM: u64 = 1;
const NUMBER: u64 = 2;
const MAIN: u64 = 7;
const BYTES: usize = 7;
const LOW: u64 = (1 << 56) - 1;

/// Written where `main` begins: what comes before belongs to the loading of the
/// program.
pub const MAIN_WORD: u64 = OTHER | MAIN << KIND;

/// The word of a time.
#[must_use]
pub fn time_word(nanoseconds: u64) -> u64 {
    TIME | nanoseconds & !TIME
}

/// Passes the words of some random bytes on.
pub fn random_words(bytes: &[u8], write: impl FnMut(u64)) {
    words(RANDOM, bytes.len() as u64, bytes, write);
}

/// Passes the words of a number on.
pub fn number_words(number: u64, write: impl FnMut(u64)) {
    words(NUMBER, 0, &number.to_le_bytes(), write);
}

fn words(kind: u64, length: u64, bytes: &[u8], mut write: impl FnMut(u64)) {
    write(OTHER | kind << KIND | length & LOW);
    for part in bytes.chunks(BYTES) {
        let mut word = [0; 8];
        word[..part.len()].copy_from_slice(part);
        write(OTHER | u64::from_le_bytes(word));
    }
}

/// What these words say, as far as they say something: the last answer of a thread
/// that was ended may be half there.
///
/// ```
/// use bohr_event::inputs::{Input, number_words, random_words, read, time_word};
/// let mut words = vec![time_word(5)];
/// random_words(b"eight by", |word| words.push(word));
/// number_words(7, |word| words.push(word));
/// let random = Input::Random(b"eight by".to_vec());
/// assert_eq!(read(&words), [Input::Time(5), random.clone(), Input::Number(7)]);
/// assert_eq!(read(&words[..5]), [Input::Time(5), random]);
/// assert_eq!(read(&[3]), []);
/// ```
#[must_use]
pub fn read(words: &[u64]) -> Vec<Input> {
    let mut inputs = Vec::new();
    let mut rest = words;
    while let [word, behind @ ..] = rest {
        rest = behind;
        if *word == MAIN_WORD {
            inputs.clear();
            continue;
        }
        let input = match (word >> 62, word >> KIND & 7) {
            (0b11, _) => Some(Input::Time(word & !TIME)),
            (0b10, RANDOM) => bytes(&mut rest, (word & LOW) as usize).map(Input::Random),
            (0b10, NUMBER) => bytes(&mut rest, 8)
                .and_then(|bytes| <[u8; 8]>::try_from(bytes).ok())
                .map(|bytes| Input::Number(u64::from_le_bytes(bytes))),
            _ => None,
        };
        match input {
            Some(input) => inputs.push(input),
            None => break,
        }
    }
    inputs
}

/// Takes so many bytes off the words.
fn bytes(words: &mut &[u64], length: usize) -> Option<Vec<u8>> {
    let (held, rest) = words.split_at_checked(length.div_ceil(BYTES))?;
    *words = rest;
    let mut bytes = Vec::new();
    for word in held {
        if word >> KIND != OTHER >> KIND {
            return None;
        }
        bytes.extend_from_slice(&word.to_le_bytes()[..BYTES]);
    }
    bytes.truncate(length);
    Some(bytes)
}
