//! A breakpoint in a running program: who waits there, and who meets.

use crate::board::Counters;
use crate::condition;
use crate::futex::{Lock, thread, wake};
use crate::meeting::Meeting;
use crate::others::{release, wait_for_others};
use crate::permits::{Lines, Permits};
use crate::roll::Roll;
use crate::visits::VisitsByThread;
use bohr_event::breakpoint::{Breakpoint, Counter, MOST_SIDES, Rank, same_memory};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Threads that can be held up at a breakpoint at once; others pass.
const MOST_WAITING: usize = 64;

/// Meetings that can be under way at once; there are none beyond.
const MOST_MEETINGS: usize = 16;

/// What a place for a waiting thread holds: nobody, somebody, somebody who need
/// not wait any longer, or somebody whose meeting has this number above [`MET`].
const FREE: u32 = 0;
const WAITING: u32 = 1;
const DISMISSED: u32 = 2;
const MET: u32 = 3;

/// A place for a thread that is held up. All but `state` changes under the lock.
struct Place {
    state: AtomicU32,
    thread: AtomicU32,
    side: AtomicU32,
    address: AtomicU64,
    size: AtomicU64,
}

/// See the module.
pub struct Point {
    breakpoint: Breakpoint,
    counters: Counters,
    /// Visits of each side that pass whoever makes them.
    permits: Vec<Permits>,
    /// Visits of each side, by thread.
    own_visits: [VisitsByThread; MOST_SIDES],
    lock: Lock,
    places: [Place; MOST_WAITING],
    meetings: [Meeting; MOST_MEETINGS],
}

/// What a thread finds when it comes.
enum Arrival {
    /// Everybody else; the meeting has this number, and it takes this side.
    Meets(usize, usize),
    /// Not everybody; it waits at this place, for this side.
    Waits(usize, usize),
    /// No room.
    Passes,
}

impl Point {
    /// `lines` are its sides' passes on the board.
    pub fn new(breakpoint: Breakpoint, counters: Counters, lines: &'static [Lines]) -> Point {
        let sides = breakpoint.sides.iter().zip(lines);
        let permits = sides.map(|(side, lines)| Permits::new(side.ignore_first, lines));
        Point {
            permits: permits.collect(),
            breakpoint,
            counters,
            own_visits: [const { VisitsByThread::new() }; MOST_SIDES],
            lock: Lock::new(),
            places: [const {
                Place {
                    state: AtomicU32::new(FREE),
                    thread: AtomicU32::new(0),
                    side: AtomicU32::new(0),
                    address: AtomicU64::new(0),
                    size: AtomicU64::new(0),
                }
            }; MOST_WAITING],
            meetings: [const { Meeting::new() }; MOST_MEETINGS],
        }
    }

    /// How long threads are held up, and what a statement without an end is given, in
    /// nanoseconds.
    pub fn times(&self) -> (u64, u64) {
        (self.breakpoint.pause, self.breakpoint.settle)
    }

