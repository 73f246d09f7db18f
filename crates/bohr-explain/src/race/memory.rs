//! What is remembered of eight bytes of memory: the last write of each, and the
//! reads since.

use crate::happens_before::Clock;
use bohr_event::ThreadIndex;

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

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Word(Vec<Note>);

impl Word {
    /// Notes an access to some bytes; the first event that it races with.
    pub fn access(&mut self, bytes: u8, epoch: Epoch, known: &Clock) -> Option<usize> {
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
    pub fn retain(&mut self, mut still: impl FnMut(&Epoch) -> bool) {
        self.0.retain(|note| still(&note.epoch));
    }

    /// Forgets some bytes.
    pub fn forget(&mut self, bytes: u8) {
        self.0.iter_mut().for_each(|note| note.bytes &= !bytes);
        self.0.retain(|note| note.bytes != 0);
    }
}

/// The words of a range of addresses, each with the bytes of it that belong to
/// the range.
pub fn words(start: u64, size: u64) -> impl Iterator<Item = (u64, u8)> {
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
