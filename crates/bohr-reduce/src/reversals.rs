//! All that a program can do besides what it was seen to do, one class of runs after
//! the other.
//!
//! Two runs in which the same events depend on each other in the same order are of one
//! class: whatever happens in the one happens in the other. Where two events of
//! different threads depend on each other and nothing but chance has ordered them, a
//! run of another class begins with what does not come after the first, and then the
//! second. After Flanagan and Godefroid, "Dynamic Partial-Order Reduction for Model
//! Checking Software", POPL 2005, whose backtracking points these are, and Abdulla,
//! Aronsson, Jonsson and Sagonas, "Source Sets: A Foundation for Optimal Dynamic
//! Partial Order Reduction", POPL 2014, whose prefixes. Deviations: classes that were
//! seen are remembered, and sleep sets not needed; runs with one reversal come before
//! those with two, since most failures need few; what depends on what stands in
//! [`footprint`](crate::footprint), for all kinds of events; and the end of a run that
//! leaves others in the middle comes later, too, or never.
//!
//! In which order blocks of memory are given back decides where later ones lie. That
//! is no difference to a program unless a block lies where another one has been.

use crate::footprint::Footprints;
use crate::order::{Chains, Execution, as_schedule};
use bohr_event::control::Step;
use bohr_event::{EventKind, PlaceNumber, Schedule, ThreadIndex, ThreadPath};
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Clocks of a run take so many numbers at most. Of a longer one nothing is known.
pub(crate) const MOST_NUMBERS: usize = 1 << 22;

/// Events of all beginnings that one run gives, at most.
const MOST_COPIED: usize = 1 << 22;

/// See the module.
#[derive(Debug, Default)]
pub struct Reversals {
    /// One run of each class that was seen.
    seen: Vec<Run>,
    classes: HashSet<u64>,
    /// Beginnings that were thought of.
    beginnings: HashSet<u64>,
    waiting: VecDeque<Schedule<PlaceNumber>>,
    /// Whether something was left aside.
    is_partial: bool,
    /// Whether it matters in which order blocks are given back.
    reuses: bool,
    /// Runs that somebody wants to make.
    most: usize,
}

impl Reversals {
    /// Of a program that was seen to do this, and may do more. If there seem to be more
    /// classes than `most`, nobody wants to see any of them.
    #[must_use]
    pub fn of(execution: Execution<'_>, most: usize) -> Reversals {
        let mut reversals = Reversals {
            reuses: reuses_memory(execution.steps),
            most,
            ..Reversals::default()
        };
        reversals.learn(execution);
        reversals
    }

    /// A beginning of a run of another class. Whoever comes to its end goes on as they
    /// like, and tells what was done.
    pub fn next_beginning(&mut self) -> Option<Schedule<PlaceNumber>> {
        self.waiting.pop_front()
    }

    /// Whether a run of every class was seen.
    #[must_use]
    pub fn is_done(&self) -> bool {
        !self.is_partial && self.waiting.is_empty()
    }

    /// Takes in that a run was seen of which nothing else is known.
    pub fn miss(&mut self) {
        self.give_up();
    }

    /// Takes in what a run did.
    pub fn learn(&mut self, execution: Execution<'_>) {
        if self.is_partial {
            return;
        }
        if !self.reuses && reuses_memory(execution.steps) {
            // What was said to be of one class may not have been.
            self.give_up();
            return;
        }
        let has_buffers = execution
            .threads
            .iter()
            .any(|path| path.buffer_of().is_some());
        // Whoever is about to do something when the run ends might have done it.
        let all = [execution.steps, execution.pending].concat();
        let chains = Chains::new(&all);
        if has_buffers || all.len().saturating_mul(chains.count()) > MOST_NUMBERS {
            self.give_up();
            return;
        }
        let run = Run::new(execution, all, chains, self.reuses);
        if !run.tells_of_everybody() {
            self.give_up();
            return;
        }
        if !self.classes.insert(run.class()) {
            return;
        }
        self.wait_for(&run, execution.threads);
        self.seen.push(run);
        if self.seen.len() + self.waiting.len() > self.most {
            self.give_up();
        }
    }

    fn give_up(&mut self) {
        self.is_partial = true;
        self.waiting.clear();
    }

