//! The engine: threads announce operations, the strategy picks, the engine
//! switches. It executes schedules and invents none.
//!
//! A thread that calls [`Engine::announce`] comes back when its operation has
//! been picked *and* is possible; it then does the operation and runs on. What
//! it has announced and not yet done is visible to the strategy as pending.

mod idleness;
mod recurrence;
mod stores;
mod turns;

use crate::{
    buffers::{self, Need},
    carrier::CarrierOnly,
    dispatch, faults,
    grant::{GRANT, LAST_PLACE},
    hooks,
    interpose::cancel,
    objects::OBJECTS,
    omitted_stores, outpost, probe,
    record::RECORD,
    spin::Sample,
    thread::{Interruptible, Life, NOW, Thread, Wait},
    timers,
    trace::TRACER,
    waiting,
};
use alloc::{boxed::Box, vec::Vec};
use bohr_event::{ChoiceKind, EventKind, Operation, PlaceNumber, ThreadIndex, ThreadPath};
use bohr_schedule::{Cause, Pending, Roster, Strategy, View};
use core::cell::{Cell, RefCell};
use recurrence::Recurrence;

/// All state of a controlled run.
pub struct Engine {
    threads: RefCell<Vec<&'static Thread>>,
    /// By thread index, as the strategy sees it.
    pending: RefCell<Vec<Pending>>,
    /// Threads that have not ended, ascending.
    live: RefCell<Vec<ThreadIndex>>,
    /// The same, by what they wait for.
    roster: RefCell<Roster<Wait>>,
    /// Threads whose pending operation is known to be of no use.
    spinning: RefCell<Vec<ThreadIndex>>,
    /// Working space of [`Engine::decide`].
    enabled: RefCell<Vec<ThreadIndex>>,
    /// The thread that runs: whose stack this is.
    current: Cell<ThreadIndex>,
    /// Who executed the last event: that thread, or a queue of a store buffer.
    last_ran: Cell<ThreadIndex>,
    strategy: RefCell<Option<Box<dyn Strategy>>>,
    /// Leave beyond what [`GRANT`] holds.
    reserve: Cell<u64>,
    /// Leave for accesses that are recorded: as [`GRANT`], with a hook that writes down
    /// what it lets pass.
    recorded: Cell<u64>,
    /// What [`GRANT`] or `recorded` held when it was last filled.
    filled: Cell<u64>,
    /// Events executed before that.
    settled: Cell<u64>,
    /// Of those, the ones before the moment of the image that this run began from.
    begun: Cell<u64>,
    /// Of those, the ones of a thread that was alone.
    settled_alone: Cell<u64>,
    /// The reserve is for accesses only.
    accesses_only: Cell<bool>,
    /// Events executed when the strategy last gave a grant; `None` before the first.
    granted_at: Cell<Option<u64>>,
    /// There was only one thread when leave was last given.
    alone: Cell<bool>,
    /// There have been more.
    forked: Cell<bool>,
    /// A run of more events is a livelock.
    limit: Cell<u64>,
    /// Events that have been watched, in case nobody changes anything; 0 if nobody
    /// watches.
    watched: Cell<u32>,
    /// How often the system had been asked for something when that began.
    watched_since: Cell<u64>,
    /// Every event goes the slow way and is recorded.
    tracing: Cell<bool>,
    /// Counts waits: their order.
    waits: Cell<u64>,
    /// The last event that was not executed on a hook's fast path.
    last: Cell<Option<Operation>>,
    /// Events executed when the running thread was last switched to.
    switched_at: Cell<u64>,
    sample: Sample,
    recurrence: Recurrence,
}

