//! Every thread keeps to the way that it went in a recorded run: another strategy
//! decides who goes on, and the run ends where somebody is about to do something
//! else. A thread that has come to the end of its record, as it had when the
//! recorded run ended, goes no further.
//!
//! Of the recorded way, the memory accesses are compared: other branches that lead
//! to the same accesses make no difference to anybody else.
//!
//! If the order was recorded in which threads synchronised, or in which they came by
//! their memory, nobody makes such a step before its turn.

use crate::{Decision, Grant, Stop, Strategy, Used, View};
use alloc::{boxed::Box, collections::BTreeMap, vec::Vec};
use bohr_event::{ChoiceKind, EventKind, Operation, ThreadIndex, ThreadPath};
use serde::{Deserialize, Serialize};

/// The recorded ways.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ways {
    /// The loaded object that the sites are of.
    pub object: u16,
    /// The sites that are compared, sorted; accesses elsewhere are let pass.
    pub sites: Vec<u32>,
    /// The sites that each thread came by, in its order.
    pub threads: BTreeMap<ThreadPath, Vec<u32>>,
    /// Whose turn it was.
    pub turns: Option<Turns>,
}

/// The order of what threads did to each other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turns {
    /// The turns, the first one first.
    pub turns: Vec<Turn>,
    /// Whether accesses at the compared sites have turns, too; then no ways are known.
    pub accesses: bool,
    /// Whether whoever has its turn goes on as long as it can, and others only do what
    /// has no turn while it waits for them.
    pub prompt: bool,
}

/// A thread makes so many steps of a kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// Who.
    pub thread: ThreadPath,
    /// Whether they take or give back a lock; they are accesses otherwise.
    pub synchronises: bool,
    /// How many.
    pub steps: u64,
}

/// What has its turn among the steps of a thread.
fn synchronises(kind: EventKind) -> bool {
    use EventKind::{Acquire, AcquireShared, Release, ReleaseShared};
    matches!(kind, Acquire | AcquireShared | Release | ReleaseShared)
}

/// Where a thread is on its way.
#[derive(Clone, Copy, Debug, Default)]
struct Traveller<'a> {
    way: &'a [u32],
    /// How many sites of it lie behind.
    passed: usize,
    /// Its name, if it has a turn.
    path: Option<&'a ThreadPath>,
}

/// What a thread's next step means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// It says nothing about the way.
    Aside,
    /// It is the next one.
    Along,
    /// The record ends before it.
    Beyond,
    /// It leads elsewhere.
    Astray,
    /// It is somebody else's turn.
    Early,
    /// It is its turn.
    InTurn,
}

/// See the module.
pub struct Guarded<'a> {
    ways: &'a Ways,
    strategy: Box<dyn Strategy + 'a>,
    threads: Vec<Traveller<'a>>,
    enabled: Vec<ThreadIndex>,
    /// What the strategy has granted, as far as it is not used up.
    left: Option<Grant>,
    /// Events since the strategy was asked.
    executed: u64,
    /// Who was let go on, and what that step meant.
    step: Option<(ThreadIndex, Step)>,
    /// Turns that are over, and steps of the next one that are.
    over: usize,
    made: u64,
}

