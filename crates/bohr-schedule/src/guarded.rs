//! Every thread keeps to the way that it went in a recorded run: another strategy
//! decides who goes on, and the run ends where somebody is about to do something
//! else. A thread that has come to the end of its record, as it had when the
//! recorded run ended, goes no further.
//!
//! Of the recorded way, the memory accesses are compared: other branches that lead
//! to the same accesses make no difference to anybody else.

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
}

/// Where a thread is on its way.
#[derive(Clone, Copy, Debug, Default)]
struct Traveller<'a> {
    way: &'a [u32],
    /// How many sites of it lie behind.
    passed: usize,
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
    /// Who was let go on, if that was a step along its way.
    along: Option<ThreadIndex>,
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
            along: None,
        }
    }

    fn step(&self, thread: ThreadIndex, operation: &Operation) -> Step {
        let (object, site) = (operation.place.object(), operation.place.offset());
        let site = u32::try_from(site).ok().filter(|site| {
            let compared = self.ways.sites.binary_search(site).is_ok();
            // A store that waits in a buffer is an access, too.
            let accesses = operation.kind.is_access() || operation.kind == EventKind::Store;
            compared && object == self.ways.object && accesses
        });
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
        let along = self.along.take().filter(|thread| *thread == last.thread);
        if let Some(traveller) = along.and_then(|thread| self.threads.get_mut(thread.position())) {
            traveller.passed += 1;
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
        self.threads[thread.position()] = Traveller { way, passed: 0 };
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
                Step::Beyond => {}
                Step::Aside | Step::Along => self.enabled.push(thread),
            }
        }
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
        let along = self.step(grant.thread, view.operation(grant.thread)) == Step::Along;
        self.along = (along && !view.is_buffer(grant.thread)).then_some(grant.thread);
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
    use crate::machine::{Outcome, Run, lost_update, path, run};
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
