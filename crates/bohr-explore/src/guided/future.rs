//! What the threads of a good run do from a moment on: whom it is worth calling.

use super::candidates::{Candidate, Choice};
use super::{Passing, Places, Ranked};
use bohr_event::{EventKind, PlaceNumber, ThreadIndex};
use bohr_schedule::{Preemption, Return};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// See the module.
pub(super) struct Future<'r> {
    passing: Passing<'r>,
    /// When each thread accesses each critical variable.
    accesses: BTreeMap<(ThreadIndex, usize), Vec<usize>>,
    /// When it comes by each place that accesses one before the aligned point.
    visits: HashMap<(ThreadIndex, PlaceNumber), Vec<usize>>,
    /// By variable: those places.
    places: BTreeMap<usize, BTreeSet<PlaceNumber>>,
    /// When each thread waits for the end of another, by the object that names it.
    joins: HashMap<(ThreadIndex, u64), usize>,
    /// By thread: its events.
    events: BTreeMap<ThreadIndex, Vec<usize>>,
    /// When threads are created and end, by the object that names them.
    created: HashMap<u64, usize>,
    ends: HashMap<u64, usize>,
    /// By lock or condition: what is done to it.
    uses: HashMap<u64, Vec<usize>>,
    /// By critical variable: the heap blocks that it lay in, as they were freed.
    blocks: BTreeMap<usize, Vec<Block>>,
}

/// A block of heap memory that was freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Block {
    start: u64,
    allocated: usize,
    freed: usize,
    /// By whom.
    by: ThreadIndex,
}

