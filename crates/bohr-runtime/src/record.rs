//! What is kept of every run: its switches and choices. Bounded, whatever the
//! length of the run.

use crate::{carrier::CarrierOnly, trace::TRACER};
use alloc::vec::Vec;
use bohr_event::{Choice, ChoiceKind, PlaceNumber, Schedule, Segment, ThreadIndex, ThreadPath};
use core::cell::{Cell, RefCell};

/// Switches kept of a run; more are counted.
pub const MOST_SEGMENTS: usize = 1 << 24;

/// The record of a run.
pub struct Record {
    segments: RefCell<Vec<Piece>>,
    segments_lost: Cell<u64>,
    /// Events before the segment that runs now.
    segment_start: Cell<u64>,
    choices: RefCell<Vec<Answer>>,
    /// By thread index: how many questions it has asked.
    questions: RefCell<Vec<u32>>,
    switches: Cell<u64>,
    hash: Cell<u64>,
}

/// A segment as it is kept: one word, since there may be very many. The thread is
/// in the upper bits. Longer segments than the lower ones can count are kept as
/// several, which [`Schedule::push`] joins.
#[derive(Clone, Copy)]
struct Piece(u64);

/// Bits of a piece that count events.
const EVENT_BITS: u32 = 40;

impl Piece {
    const LONGEST: u64 = (1 << EVENT_BITS) - 1;

    fn new(thread: ThreadIndex, events: u64) -> Piece {
        Piece(u64::from(thread.0) << EVENT_BITS | events)
    }

    fn thread(self) -> ThreadIndex {
        ThreadIndex((self.0 >> EVENT_BITS) as u32)
    }

    fn events(self) -> u64 {
        self.0 & Piece::LONGEST
    }
}

/// An answer as it is kept.
#[derive(Clone, Copy)]
struct Answer {
    thread: ThreadIndex,
    number: u32,
    kind: ChoiceKind,
    picked: u32,
}

/// The record of this process.
#[unsafe(link_section = "bohr_hot")]
pub static RECORD: CarrierOnly<Record> = CarrierOnly::new(Record {
    segments: RefCell::new(Vec::new()),
    segments_lost: Cell::new(0),
    segment_start: Cell::new(0),
    choices: RefCell::new(Vec::new()),
    questions: RefCell::new(Vec::new()),
    switches: Cell::new(0),
    hash: Cell::new(0x6a09_e667_f3bc_c908),
});

/// A schedule with what did not fit into it.
pub struct Recorded {
    /// As far as it was kept.
    pub schedule: Schedule<PlaceNumber>,
    /// Segments that were not.
    pub segments_lost: u64,
}

impl Record {
    /// Notes that another thread runs from now on.
    pub fn switch(&self, before: ThreadIndex, after: ThreadIndex, events: u64) {
        if events > self.segment_start.get() {
            self.close(before, events);
            self.switches.set(self.switches.get() + 1);
        }
        self.mix(u64::from(after.0));
    }

    fn close(&self, thread: ThreadIndex, events: u64) {
        let length = events - self.segment_start.get();
        self.segment_start.set(events);
        self.mix(length);
        let mut segments = self.segments.borrow_mut();
        if segments.len() >= MOST_SEGMENTS {
            self.segments_lost.set(self.segments_lost.get() + 1);
            return;
        }
        let mut left = length;
        while left > Piece::LONGEST {
            segments.push(Piece::new(thread, Piece::LONGEST));
            left -= Piece::LONGEST;
        }
        segments.push(Piece::new(thread, left));
    }

    /// Notes an answer of the strategy.
    pub fn choice(&self, thread: ThreadIndex, kind: ChoiceKind, picked: u32) {
        let mut questions = self.questions.borrow_mut();
        if questions.len() <= thread.position() {
            questions.resize(thread.position() + 1, 0);
        }
        let number = questions[thread.position()];
        questions[thread.position()] += 1;
        if picked != 0 {
            self.mix(u64::from(picked) << 32 | u64::from(number));
            TRACER.choice(thread, number, kind, picked);
            self.choices.borrow_mut().push(Answer {
                thread,
                number,
                kind,
                picked,
            });
        }
    }

    fn mix(&self, value: u64) {
        let mixed = (self.hash.get() ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.hash.set(mixed ^ mixed >> 29);
    }

    /// Changes of the running thread so far.
    pub fn switches(&self) -> u64 {
        self.switches.get()
    }

    /// Hash of the schedule so far.
    pub fn hash(&self) -> u64 {
        self.hash.get()
    }

    /// Closes the last segment at the end of the run.
    pub fn finish(&self, thread: ThreadIndex, events: u64) {
        if events > self.segment_start.get() {
            self.close(thread, events);
        }
    }

    /// The same in the middle of a run, after so many events, of which the last were this
    /// thread's.
    pub fn so_far(&self, paths: &[ThreadPath], thread: ThreadIndex, events: u64) -> Recorded {
        let mut recorded = self.recorded(paths);
        let open = events - self.segment_start.get();
        if open > 0 {
            recorded.schedule.push(Segment {
                thread: paths[thread.position()].clone(),
                events: open,
                end: None,
            });
        }
        recorded
    }

    /// How many questions a thread has asked.
    pub fn asked(&self, thread: ThreadIndex) -> u32 {
        let questions = self.questions.borrow();
        questions.get(thread.position()).copied().unwrap_or(0)
    }

    /// Everything kept, in the words of the vocabulary.
    pub fn recorded(&self, paths: &[ThreadPath]) -> Recorded {
        let mut schedule = Schedule::default();
        for piece in self.segments.borrow().iter() {
            schedule.push(Segment {
                thread: paths[piece.thread().position()].clone(),
                events: piece.events(),
                end: None,
            });
        }
        for answer in self.choices.borrow().iter() {
            schedule.choose(Choice {
                thread: paths[answer.thread.position()].clone(),
                number: answer.number,
                kind: answer.kind,
                picked: answer.picked,
            });
        }
        Recorded {
            schedule,
            segments_lost: self.segments_lost.get(),
        }
    }
}
