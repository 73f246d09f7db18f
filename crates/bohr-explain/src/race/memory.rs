//! What is remembered of memory: of eight bytes each the last write, and the reads
//! since. What whole blocks have in common is kept once, so that a large block that is
//! cleared, copied or freed costs next to nothing.

use crate::happens_before::Clock;
use bohr_event::ThreadIndex;
use std::collections::HashMap;

/// An access.
#[derive(Clone, Copy, Debug)]
pub struct Epoch {
    /// By whom.
    pub thread: ThreadIndex,
    /// At which of its times.
    pub time: u32,
    /// Position of the event.
    pub event: usize,
    /// Whether it was atomic.
    pub atomic: bool,
    /// Whether it wrote.
    pub writes: bool,
}

impl Epoch {
    /// Whether whoever knows this clock knows of the access.
    fn is_known(&self, clock: &Clock) -> bool {
        self.time <= clock.time(self.thread)
    }

    fn races(&self, later: &Epoch, known: &Clock) -> bool {
        (self.writes || later.writes) && !(self.atomic && later.atomic) && !self.is_known(known)
    }
}

/// An access with the bytes for which it is the one to remember, one bit each.
#[derive(Clone, Copy, Debug)]
struct Note {
    bytes: u8,
    epoch: Epoch,
}

/// Eight bytes.
#[derive(Clone, Debug, Default)]
struct Word(Vec<Note>);

impl Word {
    /// Notes an access to some bytes; the first event that it races with.
    fn access(&mut self, bytes: u8, epoch: Epoch, known: &Clock) -> Option<usize> {
        let race = self
            .0
            .iter()
            .find(|note| note.bytes & bytes != 0 && note.epoch.races(&epoch, known));
        let race = race.map(|note| note.epoch.event);
        for note in &mut self.0 {
            // A read replaces only reads that whoever races with it races with, too.
            let replaced = epoch.writes || !note.epoch.writes && note.epoch.is_known(known);
            note.bytes &= if replaced { !bytes } else { u8::MAX };
        }
        self.0.retain(|note| note.bytes != 0);
        self.0.push(Note { bytes, epoch });
        race
    }

    /// Forgets accesses that nobody can have met.
    fn retain(&mut self, still: &dyn Fn(&Epoch) -> bool) {
        self.0.retain(|note| still(&note.epoch));
    }

    /// Forgets some bytes.
    fn forget(&mut self, bytes: u8) {
        self.0.iter_mut().for_each(|note| note.bytes &= !bytes);
        self.0.retain(|note| note.bytes != 0);
    }
}

/// The words of a range of addresses, each with the bytes of it that belong to
/// the range.
pub(super) fn words(start: u64, size: u64) -> impl Iterator<Item = (u64, u8)> {
    let end = start.saturating_add(size);
    let first = start / 8;
    let last = end.div_ceil(8);
    (first..last).map(move |word| {
        let low = start.saturating_sub(word * 8).min(8);
        let high = (end - word * 8).min(8);
        let mask = (1u16 << high) - (1u16 << low);
        (word, mask as u8)
    })
}

/// Words of a block.
const WORDS: u64 = 64;
/// Bytes of a block.
const BLOCK: u64 = WORDS * 8;
/// All bytes of a word.
const ALL: u8 = u8::MAX;

/// Words that follow each other.
#[derive(Clone, Debug)]
enum Block {
    /// The same holds for all of them.
    Alike(Word),
    /// Each by itself.
    Apart(Box<[Word]>),
}

impl Default for Block {
    fn default() -> Block {
        Block::Alike(Word::default())
    }
}

impl Block {
    fn apart(&mut self) -> &mut [Word] {
        if let Block::Alike(word) = self {
            *self = Block::Apart(vec![word.clone(); WORDS as usize].into());
        }
        match self {
            Block::Apart(words) => words,
            Block::Alike(_) => unreachable!("it was just taken apart"),
        }
    }

    /// Does something with every word, all bytes of it; what the last one said that said
    /// something.
    fn each<R>(&mut self, mut action: impl FnMut(&mut Word) -> Option<R>) -> Option<R> {
        match self {
            Block::Alike(word) => action(word),
            Block::Apart(words) => {
                let said = words.iter_mut().map(action);
                said.fold(None, |found, said| said.or(found))
            }
        }
    }
}

/// See the module.
#[derive(Debug, Default)]
pub struct Memory(HashMap<u64, Block>);

impl Memory {
    /// Notes an access to so many bytes, where earlier ones count for which `still`
    /// holds; the first event that it races with, in its last word that has one.
    pub fn access(
        &mut self,
        (start, size): (u64, u64),
        epoch: Epoch,
        known: &Clock,
        still: Option<&dyn Fn(&Epoch) -> bool>,
    ) -> Option<usize> {
        let mut found = None;
        for part in parts(start, size) {
            let block = self.0.entry(part.start / BLOCK).or_default();
            let access = |word: &mut Word, bytes| {
                if let Some(still) = still {
                    word.retain(still);
                }
                word.access(bytes, epoch, known)
            };
            let raced = match part.is_whole() {
                true => block.each(|word| access(word, ALL)),
                false => {
                    let all = block.apart();
                    let words = words(part.start, part.size);
                    let raced =
                        words.map(|(word, bytes)| access(&mut all[(word % WORDS) as usize], bytes));
                    raced.fold(None, |found, raced| raced.or(found))
                }
            };
            // Nothing else is left of any word.
            if part.is_whole() && epoch.writes {
                let mut alike = Word::default();
                alike.access(ALL, epoch, known);
                *block = Block::Alike(alike);
            }
            found = raced.or(found);
        }
        found
    }

    /// Forgets so many bytes.
    pub fn forget(&mut self, start: u64, size: u64) {
        for part in parts(start, size) {
            let number = part.start / BLOCK;
            if part.is_whole() {
                self.0.remove(&number);
            } else if let Some(block) = self.0.get_mut(&number) {
                let all = block.apart();
                for (word, bytes) in words(part.start, part.size) {
                    all[(word % WORDS) as usize].forget(bytes);
                }
            }
        }
    }
}

/// What of a range lies in one block.
struct Part {
    start: u64,
    size: u64,
}

impl Part {
    fn is_whole(&self) -> bool {
        self.size == BLOCK
    }
}

fn parts(start: u64, size: u64) -> impl Iterator<Item = Part> {
    let end = start.saturating_add(size);
    (start / BLOCK..end.div_ceil(BLOCK)).map(move |block| {
        let from = start.max(block * BLOCK);
        let to = end.min(block.saturating_add(1).saturating_mul(BLOCK));
        Part {
            start: from,
            size: to - from,
        }
    })
}

#[cfg(test)]
mod tests;
