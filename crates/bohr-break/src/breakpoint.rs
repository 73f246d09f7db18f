//! Breakpoints and visits to them.

use crate::condition::{Locks, Object};
use crate::figures::Statistics;
use crate::meeting::{Attempt, Meeting, Outcome, Postponed, Waiting, lock};
use crate::namesakes::{Namesake, first};
use crate::narrowed::Narrowed;
use crate::scope::is_within;
use crate::settings;
use crate::statistics::{self, Counters};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Held up for this long if the program says nothing else.
const PAUSE: Duration = Duration::from_millis(100);

/// Two or more places in a program, and the condition under which threads that
/// come there are made to meet. A static item, used at all of its places; several with the
/// same name and kind, in files that do not see each other, are one, and what the first of
/// them to be visited asks for holds.
///
/// `S` is what a side brings along for the condition.
#[derive(Debug)]
pub struct Breakpoint<S: 'static = Object> {
    name: &'static str,
    /// Who stands for all of this name.
    one: Namesake<Breakpoint<S>>,
    condition: fn(&S, &S) -> bool,
    sides: usize,
    pause: Duration,
    ignored: u64,
    most_hits: u64,
    within: Option<&'static str>,
    one_waits: bool,
    waiting: Mutex<Waiting<S>>,
    /// Visits that passed the conditions on a single thread.
    arrivals: AtomicU64,
    counters: Counters,
    known: AtomicBool,
}

impl Breakpoint<Object> {
    /// Met by threads that are at the same object: a race, or the middle of what
    /// was to be atomic.
    #[must_use]
    pub const fn conflict(name: &'static str) -> Breakpoint<Object> {
        Breakpoint::new(name, Object::same)
    }

    /// Met by a thread that is about to notify, which goes first, and one that is
    /// about to wait for the same condition: the notification is missed.
    #[must_use]
    pub const fn missed_notification(name: &'static str) -> Breakpoint<Object> {
        Breakpoint::new(name, Object::same)
    }
}

impl Breakpoint<Locks> {
    /// Met by threads that each hold the lock which the other is about to take.
    #[must_use]
    pub const fn deadlock(name: &'static str) -> Breakpoint<Locks> {
        Breakpoint::new(name, Locks::crossed)
    }
}

impl<S: 'static> Breakpoint<S> {
    /// Met by threads whose states satisfy `condition`, the smaller side first.
    #[must_use]
    pub const fn new(name: &'static str, condition: fn(&S, &S) -> bool) -> Breakpoint<S> {
        Breakpoint {
            name,
            one: Namesake::new(),
            condition,
            sides: 2,
            pause: PAUSE,
            ignored: 0,
            most_hits: u64::MAX,
            within: None,
            one_waits: false,
            waiting: Mutex::new(Waiting::new()),
            arrivals: AtomicU64::new(0),
            counters: Counters::new(),
            known: AtomicBool::new(false),
        }
    }

    /// With so many sides instead of two.
    ///
    /// # Panics
    /// With fewer than two.
    #[must_use]
    pub const fn sides(mut self, sides: usize) -> Breakpoint<S> {
        assert!(sides >= 2, "a breakpoint has at least two sides");
        self.sides = sides;
        self
    }

    /// Holds threads up for at most this long instead of 100 ms.
    #[must_use]
    pub const fn pause(mut self, pause: Duration) -> Breakpoint<S> {
        self.pause = pause;
        self
    }

    /// Lets the first so many visits pass.
    #[must_use]
    pub const fn ignore_first(mut self, visits: u64) -> Breakpoint<S> {
        self.ignored = visits;
        self
    }

    /// Sleeps after so many hits; whoever is held up then goes on.
    #[must_use]
    pub const fn at_most(mut self, hits: u64) -> Breakpoint<S> {
        self.most_hits = hits;
        self
    }

    /// Only for threads in a [`scope`](crate::scope()) of this name: in a calling
    /// context, or under a lock.
    #[must_use]
    pub const fn within(mut self, scope: &'static str) -> Breakpoint<S> {
        self.within = Some(scope);
        self
    }

    /// One thread at a time waits at a side: who comes to one where another waits
    /// with whom the condition holds (at the same object, say) passes.
    #[must_use]
    pub const fn one_waits(mut self) -> Breakpoint<S> {
        self.one_waits = true;
        self
    }

    /// Only where this holds of the visiting thread: a counter, a lock that it
    /// [holds](crate::is_held), any expression. Not evaluated while breakpoints
    /// sleep; one that panics is reported and does not hold.
    #[inline]
    pub fn when(&'static self, holds: impl FnOnce() -> bool) -> Narrowed<S> {
        Narrowed {
            breakpoint: self,
            is_open: settings::are_armed() && self.ask(holds),
        }
    }

    /// Counts an error that can be seen: what the mean time to error is about where
    /// the bug does not end the program. Where nobody counts them, it is hits.
    pub fn artefact(&self) {
        self.counters().artefacts.fetch_add(1, Relaxed);
    }

    /// What has become of it so far.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.counters().read(self.name)
    }

    /// Of all with this name, as far as that is known.
    fn counters(&self) -> &Counters {
        self.one.get().map_or(&self.counters, |one| &one.counters)
    }

    /// Asks the user's code, with no lock held.
    fn ask(&self, holds: impl FnOnce() -> bool) -> bool {
        catch_unwind(AssertUnwindSafe(holds)).unwrap_or_else(|_| {
            eprintln!(
                "breakpoint {}: its condition panicked and does not hold",
                self.name
            );
            false
        })
    }
}

