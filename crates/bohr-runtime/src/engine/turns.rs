//! Whose turn it is: leave to execute, questions to the strategy, and the change
//! from thread to thread.

use super::Engine;
use crate::{
    baton, buffers,
    grant::{CALL_SITE, GRANT},
    image, outpost,
    record::{MOST_SEGMENTS, RECORD},
    signals::{self, Handled},
    spin::Sample,
    thread::{Interruptible, Life, Thread, Wait},
    unwind::Registers,
    verdict, waiting,
};
use alloc::{format, string::String};
use bohr_event::{EventKind, FailureKind, Operation, ThreadIndex};
use bohr_schedule::{Decision, Grant, Pending, Position, Used, View};

/// How many times the limit of events a thread may execute alone.
const SERIAL: u64 = 50;
/// So many events of the limit stand for one switch at most, if that leaves so many, and
/// no more are allowed than are kept.
const EVENTS_PER_SWITCH: u64 = 4;
const FEWEST_SWITCHES: u64 = 1 << 20;

/// A limit proves nothing.
const IF_LONG: &str = "; if it is only long, raise --run-events";

impl Engine {
    /// Waits until the operation has been picked and is possible. Signals that
    /// come meanwhile are handled in between.
    pub(super) fn wait_for_turn(&self, thread: &'static Thread, pending: Pending) {
        let (wait, deadline) = (thread.wait.get(), thread.deadline.get());
        let need = thread.buffer.need.get();
        loop {
            self.pending.borrow_mut()[thread.index.position()] = pending;
            self.note_spinning(thread.index, pending.spins);
            self.reschedule();
            if !signals::is_due(thread) && waiting::is_possible(thread) {
                self.take_first_leave();
                return;
            }
            let (since, woken) = (thread.since.get(), thread.woken.get());
            let interruptible = thread.interruptible.replace(Interruptible::Never);
            // Who has arrived at a barrier is there, whatever handler runs.
            if let (EventKind::Depart, Wait::Wake(object)) = (pending.operation.kind, wait) {
                thread.left_at.set((object, woken));
            }
            let handled = signals::deliver(thread, 0);
            let (_, left) = thread.left_at.replace((0, false));
            let woken = woken || left;
            thread.interruptible.set(interruptible);
            thread.begin(wait, deadline, since);
            thread.buffer.need.set(need);
            let interrupted = interruptible.is_ended_by(handled);
            thread.interrupted.set(interrupted);
            // A wake-up may have gone by while the handler ran; waits on
            // conditions and futexes may end without one.
            let unfounded = pending.operation.kind == EventKind::Wait && !interrupted;
            thread
                .woken
                .set(woken || unfounded && handled != Handled::Nothing);
        }
    }

    /// Whether the operation is one more turn of a circle.
    pub(super) fn spins(&self, thread: &Thread, operation: &Operation) -> bool {
        if matches!(operation.kind, EventKind::Yield | EventKind::Sleep) {
            return thread.spin.pauses(operation.place, RECORD.switches());
        }
        let since = self.events() - self.switched_at.get();
        Sample::wants(since).is_some_and(|number| self.sample.look(number, operation))
    }

    /// Uses up one event of leave, if there is any for such an event.
    pub(super) fn take_leave(&self, kind: EventKind) -> bool {
        if self.accesses_only.get() && !kind.is_access() {
            return false;
        }
        self.take_any_leave()
    }

    /// Uses up the first event of a grant that has just been given.
    pub(super) fn take_first_leave(&self) {
        let granted = self.take_any_leave();
        assert!(granted, "a thread was picked without leave");
    }

    fn take_any_leave(&self) -> bool {
        if GRANT.get() > 0 {
            GRANT.set(GRANT.get() - 1);
        } else if self.recorded.get() > 0 {
            self.recorded.set(self.recorded.get() - 1);
        } else {
            return self.take_reserve();
        }
        true
    }

    /// Fills [`GRANT`] from the reserve and takes one event of it. When tracing it stays
    /// empty, and accesses come by [`Engine::passes_recorded`]; where stores wait in
    /// buffers, every hook comes here.
    fn take_reserve(&self) -> bool {
        self.settle();
        if self.reserve.get() == 0 {
            return false;
        }
        let every = buffers::are_used() && (self.tracing.get() || !self.alone.get());
        if every || self.watched.get() > 0 || self.recurrence.is_watching() {
            self.reserve.set(self.reserve.get() - 1);
            self.filled.set(1);
            self.settle();
            return true;
        }
        // Whoever has been picked does its event, whatever the limit.
        let room = self.room().max(1);
        // The fast path stops before an event that is to be looked at.
        let distance = Sample::distance(self.settled.get() - self.switched_at.get())
            .min(self.recurrence.distance(self.settled.get()))
            .min(image::distance(self.settled.get()).max(1));
        let amount = self.reserve.get().min(room).min(distance.max(1));
        self.reserve.set(self.reserve.get() - amount);
        self.filled.set(amount);
        match self.tracing.get() {
            true => self.recorded.set(amount - 1),
            false => GRANT.set(amount - 1),
        }
        true
    }

