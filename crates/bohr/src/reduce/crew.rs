//! Several examiners who share a row of candidates. Whoever is free takes the
//! next one; the first of the row that is redundant counts, so that the result
//! is the same however many they are.

use super::criterion::Refusals;
use super::examiner::Examiner;
use super::ledger::Ledger;
use super::question::{Base, Question};
use bohr_event::control::Omissions;
use bohr_event::{PlaceNumber, Schedule};
use bohr_explore::ExploreError;
use bohr_reduce::reduction::Spent;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time that one examiner spends before others are called: they have to start
/// the program, too.
const ALONE: Duration = Duration::from_millis(300);

/// Who starts an examiner.
pub type Starting<'c> = dyn Fn() -> Result<Examiner<'c>, ExploreError> + 'c;

/// See the module.
pub struct Crew<'c> {
    examiners: Vec<Examiner<'c>>,
    start: &'c Starting<'c>,
    most: usize,
    busy: Duration,
    /// What those have done who are gone.
    spent: Spent,
    refusals: Refusals,
    ledger: Ledger,
}

impl<'c> Crew<'c> {
    /// One examiner, and leave for some more.
    pub fn new(start: &'c Starting<'c>, most: usize) -> Result<Crew<'c>, ExploreError> {
        Ok(Crew {
            examiners: vec![start()?],
            start,
            most: most.max(1),
            busy: Duration::ZERO,
            spent: Spent::default(),
            refusals: Refusals::default(),
            ledger: Ledger::default(),
        })
    }

    /// Has a new one go on. Whoever has run a program with many threads keeps them at
    /// hand, and every run after that has to carry them.
    pub fn renew(&mut self) -> Result<(), ExploreError> {
        (self.spent, self.refusals) = (self.spent(), self.refusals());
        self.ledger = self.ledger();
        self.examiners = vec![(self.start)()?];
        Ok(())
    }

    /// Who answers single questions.
    pub fn first_examiner(&mut self) -> &mut Examiner<'c> {
        &mut self.examiners[0]
    }

    /// One who has seen nothing yet, and does not belong to the crew.
    pub fn another(&self) -> Result<Examiner<'c>, ExploreError> {
        (self.start)()
    }

    /// What the runs that all of them have made took.
    pub fn spent(&self) -> Spent {
        let mut all = self.spent;
        for examiner in &self.examiners {
            all += examiner.spent();
        }
        all
    }

    /// Why they have refused candidates.
    pub fn refusals(&self) -> Refusals {
        let mut all = self.refusals;
        for examiner in &self.examiners {
            all += examiner.refusals;
        }
        all
    }

    /// What they have made runs for.
    pub fn ledger(&self) -> Ledger {
        let mut all = self.ledger;
        for examiner in &self.examiners {
            all += examiner.ledger;
        }
        all
    }

    /// How many of so many replays show the failure; all examiners make some.
    pub fn shown(
        &mut self,
        omissions: &Omissions,
        schedule: &Schedule<PlaceNumber>,
        replays: u64,
    ) -> Result<u64, ExploreError> {
        let several = self.examiners.len() as u64;
        let shown = std::thread::scope(|scope| {
            let all: Vec<_> = { (0..several).zip(&mut self.examiners) }
                .map(|(number, examiner)| {
                    let share = replays / several + u64::from(number < replays % several);
                    let schedule = schedule.clone();
                    scope.spawn(move || examiner.shown(omissions, schedule, share))
                })
                .collect();
            all.into_iter().map(joined).collect::<Result<Vec<u64>, _>>()
        });
        Ok(shown?.into_iter().sum())
    }

    /// The first of `count` questions that is answered by a run. `question` gives
    /// nothing where the answer is known to be no; `refused` hears which ones were
    /// answered by no.
    pub fn first<'q>(
        &mut self,
        count: usize,
        question: &(dyn Fn(usize) -> Option<Question<'q>> + Sync),
        refused: &(dyn Fn(&Question<'q>) + Sync),
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<(usize, Base)>, ExploreError> {
        let alone = self.examiners[0].trials.are_seen_by_others();
        if self.busy > ALONE && count > 1 && self.examiners.len() < self.most && !alone {
            self.examiners.push((self.start)()?);
        }
        let started = Instant::now();
        let row = Row {
            next: AtomicUsize::new(0),
            end: AtomicUsize::new(count),
            found: Mutex::new(None),
        };
        let work = |examiner: &mut Examiner<'c>| -> Result<(), ExploreError> {
            while let Some(number) = row.take().filter(|_| go_on()) {
                let Some(question) = question(number) else {
                    continue;
                };
                match examiner.examine(&question) {
                    Ok(Some(run)) => row.found(number, run),
                    Ok(None) => refused(&question),
                    Err(error) => {
                        row.end.store(0, Ordering::Relaxed);
                        return Err(error);
                    }
                }
            }
            Ok(())
        };
        let ends: Vec<Result<(), ExploreError>> = match &mut self.examiners[..] {
            [one] => vec![work(one)],
            several => std::thread::scope(|scope| {
                let all: Vec<_> = several
                    .iter_mut()
                    .map(|examiner| scope.spawn(|| work(examiner)))
                    .collect();
                all.into_iter().map(joined).collect()
            }),
        };
        self.busy += started.elapsed();
        ends.into_iter().collect::<Result<(), _>>()?;
        let found = row.found.into_inner();
        Ok(found.unwrap_or_else(PoisonError::into_inner))
    }
}

/// What a thread came to; its panic is ours.
fn joined<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> T {
    let joined = thread.join();
    joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// A row under examination.
struct Row {
    next: AtomicUsize,
    /// Candidates from here on do not matter any more.
    end: AtomicUsize,
    found: Mutex<Option<(usize, Base)>>,
}

impl Row {
    fn take(&self) -> Option<usize> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        (number < self.end.load(Ordering::Relaxed)).then_some(number)
    }

    fn found(&self, number: usize, run: Base) {
        self.end.fetch_min(number, Ordering::Relaxed);
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if found.as_ref().is_none_or(|(other, _)| number < *other) {
            *found = Some((number, run));
        }
    }
}
