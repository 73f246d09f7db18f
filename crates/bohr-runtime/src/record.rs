//! What is kept of a run: its switches and choices always, its events when
//! somebody asked for them. Bounded, whatever the length of the run.

use crate::carrier::CarrierOnly;
use alloc::vec::Vec;
use bohr_event::{
    Anchor, Choice, ChoiceKind, Operation, PlaceNumber, Schedule, Segment, ThreadIndex, ThreadPath,
    control::Step,
};
use core::cell::{Cell, RefCell};

/// Switches kept of a run; more are counted.
const MOST_SEGMENTS: usize = 1 << 22;

/// The record of a run.
pub struct Record {
    segments: RefCell<Vec<Piece>>,
    segments_lost: Cell<u64>,
    /// Events before the segment that runs now.
    segment_start: Cell<u64>,
    choices: RefCell<Vec<Answer>>,
    /// By thread index: how many questions it has asked.
    questions: RefCell<Vec<u32>>,
    steps: RefCell<Vec<Step>>,
    steps_lost: Cell<u64>,
    step_limit: Cell<usize>,
    switches: Cell<u64>,
    hash: Cell<u64>,
}

/// A segment as it is kept.
#[derive(Clone, Copy)]
struct Piece {
    thread: ThreadIndex,
    events: u64,
    place: PlaceNumber,
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
    steps: RefCell::new(Vec::new()),
    steps_lost: Cell::new(0),
    step_limit: Cell::new(0),
    switches: Cell::new(0),
    hash: Cell::new(0x6a09_e667_f3bc_c908),
});

/// A schedule with what did not fit into it.
pub struct Recorded {
    /// As far as it was kept.
    pub schedule: Schedule<PlaceNumber>,
    /// Segments that were not.
    pub segments_lost: u64,
    /// The events that were kept.
    pub steps: Vec<Step>,
    /// Those that were not.
    pub steps_lost: u64,
}

impl Record {
    /// Sets how many events may be kept. With none, those of the serial part go,
    /// too.
    pub fn begin(&self, step_limit: u64) {
        self.step_limit.set(step_limit as usize);
        if step_limit == 0 {
            self.steps_lost.set(0);
            // To free it would touch a page for nothing.
            core::mem::forget(self.steps.take());
        }
    }

    /// Notes an executed event.
    pub fn step(&self, thread: ThreadIndex, operation: Operation) {
        let mut steps = self.steps.borrow_mut();
        if steps.len() < self.step_limit.get() {
            steps.push(Step { thread, operation });
        } else {
            self.steps_lost.set(self.steps_lost.get() + 1);
        }
    }

    /// Notes that another thread runs from now on.
    pub fn switch(&self, before: ThreadIndex, after: ThreadIndex, events: u64, place: PlaceNumber) {
        if events > self.segment_start.get() {
            self.close(before, events, place);
            self.switches.set(self.switches.get() + 1);
        }
        self.mix(u64::from(after.0));
    }

    fn close(&self, thread: ThreadIndex, events: u64, place: PlaceNumber) {
        let length = events - self.segment_start.get();
        self.segment_start.set(events);
        self.mix(length);
        let mut segments = self.segments.borrow_mut();
        if segments.len() == MOST_SEGMENTS {
            self.segments_lost.set(self.segments_lost.get() + 1);
            return;
        }
        segments.push(Piece {
            thread,
            events: length,
            place,
        });
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
    pub fn finish(&self, thread: ThreadIndex, events: u64, place: PlaceNumber) {
        if events > self.segment_start.get() {
            self.close(thread, events, place);
        }
    }

    /// Everything kept, in the words of the vocabulary.
    pub fn recorded(&self, paths: &[ThreadPath]) -> Recorded {
        let steps = self.steps.take();
        let mut schedule = Schedule::default();
        let mut from = 0;
        for piece in self.segments.borrow().iter() {
            let to = from + piece.events as usize;
            let anchor = steps.get(from..to).map(|steps| Anchor {
                place: piece.place,
                visits: visits(steps, piece.place),
            });
            from = to;
            schedule.push(Segment {
                thread: paths[piece.thread.position()].clone(),
                events: piece.events,
                end: anchor,
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
            steps,
            steps_lost: self.steps_lost.get(),
        }
    }
}

fn visits(steps: &[Step], place: PlaceNumber) -> u32 {
    steps
        .iter()
        .filter(|step| step.operation.place == place)
        .count() as u32
}