/// The engine of this process.
#[unsafe(link_section = "bohr_hot")]
pub static ENGINE: CarrierOnly<Engine> = CarrierOnly::new(Engine {
    threads: RefCell::new(Vec::new()),
    pending: RefCell::new(Vec::new()),
    live: RefCell::new(Vec::new()),
    roster: RefCell::new(Roster::new()),
    spinning: RefCell::new(Vec::new()),
    enabled: RefCell::new(Vec::new()),
    current: Cell::new(ThreadIndex::MAIN),
    last_ran: Cell::new(ThreadIndex::MAIN),
    strategy: RefCell::new(None),
    reserve: Cell::new(0),
    recorded: Cell::new(0),
    filled: Cell::new(0),
    settled: Cell::new(0),
    begun: Cell::new(0),
    accesses_only: Cell::new(false),
    granted_at: Cell::new(None),
    settled_alone: Cell::new(0),
    alone: Cell::new(false),
    forked: Cell::new(false),
    limit: Cell::new(u64::MAX),
    watched: Cell::new(0),
    watched_since: Cell::new(0),
    tracing: Cell::new(false),
    waits: Cell::new(0),
    last: Cell::new(None),
    switched_at: Cell::new(0),
    sample: Sample::new(),
    recurrence: Recurrence::new(),
});

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// The operation is possible and has been counted.
    Ready,
    /// The time was up first.
    Expired,
    /// Somebody wants the thread to end, and it was at a point where it may.
    Cancelled,
    /// A signal's handler has run, and the call is not to go on.
    Interrupted,
}

/// An operation on an object, with everything else left open.
pub fn operation(kind: EventKind, object: usize, place: u64) -> Operation {
    Operation::plain(kind, 0, object as u64, OBJECTS.place(place))
}

impl Engine {
    /// Prepares for a run in a fresh child, or for another one from where it stands.
    pub fn begin(&self, limit: u64) {
        self.limit.set(limit);
    }

    /// Sets whether events are recorded from now on.
    pub fn trace(&self, tracing: bool) {
        self.settle();
        self.tracing.set(tracing);
    }

    /// Sets who decides, and tells it which threads there are.
    pub fn follow(&self, mut strategy: Box<dyn Strategy>) {
        for thread in self.threads.borrow().iter() {
            strategy.thread_started(thread.index, &thread.path);
        }
        *self.strategy.borrow_mut() = Some(strategy);
    }

    /// What whoever has decided so far leaves to those who go on from here.
    pub fn memory(&self) -> Vec<u64> {
        let strategy = self.strategy.borrow();
        strategy.as_ref().map_or_else(Vec::new, |it| it.memory())
    }