    /// A thread is before the statement of any of these sides, about to touch
    /// this memory. The rolls tell threads apart that run the same code.
    pub fn reach(&self, sides: &[usize], memory: (u64, u64), rolls: &[Roll]) {
        self.counters.add(Counter::Visits);
        sides.iter().for_each(|side| self.counters.visit(*side));
        // Before anything is counted, since nobody asks any more.
        if self.is_asleep() {
            sides.iter().for_each(|side| self.permits[*side].open());
            return;
        }
        let counts = |side: &usize| {
            let place = &self.breakpoint.sides[*side];
            let counts = |nth: u64| self.own_visits[*side].count() == nth;
            let ignored = place.ignore_first > 0 && self.permits[*side].take();
            let its_turn = place.nth.is_none_or(counts);
            !ignored
                && its_turn
                && place.rank.is_none_or(|rank| is_it(rank, rolls))
                && condition::holds(place)
        };
        let mut open = [0; MOST_SIDES];
        let mut count = 0;
        for side in sides.iter().filter(|side| counts(side)) {
            open[count] = *side;
            count += 1;
        }
        if count == 0 || is_alone() {
            return;
        }
        match self.lock.hold(|| self.arrive(&open[..count], memory)) {
            Arrival::Passes => {}
            Arrival::Meets(meeting, side) => {
                self.meetings[meeting].take_turn(&self.breakpoint, side);
            }
            Arrival::Waits(place, side) => {
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
            .for_each(|meeting| meeting.finish(&self.breakpoint, side));
    }

    /// A site hands this memory back: whoever is held up for it will find something
    /// else there, and nobody can meet it at the same object.
    pub fn free(&self, site: u32, memory: (u64, u64)) {
        if !self.breakpoint.same_object || memory.0 == 0 {
            return;
        }
        for side in 0..self.breakpoint.sides.len() {
            if self.waiting_at(side, memory).is_some() {
                self.counters.add(Counter::Freed);
                self.counters.set(Counter::FreedAt, u64::from(site) + 1);
                self.counters.set(Counter::FreedSide, side as u64);
            }
        }
    }

    /// In a child process: nobody waits here but in the parent, whose lock is not this one.
    pub fn forget_others(&self) {
        self.lock.abandon();
        self.permits.iter().for_each(Permits::abandon);
        for place in &self.places {
            place.state.store(FREE, Ordering::SeqCst);
        }
        self.meetings.iter().for_each(Meeting::forget);
    }

    /// The passes of a side, if whoever comes there may be let pass by them alone: they do
    /// not count the visits of each thread, or find out who it is.
    pub fn passes(&self, side: usize) -> Option<&'static Lines> {
        let place = &self.breakpoint.sides[side];
        let counted = place.nth.is_some() || place.rank.is_some();
        let can_pass = place.ignore_first > 0 || self.breakpoint.at_most.is_some();
        (can_pass && !counted).then_some(self.permits[side].lines)
    }

    fn is_asleep(&self) -> bool {
        let bound = self.breakpoint.at_most;
        bound.is_some_and(|bound| self.counters.get(Counter::Hits) >= bound)
    }

    /// Under the lock: a thread comes that can take any of these sides.
    fn arrive(&self, sides: &[usize], memory: (u64, u64)) -> Arrival {
        let own = thread();
        let keeps = |meeting: &Meeting, side| meeting.keeps(&self.breakpoint, own, side);
        let kept = |side: &usize| self.meetings.iter().any(|meeting| keeps(meeting, *side));
        if self.is_asleep() {
            return Arrival::Passes;
        }
        let complete = |side: &usize| Some((*side, self.partners(*side, memory)?));
        let mut open = sides.iter().filter(|side| !kept(side));
        if let Some((side, partners)) = open.clone().find_map(complete) {
            let all = self.breakpoint.sides.len();
            let mut meetings = self.meetings.iter();
            if let Some(number) = meetings.position(|meeting| meeting.begin(all)) {
                self.counters.hit();
                let meeting = &self.meetings[number];
                meeting.join(side, own);
                for place in partners.into_iter().flatten() {
                    let Place {
                        state,
                        thread,
                        side,
                        ..
                    } = &self.places[place];
                    let load = |word: &AtomicU32| word.load(Ordering::SeqCst);
                    meeting.join(load(side) as usize, load(thread));
                    release(load(thread));
                    state.store(MET + number as u32, Ordering::SeqCst);
                    wake(state);
                }
                if self.is_asleep() {
                    self.dismiss();
                }
                return Arrival::Meets(number, side);
            }
        }
        // One waits at each side; who comes after it may be the partner at another.
        let vacant = |side: &usize| self.waiting_at(*side, memory).is_none();
        let Some(side) = open.find(|side| vacant(side)).copied() else {
            return Arrival::Passes;
        };
        let state = |place: &Place| place.state.load(Ordering::SeqCst);
        let Some(free) = self.places.iter().position(|place| state(place) == FREE) else {
            return Arrival::Passes;
        };
        let place = &self.places[free];
        place.thread.store(own, Ordering::SeqCst);
        place.side.store(side as u32, Ordering::SeqCst);
        place.address.store(memory.0, Ordering::SeqCst);
        place.size.store(memory.1, Ordering::SeqCst);
        place.state.store(WAITING, Ordering::SeqCst);
        self.counters.add(Counter::Postponed);
        Arrival::Waits(free, side)
    }

    /// Under the lock: there will be no further meeting, so nobody waits for one.
    fn dismiss(&self) {
        for place in &self.places {
            let waits = place.state.compare_exchange(
                WAITING,
                DISMISSED,
                Ordering::SeqCst,
                Ordering::SeqCst,
            );
            if waits.is_ok() {
                release(place.thread.load(Ordering::SeqCst));
                wake(&place.state);
            }
        }
    }

    /// Where somebody waits at a side who could meet a thread with this memory.
    fn waiting_at(&self, side: usize, memory: (u64, u64)) -> Option<usize> {
        self.places.iter().position(|place| {
            let load = |word: &AtomicU64| word.load(Ordering::SeqCst);
            let other = (load(&place.address), load(&place.size));
            place.state.load(Ordering::SeqCst) == WAITING
                && place.side.load(Ordering::SeqCst) as usize == side
                && (!self.breakpoint.same_object || same_memory(memory, other))
        })
    }

    /// Somebody for every other side, by side, if all are there.
    fn partners(&self, own: usize, memory: (u64, u64)) -> Option<[Option<usize>; MOST_SIDES]> {
        let mut partners = [None; MOST_SIDES];
        for side in (0..self.breakpoint.sides.len()).filter(|side| *side != own) {
            partners[side] = Some(self.waiting_at(side, memory)?);
        }
        Some(partners)
    }

    /// The number of the meeting that came of waiting at a place, if any did.
    fn wait(&self, place: usize) -> Option<usize> {
        let state = &self.places[place].state;
        wait_for_others(state, self.breakpoint.pause, |state| state == WAITING);
        let last = self.lock.hold(|| state.swap(FREE, Ordering::SeqCst));
        if last == WAITING {
            self.counters.add(Counter::TimedOut);
        }
        last.checked_sub(MET).map(|number| number as usize)
    }
}

unsafe extern "C" {
    /// The C library's: whether this thread has been the only one so far.
    static __libc_single_threaded: u8;
}

/// Whether this thread is that one of those who run the same code.
fn is_it(rank: Rank, rolls: &[Roll]) -> bool {
    let roll = rolls.iter().find(|roll| roll.of == rank.of);
    roll.is_some_and(|roll| roll.number() == Some(rank.number))
}

/// Whether there is nobody to meet.
pub fn is_alone() -> bool {
    // SAFETY: a byte that the C library keeps for this purpose.
    unsafe { (&raw const __libc_single_threaded).read_volatile() != 0 }
}
