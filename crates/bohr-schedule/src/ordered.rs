//! Follows an order of events that was computed rather than seen: whose turn it is,
//! and up to what. Between two turns of a thread it may do what nobody else can
//! notice, so nothing has to be known of the events that are not in the order.
//!
//! A thread whose turn it is runs until it has done what its turn is about. If it
//! cannot go on, the stores that wait in its buffer are made visible, and then others
//! go on until it can; whether the run still comes to what the order was made for is
//! for those to say who made it.

use crate::sequential::next_in_turn;
use crate::{Decision, Followed, Grant, Strategy, View, report};
use alloc::{collections::BTreeMap, vec::Vec};
use bohr_event::{ChoiceKind, EventKind, Operation, ThreadIndex, ThreadPath};
use serde::{Deserialize, Serialize};

/// What a turn is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Until {
    /// The thread comes by a site for so many times, counted from 1.
    Visit {
        /// The site's number.
        site: u32,
        /// Which visit of this thread.
        number: u32,
    },
    /// It does something of this kind for so many times, counted from 1.
    Kind {
        /// What.
        kind: EventKind,
        /// Which of this thread.
        number: u32,
    },
    /// The store of such a visit is visible to all.
    Visible {
        /// The site's number.
        site: u32,
        /// Which visit of this thread.
        number: u32,
    },
    /// It ends, or the run does.
    End,
}

/// A turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Due {
    /// Whose.
    pub thread: ThreadPath,
    /// Up to what.
    pub until: Until,
}

/// Whom a signal wakes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wakes {
    /// Who signals.
    pub thread: ThreadPath,
    /// Which of that thread's signals, counted from 1.
    pub number: u32,
    /// Who goes on.
    pub waiter: ThreadPath,
}

/// A computed order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turns {
    /// The loaded object that the sites are of.
    pub object: u16,
    /// The turns.
    pub turns: Vec<Due>,
    /// Signals that several threads wait for.
    pub wakes: Vec<Wakes>,
}

/// A store that waits in its thread's buffer.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    site: u32,
    number: u32,
    address: u64,
}

/// How far a thread has come.
#[derive(Clone, Debug, Default)]
struct Traveller {
    path: ThreadPath,
    visits: BTreeMap<u32, u32>,
    kinds: BTreeMap<u8, u32>,
    stores: Vec<Waiting>,
}

impl Traveller {
    fn visits(&self, site: u32) -> u32 {
        self.visits.get(&site).copied().unwrap_or(0)
    }

    fn times(&self, kind: EventKind) -> u32 {
        self.kinds.get(&(kind as u8)).copied().unwrap_or(0)
    }

    fn waiting(&self, site: u32, number: u32) -> Option<Waiting> {
        let mut stores = self.stores.iter().copied();
        stores.find(|store| store.site == site && store.number == number)
    }

    /// Whether it has done what a turn is about.
    fn has(&self, until: &Until) -> bool {
        match *until {
            Until::Visit { site, number } => self.visits(site) >= number,
            Until::Kind { kind, number } => self.times(kind) >= number,
            Until::Visible { site, number } => {
                self.visits(site) >= number && self.waiting(site, number).is_none()
            }
            Until::End => false,
        }
    }
}

/// See the module.
pub struct Ordered<'a> {
    order: &'a Turns,
    /// Turns that are over.
    next: usize,
    threads: Vec<Traveller>,
    indices: BTreeMap<ThreadPath, ThreadIndex>,
    /// Who waits for which condition, the longest first.
    waiters: Vec<(u64, ThreadIndex)>,
    /// What was let happen at the last decision.
    granted: Option<(ThreadIndex, Operation)>,
    /// Whether the signal that was let happen has chosen its waiter.
    chosen: bool,
    followed: Followed,
    report: Vec<u8>,
}