    /// Enters the beginnings of other classes that a run leads to.
    fn wait_for(&mut self, run: &Run, threads: &[ThreadPath]) {
        let mut copied = 0;
        for (first, second) in run.later_ends().chain(run.races.iter().rev().copied()) {
            copied += second;
            if self.seen.len() + self.waiting.len() > self.most || copied > MOST_COPIED {
                self.give_up();
                return;
            }
            let beginning = run.beginning(first, second);
            let is_seen = |seen: &Run| seen.begins_with(run, &beginning);
            let is_new = self.beginnings.insert(run.name_of(&beginning));
            if is_new && !self.seen.iter().any(is_seen) {
                let steps: Vec<Step> = beginning.iter().map(|&event| run.all[event]).collect();
                self.waiting.push_back(as_schedule(&steps, threads));
            }
        }
    }
}

/// Whether some block lies where one has been that was given back.
fn reuses_memory(steps: &[Step]) -> bool {
    let mut freed = HashSet::new();
    steps.iter().any(|step| match step.operation.kind {
        EventKind::Free => {
            freed.insert(step.operation.object);
            false
        }
        EventKind::Alloc => freed.contains(&step.operation.object),
        _ => false,
    })
}

/// Who has written a variable last, and who has looked at it since.
#[derive(Clone, Default)]
struct Last {
    write: Option<usize>,
    reads: Vec<usize>,
}

/// A run, what was about to happen at its end, and what came before what.
#[derive(Debug)]
pub(crate) struct Run {
    all: Vec<Step>,
    /// How many of them have happened.
    happened: usize,
    chains: Chains,
    /// By event and chain: how many events of the chain come before it in every run of
    /// the class, itself included.
    clocks: Vec<u32>,
    /// By event: what it is, and after what of others it comes.
    names: Vec<u64>,
    /// Those of all events that have happened, and which ones these are.
    events: HashMap<u64, usize>,
    /// By chain: its events, and whose they are. Numbers of threads differ from run to
    /// run, paths do not.
    own: Vec<Vec<usize>>,
    paths: Vec<Option<ThreadPath>>,
    /// Events that chance has ordered, by the second of them.
    races: Vec<(usize, usize)>,
}

impl Run {
    /// Of a run whose events, and those that were to come, are `all`.
    pub(crate) fn new(
        execution: Execution<'_>,
        all: Vec<Step>,
        chains: Chains,
        reuses: bool,
    ) -> Run {
        let footprints = Footprints::new(
            Execution {
                steps: &all,
                pending: &[],
                ..execution
            },
            &chains,
        );
        let mut run = Run {
            happened: execution.steps.len(),
            clocks: vec![0; all.len() * chains.count()],
            names: Vec::with_capacity(all.len()),
            events: HashMap::new(),
            own: vec![Vec::new(); chains.count()],
            paths: { chains.threads.iter() }
                .map(|thread| execution.threads.get(thread.position()).cloned())
                .collect(),
            races: Vec::new(),
            all,
            chains,
        };
        let mut lasts: Vec<Last> = vec![Last::default(); footprints.variables()];
        let mut before = Before::default();
        for event in 0..run.all.len() {
            let known = before.known_to(&run, event);
            let mut others = Vec::new();
            for touch in footprints.touches(event) {
                if !reuses && footprints.is_heap(touch.variable) {
                    continue;
                }
                let last = &mut lasts[touch.variable.0 as usize];
                others.extend(last.write);
                if touch.writes {
                    others.extend(last.reads.iter().copied());
                }
                if event < run.happened {
                    last.touched(event, touch.writes, &run.chains);
                }
            }
            others.retain(|other| run.chains.of[*other] != run.chains.of[event]);
            others.sort_unstable();
            others.dedup();
            run.enter(event, known, &others);
            let races = run.races_of(event, &others, &before);
            run.races.extend(races);
            if event < run.happened {
                before.enter(&run, event);
                run.events.insert(run.names[event], event);
            }
            run.own[run.chains.of[event].position()].push(event);
        }
        run
    }

    fn width(&self) -> usize {
        self.chains.count()
    }

    fn clock(&self, event: usize) -> &[u32] {
        &self.clocks[event * self.width()..][..self.width()]
    }

    /// Which of its thread's events it is, from 1.
    fn number(&self, event: usize) -> u32 {
        self.clock(event)[self.chains.of[event].position()]
    }