impl<'r> Future<'r> {
    pub fn of(passing: Passing<'r>, places: &Places, ranked: &[Ranked]) -> Future<'r> {
        let mut future = Future {
            passing,
            accesses: BTreeMap::new(),
            visits: HashMap::new(),
            places: BTreeMap::new(),
            joins: HashMap::new(),
            events: BTreeMap::new(),
            created: HashMap::new(),
            ends: HashMap::new(),
            uses: HashMap::new(),
            blocks: blocks(passing, places),
        };
        for access in ranked {
            let place = passing.steps[access.event].operation.place;
            let known = future.places.entry(access.variable).or_default();
            known.insert(place);
        }
        let known = future.places.values().flatten().copied().collect();
        for event in 0..passing.steps.len() {
            future.note(event, places, &known);
        }
        future
    }

    fn note(&mut self, event: usize, places: &Places, known: &HashSet<PlaceNumber>) {
        use EventKind::*;
        let step = &self.passing.steps[event];
        let operation = &step.operation;
        for variable in places.touched(operation) {
            let accesses = self.accesses.entry((step.thread, variable));
            accesses.or_default().push(event);
        }
        if known.contains(&operation.place) {
            let visits = self.visits.entry((step.thread, operation.place));
            visits.or_default().push(event);
        }
        self.events.entry(step.thread).or_default().push(event);
        match operation.kind {
            Fork => {
                self.created.insert(operation.object, event);
            }
            Exit => {
                self.ends.insert(operation.object, event);
            }
            Join => {
                self.joins.insert((step.thread, operation.object), event);
            }
            Acquire | Release | Signal | Broadcast => {
                self.uses.entry(operation.object).or_default().push(event);
            }
            _ => {}
        }
    }

    /// The last event of these before a moment.
    fn before(events: &[usize], moment: usize) -> Option<usize> {
        let end = events.partition_point(|&event| event < moment);
        Some(events[end.checked_sub(1)?])
    }

    /// The first event of these from a moment on.
    fn from(events: &[usize], moment: usize) -> Option<usize> {
        let begin = events.partition_point(|&event| event < moment);
        events.get(begin).copied()
    }

    /// Whether a thread cannot do anything at this moment of the good run: it is not
    /// there, or has ended, or its next step has to wait for another.
    fn is_stuck(&self, thread: ThreadIndex, moment: usize) -> bool {
        let created = self.created.get(&thread.object());
        if created.is_some_and(|&created| created >= moment) {
            return true;
        }
        let events = self.events.get(&thread).map_or(&[][..], Vec::as_slice);
        let next = events.partition_point(|&event| event < moment);
        let Some(&later) = events.get(next) else {
            return true;
        };
        let own = Self::before(events, moment);
        let operation = &self.passing.steps[later].operation;
        let uses = self.uses.get(&operation.object);
        let uses = uses.map_or(&[][..], Vec::as_slice);
        let last = Self::before(uses, moment);
        match operation.kind {
            EventKind::Join => {
                let end = self.ends.get(&operation.object);
                end.is_some_and(|&end| end >= moment)
            }
            // Nobody has called it since it began to wait.
            EventKind::Wait => last <= own,
            EventKind::Acquire => last.is_some_and(|last| {
                let holder = &self.passing.steps[last];
                holder.operation.kind == EventKind::Acquire && holder.thread != thread
            }),
            _ => false,
        }
    }

    /// All these preemptions, with each of those to whom each can lead. Behind one of
    /// them in the run, whoever gave way is where it was then, so whoever goes on
    /// instead can give way to it in turn.
    pub fn together(&self, mut chosen: Vec<&(&Candidate, Vec<Choice>)>) -> Vec<Vec<Choice>> {
        chosen.sort_by_key(|(candidate, _)| candidate.event);
        let mut all: Vec<Vec<Choice>> = vec![Vec::new()];
        for (number, (candidate, choices)) in chosen.iter().enumerate() {
            let own = self.passing.threads.get(candidate.thread.position());
            let before = &chosen[..number];
            let back = before
                .iter()
                .map(|(before, _)| self.back(before, candidate));
            let back: Vec<Option<Choice>> = back.collect();
            let longer = |begun: Vec<Choice>| {
                let was_called = begun
                    .last()
                    .is_some_and(|last| Some(&last.preemption.to) == own);
                let back = back.iter().flatten().filter(|_| was_called);
                let back = back.filter(|back| !choices.contains(back));
                let next: Vec<Choice> = back.chain(choices).cloned().collect();
                let longer = next
                    .into_iter()
                    .map(move |one| [begun.clone(), vec![one]].concat());
                longer.collect::<Vec<_>>()
            };
            all = all.into_iter().flat_map(longer).collect();
        }
        all
    }

    /// Giving way at the second to whoever gave way at the first, if that will access
    /// what the second's block accesses.
    fn back(&self, first: &Candidate, second: &Candidate) -> Option<Choice> {
        let to = first.thread;
        let accesses = |variable: &usize| {
            let events = self.accesses.get(&(to, *variable));
            self.comes_to(to, events, second.thread, first.event)
        };
        let meets = to != second.thread && second.accesses.iter().any(accesses);
        meets.then(|| second.choice(self.passing, to)).flatten()
    }

    /// Whether a thread will come to one of these events of its own, from a moment on,
    /// before it has to wait for the end of another.
    fn comes_to(
        &self,
        to: ThreadIndex,
        events: Option<&Vec<usize>>,
        other: ThreadIndex,
        moment: usize,
    ) -> bool {
        let waits = self.joins.get(&(to, other.object()));
        let first = events.and_then(|events| Self::from(events, moment));
        first.is_some_and(|first| waits.is_none_or(|&waits| first < waits))
    }

    /// The block that another thread will free, of those in which lies what the
    /// candidate's block accesses.
    fn freed_later(&self, candidate: &Candidate) -> Option<u64> {
        let moment = candidate.event;
        let lives = |block: &&Block| (block.allocated..block.freed).contains(&moment);
        let variables = candidate.accesses.iter();
        let blocks = variables.filter_map(|variable| self.blocks.get(variable)?.iter().find(lives));
        let by_others = blocks.filter(|block| block.by != candidate.thread);
        { by_others }
            .min_by_key(|block| block.freed)
            .map(|block| block.start)
    }

    /// The [choices](Self::choices), and where another thread will free what the block
    /// accesses, one more: that this thread goes on no sooner.
    pub fn choices_and_returns(&self, candidate: &Candidate) -> Vec<Choice> {
        let mut choices = self.choices(candidate);
        if let (Some(first), Some(block)) = (choices.first(), self.freed_later(candidate)) {
            let kept_back = Choice {
                preemption: Preemption {
                    until: Return::OnceFreed(block),
                    ..first.preemption.clone()
                },
                event: first.event,
            };
            choices.insert(1, kept_back);
        }
        choices
    }

    /// Those who could go on instead, and will access what the block accesses before
    /// they have to wait for the end of whoever gives way. Where nobody will, since the
    /// variable is another object by then, those count who will come to where it was
    /// accessed.
    pub fn choices(&self, candidate: &Candidate) -> Vec<Choice> {
        let threads = (0..self.passing.threads.len()).map(|position| ThreadIndex(position as u32));
        let free =
            threads.filter(|&to| to != candidate.thread && !self.is_stuck(to, candidate.event));
        let free: Vec<ThreadIndex> = free.collect();
        let comes_to = |to: ThreadIndex, events: Option<&Vec<usize>>| {
            self.comes_to(to, events, candidate.thread, candidate.event)
        };
        let accesses = |to: ThreadIndex| {
            let mut variables = candidate.accesses.iter();
            variables.any(|&variable| comes_to(to, self.accesses.get(&(to, variable))))
        };
        let comes_by = |to: ThreadIndex| {
            let places = candidate.accesses.iter();
            let mut places = places
                .filter_map(|variable| self.places.get(variable))
                .flatten();
            places.any(|&place| comes_to(to, self.visits.get(&(to, place))))
        };
        let choose = |meets: &dyn Fn(ThreadIndex) -> bool| -> Vec<Choice> {
            let meeting = free.iter().filter(|&&to| meets(to));
            meeting
                .filter_map(|&to| candidate.choice(self.passing, to))
                .collect()
        };
        match choose(&accesses) {
            nobody if nobody.is_empty() => choose(&comes_by),
            somebody => somebody,
        }
    }
}

/// The heap blocks in which critical variables lay, by variable, in the order in which
/// they were freed.
fn blocks(passing: Passing<'_>, places: &Places) -> BTreeMap<usize, Vec<Block>> {
    let mut allocated: HashMap<u64, (usize, u64)> = HashMap::new();
    let mut blocks: BTreeMap<usize, Vec<Block>> = BTreeMap::new();
    for (event, step) in passing.steps.iter().enumerate() {
        let (start, size) = (step.operation.object, u64::from(step.operation.size));
        match step.operation.kind {
            EventKind::Alloc => {
                allocated.insert(start, (event, size));
            }
            EventKind::Free => {
                // What was there before the first thread was is not in the run.
                let (since, size) = allocated.remove(&start).unwrap_or((0, size));
                let block = Block {
                    start,
                    allocated: since,
                    freed: event,
                    by: step.thread,
                };
                for variable in places.within(start, size) {
                    blocks.entry(variable).or_default().push(block);
                }
            }
            _ => {}
        }
    }
    blocks
}