impl<'a> Guarded<'a> {
    /// Has `strategy` decide between those who keep to their ways.
    #[must_use]
    pub fn new(ways: &'a Ways, strategy: Box<dyn Strategy + 'a>) -> Guarded<'a> {
        Guarded {
            ways,
            strategy,
            threads: Vec::new(),
            enabled: Vec::new(),
            left: None,
            executed: 0,
            step: None,
            over: 0,
            made: 0,
        }
    }

    /// Whose turn it is.
    fn turn(&self) -> Option<&'a Turn> {
        self.ways.turns.as_ref()?.turns.get(self.over)
    }

    /// What the next step means if it is one that has a turn.
    fn ordered(&self, thread: ThreadIndex, operation: &Operation) -> Option<Step> {
        let turn = self.turn()?;
        let synchronises = synchronises(operation.kind);
        let access = self.ways.turns.as_ref().is_some_and(|turns| turns.accesses);
        if !(synchronises || access && self.site(operation).is_some()) {
            return None;
        }
        let own = self.threads.get(thread.position());
        Some(
            match own.is_some_and(|own| own.path == Some(&turn.thread)) {
                false => Step::Early,
                true if turn.synchronises == synchronises => Step::InTurn,
                true => Step::Astray,
            },
        )
    }

    /// The compared site of an access, if it is at one.
    fn site(&self, operation: &Operation) -> Option<u32> {
        let (object, site) = (operation.place.object(), operation.place.offset());
        u32::try_from(site).ok().filter(|site| {
            let compared = self.ways.sites.binary_search(site).is_ok();
            // A store that waits in a buffer is an access, too.
            let accesses = operation.kind.is_access() || operation.kind == EventKind::Store;
            compared && object == self.ways.object && accesses
        })
    }

    fn step(&self, thread: ThreadIndex, operation: &Operation) -> Step {
        if let Some(step) = self.ordered(thread, operation) {
            return step;
        }
        if self.ways.turns.as_ref().is_some_and(|turns| turns.accesses) {
            return Step::Aside;
        }
        let site = self.site(operation);
        let traveller = self.threads.get(thread.position()).copied();
        let next = traveller.and_then(|it| it.way.get(it.passed).copied());
        match (site, next) {
            (None, _) => Step::Aside,
            (Some(_), None) => Step::Beyond,
            (Some(site), Some(next)) if site == next => Step::Along,
            _ => Step::Astray,
        }
    }

    /// Takes in what became of the last single event.
    fn account(&mut self, view: &View<'_>) {
        let Some(last) = view.last.filter(|last| last.events > 0) else {
            return;
        };
        self.executed += last.events;
        if let Some(grant) = &mut self.left {
            grant.events = grant.events.saturating_sub(last.events);
        }
        match self
            .step
            .take()
            .filter(|(thread, _)| *thread == last.thread)
        {
            Some((thread, Step::Along)) => {
                if let Some(traveller) = self.threads.get_mut(thread.position()) {
                    traveller.passed += 1;
                }
            }
            Some((_, Step::InTurn)) => {
                self.made += 1;
                if self.turn().is_some_and(|turn| turn.steps <= self.made) {
                    self.over += 1;
                    self.made = 0;
                }
            }
            _ => {}
        }
    }

    fn prefer_whose_turn_it_is(&mut self) {
        let prompt = self.ways.turns.as_ref().is_some_and(|turns| turns.prompt);
        let Some(turn) = self.turn().filter(|_| prompt) else {
            return;
        };
        let threads = &self.threads;
        let its = |thread: &ThreadIndex| {
            let traveller = threads.get(thread.position());
            traveller.is_some_and(|it| it.path == Some(&turn.thread))
        };
        if self.enabled.iter().any(its) {
            self.enabled.retain(its);
        }
    }

    /// Whether what the strategy has granted still covers the next event.
    fn covers(&self, grant: &Grant, view: &View<'_>) -> bool {
        grant.events > 0
            && self.enabled.contains(&grant.thread)
            && !view.spins(grant.thread)
            && (!grant.accesses_only || view.operation(grant.thread).kind.is_access())
    }
}