    /// Enters a thread into the table; its first event is still to come.
    pub fn add(&self, path: ThreadPath, region: usize) -> &'static Thread {
        let thread = self.enter(|index| Thread::new(index, path, region));
        self.live.borrow_mut().push(thread.index);
        self.roster.borrow_mut().note(thread.index, Cause::Nothing);
        if self.live_count() == 2 {
            self.is_no_longer_alone();
        }
        thread
    }

    fn enter(&self, make: impl FnOnce(ThreadIndex) -> Thread) -> &'static Thread {
        let mut threads = self.threads.borrow_mut();
        let index = ThreadIndex(threads.len() as u32);
        let thread: &'static Thread = Box::leak(Box::new(make(index)));
        threads.push(thread);
        let start = operation(EventKind::Start, 0, 0);
        self.pending.borrow_mut().push(Pending::new(start));
        TRACER.name_thread(index, &thread.path);
        if let Some(strategy) = self.strategy.borrow_mut().as_mut() {
            strategy.thread_started(index, &thread.path);
        }
        thread
    }

    /// Sets what a thread that does not run yet is about to do.
    pub fn set_pending(&self, thread: ThreadIndex, operation: Operation) {
        self.pending.borrow_mut()[thread.position()] = Pending::new(operation);
    }

    /// Somebody has done something to the thread, wherever it waits.
    pub fn disturb(&self, thread: &Thread) {
        if thread.life.get() == Life::Alive {
            self.roster.borrow_mut().note(thread.index, Cause::Own);
        }
    }

    /// The running thread.
    pub fn current(&self) -> &'static Thread {
        self.thread(self.current.get())
    }

    /// The thread with this index.
    pub fn thread(&self, index: ThreadIndex) -> &'static Thread {
        self.threads.borrow()[index.position()]
    }

    /// All threads that ever were.
    pub fn threads(&self) -> Vec<&'static Thread> {
        self.threads.borrow().clone()
    }

    /// The index of the thread that is created next.
    pub fn next_index(&self) -> ThreadIndex {
        ThreadIndex(self.thread_count())
    }

    /// How many threads there ever were.
    pub fn thread_count(&self) -> u32 {
        self.threads.borrow().len() as u32
    }

    /// How many of them were threads of the program.
    pub fn program_threads(&self) -> u32 {
        let threads = self.threads.borrow();
        threads
            .iter()
            .filter(|thread| thread.queue.is_none())
            .count() as u32
    }

    /// Who executed the last event: a thread, or a queue of a store buffer.
    pub fn last_ran(&self) -> ThreadIndex {
        self.last_ran.get()
    }

    /// How many threads have not ended, queues in which something waits included.
    pub fn live_count(&self) -> usize {
        self.live.borrow().len()
    }

    /// Whether all threads have ended, or have nothing left to do but that.
    pub fn do_all_leave(&self) -> bool {
        let mut all = true;
        self.each_live(|thread| all &= thread.queue.is_some() || thread.leaves.get());
        all
    }

    /// Calls `action` for each thread that has not ended.
    pub fn each_live(&self, mut action: impl FnMut(&'static Thread)) {
        let threads = self.threads.borrow();
        for index in self.live.borrow().iter() {
            action(threads[index.position()]);
        }
    }

    /// What a thread is about to do. A limit of time can strike while that is being
    /// written down: then what was done last is as near as it gets.
    pub fn pending(&self, thread: ThreadIndex) -> Operation {
        match self.pending.try_borrow() {
            Ok(pending) => pending[thread.position()].operation,
            Err(_) => self.last_operation(),
        }
    }

    /// The thread with this handle whose name is not free again.
    pub fn by_handle(&self, handle: libc::pthread_t) -> Option<&'static Thread> {
        let threads = self.threads.borrow();
        let mut newest_first = threads.iter().rev();
        newest_first
            .find(|thread| thread.handle.get() == handle && thread.life.get() != Life::Gone)
            .copied()
    }

    /// Events executed so far.
    pub fn events(&self) -> u64 {
        self.settled.get() + self.filled.get() - GRANT.get() - self.recorded.get()
    }

    /// How many of them lie before the moment of the image that the run began from.
    pub fn begun(&self) -> u64 {
        self.begun.get()
    }

    /// Events executed that a trace has.
    pub fn traced_events(&self) -> u64 {
        self.events() - self.begun.get()
    }

    /// In a process that was made from an image: runs begin here.
    pub fn begin_again(&self) {
        self.settle();
        self.begun.set(self.settled.get());
    }

    /// Takes back what leave there is, so that somebody else can decide from here on.
    pub fn take_back_leave(&self) {
        self.settle();
        self.reserve.set(0);
        self.accesses_only.set(false);
        self.granted_at.set(None);
    }

    /// An access of a run that is traced: whether the running thread had leave for it
    /// that spares everything but writing it down.
    #[inline]
    pub fn passes_recorded(&self, site: u32, operation: Operation) -> bool {
        let Some(left) = self.recorded.get().checked_sub(1) else {
            return false;
        };
        self.recorded.set(left);
        LAST_PLACE.set(u64::from(site));
        probe::look(self.traced_events() - 1);
        TRACER.step(self.last_ran.get(), operation);
        true
    }

    /// Announces an operation that is always possible.
    #[inline]
    pub fn step(&self, operation: Operation) {
        self.announce(operation, Wait::Nothing, u64::MAX);
    }

    /// Announces that the running thread tries something without waiting. Whether it
    /// comes to pass, the object itself tells.
    pub fn attempt(&self, operation: Operation, wait: Wait) {
        self.announce(operation, wait, NOW);
    }

    /// Announces an operation; returns when it is to be done.
    pub fn announce(&self, operation: Operation, wait: Wait, deadline: u64) -> Woken {
        dispatch::resume();
        omitted_stores::take_back();
        if self.tracing.get() {
            TRACER.settle();
        }
        let thread = self.current();
        faults::require_room(thread, operation.place);
        self.check_limit();
        self.waits.set(self.waits.get() + 1);
        thread.begin(wait, deadline, self.waits.get());
        if buffers::are_used() {
            thread.buffer.need.set(buffers::need(&operation));
        }
        let spins = self.spins(thread, &operation);
        if spins {
            // Perhaps what it waits for is a timer's doing.
            timers::hurry();
        }
        if spins || !waiting::is_possible(thread) || !self.take_leave(operation.kind) {
            let pending = Pending {
                spins,
                ..Pending::new(operation)
            };
            self.wait_for_turn(thread, pending);
        }
        let woken = waiting::result(thread);
        thread.interrupted.set(false);
        // Whoever can be cancelled at any moment does not come back to its call.
        let leaves = woken == Woken::Cancelled && !thread.cancel.at_point.get();
        let in_vain = matches!(woken, Woken::Expired | Woken::Interrupted) || leaves;
        self.executed(waiting::outcome(thread, operation, in_vain));
        if !matches!(wait, Wait::Nothing) {
            timers::somebody_went_on();
        }
        thread.wait.set(Wait::Nothing);
        thread.buffer.need.set(Need::Nothing);
        thread.deadline.set(u64::MAX);
        if leaves {
            cancel::act();
        }
        woken
    }

    /// Books the event of a signal's handler, which runs now.
    pub fn handling(&self, operation: Operation) {
        if !self.take_leave(operation.kind) {
            let thread = self.current();
            self.waits.set(self.waits.get() + 1);
            thread.begin(Wait::Nothing, u64::MAX, self.waits.get());
            thread.buffer.need.set(Need::Nothing);
            self.set_pending(thread.index, operation);
            self.reschedule();
            self.take_first_leave();
        }
        self.executed(operation);
    }

    /// The same at a point where the thread can be cancelled.
    pub fn announce_cancellable(&self, operation: Operation, wait: Wait, deadline: u64) -> Woken {
        let cancel = &self.current().cancel;
        cancel.at_point.set(true);
        let woken = self.announce(operation, wait, deadline);
        cancel.at_point.set(false);
        woken
    }

    /// The same where handlers of signals can end the wait, too.
    pub fn announce_interruptible(
        &self,
        operation: Operation,
        wait: Wait,
        deadline: u64,
        by: Interruptible,
    ) -> Woken {
        let interruptible = &self.current().interruptible;
        interruptible.set(by);
        let woken = self.announce_cancellable(operation, wait, deadline);
        interruptible.set(Interruptible::Never);
        woken
    }

    /// First step of a thread that has just been picked for the first time.
    pub fn picked(&self, operation: Operation) {
        if !self.take_leave(operation.kind) {
            // The main thread is not picked by anybody: it asks.
            self.set_pending(self.current.get(), operation);
            self.reschedule();
            self.take_first_leave();
        }
        self.executed(operation);
    }

    /// Books one event, now that it happens.
    fn executed(&self, mut operation: Operation) {
        if operation.kind == EventKind::Fork {
            // Others may have created threads since it was announced.
            operation.object = self.next_index().object();
        }
        LAST_PLACE.set(0);
        self.last.set(Some(operation));
        if self.tracing.get() {
            probe::look(self.traced_events() - 1);
            TRACER.step(self.last_ran.get(), operation);
        }
        self.note_idleness(&operation);
        self.note_recurrence(&operation);
    }

    /// The place of the last event.
    pub fn last_place(&self) -> PlaceNumber {
        self.last_operation().place
    }

    /// The last event. Of an access on the fast path the address is not known.
    pub fn last_operation(&self) -> Operation {
        match LAST_PLACE.get() {
            0 => self
                .last
                .get()
                .unwrap_or_else(|| operation(EventKind::Start, 0, 0)),
            // The stub has pushed it as a signed number.
            site => hooks::site_operation(site as u32, 0, None),
        }
    }

    /// Asks the strategy which of `options` outcomes the running thread's
    /// operation has; 0 is the ordinary one.
    pub fn choose(&self, kind: ChoiceKind, options: u32) -> u32 {
        if options < 2 {
            return 0;
        }
        outpost::first_question();
        let thread = self.current.get();
        let mut strategy = self.strategy.borrow_mut();
        let picked = strategy
            .as_mut()
            .map_or(0, |strategy| strategy.choose(thread, kind, options));
        assert!(
            picked < options,
            "the strategy chose an outcome that there is not"
        );
        RECORD.choice(thread, kind, picked);
        picked
    }

    /// What the strategy has learnt, now that the run is over.
    pub fn learnt(&self) -> Vec<u8> {
        // Where the run ended inside a decision, the strategy stays unasked.
        let (Ok(mut strategy), Ok(pending), Ok(enabled)) = (
            self.strategy.try_borrow_mut(),
            self.pending.try_borrow(),
            self.enabled.try_borrow(),
        ) else {
            return Vec::new();
        };
        let end = View {
            pending: &pending,
            enabled: &enabled,
            last: self.used(),
        };
        let strategy = strategy.as_mut();
        strategy.map_or_else(Vec::new, |strategy| strategy.report(&end).to_vec())
    }
}
