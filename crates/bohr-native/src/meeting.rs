//! Threads that have met at a breakpoint go on in the order of their sides.

use crate::futex::{now, sleep, thread, wait, wake};
use bohr_event::breakpoint::{Breakpoint, MOST_SIDES};
use core::sync::atomic::{AtomicU32, Ordering};

/// A meeting, or room for one.
pub struct Meeting {
    /// Sides that have not come to their end; 0 if there is no meeting.
    users: AtomicU32,
    /// The side whose turn it is: all before it are done.
    turn: AtomicU32,
    /// Who is in the middle of the statement of a side; 0 for nobody.
    inside: [AtomicU32; MOST_SIDES],
}

impl Meeting {
    pub const fn new() -> Meeting {
        Meeting {
            users: AtomicU32::new(0),
            turn: AtomicU32::new(0),
            inside: [const { AtomicU32::new(0) }; MOST_SIDES],
        }
    }

    /// Under the breakpoint's lock: takes the room for so many sides.
    pub fn begin(&self, sides: usize) -> bool {
        if self.users.load(Ordering::SeqCst) > 0 {
            return false;
        }
        self.turn.store(0, Ordering::SeqCst);
        self.users.store(sides as u32, Ordering::SeqCst);
        true
    }

    /// Comes back when it is this side's turn, or when the sides before it have
    /// had all the time that there is.
    pub fn take_turn(&self, breakpoint: &Breakpoint, side: usize) {
        let deadline = now().saturating_add(breakpoint.pause);
        let came = wait(&self.turn, deadline, |turn| turn >= side as u32);
        if came && side > 0 && breakpoint.sides[side - 1].until.is_empty() {
            sleep(breakpoint.settle);
        }
        match breakpoint.sides[side].until.is_empty() {
            // The very last thing before the program goes on: what is left of
            // this side's statement is a few instructions.
            true => self.done(side),
            false => self.inside[side].store(thread(), Ordering::SeqCst),
        }
    }

    fn done(&self, side: usize) {
        self.turn.fetch_max(side as u32 + 1, Ordering::SeqCst);
        wake(&self.turn);
        self.users.fetch_sub(1, Ordering::SeqCst);
    }

    /// This thread comes by the end of a side's statement.
    pub fn finish(&self, side: usize) {
        let inside = &self.inside[side];
        if inside.load(Ordering::SeqCst) == thread() {
            inside.store(0, Ordering::SeqCst);
            self.done(side);
        }
    }
}
