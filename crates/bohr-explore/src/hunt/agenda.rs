//! What is run next and what came of it, in an order that the speed of no
//! worker can change: a hunt is a function of its seed.
//!
//! Runs are numbered and handed out in *batches*. What a batch runs by depends
//! on nothing but what earlier batches have shown: the first run of each is a
//! *lesson*, and the next batch is handed out when it has been learnt. Whatever
//! order batches end in, they are put on record in the order of their numbers,
//! and the record ends with the first run that fails.

use super::progress::{Finished, Record};
use super::source::{Next, Source};
use super::{Hunt, lock};
use crate::strategy_name::StrategyName;
use crate::verdict::Verdict;
use bohr_event::ThreadPath;
use bohr_event::control::{Notice, Step};
use bohr_schedule::Plan;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often a worker that waits for another looks at the clock.
const SLICE: Duration = Duration::from_millis(50);

/// Runs that one worker makes by one plan.
pub(super) struct Batch {
    /// Which batch, counted from 0.
    pub number: u64,
    /// Which runs.
    pub runs: Range<u64>,
    /// By which strategy.
    pub strategy: StrategyName,
    /// Exactly how.
    pub plan: Plan,
    /// Whether it is one run that a search wants to hear of.
    pub planned: bool,
    /// Whether its first run is a lesson.
    pub lesson: bool,
}

/// See the module.
pub(super) struct Agenda<'a> {
    hunt: &'a Hunt,
    interrupted: &'a AtomicBool,
    pub begun: Instant,
    book: Mutex<Book>,
    /// A lesson was learnt, or something was put on record.
    moved: Condvar,
    /// Runs from here on do not matter: one before them has failed.
    end: AtomicU64,
    /// A worker failed, so the hunt will.
    given_up: AtomicBool,
}

struct Book {
    next_run: u64,
    next_batch: u64,
    source: Source,
    /// Ended, and waiting for one with a smaller number.
    finished: BTreeMap<u64, Finished>,
    /// Batches on record.
    recorded: u64,
    record: Record,
    over: bool,
    complete: bool,
    /// Batches that are being worked on.
    in_work: u64,
    /// Whether that may be several: not before a run has told what it does, and not if
    /// runs see what others do.
    side_by_side: bool,
    /// Runs see what others do.
    seen_by_others: bool,
}

impl<'a> Agenda<'a> {
    pub fn new(hunt: &'a Hunt, interrupted: &'a AtomicBool) -> Agenda<'a> {
        Agenda {
            hunt,
            interrupted,
            begun: Instant::now(),
            book: Mutex::new(Book {
                next_run: 0,
                next_batch: 0,
                source: Source::new(hunt.strategy, hunt.first_seed(), hunt.listed.clone()),
                finished: BTreeMap::new(),
                recorded: 0,
                record: Record::default(),
                over: false,
                complete: false,
                in_work: 0,
                side_by_side: false,
                seen_by_others: false,
            }),
            moved: Condvar::new(),
            end: AtomicU64::new(u64::MAX),
            given_up: AtomicBool::new(false),
        }
    }

    /// Whether the run of this number should still be made. Once something has
    /// failed, the runs before it are made whatever the time: they decide which
    /// failure is the first.
    pub fn wants(&self, run: u64) -> bool {
        let end = self.end.load(Ordering::Relaxed);
        let in_time = || {
            let time = self.hunt.budget.time;
            time.is_none_or(|time| self.begun.elapsed() < time)
        };
        run < end
            && (end != u64::MAX || in_time())
            && !self.interrupted.load(Ordering::Relaxed)
            && !self.given_up.load(Ordering::Relaxed)
    }

    /// The next batch; waits for lessons that it depends on. `None` at the end.
    pub fn take(&self) -> Option<Batch> {
        let mut book = lock(&self.book);
        loop {
            let most = self.hunt.budget.runs.unwrap_or(u64::MAX);
            if book.over || book.next_run >= most || !self.wants(book.next_run) {
                return None;
            }
            let (number, left) = (book.next_batch, most - book.next_run);
            let next = match book.side_by_side || book.in_work == 0 {
                true => book.source.next(number, left),
                false => Next::Later,
            };
            match next {
                Next::Ready(runs, strategy, plan) => {
                    let first = book.next_run;
                    book.in_work += 1;
                    book.next_run += runs;
                    book.next_batch += 1;
                    return Some(Batch {
                        number,
                        runs: first..first + runs,
                        strategy,
                        plan: *plan,
                        planned: book.source.is_search(),
                        lesson: book.source.has_lesson(number),
                    });
                }
                Next::Exhausted => {
                    // A rule that has no further run has not seen them all.
                    book.complete = book.source.is_search();
                    return None;
                }
                Next::Later => {}
            }
            let waited = self.moved.wait_timeout(book, SLICE);
            book = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Takes in what a run has told of itself.
    pub fn hear(&self, notices: &[Notice]) {
        let mut book = lock(&self.book);
        book.seen_by_others |= notices.contains(&Notice::Outlasting);
        book.side_by_side = !book.seen_by_others;
    }

    /// Takes in the lesson of a batch; returns how many pairs are known now.
    pub fn learn(&self, trace: &[Step], threads: &[ThreadPath]) -> u64 {
        let pairs = lock(&self.book).source.learn_lesson(trace, threads);
        self.moved.notify_all();
        pairs
    }

    /// Whether a failure is not the one that is looked for.
    pub fn is_another(&self, verdict: &Verdict) -> bool {
        let wanted = self.hunt.wanted.as_ref();
        wanted.is_some_and(|wanted| !wanted.fits(verdict))
    }

    /// A run has failed: from now on only those before it matter.
    pub fn failed(&self, run: u64) {
        if !self.hunt.keep_going {
            self.end.fetch_min(run + 1, Ordering::Relaxed);
        }
    }

    /// Takes in what came of a batch.
    pub fn finish(&self, number: u64, finished: Finished) {
        let mut book = lock(&self.book);
        book.in_work -= 1;
        book.finished.insert(number, finished);
        book.put_on_record(self.hunt.keep_going);
        drop(book);
        self.moved.notify_all();
    }

    /// Ends the hunt: a worker cannot go on.
    pub fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
        self.moved.notify_all();
    }

    /// Where the hunt stands.
    pub fn look<T>(&self, at: impl FnOnce(&Record) -> T) -> T {
        at(&lock(&self.book).record)
    }

    /// The record, with what was cut short by the end of the budget, and whether
    /// the search has seen all there is.
    pub fn close(self) -> (Record, bool) {
        let mut book = self
            .book
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        if !book.over {
            for finished in std::mem::take(&mut book.finished).into_values() {
                book.record.add(finished);
            }
        }
        (book.record, book.complete)
    }
}

impl Book {
    fn put_on_record(&mut self, keep_going: bool) {
        while !self.over
            && let Some(finished) = self.finished.remove(&self.recorded)
        {
            self.recorded += 1;
            self.source.learn_report(&finished.learnt);
            self.over = !keep_going && !finished.bugs.is_empty();
            self.record.add(finished);
        }
    }
}