    /// How many events may follow before the run counts as endless. A thread that
    /// is alone is quick and keeps nobody waiting, so its events count less.
    fn room(&self) -> u64 {
        let limit = self.limit.get();
        let serial = limit
            .saturating_mul(SERIAL)
            .saturating_sub(self.settled.get());
        let concurrent = self.settled.get() - self.settled_alone.get();
        match self.alone.get() {
            true => serial,
            false => serial.min(limit.saturating_sub(concurrent)),
        }
    }

    /// Ends a run that has gone on for too long, where a thread comes to announce
    /// something: earlier than the strategy is asked, since who has planned a run up
    /// to here has no answer.
    #[inline]
    pub(super) fn check_limit(&self) {
        if GRANT.get() == 0 {
            self.settle();
            image::come_by(self.settled.get());
            self.check_room();
        }
    }

    fn check_room(&self) {
        if self.room() > 0 {
            return;
        }
        let mut message = String::from("the run reached its limit of events without an end");
        let since = self.settled.get() - self.switched_at.get();
        if self.sample.is_circle(since) && self.can_nobody_else() {
            message += &format!(
                ": for the last {since} of them the thread has waited in a loop, and nobody \
                 else can go on"
            );
        } else {
            message += IF_LONG;
        }
        verdict::fail(FailureKind::Livelock, &message);
    }

    /// Ends a run that has more switches than can be told in a moment: each is kept, in
    /// case the run fails, while an event is only counted.
    fn check_switches(&self) {
        let share = self.limit.get() / EVENTS_PER_SWITCH;
        let most = share.clamp(FEWEST_SWITCHES, MOST_SEGMENTS as u64);
        if RECORD.switches() >= most {
            let message =
                format!("the run reached its limit of {most} switches without an end{IF_LONG}");
            verdict::fail(FailureKind::Livelock, &message);
        }
    }

    fn can_nobody_else(&self) -> bool {
        let mut nobody = true;
        self.each_live(|thread| {
            nobody &= thread.index == self.current.get() || !waiting::is_over(thread);
        });
        nobody
    }

    /// Counts what the fast path has used and takes back what it has not.
    pub(super) fn settle(&self) {
        let events = self.events();
        if self.alone.get() {
            let more = events - self.settled.get();
            self.settled_alone.set(self.settled_alone.get() + more);
        }
        self.settled.set(events);
        let unused = GRANT.get() + self.recorded.get();
        self.reserve.set(self.reserve.get().saturating_add(unused));
        GRANT.set(0);
        self.recorded.set(0);
        self.filled.set(0);
    }

    /// Asks the strategy and switches to whom it picks. Returns when somebody
    /// picks the thread that called.
    pub(super) fn reschedule(&self) {
        self.settle();
        self.check_switches();
        if waiting::is_in_circle(self.current()) {
            verdict::fail(
                FailureKind::Deadlock,
                "threads wait for each other in a circle",
            );
        }
        let before = self.current.get();
        let grant = self.decide();
        if grant.thread != before {
            let (from, to) = self.hand_over(before, grant.thread);
            if baton::is_used() {
                from.baton.note(Registers::here());
                baton::pass(to);
                from.baton.wait();
            } else {
                from.fiber().switch_to(to.fiber());
            }
        } else {
            self.switch_record(before);
        }
    }

    /// Ends the running thread's fiber and goes on with whom the strategy picks.
    pub fn end_current(&self) -> ! {
        self.settle();
        let before = self.current.get();
        self.live.borrow_mut().retain(|&index| index != before);
        self.roster.borrow_mut().remove(before);
        let grant = self.decide();
        let (from, to) = self.hand_over(before, grant.thread);
        if baton::is_used() {
            baton::pass_and_end(from, to);
        }
        from.fiber().end_and_switch_to(to.fiber())
    }

