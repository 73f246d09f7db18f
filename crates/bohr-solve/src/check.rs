//! Events, one after the other: what memory and locks answer, and whether the
//! threads go the way they went. Knows nothing of constraints or solvers; every
//! schedule that is handed out has passed here.

use crate::event::{Action, Buffered, Condition, Demand, EventId, Problem};
use crate::model::{Store, held_up, stores};
use crate::synchronisation::Synchronisation;
use crate::term::{Evaluation, ReadNumber, Scalar};
use bohr_event::{EventKind, MemoryModel, MemoryOrder};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// One step of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Turn {
    /// A thread executes its next event.
    Event(EventId),
    /// The store of that event leaves its thread's buffer.
    Commit(EventId),
}

/// Why an execution cannot go on like that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It is not that event's turn.
    #[error("event {0:?} does not come next in its thread")]
    NotNext(EventId),
    /// Another thread would have to do something first.
    #[error("event {0:?} has to wait")]
    Blocked(EventId),
    /// A store buffer does not allow it.
    #[error("event {0:?} has to wait for its thread's store buffer, or nothing waits there")]
    Buffered(EventId),
    /// A thread would go another way.
    #[error("thread {thread} would not go on as recorded after {after} events ({demand:?})")]
    Otherwise {
        /// The thread.
        thread: usize,
        /// Events before the condition.
        after: usize,
        /// Why it was to hold.
        demand: Demand,
    },
    /// It ends without the failure.
    #[error("the failure does not happen")]
    NoFailure,
}

/// An execution under way.
#[derive(Clone)]
pub(crate) struct Execution<'a> {
    problem: &'a Problem,
    model: MemoryModel,
    /// How many events of each thread happened, and conditions held.
    done: Vec<usize>,
    held: Vec<usize>,
    memory: HashMap<u64, u8>,
    reads: HashMap<ReadNumber, u128>,
    evaluation: Evaluation,
    rules: Synchronisation,
    /// Stores that wait, by thread, with address, size and value.
    buffers: Vec<VecDeque<(EventId, u64, u32, u128)>>,
    stores: &'a HashMap<EventId, Store>,
    held_up: Arc<HashMap<EventId, EventId>>,
    /// Where events stand in the recorded order, and how much of it is over.
    places: Arc<HashMap<EventId, usize>>,
    over: usize,
    failed: bool,
}

