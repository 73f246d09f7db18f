//! What a thread got from outside in a recorded run and no other run would get
//! again: the time, randomness, and what it read from files, pipes and sockets. Given
//! to a controlled run, call by call, it goes the same way.
//!
//! A recorded thread writes each as one word or several, none of which is 0:
//!
//! ```text
//!     1 1 nanoseconds since 1970 (62 bits)       a time
//!     1 0 001 length (56 bits)                   random bytes; those follow
//!     1 0 010 0                                  a number; its bytes follow
//!     1 0 011 question (8 bits) length (48 bits) the system's answer; the bytes of
//!                                                its result follow, and its bytes
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
    /// What the system answered.
    Answer(Answer),
}

/// What a call asks the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Question {
    /// What comes next: `read`, `recv`, a buffered stream that is empty. The bytes are
    /// what came; behind them, the address of who sent it, if that was asked for.
    Read = 1,
    /// For a descriptor: `open`, `accept`, `connect`. The bytes are an [`Opened`]; behind
    /// it, the address at its other end, if that was asked for.
    Open = 2,
    /// What a file is like: `stat`, `access`. The bytes are what was told.
    Status = 3,
    /// Where something can be done without waiting: `poll`, `select`, `epoll_wait`. The
    /// bytes are [`Ready`] each.
    Ready = 4,
}

impl Question {
    const ALL: [Question; 4] = [
        Question::Read,
        Question::Open,
        Question::Status,
        Question::Ready,
    ];
}

/// Something of what was asked for is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ready {
    /// Of `poll`, which of its entries; of `select` and `epoll_wait`, which descriptor:
    /// the word that a program has put beside it may be an address, which is another one
    /// in the next run. [`Ready::UNKNOWN`] if that is not known.
    pub which: u32,
    /// For what: the bits of `poll`, which are those of `epoll_wait`, too.
    pub events: u32,
}

impl Ready {
    /// Bytes that this takes.
    pub const LENGTH: usize = 8;

    /// No descriptor.
    pub const UNKNOWN: u32 = u32::MAX;

    /// As bytes.
    #[must_use]
    pub fn bytes(self) -> [u8; Ready::LENGTH] {
        let mut bytes = [0; Ready::LENGTH];
        bytes[..4].copy_from_slice(&self.which.to_le_bytes());
        bytes[4..].copy_from_slice(&self.events.to_le_bytes());
        bytes
    }

    /// All that these bytes tell of.
    pub fn all(bytes: &[u8]) -> impl Iterator<Item = Ready> + '_ {
        bytes.chunks_exact(Ready::LENGTH).map(|bytes| {
            let [a, b, c, d, e, f, g, h] = *bytes else {
                unreachable!("chunks of this length");
            };
            Ready {
                which: u32::from_le_bytes([a, b, c, d]),
                events: u32::from_le_bytes([e, f, g, h]),
            }
        })
    }
}

/// What a descriptor leads to that was opened; nothing of the sort if it was not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Opened {
    /// The mode, as `stat` tells it.
    pub mode: u32,
    /// How many bytes it has.
    pub size: u64,
}

impl Opened {
    /// Bytes that this takes.
    pub const LENGTH: usize = 12;

    /// As bytes.
    #[must_use]
    pub fn bytes(self) -> [u8; Opened::LENGTH] {
        let mut bytes = [0; Opened::LENGTH];
        bytes[..4].copy_from_slice(&self.mode.to_le_bytes());
        bytes[4..].copy_from_slice(&self.size.to_le_bytes());
        bytes
    }

    /// What these bytes say, and the address behind.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<(Opened, &[u8])> {
        let (mode, rest) = bytes.split_first_chunk()?;
        let (size, rest) = rest.split_first_chunk()?;
        let mode = u32::from_le_bytes(*mode);
        let size = u64::from_le_bytes(*size);
        Some((Opened { mode, size }, rest))
    }
}

/// What the system answered a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// What it was asked.
    pub question: Question,
    /// What the call returned, or the negative number of its error.
    pub result: i64,
    /// What it wrote.
    pub bytes: Vec<u8>,
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
const ANSWER: u64 = 3;
const MAIN: u64 = 7;
const QUESTION: u32 = 48;
const LENGTH: u64 = (1 << QUESTION) - 1;
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

/// Passes the words of the system's answer on, whose bytes lie in several pieces.
pub fn answer_words(question: Question, result: i64, pieces: &[&[u8]], write: impl FnMut(u64)) {
    let length = pieces.iter().map(|piece| piece.len()).sum();
    let pieces = pieces.iter().copied();
    answer_words_of(question, result, length, pieces, write);
}

/// The same with pieces that are made one by one and have this length together.
pub fn answer_words_of(
    question: Question,
    result: i64,
    length: usize,
    pieces: impl Iterator<Item: AsRef<[u8]>>,
    mut write: impl FnMut(u64),
) {
    let head = (question as u64) << QUESTION | length as u64 & LENGTH;
    words(ANSWER, head, &result.to_le_bytes(), &mut write);
    let mut packer = Packer::default();
    for piece in pieces {
        packer.add(piece.as_ref(), &mut write);
    }
    packer.end(&mut write);
}

