//! Livelocks that are proved: the whole program is in a state in which it has been long
//! before, all threads that could go on have done so in between, and nobody has asked the
//! system for anything. Whatever it does from here it has done before.
//!
//! From time to time, the more seldom the longer the run, a stretch of events is watched.
//! If it holds only few different ones, and nothing but what threads do in memory and
//! among themselves, fingerprints are taken of some moments in which one thread is at one
//! place, and compared with those of the stretch before. A loop that counts is never in
//! the same state, however little it does, and goes on up to where it gives up or to the
//! limit of events; most such loops tell by what their threads hold, and the memory need
//! not be looked at. A state that comes again at once is no livelock yet: another schedule
//! might lead out of it, as in threads that get into each other's way and retry. Between
//! two stretches lie so many events that chance would have found one.
//!
//! Reads of the processor's own clock (`rdtsc`) are seen by nobody; a loop that waits for
//! it with a yield in it is taken for endless if it takes that long.

use super::Engine;
use crate::{
    buffers, control,
    fingerprint::{self, Fingerprint},
    neighbours, notices,
    spin::Sight,
    thread::{Thread, Wait},
    timers, verdict, waiting,
};
use alloc::{format, vec::Vec};
use bohr_event::{EventKind, FailureKind, Operation, PlaceNumber, ThreadIndex, control::Notice};
use core::cell::{Cell, RefCell};

/// Events before the first stretch; each further one begins when there are twice as many.
const FIRST: u64 = 1 << 18;
/// How many events are looked at one by one, and how many different ones may be among
/// them.
const LOOKED_AT: u32 = 512;
const FEW: usize = 64;
/// The longest stretch. Where threads are called off only as they spin, that takes them
/// thousands of events.
const LONGEST: u32 = 1 << 17;
/// The most fingerprints of a stretch, and how many of them one thread can fill without a
/// switch. Others show what it finds when others have run.
const SAMPLES: usize = 16;
/// After so many bytes of memory no further fingerprint is taken in a stretch: a program
/// with much memory would spend its time on that.
const MOST_BYTES: usize = 1 << 29;
const IN_A_ROW: usize = 4;

/// A moment of a stretch.
struct Sample {
    sketch: u64,
    /// Taken where the sketch was seen before.
    state: Option<Fingerprint>,
    /// Events executed then.
    events: u64,
}

/// What is known about the run so far.
pub struct Recurrence {
    /// Events executed when the next stretch begins.
    next: Cell<u64>,
    /// Events of the stretch that is being watched; 0 if there is none.
    watched: Cell<u32>,
    /// Different events of it.
    sights: RefCell<Vec<(ThreadIndex, Sight)>>,
    /// Of which moments fingerprints are taken.
    moment: Cell<Option<(ThreadIndex, PlaceNumber)>>,
    /// Those of the stretch before, and of this one.
    before: RefCell<Vec<Sample>>,
    samples: RefCell<Vec<Sample>>,
    /// Bytes that were looked at in this stretch.
    bytes: Cell<usize>,
    /// Events executed when the thread had been switched to that the last one is of.
    turn: Cell<u64>,
    /// Events after which the program may go on otherwise, whatever its own state.
    strange: Cell<u64>,
    /// How many there were at the end of the stretch before.
    strange_before: Cell<u64>,
}

impl Recurrence {
    /// Nothing seen yet.
    pub const fn new() -> Recurrence {
        Recurrence {
            next: Cell::new(FIRST),
            watched: Cell::new(0),
            sights: RefCell::new(Vec::new()),
            moment: Cell::new(None),
            before: RefCell::new(Vec::new()),
            samples: RefCell::new(Vec::new()),
            bytes: Cell::new(0),
            turn: Cell::new(0),
            strange: Cell::new(0),
            strange_before: Cell::new(0),
        }
    }

    /// Whether every event is wanted.
    pub fn is_watching(&self) -> bool {
        self.watched.get() > 0
    }

    /// How many events may pass unseen after so many: a stretch begins with the same event
    /// however much leave there is.
    pub fn distance(&self, events: u64) -> u64 {
        self.next.get().saturating_sub(events + 1)
    }

    /// Something was asked of the system that may answer otherwise next time.
    pub fn note_strange(&self) {
        self.strange.set(self.strange.get() + 1);
    }

    /// How often that has happened.
    pub fn strange(&self) -> u64 {
        self.strange.get()
    }

    /// Takes a sight in; whether there are too many different ones.
    fn sees(&self, thread: ThreadIndex, sight: Sight) -> bool {
        let mut sights = self.sights.borrow_mut();
        if !sights.contains(&(thread, sight)) {
            sights.push((thread, sight));
        }
        sights.len() > FEW
    }

    fn begin(&self) {
        self.watched.set(1);
        self.sights.borrow_mut().clear();
        self.samples.borrow_mut().clear();
        self.bytes.set(0);
        if self.strange.get() != self.strange_before.get() {
            self.before.borrow_mut().clear();
        }
        if self.before.borrow().is_empty() {
            self.moment.set(None);
        }
    }

    /// Ends the stretch; the next one compares with this one's samples.
    fn end(&self) {
        self.watched.set(0);
        self.before.swap(&self.samples);
        self.strange_before.set(self.strange.get());
    }