impl<'a> Execution<'a> {
    pub(crate) fn new(
        problem: &'a Problem,
        model: MemoryModel,
        stores: &'a HashMap<EventId, Store>,
    ) -> Execution<'a> {
        let count = problem.threads.len();
        Execution {
            problem,
            model,
            done: vec![0; count],
            held: vec![0; count],
            memory: HashMap::new(),
            reads: HashMap::new(),
            evaluation: Evaluation::default(),
            rules: Synchronisation::with_semaphores(problem.semaphores.clone()),
            buffers: vec![VecDeque::new(); count],
            stores,
            held_up: Arc::new(held_up(problem, stores)),
            places: Arc::new(problem.sequence.iter().copied().zip(0..).collect()),
            over: 0,
            failed: false,
        }
    }

    /// All that what comes depends on, for telling executions apart.
    #[cfg(test)]
    pub(crate) fn state(&self) -> String {
        let memory: std::collections::BTreeMap<_, _> = self.memory.iter().collect();
        let reads: std::collections::BTreeMap<_, _> = self.reads.iter().collect();
        format!("{:?} {memory:?} {reads:?} {:?}", self.done, self.buffers)
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failed
    }

    /// How many threads there are.
    pub(crate) fn threads(&self) -> usize {
        self.done.len()
    }

    /// A thread's next event.
    pub(crate) fn next(&self, thread: usize) -> Option<EventId> {
        let event = self.done[thread];
        (event < self.problem.threads[thread].events.len()).then_some(EventId { thread, event })
    }

    /// The stores that could leave a thread's buffer now.
    pub(crate) fn commits(&self, thread: usize) -> Vec<EventId> {
        let waiting = &self.buffers[thread];
        let first = |index: &usize| self.is_oldest(thread, *index);
        (0..waiting.len())
            .filter(first)
            .map(|index| waiting[index].0)
            .collect()
    }

    fn is_oldest(&self, thread: usize, index: usize) -> bool {
        let waiting = &self.buffers[thread];
        let (id, address, size, _) = waiting[index];
        match self.model {
            MemoryModel::PartialStoreOrder => waiting.iter().take(index).all(|earlier| {
                let apart = earlier.1 + u64::from(earlier.2) <= address
                    || address + u64::from(size) <= earlier.1;
                let (this, before) = (&self.stores[&id], &self.stores[&earlier.0]);
                apart && !this.is_release && this.epoch == before.epoch
            }),
            _ => index == 0,
        }
    }

    /// Whether a thread's next event could happen now.
    pub(crate) fn is_ready(&self, thread: usize) -> bool {
        let Some(id) = self.next(thread) else {
            return false;
        };
        let action = &self.problem.event(id).action;
        self.is_in_turn(id) && self.rules.allows(thread, action) && self.is_let_by(id, action)
    }

    /// Whether the recorded order allows a thread's next event.
    fn is_in_turn(&self, id: EventId) -> bool {
        let place = self.places.get(&id);
        place.is_none_or(|place| *place == self.over)
    }

    /// Whether the store buffer allows a thread's next event.
    fn is_let_by(&self, id: EventId, action: &Action) -> bool {
        let buffer = &self.buffers[id.thread];
        let waits = |store: &EventId| buffer.iter().any(|waiting| waiting.0 == *store);
        if buffer.is_empty() || self.stores.contains_key(&id) {
            return true;
        }
        !needs_empty_buffer(action) && !self.held_up.get(&id).is_some_and(waits)
    }

    /// One step.
    pub(crate) fn step(&mut self, turn: Turn) -> Result<(), Refusal> {
        match turn {
            Turn::Event(id) => self.event(id),
            Turn::Commit(id) => {
                let waiting = &self.buffers[id.thread];
                let index = waiting.iter().position(|store| store.0 == id);
                let index = index.filter(|index| self.is_oldest(id.thread, *index));
                let index = index.ok_or(Refusal::Buffered(id))?;
                let (_, address, size, value) =
                    self.buffers[id.thread].remove(index).expect("just found");
                self.write(address, size, value);
                Ok(())
            }
        }
    }

    fn event(&mut self, id: EventId) -> Result<(), Refusal> {
        let problem = self.problem;
        if self.next(id.thread) != Some(id) {
            return Err(Refusal::NotNext(id));
        }
        let action = &problem.event(id).action;
        if !self.is_in_turn(id) || !self.rules.allows(id.thread, action) {
            return Err(Refusal::Blocked(id));
        }
        if !self.is_let_by(id, action) {
            return Err(Refusal::Buffered(id));
        }
        let buffered = self.stores.contains_key(&id);
        if let Action::Access { reads, writes, .. } = action {
            for piece in reads {
                let address = self.value(piece.address, id)? as u64;
                let value = self.read(id.thread, address, piece.size);
                self.reads.insert(piece.read, value);
            }
            for piece in writes {
                let address = self.value(piece.address, id)? as u64;
                let value = self.value(piece.value, id)?;
                match buffered {
                    true => {
                        self.buffers[id.thread].push_back((id, address, piece.size, value));
                    }
                    false => self.write(address, piece.size, value),
                }
            }
        }
        self.rules.happens(id.thread, action);
        self.over += usize::from(self.places.contains_key(&id));
        self.done[id.thread] += 1;
        self.failed |= matches!(action, Action::Fail);
        self.conditions(id.thread)
    }

    /// What has to hold by now.
    fn conditions(&mut self, thread: usize) -> Result<(), Refusal> {
        let problem = self.problem;
        while let Some(condition) = problem.threads[thread].conditions.get(self.held[thread]) {
            if condition.after > self.done[thread] {
                break;
            }
            let id = EventId {
                thread,
                event: condition.after,
            };
            let Condition { after, demand, .. } = *condition;
            if self.value(condition.holds, id)? != 1 {
                return Err(Refusal::Otherwise {
                    thread,
                    after,
                    demand,
                });
            }
            self.held[thread] += 1;
        }
        Ok(())
    }

    /// The address that an access of an event is at, if that can be told by now.
    pub(crate) fn address(&mut self, address: Scalar, id: EventId) -> Option<u64> {
        Some(self.value(address, id).ok()? as u64)
    }

    fn value(&mut self, value: Scalar, id: EventId) -> Result<u128, Refusal> {
        let reads = &self.reads;
        let found = self
            .problem
            .terms
            .evaluate(value, &mut self.evaluation, &|read| {
                reads.get(&read).copied()
            });
        // What cannot be computed is a crash that was not recorded.
        found.map_err(|_| Refusal::Otherwise {
            thread: id.thread,
            after: id.event,
            demand: Demand::Path,
        })
    }

    /// What a thread finds: its own waiting store, or memory.
    fn read(&mut self, thread: usize, address: u64, size: u32) -> u128 {
        let mut bytes = Vec::with_capacity(size as usize);
        for at in address..address + u64::from(size) {
            let own = self.buffers[thread].iter().rev().find_map(|store| {
                let offset = at.checked_sub(store.1)?;
                (offset < u64::from(store.2)).then(|| (store.3 >> (offset * 8)) as u8)
            });
            bytes.push(own.unwrap_or_else(|| self.byte(at)));
        }
        bytes
            .iter()
            .rev()
            .fold(0, |value, byte| value << 8 | u128::from(*byte))
    }

    fn byte(&mut self, address: u64) -> u8 {
        if let Some(byte) = self.memory.get(&address) {
            return *byte;
        }
        let value = self.problem.initial_byte(address);
        let reads = &self.reads;
        let known = |read: ReadNumber| reads.get(&read).copied();
        let byte = self
            .problem
            .terms
            .evaluate(value, &mut self.evaluation, &known);
        byte.unwrap_or(0) as u8
    }

    fn write(&mut self, address: u64, size: u32, value: u128) {
        for at in 0..u64::from(size) {
            self.memory.insert(address + at, (value >> (at * 8)) as u8);
        }
    }
}