impl<'a> Ordered<'a> {
    /// Follows `order`, and goes on without preemption behind its end.
    #[must_use]
    pub fn new(order: &'a Turns) -> Ordered<'a> {
        Ordered {
            order,
            next: 0,
            threads: Vec::new(),
            indices: BTreeMap::new(),
            waiters: Vec::new(),
            granted: None,
            chosen: false,
            followed: Followed::default(),
            report: Vec::new(),
        }
    }

    /// Takes in what became of the last single event.
    fn account(&mut self, view: &View<'_>) {
        let Some(last) = view.last.filter(|last| last.events > 0) else {
            return;
        };
        let granted = self.granted.take();
        if let Some((thread, operation)) = granted.filter(|it| it.0 == last.thread) {
            match self.owner(thread) {
                Some(owner) => self.visible(owner, operation.object),
                None => self.happened(thread, &operation),
            }
        }
        let waits = view.pending.get(last.running.position());
        if let Some(pending) = waits.filter(|it| it.operation.kind == EventKind::Wait) {
            let entry = (pending.operation.object, last.running);
            if !self.waiters.contains(&entry) {
                self.waiters.push(entry);
            }
        }
    }

    /// The thread whose store buffer this is.
    fn owner(&self, thread: ThreadIndex) -> Option<ThreadIndex> {
        let path = self.threads.get(thread.position())?.path.buffer_of()?;
        self.indices.get(&path).copied()
    }

    fn visible(&mut self, owner: ThreadIndex, address: u64) {
        let stores = &mut self.threads[owner.position()].stores;
        if let Some(oldest) = stores.iter().position(|store| store.address == address) {
            stores.remove(oldest);
        }
    }

    fn happened(&mut self, thread: ThreadIndex, operation: &Operation) {
        let object = self.order.object;
        let traveller = &mut self.threads[thread.position()];
        *traveller.kinds.entry(operation.kind as u8).or_default() += 1;
        let site = u32::try_from(operation.place.offset());
        if let Some(site) = site.ok().filter(|_| operation.place.object() == object) {
            let number = traveller.visits.entry(site).or_default();
            *number += 1;
            if operation.kind == EventKind::Store {
                traveller.stores.push(Waiting {
                    site,
                    number: *number,
                    address: operation.object,
                });
            }
        }
        match operation.kind {
            EventKind::Wait => self.waiters.retain(|waiter| waiter.1 != thread),
            EventKind::Broadcast => self.waiters.retain(|waiter| waiter.0 != operation.object),
            EventKind::Signal if !self.chosen => self.wake(operation.object, 0),
            _ => {}
        }
    }

    /// A waiter is woken, by its position among those of the condition.
    fn wake(&mut self, condition: u64, position: usize) {
        let mut all = (0..self.waiters.len()).filter(|at| self.waiters[*at].0 == condition);
        if let Some(at) = all.nth(position) {
            self.waiters.remove(at);
        }
    }

    /// Who has to go on for a turn to be over, if that is possible now.
    fn acting(&self, view: &View<'_>, due: &Due) -> Option<ThreadIndex> {
        let thread = *self.indices.get(&due.thread)?;
        let traveller = &self.threads[thread.position()];
        let wanted = match due.until {
            Until::Visible { site, number } => traveller.waiting(site, number),
            _ => None,
        };
        if wanted.is_none() && view.is_enabled(thread) {
            return Some(thread);
        }
        let is_own = |one: &ThreadIndex| view.is_buffer(*one) && self.owner(*one) == Some(thread);
        let mut queues = view.enabled.iter().copied().filter(is_own);
        let Some(wanted) = wanted else {
            return queues.next();
        };
        // What was left out of the order may wait in front of it.
        let oldest = |queue: &ThreadIndex| {
            let address = view.operation(*queue).object;
            let mut stores = traveller.stores.iter();
            stores.position(|store| store.address == address)
        };
        let is_it = |store: &Waiting| (store.site, store.number) == (wanted.site, wanted.number);
        let last = traveller.stores.iter().position(is_it);
        let in_front = queues.filter_map(|queue| Some((oldest(&queue)?, queue)));
        let due = in_front.filter(|(store, _)| Some(*store) <= last);
        // It goes itself if it can.
        let first = due.min_by_key(|(store, _)| (Some(*store) != last, *store));
        first.map(|(_, queue)| queue)
    }

    fn next(&mut self, view: &View<'_>) -> ThreadIndex {
        while let Some(due) = self.order.turns.get(self.next) {
            let thread = self.indices.get(&due.thread);
            let traveller = thread.map(|thread| &self.threads[thread.position()]);
            if traveller.is_some_and(|it| it.has(&due.until)) {
                self.next += 1;
                self.followed.matched += 1;
                continue;
            }
            if let Some(thread) = self.acting(view, due) {
                return thread;
            }
            self.followed.bent += 1;
            break;
        }
        next_in_turn(view)
    }
}

impl Strategy for Ordered<'_> {
    fn thread_started(&mut self, thread: ThreadIndex, path: &ThreadPath) {
        let needed = self.threads.len().max(thread.position() + 1);
        self.threads.resize(needed, Traveller::default());
        self.threads[thread.position()] = Traveller {
            path: path.clone(),
            ..Traveller::default()
        };
        self.indices.insert(path.clone(), thread);
    }