    /// Whether a fingerprint is to be taken in a turn that began after so many events.
    fn wants(&self, turn: u64) -> bool {
        let is_new = self.turn.replace(turn) != turn;
        is_new || self.samples.borrow().len() < IN_A_ROW
    }

    /// When the program was in this state before.
    fn recurs(&self, state: Fingerprint) -> Option<u64> {
        let before = self.before.borrow();
        let same = before.iter().find(|known| known.state == Some(state))?;
        (self.strange.get() == self.strange_before.get()).then_some(same.events)
    }

    /// Whether it may be worth while to look at the memory, too.
    fn is_known(&self, sketch: u64) -> bool {
        let (before, samples) = (self.before.borrow(), self.samples.borrow());
        let mut known = before.iter().chain(samples.iter());
        self.bytes.get() < MOST_BYTES && known.any(|one| one.sketch == sketch)
    }
}

impl Engine {
    /// Something was asked of the system past the engine.
    pub fn note_strange(&self) {
        self.recurrence.note_strange();
    }

    /// An event has been executed the slow way.
    #[inline]
    pub(super) fn note_recurrence(&self, operation: &Operation) {
        if !stays_in_program(operation.kind) {
            self.recurrence.note_strange();
        }
        if self.recurrence.is_watching() {
            self.watch_state(operation);
        } else if self.events() >= self.recurrence.next.get() {
            self.begin_stretch();
        }
    }

    fn begin_stretch(&self) {
        let events = self.events();
        let next = self.recurrence.next.get();
        self.recurrence.next.set(next.max(events).saturating_mul(2));
        if !can_be_compared() {
            return;
        }
        self.recurrence.begin();
        self.each_live(|thread| thread.spin.could.set(false));
        // What is left of the fast path would not be seen.
        self.settle();
    }

    fn watch_state(&self, operation: &Operation) {
        let watched = self.recurrence.watched.get() + 1;
        self.recurrence.watched.set(watched);
        let thread = self.current();
        self.each_live(|other| {
            if waiting::is_over(other) || other.deadline.get() != u64::MAX {
                other.spin.could.set(true);
            }
        });
        if watched <= LOOKED_AT {
            if self.recurrence.sees(thread.index, Sight::of(operation)) {
                self.end_stretch();
            }
            return;
        }
        let here = (thread.index, operation.place);
        if self.recurrence.moment.get().unwrap_or(here) == here {
            self.recurrence.moment.set(Some(here));
            if self.recurrence.wants(self.switched_at.get()) {
                self.compare_state();
            }
        }
        let enough = self.recurrence.samples.borrow().len() == SAMPLES;
        if enough || watched == LONGEST {
            self.end_stretch();
        }
    }

    fn compare_state(&self) {
        let Some(moment) = fingerprint::sketch() else {
            return self.end_stretch();
        };
        let sketch = moment.number();
        let mut state = None;
        if self.recurrence.is_known(sketch) {
            let Some((whole, bytes)) = moment.whole() else {
                return self.end_stretch();
            };
            let bytes_before = self.recurrence.bytes.get();
            self.recurrence.bytes.set(bytes_before + bytes);
            state = Some(whole);
        }
        match state.and_then(|state| self.recurrence.recurs(state)) {
            Some(events) if self.have_all_run() => {
                let message = format!(
                    "the program goes round in a circle: it is in the same state as {} events \
                     before, and every thread that could go on has",
                    self.events() - events
                );
                verdict::fail(FailureKind::Livelock, &message);
            }
            _ => {
                let mut samples = self.recurrence.samples.borrow_mut();
                samples.push(Sample {
                    sketch,
                    state,
                    events: self.events(),
                });
            }
        }
    }

    /// Whether everybody has run since the stretch before who could, and the others wait
    /// for somebody in the program.
    fn have_all_run(&self) -> bool {
        let mut all = true;
        self.each_live(|thread| {
            all &= match thread.spin.could.get() {
                true => thread.spin.ran.get(),
                false => waits_for_others(thread),
            };
        });
        all
    }

    fn end_stretch(&self) {
        self.recurrence.end();
        self.each_live(|thread| thread.spin.ran.set(false));
        self.current().spin.ran.set(true);
    }
}

/// Whether all that an event does is in the memory of the program and among its threads.
fn stays_in_program(kind: EventKind) -> bool {
    use EventKind::*;
    matches!(
        kind,
        Read | Write
            | Update
            | Fence
            | Acquire
            | Release
            | AcquireShared
            | ReleaseShared
            | Wait
            | Signal
            | Broadcast
            | Yield
            | Sleep
            | Look
    )
}

/// Whether states can be compared here: nobody else has a hand in the program's memory,
/// and no timer is set.
fn can_be_compared() -> bool {
    const OTHERS: [Notice; 4] = [
        Notice::Process,
        Notice::SharedMemory,
        Notice::HiddenThread,
        Notice::HiddenBlocking,
    ];
    let alone = !OTHERS.into_iter().any(notices::is_noted);
    alone && control::is_dispatching() && !buffers::are_used() && timers::next() == u64::MAX
}

/// Whether nothing but another thread of the program can end the thread's wait.
pub(super) fn waits_for_others(thread: &Thread) -> bool {
    let from_outside = matches!(
        thread.wait.get(),
        Wait::Descriptor(..) | Wait::Check(_) | Wait::Signal(_)
    );
    thread.deadline.get() == u64::MAX && !from_outside && !neighbours::could_end(thread)
}