    /// Whether an event comes before another in every run of the class.
    pub(crate) fn precedes(&self, one: usize, other: usize) -> bool {
        self.clock(other)[self.chains.of[one].position()] >= self.number(one)
    }

    /// Enters when an event comes and what it is. Its clock is, until then, what it
    /// knows without those `others` that chance has put before it.
    fn enter(&mut self, event: usize, known: Vec<u32>, others: &[usize]) {
        let width = self.width();
        self.clocks[event * width..][..width].copy_from_slice(&known);
        let mut clock = known;
        for &other in others {
            merge(&mut clock, self.clock(other));
        }
        let mut name = DefaultHasher::new();
        let thread = |event: usize| &self.paths[self.chains.of[event].position()];
        let own = clock[self.chains.of[event].position()];
        (thread(event), own, self.all[event].operation.place).hash(&mut name);
        let mut after: Vec<_> = { others.iter() }
            .map(|&other| (thread(other), self.number(other)))
            .collect();
        after.sort_unstable();
        after.hash(&mut name);
        self.names.push(name.finish());
    }

    /// Those of `others` with which the event could change places; then what it comes
    /// after is entered.
    fn races_of(&mut self, event: usize, others: &[usize], before: &Before) -> Vec<(usize, usize)> {
        let knows = |other: usize| self.precedes(other, event);
        let is_next = |&other: &usize| {
            let between = |&third: &usize| third != other && self.precedes(other, third);
            !knows(other) && !others.iter().any(between)
        };
        let races = others.iter().copied().filter(is_next);
        // A lock is not taken while it is held, but could have been before.
        let races = races.filter_map(|other| before.taken_by(self, other, event));
        let races: Vec<(usize, usize)> = { races.filter(|&first| !knows(first)) }
            .map(|first| (first, event))
            .collect();
        let width = self.width();
        let mut clock = self.clock(event).to_vec();
        for &other in others {
            merge(&mut clock, self.clock(other));
        }
        self.clocks[event * width..][..width].copy_from_slice(&clock);
        races
    }

    /// Whether everybody who has begun, or could have, has ended or is about to do
    /// something that is known, but for who came last. Main, whose end is everybody's,
    /// has to have waited for them.
    fn tells_of_everybody(&self) -> bool {
        let Some(end) = self.happened.checked_sub(1) else {
            return false;
        };
        let is_main = self.all[end].thread == ThreadIndex::MAIN;
        let ends_all = is_main && self.happened == self.all.len();
        if ends_all && self.clock(end) != &self.chains.lengths[..] {
            return false;
        }
        let last = self.chains.of[end].position();
        let has_ended = |own: &Vec<usize>| {
            let end = own.last().map(|&end| (end, self.all[end].operation.kind));
            end.is_some_and(|(end, kind)| end >= self.happened || kind == EventKind::Exit)
        };
        let created = self.all[..self.happened].iter().filter_map(|step| {
            let is_creation = step.operation.kind == EventKind::Fork;
            ThreadIndex::from_object(step.operation.object).filter(|_| is_creation)
        });
        let mut chains = self.own.iter().enumerate();
        chains.all(|(chain, own)| chain == last || has_ended(own)) && { created }
            .all(|thread| self.chains.threads.contains(&thread))
    }

    /// The last event and what others were about to do: who fails, or ends the program,
    /// might have come later.
    fn later_ends(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let last = self.happened.checked_sub(1);
        last.into_iter().flat_map(move |last| {
            let waiting = self.happened..self.all.len();
            let chain = move |event: usize| self.chains.of[event];
            let others = waiting.filter(move |&event| chain(event) != chain(last));
            others.map(move |event| (last, event))
        })
    }

    /// What a run does first in which `second` does not come after `first`.
    fn beginning(&self, first: usize, second: usize) -> Vec<usize> {
        let between = first + 1..second.min(self.happened);
        let independent = between.filter(|&event| !self.precedes(first, event));
        (0..first).chain(independent).chain([second]).collect()
    }

