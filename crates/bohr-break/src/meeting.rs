//! Threads that wait for their partners, and the order in which those that have
//! met go on.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

/// What the sides after one that took a plain step wait, since nobody tells them
/// when its statement is done.
pub(crate) const SETTLING: Duration = Duration::from_millis(1);

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
#[derive(Debug, Default)]
pub(crate) struct Meeting {
    turn: Mutex<Turn>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Turn {
    /// Sides before this one are done.
    side: usize,
    /// Whether the last of them may still be at its statement.
    unsettled: bool,
}

impl Meeting {
    /// Waits until the sides before are done, at most so long.
    pub fn wait_for_turn(&self, side: usize, most: Duration) {
        wait_until(&self.turn, &self.changed, most, |turn| turn.side >= side);
        let unsettled = lock(&self.turn).unsettled;
        if side > 0 && unsettled {
            std::thread::sleep(SETTLING);
        }
    }

    /// The statement of `side` is done, or, `unsettled`, about to be.
    pub fn pass(&self, side: usize, unsettled: bool) {
        let mut turn = lock(&self.turn);
        turn.side = turn.side.max(side + 1);
        turn.unsettled = unsettled;
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
    met: Mutex<Option<Arc<Meeting>>>,
    changed: Condvar,
}

impl<S> Postponed<S> {
    pub fn new(side: usize, state: S) -> Postponed<S> {
        Postponed {
            side,
            state,
            thread: std::thread::current().id(),
            met: Mutex::new(None),
            changed: Condvar::new(),
        }
    }

    /// Tells the thread whom it has met.
    fn meet(&self, meeting: &Arc<Meeting>) {
        *lock(&self.met) = Some(Arc::clone(meeting));
        self.changed.notify_one();
    }

    /// Waits for partners.
    pub fn wait(&self, pause: Duration) {
        wait_until(&self.met, &self.changed, pause, Option::is_some);
    }

    pub fn meeting(&self) -> Option<Arc<Meeting>> {
        lock(&self.met).clone()
    }
}

/// The threads that are held up at one breakpoint.
#[derive(Debug)]
pub(crate) struct Waiting<S> {
    threads: Vec<Arc<Postponed<S>>>,
    /// Grows with every arrival.
    arrivals: u64,
}

impl<S> Waiting<S> {
    pub const fn new() -> Waiting<S> {
        Waiting {
            threads: Vec::new(),
            arrivals: 0,
        }
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

    /// Takes these threads out, if all of them still wait, and tells them.
    pub fn meet(&mut self, partners: &[Arc<Postponed<S>>]) -> Option<Arc<Meeting>> {
        let here = |partner: &Arc<Postponed<S>>| {
            let mut threads = self.threads.iter();
            threads.any(|thread| Arc::ptr_eq(thread, partner))
        };
        if !partners.iter().all(here) {
            return None;
        }
        let meeting = Arc::new(Meeting::default());
        for partner in partners {
            self.leave(partner);
            partner.meet(&meeting);
        }
        Some(meeting)
    }

    /// Takes a thread out.
    pub fn leave(&mut self, own: &Arc<Postponed<S>>) {
        self.threads.retain(|thread| !Arc::ptr_eq(thread, own));
    }
}
