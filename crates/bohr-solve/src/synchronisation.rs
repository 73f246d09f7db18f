//! What locks, conditions, semaphores, barriers and threads allow: the rules, once,
//! for whoever lets events happen one after the other.

use crate::event::Action;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Who holds a lock.
#[derive(Clone, Debug, Default)]
struct Lock {
    owner: Option<usize>,
    readers: u32,
}

/// Who has come to a barrier.
#[derive(Clone, Debug, Default)]
struct Barrier {
    arrived: u32,
    /// Which arrival each thread's last one was.
    turns: HashMap<usize, u32>,
}

/// The state of everything that threads synchronise by.
#[derive(Clone, Debug, Default)]
pub(crate) struct Synchronisation {
    locks: HashMap<u64, Lock>,
    /// Who waits for a condition.
    sleepers: HashMap<u64, BTreeSet<usize>>,
    /// For each signal that nobody has gone on with: who waited then.
    signals: HashMap<u64, Vec<BTreeSet<usize>>>,
    /// Who waited at a broadcast.
    woken: HashSet<usize>,
    semaphores: BTreeMap<u64, u64>,
    barriers: HashMap<u64, Barrier>,
    created: HashSet<usize>,
    ended: HashSet<usize>,
}

impl Synchronisation {
    pub(crate) fn with_semaphores(semaphores: BTreeMap<u64, u64>) -> Synchronisation {
        Synchronisation {
            semaphores,
            ..Synchronisation::default()
        }
    }

    pub(crate) fn set_semaphore(&mut self, semaphore: u64, value: u64) {
        self.semaphores.insert(semaphore, value);
    }

    /// Whether an action of a thread is possible now. Which waiter a signal wakes is
    /// decided when a waiter goes on.
    pub(crate) fn allows(&self, thread: usize, action: &Action) -> bool {
        match action {
            Action::Acquire(lock) => self
                .locks
                .get(lock)
                .is_none_or(|lock| lock.owner.is_none() && lock.readers == 0),
            Action::AcquireShared(lock) => {
                self.locks.get(lock).is_none_or(|lock| lock.owner.is_none())
            }
            Action::Wake { condition, alone } => {
                let signals = self.signals.get(condition);
                let mut signals = signals.into_iter().flatten();
                let mut signalled = || signals.any(|sleepers| sleepers.contains(&thread));
                *alone || self.woken.contains(&thread) || signalled()
            }
            Action::Take(semaphore) => self.semaphores.get(semaphore).is_some_and(|it| *it > 0),
            Action::Depart { barrier, count } => self.barriers.get(barrier).is_some_and(|it| {
                let turn = it.turns.get(&thread).copied().unwrap_or(0);
                it.arrived >= (turn / (*count).max(1) + 1) * (*count).max(1)
            }),
            Action::Start => self.created.contains(&thread),
            Action::Join(child) => self.ended.contains(child),
            _ => true,
        }
    }

    /// An action that is possible happens.
    pub(crate) fn happens(&mut self, thread: usize, action: &Action) {
        match action {
            Action::Acquire(lock) => self.locks.entry(*lock).or_default().owner = Some(thread),
            Action::Release(lock) => self.locks.entry(*lock).or_default().owner = None,
            Action::AcquireShared(lock) => self.locks.entry(*lock).or_default().readers += 1,
            Action::ReleaseShared(lock) => {
                let readers = &mut self.locks.entry(*lock).or_default().readers;
                *readers = readers.saturating_sub(1);
            }
            Action::Sleep { condition, lock } => {
                self.locks.entry(*lock).or_default().owner = None;
                self.sleepers.entry(*condition).or_default().insert(thread);
            }
            Action::Wake { condition, alone } => self.wake(thread, *condition, *alone),
            Action::Signal(condition) => {
                let sleepers = self.sleepers.entry(*condition).or_default().clone();
                if !sleepers.is_empty() {
                    self.signals.entry(*condition).or_default().push(sleepers);
                }
            }
            Action::Broadcast(condition) => {
                let sleepers = self.sleepers.entry(*condition).or_default();
                self.woken.extend(std::mem::take(sleepers));
            }
            Action::Post(semaphore) => *self.semaphores.entry(*semaphore).or_default() += 1,
            Action::Take(semaphore) => {
                let value = self.semaphores.entry(*semaphore).or_default();
                *value = value.saturating_sub(1);
            }
            Action::Arrive(barrier) => {
                let barrier = self.barriers.entry(*barrier).or_default();
                barrier.turns.insert(thread, barrier.arrived);
                barrier.arrived += 1;
            }
            Action::Fork(child) => {
                self.created.insert(*child);
            }
            Action::Exit => {
                self.ended.insert(thread);
            }
            _ => {}
        }
    }

    /// A waiter goes on: with the signal that the fewest others could.
    fn wake(&mut self, thread: usize, condition: u64, alone: bool) {
        self.sleepers.entry(condition).or_default().remove(&thread);
        let signals = self.signals.entry(condition).or_default();
        if !alone && !self.woken.remove(&thread) {
            let usable = (0..signals.len()).filter(|at| signals[*at].contains(&thread));
            if let Some(taken) = usable.min_by_key(|at| signals[*at].len()) {
                signals.remove(taken);
            }
        }
        for sleepers in signals {
            sleepers.remove(&thread);
        }
    }
}
