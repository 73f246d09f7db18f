//! Threads that wait for their partners, and the order in which those that have
//! met go on.

use crate::progress::Progress;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that can panic happens under these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until `done` says so or the time is over; whether it did.
fn wait_until<T>(
    mutex: &Mutex<T>,
    changed: &Condvar,
    time: Duration,
    done: impl Fn(&T) -> bool,
) -> bool {
    let deadline = Instant::now() + time;
    let mut state = lock(mutex);
    loop {
        if done(&state) {
            return true;
        }
        let Some(left) = deadline.checked_duration_since(Instant::now()) else {
            return false;
        };
        let waited = changed.wait_timeout(state, left);
        state = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// A hit: all sides are here, and go on one after the other.
#[derive(Debug)]
pub(crate) struct Meeting {
    /// Who has met, by side.
    threads: Vec<ThreadId>,
    turn: Mutex<Turn>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Turn {
    /// Sides before this one are done.
    side: usize,
    /// How many have begun.
    begun: usize,
    /// How many have not come to their end.
    left: usize,
    /// The last of those that are done, if it may still be at its statement.
    unsettled: Option<Progress>,
}

impl Meeting {
    fn new(threads: Vec<ThreadId>) -> Meeting {
        let turn = Turn {
            left: threads.len(),
            ..Turn::default()
        };
        Meeting {
            threads,
            turn: Mutex::new(turn),
            changed: Condvar::new(),
        }
    }

    /// Whether a thread has met others here at another side, and is at its statement, or
    /// was a moment ago and the side after its own has not begun. That it comes by belongs
    /// to this meeting: it meets nobody else there.
    fn keeps(&self, thread: ThreadId, from: usize) -> bool {
        let side = self.threads.iter().position(|one| *one == thread);
        side.is_some_and(|side| {
            let turn = lock(&self.turn);
            let gone = turn.unsettled.is_some() && turn.begun <= side + 1;
            side != from && turn.left > 0 && (turn.side <= side || gone)
        })
    }

    fn is_over(&self) -> bool {
        lock(&self.turn).left == 0
    }

    /// Waits until the sides before are done, at most so long.
    pub fn wait_for_turn(&self, side: usize, most: Duration) {
        let deadline = Instant::now() + most;
        wait_until(&self.turn, &self.changed, most, |turn| turn.side >= side);
        let unsettled = lock(&self.turn).unsettled;
        if let Some(before) = unsettled.filter(|_| side > 0) {
            before.let_run(deadline);
        }
        lock(&self.turn).begun = side + 1;
    }

    /// The statement of `side` is done, or, `unsettled`, about to be.
    pub fn pass(&self, side: usize, unsettled: bool) {
        let mut turn = lock(&self.turn);
        turn.side = turn.side.max(side + 1);
        turn.left = turn.left.saturating_sub(1);
        turn.unsettled = unsettled.then(Progress::of_this_thread);
        drop(turn);
        self.changed.notify_all();
    }
}

/// A thread that is held up.
#[derive(Debug)]
pub(crate) struct Postponed<S> {
    pub side: usize,
    pub state: S,
    pub thread: ThreadId,
    outcome: Mutex<Outcome>,
    changed: Condvar,
}

/// What has become of a thread that is held up.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    /// It waits.
    Open,
    /// It has met others.
    Met(Arc<Meeting>),
    /// There will be no further meeting, so it does not wait for one.
    Dismissed,
}

impl<S> Postponed<S> {
    pub fn new(side: usize, state: S) -> Postponed<S> {
        Postponed {
            side,
            state,
            thread: std::thread::current().id(),
            outcome: Mutex::new(Outcome::Open),
            changed: Condvar::new(),
        }
    }

    /// Tells the thread.
    fn go_on(&self, outcome: Outcome) {
        *lock(&self.outcome) = outcome;
        self.changed.notify_one();
    }

    /// Waits for partners.
    pub fn wait(&self, pause: Duration) {
        let is_over = |outcome: &Outcome| !matches!(outcome, Outcome::Open);
        wait_until(&self.outcome, &self.changed, pause, is_over);
    }

    pub fn outcome(&self) -> Outcome {
        lock(&self.outcome).clone()
    }
}

/// The threads that are held up at one breakpoint.
#[derive(Debug)]
pub(crate) struct Waiting<S> {
    threads: Vec<Arc<Postponed<S>>>,
    /// Not all sides of these have come to their end.
    meetings: Vec<Arc<Meeting>>,
    /// Grows with every arrival.
    arrivals: u64,
    /// How many meetings there have been.
    met: u64,
}

/// Whether threads have met, when one of them says that they are complete.
pub(crate) enum Attempt {
    Met(Arc<Meeting>),
    /// One of them is gone.
    Gone,
    /// There have been as many meetings as there may be.
    Asleep,
}

impl<S> Waiting<S> {
    pub const fn new() -> Waiting<S> {
        Waiting {
            threads: Vec::new(),
            meetings: Vec::new(),
            arrivals: 0,
            met: 0,
        }
    }

    /// Whether there will be no further meeting, if there may be so many.
    pub fn is_asleep(&self, most: u64) -> bool {
        self.met >= most
    }

    /// Who is here, and how many have come so far.
    pub fn look(&self) -> (Vec<Arc<Postponed<S>>>, u64) {
        (self.threads.clone(), self.arrivals)
    }

    /// Adds a thread, unless others have come since that look.
    pub fn join(&mut self, own: &Arc<Postponed<S>>, arrivals: u64) -> bool {
        let current = self.arrivals == arrivals;
        if current {
            self.threads.push(Arc::clone(own));
            self.arrivals += 1;
        }
        current
    }

    /// Whether a thread is in the middle of a meeting, and therefore not to be held up at
    /// this side.
    pub fn keeps(&self, thread: ThreadId, from: usize) -> bool {
        let mut meetings = self.meetings.iter();
        meetings.any(|meeting| meeting.keeps(thread, from))
    }

    /// Takes these threads out, if all of them still wait, and tells them whom they
    /// have met; of the last meeting also those who wait for another one.
    pub fn meet(
        &mut self,
        own: &Postponed<S>,
        partners: &[Arc<Postponed<S>>],
        most: u64,
    ) -> Attempt {
        if self.is_asleep(most) {
            return Attempt::Asleep;
        }
        let here = |partner: &Arc<Postponed<S>>| {
            let mut threads = self.threads.iter();
            threads.any(|thread| Arc::ptr_eq(thread, partner))
        };
        if !partners.iter().all(here) {
            return Attempt::Gone;
        }
        self.met += 1;
        let partners_by_side = partners.iter().map(|one| (one.side, one.thread));
        let mut threads: Vec<(usize, ThreadId)> = partners_by_side.collect();
        threads.push((own.side, own.thread));
        threads.sort_unstable_by_key(|(side, _)| *side);
        let threads = threads.into_iter().map(|(_, thread)| thread);
        let meeting = Arc::new(Meeting::new(threads.collect()));
        self.meetings.retain(|meeting| !meeting.is_over());
        self.meetings.push(Arc::clone(&meeting));
        for partner in partners {
            self.leave(partner);
            partner.go_on(Outcome::Met(Arc::clone(&meeting)));
        }
        if self.is_asleep(most) {
            let rest = self.threads.iter();
            rest.for_each(|thread| thread.go_on(Outcome::Dismissed));
        }
        Attempt::Met(meeting)
    }

    /// Takes a thread out.
    pub fn leave(&mut self, own: &Arc<Postponed<S>>) {
        self.threads.retain(|thread| !Arc::ptr_eq(thread, own));
    }
}