impl Strategy for Guarded<'_> {
    fn thread_started(&mut self, thread: ThreadIndex, path: &ThreadPath) {
        if self.threads.len() <= thread.position() {
            self.threads
                .resize(thread.position() + 1, Traveller::default());
        }
        let way = self.ways.threads.get(path).map_or(&[][..], |way| way);
        let turns = self.ways.turns.iter().flat_map(|turns| &turns.turns);
        let mut names = turns.map(|turn| &turn.thread);
        self.threads[thread.position()] = Traveller {
            way,
            passed: 0,
            path: names.find(|name| *name == path),
        };
        self.strategy.thread_started(thread, path);
    }

    fn decide(&mut self, view: &View<'_>) -> Decision {
        self.account(view);
        self.enabled.clear();
        for &thread in view.enabled {
            let step = match view.is_buffer(thread) {
                true => Step::Aside,
                false => self.step(thread, view.operation(thread)),
            };
            match step {
                Step::Astray => return Decision::Stop(Stop::Pruned),
                Step::Beyond | Step::Early => {}
                Step::Aside | Step::Along | Step::InTurn => self.enabled.push(thread),
            }
        }
        self.prefer_whose_turn_it_is();
        if self.enabled.is_empty() {
            return Decision::Stop(Stop::Pruned);
        }
        let covered = self.left.filter(|grant| self.covers(grant, view));
        let grant = match covered {
            Some(grant) => grant,
            None => {
                let events = core::mem::take(&mut self.executed);
                let last = view.last.map(|last| Used { events, ..last });
                let enabled = &self.enabled;
                match self.strategy.decide(&View {
                    enabled,
                    last,
                    ..*view
                }) {
                    Decision::Run(grant) => grant,
                    stop => return stop,
                }
            }
        };
        self.left = Some(grant);
        let step = self.step(grant.thread, view.operation(grant.thread));
        self.step = (!view.is_buffer(grant.thread)).then_some((grant.thread, step));
        Decision::Run(Grant::once(grant.thread))
    }

    fn is_asked_alone(&self) -> bool {
        true
    }

    fn choose(&mut self, thread: ThreadIndex, kind: ChoiceKind, options: u32) -> u32 {
        self.strategy.choose(thread, kind, options)
    }

    fn report(&mut self, end: &View<'_>) -> &[u8] {
        self.strategy.report(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Outcome, Program, Run, lost_update, path, run};
    use crate::{Plan, Rule};
    use proptest::prelude::*;

    /// The code of the toy machine's thread with this number is its loaded object of
    /// the same number; that thread is the guarded one.
    const GUARDED: u16 = 1;

    /// The sites that the guarded thread of a run came by.
    fn ways(ran: &Run<'_>) -> Ways {
        let places = ran.machine.trace.iter().map(|(_, operation)| operation);
        let own = places.filter(|one| one.place.object() == GUARDED && one.kind.is_access());
        let way: Vec<u32> = own.map(|one| one.place.offset() as u32).collect();
        let mut sites = way.clone();
        sites.sort_unstable();
        Ways {
            object: GUARDED,
            sites,
            threads: [(path(ThreadIndex(GUARDED.into())), way)].into(),
            turns: None,
        }
    }

    proptest! {
        #[test]
        fn threads_keep_to_their_ways_and_the_recorded_run_is_one_of_them(
            recorded: u64,
            seed: u64,
            rule in prop::sample::select(alloc::vec![Rule::Random, Rule::Pos, Rule::Sequential]),
        ) {
            let program = lost_update();
            let original = run(&program, &mut *Plan::new(Rule::Random).strategy(recorded));
            let recorded = ways(&original);
            let along = |plan: Plan| Plan { ways: Some(recorded.clone()), ..plan };
            let again = along(Plan::replay(original.machine.schedule()));
            let again = run(&program, &mut *again.strategy(0));
            prop_assert_eq!(&again.machine.trace, &original.machine.trace);
            let other = along(Plan::new(rule));
            let other = run(&program, &mut *other.strategy(seed));
            for (thread, way) in ways(&other).threads {
                prop_assert!(recorded.threads[&thread].starts_with(&way));
            }
        }
    }

    /// Two threads that take two locks, one after the other.
    fn two_locks() -> Program {
        use crate::machine::Step::{Add, Fork, Join, Lock, Read, Unlock};
        let taking = |lock| [Lock(lock), Read(lock), Add(lock, 1), Unlock(lock)];
        alloc::vec![
            alloc::vec![Fork(1), Fork(2), Join(1), Join(2)],
            [taking(0), taking(1)].concat(),
            [taking(1), taking(0)].concat(),
        ]
    }

    /// Who took or gave back which lock, in which order.
    fn locking(ran: &Run<'_>) -> Vec<(ThreadIndex, u64, EventKind)> {
        let steps = ran.machine.trace.iter();
        let steps = steps.filter(|(_, operation)| synchronises(operation.kind));
        steps
            .map(|(thread, operation)| (*thread, operation.object, operation.kind))
            .collect()
    }

    proptest! {
        #[test]
        fn locks_are_taken_in_the_recorded_order(
            recorded: u64,
            seed: u64,
            rule in prop::sample::select(alloc::vec![Rule::Random, Rule::Pos, Rule::Sequential]),
            prompt: bool,
        ) {
            let program = two_locks();
            let original = run(&program, &mut *Plan::new(Rule::Random).strategy(recorded));
            let turns = locking(&original).into_iter().map(|(thread, _, _)| Turn {
                thread: path(thread),
                synchronises: true,
                steps: 1,
            });
            let turns = Turns { turns: turns.collect(), accesses: false, prompt };
            let plan = Plan {
                ways: Some(Ways {
                    object: u16::MAX,
                    sites: Vec::new(),
                    threads: BTreeMap::new(),
                    turns: Some(turns),
                }),
                ..Plan::new(rule)
            };
            let again = run(&program, &mut *plan.strategy(seed));
            prop_assert!(matches!(again.outcome, Outcome::Ended(_)));
            prop_assert_eq!(locking(&again), locking(&original));
        }
    }

    #[test]
    fn nobody_goes_beyond_the_record_or_astray() {
        let program = lost_update();
        let original = run(&program, &mut *Plan::new(Rule::Sequential).strategy(0));
        let whole = ways(&original);
        assert!(whole.threads.values().all(|way| way.len() == 2));
        let mut plan = Plan::new(Rule::Sequential);
        for change in [
            |way: &mut Vec<u32>| way.truncate(1),
            |way: &mut Vec<u32>| way.reverse(),
        ] {
            let mut ways = whole.clone();
            ways.threads.values_mut().for_each(change);
            plan.ways = Some(ways);
            let stopped = run(&program, &mut *plan.strategy(0)).outcome;
            assert_eq!(stopped, Outcome::Stopped);
        }
    }
}
