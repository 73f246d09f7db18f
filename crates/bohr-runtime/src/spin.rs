//! Threads that go round in circles: they would starve the one that could free
//! them under any strategy that does not preempt.
//!
//! A thread spins if it sleeps or yields twice at the same place while nobody
//! else has run, or if it has run long without a switch and then meets the same
//! sites, addresses and values in the same order again and again. Both are told
//! to the strategy, which decides.

use crate::peek::peek;
use bohr_event::{EventKind, Operation, PlaceNumber};
use core::cell::{Cell, RefCell};

/// Events without a switch after which a thread is looked at, and again each
/// time that their number has doubled: to look is slow, and this way it is never
/// more than a small part of a long run.
const SUSPICIOUS: u64 = 1 << 13;
/// From so many on it is looked at after each as many more.
const LONG: u64 = 1 << 20;
/// How many of its events are then looked at.
const LOOKED_AT: u64 = 64;
/// The longest loop that is recognised, in events.
const LONGEST_LOOP: usize = 16;
/// Behind a sample that is a circle each of so many events is a turn of it: somewhere in
/// its loop a thread may have what the others need.
const ONCE_AROUND: u64 = LONGEST_LOOP as u64;

/// What is kept about a thread.
#[derive(Debug, Default)]
pub struct Spin {
    /// Where it last slept or yielded, and at which switch.
    pause: Cell<(PlaceNumber, u64)>,
    /// Where it last yielded, and how often in a row there.
    yields: Cell<(PlaceNumber, u64)>,
    /// How often it has looked and yielded while it was watched.
    watched: Cell<(u32, u32)>,
    /// Whether it has run since the state of the program was last looked at, and whether
    /// it could go on while it was ([`crate::engine`]).
    pub ran: Cell<bool>,
    /// See `ran`.
    pub could: Cell<bool>,
}

/// What a thread that waits in a loop does in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Reads something.
    Look,
    /// Lets others go on.
    Yield,
}

/// One event as it is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sight {
    place: u64,
    object: u64,
    value: u64,
}

/// The events that are being looked at.
#[derive(Debug)]
pub struct Sample {
    seen: RefCell<[Sight; LOOKED_AT as usize]>,
    count: Cell<usize>,
    /// Whether the last sample that is whole went round in a circle.
    circle: Cell<bool>,
}

impl Spin {
    /// A yield at this place; how many there have been in a row.
    pub fn yields(&self, place: PlaceNumber) -> u64 {
        let (before, count) = self.yields.get();
        let count = if before == place { count + 1 } else { 1 };
        self.yields.set((place, count));
        count
    }

    /// Whether it has yielded so often at one place.
    pub fn has_yielded(&self, often: u64) -> bool {
        self.yields.get().1 >= often
    }

    /// Its yields say nothing about what follows.
    pub fn forget_yields(&self) {
        self.yields.set((PlaceNumber::default(), 0));
    }

    /// It is watched from now on.
    pub fn watch(&self) {
        self.watched.set((0, 0));
    }

    /// What it did while it was watched.
    pub fn watched(&self, turn: Turn) {
        let (looks, yields) = self.watched.get();
        self.watched.set(match turn {
            Turn::Look => (looks.saturating_add(1), yields),
            Turn::Yield => (looks, yields.saturating_add(1)),
        });
    }

    /// Whether it was seen to look and to yield, more than once around.
    pub fn goes_round(&self) -> bool {
        let (looks, yields) = self.watched.get();
        looks >= 2 && yields >= 2
    }

    /// A pause at this place, after that many switches: whether the thread has
    /// just paused here.
    pub fn pauses(&self, place: PlaceNumber, switches: u64) -> bool {
        self.pause.replace((place, switches)) == (place, switches)
    }
}

impl Sight {
    /// What there is to see of an event that is about to happen.
    pub fn of(operation: &Operation) -> Sight {
        Sight {
            place: operation.place.0,
            object: operation.object,
            value: value(operation),
        }
    }
}

impl Sample {
    /// Nothing seen yet.
    pub const fn new() -> Sample {
        const NOTHING: Sight = Sight {
            place: 0,
            object: 0,
            value: 0,
        };
        Sample {
            seen: RefCell::new([NOTHING; LOOKED_AT as usize]),
            count: Cell::new(0),
            circle: Cell::new(false),
        }
    }

    /// Whether a thread that has executed so many events since the last switch went
    /// round in a circle when it was last looked at.
    pub fn is_circle(&self, since: u64) -> bool {
        since >= SUSPICIOUS + LOOKED_AT && self.circle.get()
    }

    /// Which of the events that are looked at the one with this number since the
    /// last switch is.
    pub fn wants(since: u64) -> Option<usize> {
        if since < SUSPICIOUS {
            return None;
        }
        let first = (1 << since.ilog2()).min(LONG);
        let number = since % first;
        (number < LOOKED_AT + ONCE_AROUND).then_some(number as usize)
    }

    /// How many events may pass before the next one that is looked at.
    pub fn distance(since: u64) -> u64 {
        if Sample::wants(since).is_some() {
            return 0;
        }
        let next = match since {
            0..SUSPICIOUS => SUSPICIOUS,
            SUSPICIOUS..LONG => since.next_power_of_two(),
            _ => since.next_multiple_of(LONG),
        };
        next - since
    }

    /// Looks at the event with this number in the sample; whether all that was
    /// seen goes round in a circle.
    pub fn look(&self, number: usize, operation: &Operation) -> bool {
        if number == 0 {
            self.count.set(0);
        }
        if self.count.get() != number {
            return false;
        }
        let mut seen = self.seen.borrow_mut();
        if number >= seen.len() {
            self.count.set(number + 1);
            return self.circle.get();
        }
        seen[number] = Sight::of(operation);
        self.count.set(number + 1);
        if number + 1 < seen.len() {
            return false;
        }
        let circle = (1..=LONGEST_LOOP).any(|length| repeats(&*seen, length));
        self.circle.set(circle);
        circle
    }
}

/// Whether the sequence consists of repetitions of its first `length` entries.
fn repeats(seen: &[Sight], length: usize) -> bool {
    seen.windows(length + 1)
        .all(|window| window[0] == window[length])
}

/// What the event is about to find in memory.
fn value(operation: &Operation) -> u64 {
    match operation.kind.is_access() || operation.kind == EventKind::Store {
        true => peek(operation.object as usize, operation.size.max(1)).unwrap_or(0),
        false => 0,
    }
}
