//! Threads that have met at a breakpoint go on in the order of their sides.

use crate::futex::{now, processor_time, sleep, thread, wait, wake};
use crate::others::{Announced, anybody_runs, let_run, release};
use bohr_event::breakpoint::{Breakpoint, MOST_SIDES};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Nanoseconds that who was woken by a last side is given at most.
const AWAKENED: u64 = 5_000_000;

/// Nanoseconds that who was woken by a last side is given at least, if statements are
/// given more.
const SETTLED: u64 = 100_000;

/// Nanoseconds after which one looks again whether those who were woken still run.
const GLANCE: u64 = 50_000;

/// A meeting, or room for one.
pub struct Meeting {
    /// Sides that have not come to their end; 0 if there is no meeting.
    users: AtomicU32,
    /// The side whose turn it is: all before it are done.
    turn: AtomicU32,
    /// Sides that have begun.
    begun: AtomicU32,
    /// Who has met here, by side; 0 for nobody.
    members: [AtomicU32; MOST_SIDES],
    /// Who is in the middle of the statement of a side; 0 for nobody.
    inside: [AtomicU32; MOST_SIDES],
    /// Who went on last without an end to its statement, and the processor time
    /// that it had spent then.
    gone: AtomicU32,
    spent: AtomicU64,
}

impl Meeting {
    pub const fn new() -> Meeting {
        Meeting {
            users: AtomicU32::new(0),
            turn: AtomicU32::new(0),
            begun: AtomicU32::new(0),
            members: [const { AtomicU32::new(0) }; MOST_SIDES],
            inside: [const { AtomicU32::new(0) }; MOST_SIDES],
            gone: AtomicU32::new(0),
            spent: AtomicU64::new(0),
        }
    }

    /// Under the breakpoint's lock: takes the room for so many sides.
    pub fn begin(&self, sides: usize) -> bool {
        if self.users.load(Ordering::SeqCst) > 0 {
            return false;
        }
        self.turn.store(0, Ordering::SeqCst);
        self.begun.store(0, Ordering::SeqCst);
        self.members
            .iter()
            .for_each(|member| member.store(0, Ordering::SeqCst));
        self.users.store(sides as u32, Ordering::SeqCst);
        true
    }

    /// In a child process, to which the threads that have met did not come along.
    pub fn forget(&self) {
        self.users.store(0, Ordering::SeqCst);
        let inside = self.inside.iter();
        inside.for_each(|thread| thread.store(0, Ordering::SeqCst));
    }

    /// Under the breakpoint's lock: a thread takes part.
    pub fn join(&self, side: usize, thread: u32) {
        self.members[side].store(thread, Ordering::SeqCst);
    }

    /// Whether a thread takes part at another side, and is at its statement, or was a
    /// moment ago and the side after its own has not begun. That it comes by belongs to
    /// this meeting: it meets nobody else there.
    pub fn keeps(&self, breakpoint: &Breakpoint, thread: u32, from: usize) -> bool {
        let own = |member: &AtomicU32| member.load(Ordering::SeqCst) == thread;
        let load = |word: &AtomicU32| word.load(Ordering::SeqCst) as usize;
        let side = self.members.iter().position(own);
        side.is_some_and(|side| {
            let exact = !breakpoint.sides[side].until.is_empty();
            let gone = !exact && load(&self.begun) <= side + 1;
            side != from && load(&self.users) > 0 && (load(&self.turn) <= side || gone)
        })
    }

    /// Comes back when it is this side's turn, or when the sides before it have
    /// had all the time that there is.
    pub fn take_turn(&self, breakpoint: &Breakpoint, side: usize) {
        let deadline = now().saturating_add(breakpoint.pause);
        let came = {
            let _held_up = Announced::until(deadline);
            wait(&self.turn, deadline, |turn| turn >= side as u32)
        };
        if came && side > 0 && breakpoint.sides[side - 1].until.is_empty() {
            self.settle(breakpoint.settle, deadline);
        }
        self.begun.fetch_max(side as u32 + 1, Ordering::SeqCst);
        match breakpoint.sides[side].until.is_empty() {
            // The very last thing before the program goes on: what is left of
            // this side's statement is a few instructions.
            true => {
                let own = thread();
                self.spent
                    .store(processor_time(own).unwrap_or(0), Ordering::SeqCst);
                self.gone.store(own, Ordering::SeqCst);
                self.done(side);
            }
            false => self.inside[side].store(thread(), Ordering::SeqCst),
        }
    }

    /// Gives the one who went before a moment, and on a machine that is busy with
    /// something else as long as it takes until it has run, or waits for somebody. Where
    /// nobody can do anything before this thread goes on, the moment is over.
    fn settle(&self, moment: u64, deadline: u64) {
        let gone = self.gone.load(Ordering::SeqCst);
        let spent = self.spent.load(Ordering::SeqCst);
        let_run(gone, spent, moment, deadline);
    }

    fn done(&self, side: usize) {
        for member in &self.members[side + 1..] {
            release(member.load(Ordering::SeqCst));
        }
        self.turn.fetch_max(side as u32 + 1, Ordering::SeqCst);
        wake(&self.turn);
        self.users.fetch_sub(1, Ordering::SeqCst);
    }

    /// This thread comes by the end of a side's statement. Behind the last side
    /// comes whoever its statement has woken, and is given a moment.
    pub fn finish(&self, breakpoint: &Breakpoint, side: usize) {
        let inside = &self.inside[side];
        if inside.load(Ordering::SeqCst) == thread() {
            inside.store(0, Ordering::SeqCst);
            if side + 1 == breakpoint.sides.len() {
                let longest = now().saturating_add(breakpoint.pause.min(AWAKENED));
                // Who has just been woken on another processor does not run yet.
                sleep(breakpoint.settle.min(SETTLED));
                while now() < longest && anybody_runs() {
                    sleep(breakpoint.settle.min(GLANCE));
                }
            }
            self.done(side);
        }
    }
}