    fn decide(&mut self, view: &View<'_>) -> Decision {
        self.account(view);
        let thread = self.next(view);
        self.granted = Some((thread, *view.operation(thread)));
        self.chosen = false;
        Decision::Run(Grant::once(thread))
    }

    fn is_asked_alone(&self) -> bool {
        true
    }

    fn choose(&mut self, thread: ThreadIndex, kind: ChoiceKind, options: u32) -> u32 {
        let Some((_, operation)) = self.granted.filter(|it| it.0 == thread) else {
            return 0;
        };
        if kind != ChoiceKind::Waiter || operation.kind != EventKind::Signal {
            return 0;
        }
        let signaller = &self.threads[thread.position()];
        let number = signaller.times(EventKind::Signal) + 1;
        let wish = |wakes: &&Wakes| wakes.thread == signaller.path && wakes.number == number;
        let waiter = self.order.wakes.iter().find(wish).map(|it| &it.waiter);
        let waiter = waiter.and_then(|path| self.indices.get(path));
        let mut here = self.waiters.iter().filter(|it| it.0 == operation.object);
        let position = here.position(|it| Some(&it.1) == waiter).unwrap_or(0);
        let position = position.min(options.saturating_sub(1) as usize);
        self.wake(operation.object, position);
        self.chosen = true;
        position as u32
    }

    fn report(&mut self, _: &View<'_>) -> &[u8] {
        self.followed.skipped = (self.order.turns.len() - self.next) as u64;
        self.report = report::write(&self.followed);
        &self.report
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Outcome, Program, Step, lost_update, path, run};
    use crate::{Pending, Plan, Rule, Strategy as _, Used};
    use alloc::vec;
    use bohr_event::PlaceNumber;
    use proptest::prelude::*;

    /// The order of a run of the toy machine: every event is a turn. Sites there are of
    /// the object with their thread's number, so kinds have to do.
    fn order_of(trace: &[(ThreadIndex, Operation)]) -> Turns {
        let mut counts: BTreeMap<(ThreadIndex, u8), u32> = BTreeMap::new();
        let turns = trace.iter().map(|(thread, operation)| {
            let number = counts.entry((*thread, operation.kind as u8)).or_default();
            *number += 1;
            let until = Until::Kind {
                kind: operation.kind,
                number: *number,
            };
            let thread = path(*thread);
            Due { thread, until }
        });
        Turns {
            object: u16::MAX,
            turns: turns.collect(),
            wakes: Vec::new(),
        }
    }

    proptest! {
        #[test]
        fn an_order_that_was_seen_is_followed(seed: u64) {
            let program = lost_update();
            let plan = Plan::new(Rule::Random);
            let seen = run(&program, &mut *plan.strategy(seed)).machine.trace;
            let order = order_of(&seen);
            let again = run(&program, &mut Ordered::new(&order)).machine.trace;
            prop_assert_eq!(seen, again);
        }
    }