/// Whether an event waits until its thread's stores are in memory.
pub(crate) fn needs_empty_buffer(action: &Action) -> bool {
    match action {
        Action::Access { buffer, .. } => *buffer != Buffered::Past,
        Action::Fence(order) => EventKind::Fence.needs_empty_buffer(*order),
        other => other
            .kind()
            .is_none_or(|kind| kind.needs_empty_buffer(MemoryOrder::SequentiallyConsistent)),
    }
}

/// How often an order has another thread go on although the one that was at it could
/// have: its preemptions.
#[must_use]
pub fn preemptions(problem: &Problem, model: MemoryModel, order: &[Turn]) -> usize {
    let stores = stores(problem, model);
    let mut execution = Execution::new(problem, model, &stores);
    let (mut current, mut count) = (0, 0);
    for turn in order {
        if let Turn::Event(id) = turn
            && id.thread != current
        {
            count += usize::from(execution.is_ready(current));
            current = id.thread;
        }
        if execution.step(*turn).is_err() {
            break;
        }
    }
    count
}

/// Whether an order of events leads to the failure, up to which everybody goes the
/// recorded way.
///
/// # Errors
/// The first thing that is not so.
pub fn check(problem: &Problem, model: MemoryModel, order: &[Turn]) -> Result<(), Refusal> {
    let stores = stores(problem, model);
    let mut execution = Execution::new(problem, model, &stores);
    for turn in order {
        execution.step(*turn)?;
        if execution.has_failed() {
            return Ok(());
        }
    }
    Err(Refusal::NoFailure)
}