impl<S: Clone + Send + Sync + 'static> Breakpoint<S> {
    /// Before the statement that comes first, which ends when the guard does.
    pub fn first(&'static self, state: impl Into<S>) -> Visit {
        self.side(0, state)
    }

    /// Before the statement that comes second.
    pub fn second(&'static self, state: impl Into<S>) -> Visit {
        self.side(1, state)
    }

    /// Before the statement of any side, counted from 0. The sides go on in their
    /// order, each when the guard of the one before is dropped.
    #[inline]
    pub fn side(&'static self, side: usize, state: impl Into<S>) -> Visit {
        self.side_if(true, side, state)
    }

    /// A visit that counts only if it is open.
    #[inline]
    pub(crate) fn side_if(&'static self, open: bool, side: usize, state: impl Into<S>) -> Visit {
        let meeting = match settings::are_armed() {
            true => self.first_of_name().visit(open, side, state.into()),
            false => None,
        };
        Visit { meeting, side }
    }

    /// The same without a guard, for where none fits: says whether the breakpoint
    /// was hit. Nobody knows when the statement behind the call is done, so the
    /// sides after it wait a millisecond, and on a busy machine until its thread has run
    /// or waits for somebody.
    #[inline]
    pub fn reach(&'static self, side: usize, state: impl Into<S>) -> bool {
        self.side_if(true, side, state).pass_unsettled()
    }

    fn first_of_name(&'static self) -> &'static Breakpoint<S> {
        self.one.get_or_init(|| first(self.name, self))
    }

    #[cold]
    fn visit(&'static self, open: bool, side: usize, state: S) -> Option<Arc<Meeting>> {
        if !settings::includes(self.name) {
            return None;
        }
        if !self.known.swap(true, Relaxed) {
            statistics::register(self.name, &self.counters);
        }
        self.counters.visits.fetch_add(1, Relaxed);
        let outside = self.within.is_some_and(|scope| !is_within(scope));
        if !open || outside || side >= self.sides {
            return None;
        }
        let early = self.arrivals.fetch_add(1, Relaxed) < self.ignored;
        let own = std::thread::current().id();
        let waiting = lock(&self.waiting);
        if early || waiting.is_asleep(self.most_hits) || waiting.keeps(own, side) {
            return None;
        }
        drop(waiting);
        let pause = settings::pause(self.pause);
        let meeting = self.meet(&Arc::new(Postponed::new(side, state)), pause)?;
        meeting.wait_for_turn(side, pause);
        Some(meeting)
    }

    /// Finds partners among those who wait, or waits for them.
    fn meet(&self, own: &Arc<Postponed<S>>, pause: Duration) -> Option<Arc<Meeting>> {
        loop {
            let (others, arrivals) = lock(&self.waiting).look();
            // The condition is the user's: no lock is held here.
            if let Some(partners) = self.partners(own, &others) {
                match lock(&self.waiting).meet(own, &partners, self.most_hits) {
                    Attempt::Met(meeting) => {
                        self.counters.hit();
                        return Some(meeting);
                    }
                    Attempt::Asleep => return None,
                    Attempt::Gone => {}
                }
            } else if self.is_taken(own, &others) {
                return None;
            } else {
                let mut waiting = lock(&self.waiting);
                if waiting.is_asleep(self.most_hits) {
                    return None;
                }
                if waiting.join(own, arrivals) {
                    break;
                }
            }
        }
        self.counters.postponements.fetch_add(1, Relaxed);
        own.wait(pause);
        // Who takes a thread out of the list tells it under the same lock.
        let mut waiting = lock(&self.waiting);
        waiting.leave(own);
        match own.outcome() {
            Outcome::Met(meeting) => Some(meeting),
            Outcome::Dismissed => None,
            Outcome::Open => {
                self.counters.timeouts.fetch_add(1, Relaxed);
                None
            }
        }
    }

    /// Whether somebody waits already where one is enough.
    fn is_taken(&self, own: &Postponed<S>, others: &[Arc<Postponed<S>>]) -> bool {
        let mut same = others.iter().filter(|other| other.side == own.side);
        let holds =
            |other: &Arc<Postponed<S>>| self.ask(|| (self.condition)(&other.state, &own.state));
        self.one_waits && same.any(holds)
    }

    /// One thread for every other side, such that the condition holds for each pair.
    fn partners(
        &self,
        own: &Arc<Postponed<S>>,
        others: &[Arc<Postponed<S>>],
    ) -> Option<Vec<Arc<Postponed<S>>>> {
        let mut chosen = vec![Arc::clone(own)];
        let missing: Vec<usize> = (0..self.sides).filter(|side| *side != own.side).collect();
        self.complete(&mut chosen, &missing, others)
            .then(|| chosen.split_off(1))
    }

    fn complete(
        &self,
        chosen: &mut Vec<Arc<Postponed<S>>>,
        missing: &[usize],
        others: &[Arc<Postponed<S>>],
    ) -> bool {
        let Some((side, rest)) = missing.split_first() else {
            return true;
        };
        for other in others.iter().filter(|other| other.side == *side) {
            if chosen.iter().all(|one| self.fits(one, other)) {
                chosen.push(Arc::clone(other));
                if self.complete(chosen, rest, others) {
                    return true;
                }
                chosen.pop();
            }
        }
        false
    }

    fn fits(&self, one: &Postponed<S>, other: &Postponed<S>) -> bool {
        if one.thread == other.thread {
            return false;
        }
        let (first, second) = match one.side < other.side {
            true => (one, other),
            false => (other, one),
        };
        self.ask(|| (self.condition)(&first.state, &second.state))
    }
}

/// A thread at a breakpoint. While it lives, the sides after it wait.
#[must_use = "the sides after this one wait for the end of the guard"]
#[derive(Debug)]
pub struct Visit {
    meeting: Option<Arc<Meeting>>,
    side: usize,
}

impl Visit {
    /// Whether all sides have met.
    #[must_use]
    pub fn is_hit(&self) -> bool {
        self.meeting.is_some()
    }

    /// Goes on without a guard; whether all sides have met.
    pub(crate) fn pass_unsettled(mut self) -> bool {
        let meeting = self.meeting.take();
        if let Some(meeting) = &meeting {
            meeting.pass(self.side, true);
        }
        meeting.is_some()
    }
}

impl Drop for Visit {
    #[inline]
    fn drop(&mut self) {
        if let Some(meeting) = &self.meeting {
            meeting.pass(self.side, false);
        }
    }
}
