//! Who wants which lock while holding which others: what is kept of an execution,
//! event by event.

use super::awaited::Orders;
use super::step::LockStep;
use super::timeline::Timeline;
use crate::happens_before::HappensBefore;
use bohr_event::control::Step;
use bohr_event::{EventKind, PlaceNumber, ThreadIndex};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Dependencies that are kept.
const MOST: usize = 1 << 14;

/// Of those at the same places with the same locks, whichever threads they are of.
const MOST_ALIKE: usize = 64;

/// A lock of the execution. An address whose memory changes hands is another one then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lock(u32);

/// A lock that a thread has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    pub lock: Lock,
    pub shared: bool,
    /// How it was taken.
    pub event: u32,
}

impl Hold {
    /// Whether nobody can have the one while somebody else has the other.
    pub fn excludes(&self, lock: Lock, shared: bool) -> bool {
        self.lock == lock && !(self.shared && shared)
    }
}

/// A thread that wants a lock and has others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependency {
    pub thread: ThreadIndex,
    /// How it took the lock in the end.
    pub event: u32,
    pub lock: Lock,
    pub shared: bool,
    /// In the order in which they were taken.
    pub held: Vec<Hold>,
}

/// A lock, as somebody has it or wants it somewhere.
type Use = (Lock, bool, PlaceNumber);

/// What makes dependencies alike: the wanted lock first.
type Role = Vec<Use>;

/// See the module.
#[derive(Default)]
pub struct Watch {
    pub timeline: Timeline,
    pub dependencies: Vec<Dependency>,
    /// When a thread gave locks back, by whether it had shared them; ascending.
    releases: HashMap<(ThreadIndex, Lock, bool), Vec<u32>>,
    known: HappensBefore,
    /// How many have a lock, at most.
    holders: HashMap<Lock, usize>,
    held: HashMap<ThreadIndex, Vec<(Hold, PlaceNumber)>>,
    /// By address.
    locks: BTreeMap<u64, Lock>,
    /// The addresses of those that are made of atomics.
    words: HashSet<u64>,
    count: u32,
    alike: HashMap<Role, usize>,
    seen: HashSet<(ThreadIndex, (usize, usize), Role)>,
    orders: Orders,
}

impl Watch {
    /// Of an execution in which these variables are awaited.
    pub fn ordered_by(orders: Orders) -> Watch {
        Watch {
            orders,
            ..Watch::default()
        }
    }

    /// What is known of awaited variables.
    pub fn into_orders(self) -> Orders {
        self.orders
    }

    /// Takes in the next event, which does this to a lock.
    pub fn take_in(&mut self, event: u32, step: &Step, told: Option<LockStep>) {
        let operation = &step.operation;
        if told.is_some() && operation.kind.is_access() {
            self.words.insert(operation.object);
        }
        match (told, operation.kind) {
            (Some(LockStep::Take { shared, waits }), _) => self.take(event, step, shared, waits),
            (Some(LockStep::Pass), _) => {
                let lock = self.lock(operation.object);
                self.want(event, step, (lock, false, operation.place));
            }
            (Some(LockStep::Give), _) => self.give(event, step),
            (Some(LockStep::Inside), _) => {}
            (None, EventKind::Alloc | EventKind::Free) => {
                let end = operation.object.saturating_add(u64::from(operation.size));
                self.forget(operation.object..end);
            }
            // Whoever sleeps on the word of a lock waits for the lock.
            (None, EventKind::Wait | EventKind::Signal | EventKind::Broadcast)
                if self.words.contains(&operation.object) => {}
            (None, kind) => {
                if kind == EventKind::Exit {
                    self.held.remove(&step.thread);
                }
                self.known.watch(step);
            }
        }
        if self.orders.is_marked(event) {
            if let Some(learnt) = self.orders.learnt(event) {
                self.known.find(step.thread, &learnt);
            }
            let left = self.known.leave(step.thread);
            self.orders.mark(event, step.thread, left);
        }
    }