fn words(kind: u64, length: u64, bytes: &[u8], mut write: impl FnMut(u64)) {
    write(OTHER | kind << KIND | length & LOW);
    let mut packer = Packer::default();
    packer.add(bytes, &mut write);
    packer.end(&mut write);
}

/// Bytes that are not a word yet.
#[derive(Default)]
struct Packer {
    held: [u8; 8],
    count: usize,
}

impl Packer {
    fn add(&mut self, bytes: &[u8], write: &mut impl FnMut(u64)) {
        let missing = (BYTES - self.count).min(bytes.len());
        let (first, rest) = bytes.split_at(if self.count == 0 { 0 } else { missing });
        self.keep(first);
        if self.count == BYTES {
            self.end(write);
        }
        let whole = rest.chunks_exact(BYTES);
        let last = whole.remainder();
        for part in whole {
            let mut word = [0; 8];
            word[..BYTES].copy_from_slice(part);
            write(OTHER | u64::from_le_bytes(word));
        }
        self.keep(last);
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.held[self.count..][..bytes.len()].copy_from_slice(bytes);
        self.count += bytes.len();
    }

    fn end(&mut self, write: &mut impl FnMut(u64)) {
        if self.count > 0 {
            write(OTHER | u64::from_le_bytes(self.held));
            *self = Packer::default();
        }
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
///
/// ```
/// use bohr_event::inputs::{Answer, Input, Question, answer_words, read};
/// let mut words = Vec::new();
/// answer_words(Question::Read, 7, &[b"two", b"bits"], |word| words.push(word));
/// let (question, result, bytes) = (Question::Read, 7, b"twobits".to_vec());
/// let answer = Answer { question, result, bytes };
/// assert_eq!(read(&words), [Input::Answer(answer)]);
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
            (0b10, ANSWER) => answer(*word, &mut rest).map(Input::Answer),
            _ => None,
        };
        match input {
            Some(input) => inputs.push(input),
            None => break,
        }
    }
    inputs
}

/// The answer that begins with this word.
fn answer(word: u64, rest: &mut &[u64]) -> Option<Answer> {
    let question = (word & LOW) >> QUESTION;
    let known = |one: &&Question| **one as u64 == question;
    let question = *Question::ALL.iter().find(known)?;
    let result = <[u8; 8]>::try_from(bytes(rest, 8)?).ok()?;
    Some(Answer {
        question,
        result: i64::from_le_bytes(result),
        bytes: bytes(rest, (word & LENGTH) as usize)?,
    })
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

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;
    use std::vec;

    fn question() -> impl Strategy<Value = Question> {
        prop::sample::select(Question::ALL.to_vec())
    }

    proptest! {
        #[test]
        fn answers_are_read_as_they_were_written(
            answers in prop::collection::vec(
                (question(), any::<i64>(), prop::collection::vec(any::<Vec<u8>>(), 0..4)),
                0..5,
            ),
        ) {
            let mut words = vec![MAIN_WORD];
            let mut expected = Vec::new();
            for (question, result, pieces) in answers {
                let parts: Vec<&[u8]> = pieces.iter().map(|piece| &piece[..]).collect();
                answer_words(question, result, &parts, |word| words.push(word));
                let bytes = pieces.concat();
                expected.push(Input::Answer(Answer { question, result, bytes }));
            }
            prop_assert!(words.iter().all(|word| *word != 0));
            prop_assert_eq!(read(&words), expected.clone());
            // The last one may be half there, and nothing else is lost.
            words.pop();
            expected.pop();
            prop_assert_eq!(read(&words), expected);
        }

        #[test]
        fn what_is_ready_is_read_as_it_was_written(
            told in prop::collection::vec((any::<u32>(), any::<u32>()), 0..9),
        ) {
            let told: Vec<Ready> = told
                .into_iter()
                .map(|(which, events)| Ready { which, events })
                .collect();
            let length = told.len() * Ready::LENGTH;
            let pieces = told.iter().map(|one| one.bytes());
            let mut words = Vec::new();
            answer_words_of(Question::Ready, 0, length, pieces, |word| words.push(word));
            let [Input::Answer(answer)] = &read(&words)[..] else {
                panic!("one answer");
            };
            prop_assert_eq!(answer.question, Question::Ready);
            prop_assert_eq!(Ready::all(&answer.bytes).collect::<Vec<_>>(), told);
        }

        #[test]
        fn any_words_are_read(
            words in prop::collection::vec(
                prop_oneof![any::<u64>(), (0u64..8, any::<u64>()).prop_map(|(kind, low)| {
                    OTHER | kind << KIND | low & (7 << QUESTION | 63)
                })],
                0..40,
            ),
        ) {
            let inputs = read(&words);
            prop_assert!(inputs.len() <= words.len());
        }
    }
}