    /// Notes the change of the running thread.
    fn hand_over(
        &self,
        before: ThreadIndex,
        after: ThreadIndex,
    ) -> (&'static Thread, &'static Thread) {
        self.switch_record(after);
        self.current.set(after);
        self.switched_at.set(self.settled.get());
        CALL_SITE.set(0);
        let (from, to) = (self.thread(before), self.thread(after));
        to.spin.ran.set(true);
        buffers::show(from, to);
        crate::heap::set_region(to.region);
        (from, to)
    }

    /// Who goes on, and with how much leave? Queues of store buffers that the
    /// strategy picks before have had their turns when this returns.
    fn decide(&self) -> Grant {
        loop {
            let grant = self.next_grant();
            match self.thread(grant.thread).queue {
                None => return grant,
                Some(queue) => self.write_stores(grant, queue),
            }
        }
    }

    /// Whose turn it is. Lets time pass if nobody can go on, and if that does not
    /// help either, the program is stuck.
    fn next_grant(&self) -> Grant {
        self.find_enabled();
        while self.enabled.borrow().is_empty() {
            if !waiting::pass_time() {
                verdict::stuck();
            }
            self.find_enabled();
        }
        let grant = match self.nobody_else() {
            Some(thread) => Grant::until_blocked(thread),
            None => {
                let grant = self.ask();
                self.granted_at.set(Some(self.settled.get()));
                grant
            }
        };
        self.reserve.set(grant.events);
        self.accesses_only.set(grant.accesses_only);
        grant
    }

    /// The only thread there is, unless the strategy is to be asked all the same.
    fn nobody_else(&self) -> Option<ThreadIndex> {
        let live = self.live.borrow();
        let [only] = live[..] else {
            self.alone.set(false);
            return None;
        };
        self.alone.set(true);
        let strategy = self.strategy.borrow();
        // Before the first creation nobody is asked: runs share that part.
        let asked = self.forked.get()
            && strategy
                .as_ref()
                .is_some_and(|strategy| strategy.is_asked_alone());
        if asked {
            return None;
        }
        if self.granted_at.get().is_none() {
            self.granted_at.set(Some(self.settled.get()));
        }
        Some(only)
    }

    /// Ends a grant that was given to the only thread there was.
    pub(super) fn is_no_longer_alone(&self) {
        self.settle();
        self.alone.set(false);
        self.forked.set(true);
        self.reserve.set(0);
    }

    fn ask(&self) -> Grant {
        if outpost::is_hoped_for() {
            outpost::turn(self.position());
        }
        let (enabled, pending) = (self.enabled.borrow(), self.pending.borrow());
        let view = View {
            pending: &pending,
            enabled: &enabled,
            last: self.used(),
        };
        let decision = self.strategy.borrow_mut().as_mut().map(|s| s.decide(&view));
        match decision {
            Some(Decision::Run(grant)) => {
                assert!(grant.events > 0, "the strategy granted no event");
                assert!(
                    view.is_enabled(grant.thread),
                    "the strategy picked a thread that cannot go on"
                );
                grant
            }
            Some(Decision::Stop(stop)) => {
                drop((enabled, pending));
                verdict::stopped(&stop)
            }
            None => unreachable!("a run without a strategy"),
        }
    }

    fn position(&self) -> Option<Position> {
        let strategy = self.strategy.borrow();
        strategy.as_ref().and_then(|strategy| strategy.position())
    }

    /// What has become of the last grant.
    pub(super) fn used(&self) -> Option<Used> {
        let at = self.granted_at.get()?;
        Some(Used {
            thread: self.last_ran.get(),
            running: self.current.get(),
            events: self.settled.get() - at,
            place: self.last_place(),
        })
    }

    fn note_spinning(&self, thread: ThreadIndex, spins: bool) {
        let mut spinning = self.spinning.borrow_mut();
        if spins && !spinning.contains(&thread) {
            spinning.push(thread);
        }
    }

    /// What the running thread waits for may be something else than before; what
    /// others wait for is not.
    fn find_enabled(&self) {
        let current = self.current();
        if current.life.get() == Life::Alive {
            let cause = waiting::cause(current);
            self.roster.borrow_mut().note(current.index, cause);
        }
        let threads = self.threads.borrow();
        let mut enabled = self.enabled.borrow_mut();
        let is_over = |index: ThreadIndex| waiting::is_over(threads[index.position()]);
        let alike = !signals::is_any_for_all();
        self.roster.borrow().find(&mut enabled, alike, is_over);
        // Whoever ran may have changed what the others look at.
        let mut pending = self.pending.borrow_mut();
        self.spinning.borrow_mut().retain(|&index| {
            let stays = index == self.last_ran.get() || enabled.binary_search(&index).is_err();
            pending[index.position()].spins &= stays;
            stays
        });
    }
}