    /// The last time before an event that its thread gave a lock back which it had had
    /// so that somebody with this hold would have kept it out.
    pub fn last_release(&self, thread: ThreadIndex, hold: &Hold, before: u32) -> Option<u32> {
        let last = |shared| {
            let all = self.releases.get(&(thread, hold.lock, shared))?;
            let behind = all.partition_point(|event| *event < before);
            Some(all[behind.checked_sub(1)?])
        };
        match hold.shared {
            true => last(false),
            false => last(false).max(last(true)),
        }
    }

    fn lock(&mut self, address: u64) -> Lock {
        *self.locks.entry(address).or_insert_with(|| {
            self.count += 1;
            Lock(self.count)
        })
    }

    fn forget(&mut self, memory: std::ops::Range<u64>) {
        while let Some((&address, _)) = self.locks.range(memory.clone()).next() {
            self.locks.remove(&address);
        }
    }

    fn take(&mut self, event: u32, step: &Step, shared: bool, waits: bool) {
        let (operation, thread) = (&step.operation, step.thread);
        let lock = self.lock(operation.object);
        let own = self.held.entry(thread).or_default();
        if own.iter().any(|(hold, _)| hold.excludes(lock, shared)) {
            // Another attempt at a lock made of atomics, or one that nobody gave back.
            return;
        }
        // What somebody took for sure nobody else has, whatever was seen of that. An
        // attempt at a lock made of atomics may have been in vain.
        let known = self.holders.entry(lock).or_default();
        if *known > 0 && !operation.kind.is_access() {
            *known = 0;
            for others in self.held.values_mut() {
                others.retain(|(hold, _)| !hold.excludes(lock, shared));
                let left = others.iter().filter(|(hold, _)| hold.lock == lock);
                *known += left.count();
            }
        }
        *known += 1;
        match waits {
            true => self.want(event, step, (lock, shared, operation.place)),
            false => self.timeline.note((thread, event), &mut self.known),
        }
        let hold = Hold {
            lock,
            shared,
            event,
        };
        let own = self.held.entry(thread).or_default();
        own.push((hold, operation.place));
    }

    /// A thread wants a lock, whatever it has.
    fn want(&mut self, event: u32, step: &Step, wanted: Use) {
        let thread = step.thread;
        self.timeline.note((thread, event), &mut self.known);
        let own = self.held.get(&thread).map_or(&[][..], Vec::as_slice);
        if own.is_empty() || self.dependencies.len() >= MOST || self.timeline.is_full() {
            return;
        }
        let mut role = vec![wanted];
        let uses = own.iter().map(|(hold, at)| (hold.lock, hold.shared, *at));
        role.extend(uses);
        let alike = self.alike.get(&role).copied().unwrap_or(0);
        let stretch = self.timeline.stretch(thread);
        if alike >= MOST_ALIKE || !self.seen.insert((thread, stretch, role.clone())) {
            return;
        }
        self.alike.insert(role, alike + 1);
        self.dependencies.push(Dependency {
            thread,
            event,
            lock: wanted.0,
            shared: wanted.1,
            held: own.iter().map(|(hold, _)| *hold).collect(),
        });
    }

    /// A lock is given back, mostly by who has it.
    fn give(&mut self, event: u32, step: &Step) {
        let lock = self.lock(step.operation.object);
        let own = self.held.entry(step.thread).or_default();
        let is_it = |(hold, _): &(Hold, PlaceNumber)| hold.lock == lock;
        match own.iter().rposition(is_it) {
            Some(position) => {
                let (hold, _) = own.remove(position);
                let known = self.holders.entry(lock).or_default();
                *known = known.saturating_sub(1);
                let key = (step.thread, lock, hold.shared);
                self.releases.entry(key).or_default().push(event);
                self.timeline.note((step.thread, event), &mut self.known);
            }
            None => {
                for others in self.held.values_mut() {
                    others.retain(|one| !is_it(one));
                }
            }
        }
    }
}