    /// A name for all beginnings of the same class.
    fn name_of(&self, beginning: &[usize]) -> u64 {
        let (last, before) = beginning.split_last().expect("it has at least one event");
        let mut name = DefaultHasher::new();
        let thread = &self.paths[self.chains.of[*last].position()];
        (thread, self.number(*last)).hash(&mut name);
        let sum = before.iter().map(|&event| self.names[event]);
        sum.fold(name.finish(), u64::wrapping_add)
    }

    /// Whether this is a run of a class that a beginning leads to, which is one of
    /// another run's.
    fn begins_with(&self, other: &Run, beginning: &[usize]) -> bool {
        let (last, before) = beginning.split_last().expect("it has at least one event");
        let mut done = vec![0; self.width()];
        // Runs differ late more often than early.
        for &event in before.iter().rev() {
            let Some(&same) = self.events.get(&other.names[event]) else {
                return false;
            };
            done[self.chains.of[same].position()] += 1;
        }
        // What comes next has to come after these alone.
        let thread = &other.paths[other.chains.of[*last].position()];
        let chain = self.paths.iter().position(|own| own == thread);
        let next = chain.and_then(|chain| self.own[chain].get(done[chain] as usize));
        next.is_some_and(|&next| {
            done[self.chains.of[next].position()] += 1;
            let knows = self.clock(next).iter().zip(&done);
            next < self.happened && { knows }.all(|(known, done)| known <= done)
        })
    }

    fn class(&self) -> u64 {
        let sum = self.names[..self.happened].iter().copied();
        sum.fold(0, u64::wrapping_add)
    }
}

/// What threads know at a moment without anything that chance has put before it.
#[derive(Default)]
struct Before {
    /// By thread: its last event.
    last: HashMap<ThreadIndex, usize>,
    /// Of those who have been created and have not begun: their creation.
    created: HashMap<ThreadIndex, usize>,
    /// Of those who have ended: their end.
    ended: HashMap<ThreadIndex, usize>,
    /// By thread and lock: when it has taken it last.
    taken: HashMap<(ThreadIndex, u64), usize>,
}

impl Before {
    fn known_to(&mut self, run: &Run, event: usize) -> Vec<u32> {
        let step = &run.all[event];
        let own = self.last.get(&step.thread);
        let mut known = own.map_or(vec![0; run.width()], |&last| run.clock(last).to_vec());
        let mut merge = |other: usize| merge(&mut known, run.clock(other));
        self.created.remove(&step.thread).map(&mut merge);
        if step.operation.kind == EventKind::Join {
            let joined = ThreadIndex::from_object(step.operation.object);
            joined
                .and_then(|joined| self.ended.get(&joined).copied())
                .map(merge);
        }
        known[run.chains.of[event].position()] += 1;
        known
    }

    fn enter(&mut self, run: &Run, event: usize) {
        let step = &run.all[event];
        self.last.insert(step.thread, event);
        match step.operation.kind {
            EventKind::Fork => {
                let child = ThreadIndex::from_object(step.operation.object);
                self.created.extend(child.map(|child| (child, event)));
            }
            EventKind::Exit => {
                self.ended.insert(step.thread, event);
            }
            EventKind::Acquire | EventKind::AcquireShared => {
                self.taken
                    .insert((step.thread, step.operation.object), event);
            }
            _ => {}
        }
    }

    /// Before what an event would have to come that comes after another one now.
    fn taken_by(&self, run: &Run, other: usize, event: usize) -> Option<usize> {
        use EventKind::{Acquire, AcquireShared, Release, ReleaseShared};
        let (given, wanted) = (&run.all[other], &run.all[event]);
        let is_lock = matches!(given.operation.kind, Release | ReleaseShared)
            && matches!(wanted.operation.kind, Acquire | AcquireShared)
            && given.operation.object == wanted.operation.object;
        match is_lock {
            true => { self.taken.get(&(given.thread, given.operation.object)) }.copied(),
            false => Some(other),
        }
    }
}

impl Last {
    fn touched(&mut self, event: usize, writes: bool, chains: &Chains) {
        if writes {
            self.write = Some(event);
            self.reads.clear();
        } else {
            let own = chains.of[event];
            self.reads.retain(|read| chains.of[*read] != own);
            self.reads.push(event);
        }
    }
}

fn merge(mine: &mut [u32], others: &[u32]) {
    for (mine, other) in mine.iter_mut().zip(others) {
        *mine = (*mine).max(*other);
    }
}