    /// A thread stores twice, and the order knows of the second store alone: the first,
    /// which waits in front of it, becomes visible before the thread goes on.
    #[test]
    fn stores_that_the_order_leaves_out_do_not_keep_others_waiting() {
        const OBJECT: u16 = 0;
        let place = |site: u64| PlaceNumber::new(OBJECT, site);
        let access = |kind, site: u64| Operation::plain(kind, 8, 0x1000 * site, place(site));
        let (main, worker, buffer) = (ThreadIndex(0), ThreadIndex(1), ThreadIndex(2));
        let due = |until| Due {
            thread: path(worker),
            until,
        };
        let order = Turns {
            object: OBJECT,
            turns: vec![
                due(Until::Visit { site: 2, number: 1 }),
                due(Until::Visible { site: 2, number: 1 }),
                Due {
                    thread: ThreadPath::MAIN,
                    until: Until::End,
                },
            ],
            wakes: Vec::new(),
        };
        let mut ordered = Ordered::new(&order);
        ordered.thread_started(main, &ThreadPath::MAIN);
        ordered.thread_started(worker, &path(worker));
        ordered.thread_started(buffer, &path(worker).buffer(0));
        let mut last: Option<Used> = None;
        let mut decides = |next: u64, written: Option<u64>| {
            let kind = match next {
                1 | 2 => EventKind::Store,
                _ => EventKind::Read,
            };
            let write = |site| Pending::of_buffer(access(EventKind::Write, site));
            let pending = [
                Pending::new(access(EventKind::Read, 9)),
                Pending::new(access(kind, next)),
                write(written.unwrap_or(1)),
            ];
            let enabled = [main, worker, buffer];
            let count = 2 + usize::from(written.is_some());
            let decision = ordered.decide(&View {
                pending: &pending,
                enabled: &enabled[..count],
                last,
            });
            let Decision::Run(grant) = decision else {
                panic!("{decision:?}");
            };
            last = Some(Used {
                thread: grant.thread,
                running: if grant.thread == main { main } else { worker },
                events: 1,
                place: place(next),
            });
            grant.thread
        };
        assert_eq!(decides(1, None), worker);
        assert_eq!(decides(2, Some(1)), worker);
        assert_eq!(decides(3, Some(1)), buffer);
        assert_eq!(decides(3, Some(2)), buffer);
        assert_eq!(decides(3, None), main);
    }

    /// Two threads wait; the signal is for the one that began later.
    #[test]
    fn a_signal_wakes_whom_the_order_says() {
        let waits = vec![
            Step::Lock(0),
            Step::Wait {
                condition: 0,
                lock: 0,
            },
            Step::Unlock(0),
        ];
        let fails = [&waits[..], &[Step::FailIf(0)]].concat();
        let main = vec![Step::Fork(1), Step::Fork(2), Step::Signal(0)];
        let program: Program = vec![main, waits, fails];
        let due = |number: u32, kind: EventKind| Due {
            thread: path(ThreadIndex(number)),
            until: Until::Kind { kind, number: 1 },
        };
        let turns = vec![
            due(1, EventKind::Release),
            due(2, EventKind::Release),
            due(0, EventKind::Signal),
            due(2, EventKind::Wait),
            Due {
                thread: path(ThreadIndex(2)),
                until: Until::End,
            },
        ];
        let wakes = vec![Wakes {
            thread: ThreadPath::MAIN,
            number: 1,
            waiter: path(ThreadIndex(2)),
        }];
        let order = Turns {
            object: u16::MAX,
            turns,
            wakes,
        };
        let other = Turns {
            wakes: Vec::new(),
            ..order.clone()
        };
        let told = run(&program, &mut Ordered::new(&order)).outcome;
        // Thread 2, at its last step.
        assert_eq!(told, Outcome::Failed(2 << 16 | 3));
        let untold = run(&program, &mut Ordered::new(&other)).outcome;
        assert_eq!(untold, Outcome::Deadlock);
    }
}
