//! A breakpoint in a running program: who waits there, and who meets.

use crate::board::Counters;
use crate::condition;
use crate::futex::{Lock, now, wait, wake};
use crate::meeting::Meeting;
use bohr_event::breakpoint::{Breakpoint, Counter, MOST_SIDES, same_memory};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Threads that can be held up at a breakpoint at once; others pass.
const MOST_WAITING: usize = 64;

/// Meetings that can be under way at once; there are none beyond.
const MOST_MEETINGS: usize = 16;

/// What a place for a waiting thread holds: nobody, somebody, or somebody whose
/// meeting has this number above [`MET`].
const FREE: u32 = 0;
const WAITING: u32 = 1;
const MET: u32 = 2;

/// A place for a thread that is held up. All but `state` changes under the lock.
struct Place {
    state: AtomicU32,
    side: AtomicU32,
    address: AtomicU64,
    size: AtomicU64,
}

/// See the module.
pub struct Point {
    breakpoint: Breakpoint,
    counters: Counters,
    /// Visits of each side.
    visits: [AtomicU64; MOST_SIDES],
    lock: Lock,
    places: [Place; MOST_WAITING],
    meetings: [Meeting; MOST_MEETINGS],
}

/// What a thread finds when it comes.
enum Arrival {
    /// Everybody else; the meeting has this number.
    Meets(usize),
    /// Not everybody; it waits at this place.
    Waits(usize),
    /// No room.
    Passes,
}

impl Point {
    pub fn new(breakpoint: Breakpoint, counters: Counters) -> Point {
        Point {
            breakpoint,
            counters,
            visits: [const { AtomicU64::new(0) }; MOST_SIDES],
            lock: Lock::new(),
            places: [const {
                Place {
                    state: AtomicU32::new(FREE),
                    side: AtomicU32::new(0),
                    address: AtomicU64::new(0),
                    size: AtomicU64::new(0),
                }
            }; MOST_WAITING],
            meetings: [const { Meeting::new() }; MOST_MEETINGS],
        }
    }

    /// A thread is before the statement of a side, about to touch this memory.
    pub fn reach(&self, side: usize, memory: (u64, u64)) {
        self.counters.add(Counter::Visits);
        let before = self.visits[side].fetch_add(1, Ordering::Relaxed);
        let place = &self.breakpoint.sides[side];
        if before < place.ignore_first || self.is_asleep() || !condition::holds(place) {
            return;
        }
        match self.lock.hold(|| self.arrive(side, memory)) {
            Arrival::Passes => {}
            Arrival::Meets(meeting) => self.meetings[meeting].take_turn(&self.breakpoint, side),
            Arrival::Waits(place) => {
                if let Some(meeting) = self.wait(place) {
                    self.meetings[meeting].take_turn(&self.breakpoint, side);
                }
            }
        }
    }

    /// This thread comes by the end of a side's statement.
    pub fn finish(&self, side: usize) {
        self.meetings
            .iter()
            .for_each(|meeting| meeting.finish(side));
    }

    fn is_asleep(&self) -> bool {
        let bound = self.breakpoint.at_most;
        bound.is_some_and(|bound| self.counters.get(Counter::Hits) >= bound)
    }

    /// Under the lock.
    fn arrive(&self, side: usize, memory: (u64, u64)) -> Arrival {
        if self.is_asleep() {
            return Arrival::Passes;
        }
        if let Some(partners) = self.partners(side, memory) {
            let sides = self.breakpoint.sides.len();
            let mut meetings = self.meetings.iter();
            if let Some(number) = meetings.position(|meeting| meeting.begin(sides)) {
                self.counters.hit();
                for place in partners.into_iter().flatten() {
                    let state = &self.places[place].state;
                    state.store(MET + number as u32, Ordering::SeqCst);
                    wake(state);
                }
                return Arrival::Meets(number);
            }
        }
        let state = |place: &Place| place.state.load(Ordering::SeqCst);
        let Some(free) = self.places.iter().position(|place| state(place) == FREE) else {
            return Arrival::Passes;
        };
        let place = &self.places[free];
        place.side.store(side as u32, Ordering::SeqCst);
        place.address.store(memory.0, Ordering::SeqCst);
        place.size.store(memory.1, Ordering::SeqCst);
        place.state.store(WAITING, Ordering::SeqCst);
        self.counters.add(Counter::Postponed);
        Arrival::Waits(free)
    }

    /// Somebody for every other side, by side, if all are there.
    fn partners(&self, own: usize, memory: (u64, u64)) -> Option<[Option<usize>; MOST_SIDES]> {
        let mut partners = [None; MOST_SIDES];
        for side in (0..self.breakpoint.sides.len()).filter(|side| *side != own) {
            let fits = |place: &Place| {
                let load = |word: &AtomicU64| word.load(Ordering::SeqCst);
                let other = (load(&place.address), load(&place.size));
                place.state.load(Ordering::SeqCst) == WAITING
                    && place.side.load(Ordering::SeqCst) as usize == side
                    && (!self.breakpoint.same_object || same_memory(memory, other))
            };
            partners[side] = Some(self.places.iter().position(fits)?);
        }
        Some(partners)
    }

    /// The number of the meeting that came of waiting at a place, if any did.
    fn wait(&self, place: usize) -> Option<usize> {
        let state = &self.places[place].state;
        let deadline = now().saturating_add(self.breakpoint.pause);
        wait(state, deadline, |state| state != WAITING);
        let last = self.lock.hold(|| state.swap(FREE, Ordering::SeqCst));
        if last == WAITING {
            self.counters.add(Counter::TimedOut);
        }
        last.checked_sub(MET).map(|number| number as usize)
    }
}
