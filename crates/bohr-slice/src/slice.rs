//! Back from a moment along all dependences: the dynamic half.

use crate::influence::{Influence, Reach};
use bohr_event::{EventKind, PlaceNumber, ThreadIndex};
use bohr_program::SiteNumber;
use bohr_reduce::dependence::Dependences;
use bohr_reduce::footprint::Footprints;
use bohr_reduce::{Chains, Execution};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

/// An execution whose events have sites.
#[derive(Clone, Copy)]
pub struct Trace<'t> {
    /// What happened, and what threads were about to do.
    pub execution: Execution<'t>,
    /// The site of a place, if the model knows it.
    pub site: &'t dyn Fn(PlaceNumber) -> Option<SiteNumber>,
    /// The first event that is looked at; those before it are not relevant, as
    /// far as anybody can tell.
    pub from: u32,
}

/// What to go back from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// An event, by its position.
    Event(u32),
    /// What a thread would do after its last event.
    End {
        /// Which thread.
        thread: ThreadIndex,
        /// Where, if the model knows the place.
        site: Option<SiteNumber>,
    },
}

/// Which events matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relevant {
    /// By event: the fewest dependences that lead from it to a moment.
    distances: Vec<Option<u32>>,
}

impl Relevant {
    /// Whether an event does.
    #[must_use]
    pub fn has(&self, event: u32) -> bool {
        self.distance(event).is_some()
    }

    /// The fewest dependences that lead from an event to a moment in question; `None`
    /// if none do.
    #[must_use]
    pub fn distance(&self, event: u32) -> Option<u32> {
        self.distances.get(event as usize).copied().flatten()
    }

    /// How many do.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.iter().count() as u64
    }

    /// Those that do, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..)
            .zip(&self.distances)
            .filter(|one| one.1.is_some())
            .map(|one| one.0)
    }
}

/// The events from which a path of dependences leads to one of the moments, and
/// the moments that are events. `influences` tells which sites can decide about
/// a site; an event without a site depends on all that its thread did before.
pub fn slice<I: AsRef<[Influence]>>(
    trace: Trace<'_>,
    moments: &[Moment],
    influences: impl Fn(SiteNumber) -> I,
) -> Relevant {
    let steps = trace.execution.steps;
    let edges = Edges::new(trace.execution);
    let mut search = Search {
        distances: vec![None; steps.len()],
        distance: 0,
        waiting: VecDeque::new(),
        visits: Visits::new(trace),
        from: trace.from,
        deciding: HashMap::new(),
        covered: HashMap::new(),
    };
    let end = steps.len() as u32;
    for moment in moments {
        match *moment {
            Moment::Event(event) => search.add(event),
            Moment::End { thread, site } => {
                edges
                    .held_at_end(thread)
                    .for_each(|event| search.add(event));
                search.influence(thread, end, site, &influences);
            }
        }
    }
    // Those that are nearer come first, so that every distance is the shortest.
    while let Some(event) = search.waiting.pop_front() {
        search.distance = search.distances[event as usize].unwrap_or_default() + 1;
        edges.of(event).for_each(|earlier| search.add(earlier));
        let step = &steps[event as usize];
        // Beginning and end of a thread are no instructions of it.
        if matches!(step.operation.kind, EventKind::Start | EventKind::Exit) {
            continue;
        }
        let site = (trace.site)(step.operation.place);
        search.influence(step.thread, event, site, &influences);
    }
    Relevant {
        distances: search.distances,
    }
}

/// A search under way.
struct Search {
    distances: Vec<Option<u32>>,
    /// Of what is added now.
    distance: u32,
    waiting: VecDeque<u32>,
    visits: Visits,
    from: u32,
    /// By site: what decides about it.
    deciding: HashMap<SiteNumber, Rc<Deciding>>,
    /// Up to which event all that decides about a site of a thread was added.
    covered: HashMap<(ThreadIndex, SiteNumber), u32>,
}

/// The sites that decide about another.
#[derive(Default)]
struct Deciding {
    /// By their latest event.
    latest: Vec<SiteNumber>,
    /// By all of them.
    all: Vec<SiteNumber>,
}

impl Deciding {
    fn new(influences: &[Influence]) -> Deciding {
        let mut deciding = Deciding::default();
        for influence in influences {
            match influence.reach {
                Reach::Latest => deciding.latest.push(influence.site),
                Reach::All => deciding.all.push(influence.site),
            }
        }
        deciding
    }
}

impl Search {
    fn add(&mut self, event: u32) {
        let known = &mut self.distances[event as usize];
        if event >= self.from && known.is_none() {
            *known = Some(self.distance);
            self.waiting.push_back(event);
        }
    }

    /// What decides about a step of a thread before `event`.
    fn influence<I: AsRef<[Influence]>>(
        &mut self,
        thread: ThreadIndex,
        event: u32,
        site: Option<SiteNumber>,
        influences: &impl Fn(SiteNumber) -> I,
    ) {
        let Some(site) = site else {
            let all = self.visits.of_thread(thread, event);
            all.into_iter().for_each(|event| self.add(event));
            return;
        };
        let known = self.deciding.entry(site);
        let known = known.or_insert_with(|| Rc::new(Deciding::new(influences(site).as_ref())));
        let deciding = known.clone();
        for &earlier in &deciding.latest {
            let found = self.visits.latest_of_site(thread, earlier, event);
            found.into_iter().for_each(|event| self.add(event));
        }
        let covered = self.covered.entry((thread, site)).or_default();
        if event <= *covered {
            return;
        }
        *covered = event;
        for &earlier in &deciding.all {
            let found = self.visits.all_of_site(thread, earlier, event);
            found.into_iter().for_each(|event| self.add(event));
        }
    }
}

