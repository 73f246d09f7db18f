//! Generate and validate (CLAP, 4.3): schedules with a growing number of
//! preemptions, none twice, each followed event by event until a thread would leave
//! its path. All cores take part; several machines can share the work by shards.
//!
//! Deviations from the paper: a schedule is given up at the first event that does
//! not fit rather than scanned as a whole, so most of the schedules with the same
//! beginning are never generated; what store buffers do is generated as steps of
//! their own, in place of trees of accesses.

use crate::check::{Execution, Turn};
use crate::event::{EventId, Problem};
use crate::model::{Store, stores};
use bohr_event::MemoryModel;
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What a search may cost, and which part of it is asked for.
#[derive(Clone, Copy)]
pub struct Limits<'a> {
    /// The most preemptions.
    pub bound: usize,
    /// Threads that search.
    pub workers: usize,
    /// Which part of the work, of how many.
    pub shard: (usize, usize),
    /// The most schedules per number of preemptions.
    pub schedules: u64,
    /// Whether the caller still wants to wait.
    pub go_on: &'a (dyn Fn() -> bool + Sync),
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Searched {
    /// An order of events that leads to the failure, with the fewest preemptions.
    pub order: Option<Vec<Turn>>,
    /// Schedules that were generated, most of them in part.
    pub generated: u64,
    /// Schedules that lead to the failure.
    pub good: u64,
    /// The number of preemptions at which the search stopped.
    pub bound: usize,
    /// Whether nothing was left out up to there.
    pub complete: bool,
}

/// Looks for a schedule with as few preemptions as possible.
#[must_use]
pub fn search(problem: &Problem, model: MemoryModel, limits: &Limits<'_>) -> Searched {
    let stores = stores(problem, model);
    let mut searched = Searched {
        complete: true,
        ..Searched::default()
    };
    for bound in 0..=limits.bound {
        let level = Level::new(problem, model, &stores, limits, bound);
        level.run();
        searched.bound = bound;
        searched.generated += level.generated.load(Ordering::Relaxed);
        searched.good += level.good.load(Ordering::Relaxed);
        searched.complete &= !level.cut.load(Ordering::Relaxed);
        searched.order = level.found.into_inner().unwrap_or_default();
        if searched.order.is_some() || !(limits.go_on)() {
            break;
        }
    }
    searched
}

/// All schedules with one number of preemptions.
struct Level<'a> {
    problem: &'a Problem,
    model: MemoryModel,
    stores: &'a HashMap<EventId, Store>,
    limits: &'a Limits<'a>,
    preemptions: usize,
    generated: AtomicU64,
    good: AtomicU64,
    cut: AtomicBool,
    found: Mutex<Option<Vec<Turn>>>,
}

/// A schedule under way.
#[derive(Clone)]
struct Draft<'a> {
    execution: Execution<'a>,
    thread: usize,
    left: usize,
    order: Vec<Turn>,
    /// Whether it has branched off the one schedule that never does.
    branched: bool,
}