/// Events of one thread, ascending, and how many of them are done with.
#[derive(Default)]
struct List {
    events: Vec<u32>,
    done: usize,
}

impl List {
    /// Those before `event` that nobody has asked for yet.
    fn all_before(&mut self, event: u32) -> Vec<u32> {
        let end = self.events.partition_point(|other| *other < event);
        let start = self.done.min(end);
        self.done = self.done.max(end);
        self.events[start..end].to_vec()
    }

    fn latest_before(&self, event: u32) -> Option<u32> {
        let end = self.events.partition_point(|other| *other < event);
        Some(self.events[end.checked_sub(1)?])
    }
}

/// When each thread came by each site.
#[derive(Default)]
struct Visits {
    sites: HashMap<(ThreadIndex, SiteNumber), List>,
    threads: HashMap<ThreadIndex, List>,
}

impl Visits {
    fn new(trace: Trace<'_>) -> Visits {
        let mut visits = Visits::default();
        for (event, step) in (0u32..).zip(trace.execution.steps) {
            let of_thread = visits.threads.entry(step.thread).or_default();
            of_thread.events.push(event);
            if let Some(site) = (trace.site)(step.operation.place) {
                let of_site = visits.sites.entry((step.thread, site)).or_default();
                of_site.events.push(event);
            }
        }
        visits
    }

    fn of_thread(&mut self, thread: ThreadIndex, event: u32) -> Vec<u32> {
        let list = self.threads.get_mut(&thread);
        list.map_or(Vec::new(), |list| list.all_before(event))
    }

    fn latest_of_site(&self, thread: ThreadIndex, site: SiteNumber, event: u32) -> Option<u32> {
        self.sites.get(&(thread, site))?.latest_before(event)
    }

    fn all_of_site(&mut self, thread: ThreadIndex, site: SiteNumber, event: u32) -> Vec<u32> {
        let list = self.sites.get_mut(&(thread, site));
        list.map_or(Vec::new(), |list| list.all_before(event))
    }
}

/// What each event depends on by the trace alone: the events of other threads
/// that it conflicts or synchronises with, what it reads, the creation of its
/// thread, the locks that it holds.
struct Edges {
    /// By event: where its edges end; they begin where those of the last end.
    ends: Vec<u32>,
    earlier: Vec<u32>,
    held: HashMap<ThreadIndex, Held>,
    created: HashMap<ThreadIndex, u32>,
}

/// The locks that a thread holds, and when it took each.
type Held = Vec<(u64, u32)>;

impl Edges {
    fn new(execution: Execution<'_>) -> Edges {
        let chains = Chains::new(execution.steps);
        let footprints = Footprints::new(execution, &chains);
        let mut dependences: Dependences<u32> = Dependences::new(footprints.variables());
        let mut edges = Edges {
            ends: Vec::with_capacity(execution.steps.len()),
            earlier: Vec::new(),
            held: HashMap::new(),
            created: HashMap::new(),
        };
        for (event, step) in (0u32..).zip(execution.steps) {
            let chain = chains.of[event as usize];
            for touch in footprints.touches(event as usize) {
                dependences.of(chain, touch, |_, earlier| edges.earlier.push(earlier));
                let reads = matches!(step.operation.kind, EventKind::Read | EventKind::Update);
                edges
                    .earlier
                    .extend(dependences.writer(touch.variable).filter(|_| reads));
            }
            for touch in footprints.touches(event as usize) {
                dependences.record(chain, event, touch);
            }
            edges.within_thread(event, step.thread, &step.operation);
            edges.ends.push(edges.earlier.len() as u32);
        }
        edges
    }

    fn within_thread(
        &mut self,
        event: u32,
        thread: ThreadIndex,
        operation: &bohr_event::Operation,
    ) {
        let held = self.held.entry(thread).or_default();
        self.earlier.extend(held.iter().map(|(_, taken)| *taken));
        match operation.kind {
            EventKind::Acquire | EventKind::AcquireShared => held.push((operation.object, event)),
            EventKind::Release | EventKind::ReleaseShared => {
                if let Some(last) = held.iter().rposition(|one| one.0 == operation.object) {
                    held.remove(last);
                }
            }
            EventKind::Fork => {
                let child = ThreadIndex::from_object(operation.object);
                self.created.extend(child.map(|child| (child, event)));
            }
            _ => {}
        }
        self.earlier.extend(self.created.get(&thread));
    }

    fn of(&self, event: u32) -> impl Iterator<Item = u32> + '_ {
        let event = event as usize;
        let start = event.checked_sub(1).map_or(0, |last| self.ends[last]);
        let own = &self.earlier[start as usize..self.ends[event] as usize];
        own.iter().copied()
    }

    /// What a thread holds when all is over, and its creation.
    fn held_at_end(&self, thread: ThreadIndex) -> impl Iterator<Item = u32> + '_ {
        let held = self.held.get(&thread).into_iter().flatten();
        let created = self.created.get(&thread).copied();
        held.map(|(_, taken)| *taken).chain(created)
    }
}