impl<'a> Level<'a> {
    fn new(
        problem: &'a Problem,
        model: MemoryModel,
        stores: &'a HashMap<EventId, Store>,
        limits: &'a Limits<'a>,
        preemptions: usize,
    ) -> Level<'a> {
        Level {
            problem,
            model,
            stores,
            limits,
            preemptions,
            generated: AtomicU64::new(0),
            good: AtomicU64::new(0),
            cut: AtomicBool::new(false),
            found: Mutex::new(None),
        }
    }

    fn run(&self) {
        let (shard, shards) = self.limits.shard;
        let workers = self.limits.workers.max(1);
        std::thread::scope(|scope| {
            for worker in 0..workers {
                let part = (shard * workers + worker, shards.max(1) * workers);
                scope.spawn(move || self.work(part));
            }
        });
    }

    fn work(&self, part: (usize, usize)) {
        let mut open = vec![Draft {
            execution: Execution::new(self.problem, self.model, self.stores),
            thread: 0,
            left: self.preemptions,
            order: Vec::new(),
            branched: false,
        }];
        let mut branches = 0;
        while let Some(draft) = open.pop() {
            if self.is_over() {
                return;
            }
            self.follow(draft, &mut open, &mut branches, part);
        }
    }

    fn is_over(&self) -> bool {
        let over = self.generated.load(Ordering::Relaxed) >= self.limits.schedules
            || !(self.limits.go_on)();
        if over {
            self.cut.store(true, Ordering::Relaxed);
        }
        over || self.found.lock().is_ok_and(|found| found.is_some())
    }

    /// Follows a schedule to its end and notes where others branch off. The schedule
    /// that never branches is the first part's; the others are shared by where they
    /// first do.
    fn follow(
        &self,
        mut draft: Draft<'a>,
        open: &mut Vec<Draft<'a>>,
        branches: &mut usize,
        (part, parts): (usize, usize),
    ) {
        loop {
            if draft.execution.has_failed() {
                if draft.left == 0 && (draft.branched || part == 0) {
                    self.succeed(draft.order);
                }
                return;
            }
            let options = draft.options();
            let Some((first, others)) = options.split_first() else {
                break;
            };
            for other in others.iter().rev().filter(|other| other.cost <= draft.left) {
                if !draft.branched {
                    *branches += 1;
                    if *branches % parts != part {
                        continue;
                    }
                }
                let mut next = draft.clone();
                next.branched = true;
                match next.take(other) {
                    true => open.push(next),
                    false => self.count(),
                }
            }
            if first.cost > draft.left || !draft.take(first) {
                break;
            }
        }
        if draft.branched || part == 0 {
            self.count();
        }
    }

    fn count(&self) {
        self.generated.fetch_add(1, Ordering::Relaxed);
    }

    fn succeed(&self, order: Vec<Turn>) {
        self.count();
        self.good.fetch_add(1, Ordering::Relaxed);
        if let Ok(mut found) = self.found.lock() {
            found.get_or_insert(order);
        }
    }
}

/// A way to go on.
#[derive(Clone, Copy, Debug)]
struct Way {
    turn: Turn,
    /// Who runs afterwards.
    thread: usize,
    /// Preemptions that it takes.
    cost: usize,
}

impl Draft<'_> {
    /// How it can go on: the same thread if it can, then buffers, then others.
    fn options(&self) -> Vec<Way> {
        let execution = &self.execution;
        let threads = 0..execution.threads();
        let goes_on = execution.is_ready(self.thread);
        let event = |thread: usize, cost: usize| {
            let turn = Turn::Event(execution.next(thread)?);
            Some(Way { turn, thread, cost })
        };
        let mut ways: Vec<Way> = Vec::new();
        ways.extend(event(self.thread, 0).filter(|_| goes_on));
        for owner in threads.clone() {
            ways.extend(execution.commits(owner).into_iter().map(|store| Way {
                turn: Turn::Commit(store),
                thread: self.thread,
                cost: 0,
            }));
        }
        for other in threads.filter(|other| *other != self.thread) {
            if execution.is_ready(other) {
                ways.extend(event(other, usize::from(goes_on)));
            }
        }
        ways
    }

    /// Goes a way; whether everybody stays on the recorded one.
    fn take(&mut self, way: &Way) -> bool {
        self.thread = way.thread;
        self.left -= way.cost;
        self.order.push(way.turn);
        self.execution.step(way.turn).is_ok()
    }
}

/// The number of orders of all events that keep each thread's own, as a power of ten.
#[must_use]
pub fn worst(problem: &Problem) -> f64 {
    let factorial = |count: usize| {
        (1..=count)
            .map(|factor| (factor as f64).log10())
            .sum::<f64>()
    };
    let counts = problem.threads.iter().map(|thread| thread.events.len());
    let total = factorial(counts.clone().sum());
    total - counts.map(factorial).sum::<f64>()
}
