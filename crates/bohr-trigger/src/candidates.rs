//! Breakpoints that may reproduce an explained failure (methodology I of the
//! paper, section 5), as moments of its run.
//!
//! Every part of an explanation is a *demand*: a window asks that another thread
//! comes in between, an order that one thing comes first, a circle that all its
//! threads stand before what they wait for, a notification that it comes before
//! the wait. A demand can be met by holding threads up at various moments; which
//! of them works with real threads is for experiments to tell. What can be told
//! here: nobody meets where both hold the same lock, so such moments are moved
//! to where the lock is taken.

use bohr_event::breakpoint::same_memory;
use bohr_event::control::Recorded;
use bohr_event::{EventKind, Operation};
use bohr_explain::{Explanation, Link, Moment, Window};

/// Threads that are to meet, and go on in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// What each is about to do.
    pub sides: Vec<Moment>,
    /// Where the first one's statement is over, if that is not at once.
    pub until: Option<Moment>,
    /// Whether all are about to touch the same.
    pub same_object: bool,
    /// For each side, which of its thread's visits of the place it is, from 1.
    pub nth: Vec<u64>,
}

/// What a failure takes, and the ways in which breakpoints can bring it about,
/// the most direct first.
#[derive(Clone, Debug, Default)]
pub struct Demand {
    /// Alternatives.
    pub candidates: Vec<Candidate>,
}

/// The demands of a failure. `is_lock` tells the words that locks made of atomics
/// consist of.
#[must_use]
pub fn demands(explanation: &Explanation, is_lock: &dyn Fn(&Operation) -> bool) -> Vec<Demand> {
    let run = &explanation.run;
    let workshop = Workshop { run, is_lock };
    if !explanation.circle.is_empty() {
        return vec![workshop.circle(&explanation.circle)];
    }
    let mut demands: Vec<Demand> = Vec::new();
    demands.extend(
        explanation
            .windows
            .iter()
            .map(|window| workshop.window(window)),
    );
    let pairs = explanation
        .orders
        .iter()
        .map(|order| (&order.first, &order.second));
    let unheard = explanation.unheard.iter();
    let unheard = unheard.map(|unheard| (&unheard.notified, &unheard.waits));
    let lifetime = explanation.lifetime.iter();
    let lifetime = lifetime.map(|lifetime| (&lifetime.freed, &lifetime.used));
    let unordered = explanation
        .unordered
        .iter()
        .map(|[first, second]| (first, second));
    for (first, second) in pairs.chain(unheard).chain(lifetime).chain(unordered) {
        demands.push(workshop.pairs(&[run], vec![first.clone()], vec![second.clone()]));
    }
    demands.retain(|demand| !demand.candidates.is_empty());
    demands
}

struct Workshop<'a> {
    run: &'a Recorded,
    is_lock: &'a dyn Fn(&Operation) -> bool,
}

impl Workshop<'_> {
    /// Everybody stands before what it waits for.
    fn circle(&self, links: &[Link]) -> Demand {
        let sides: Vec<Moment> = links.iter().map(|link| self.attempt(&link.waits)).collect();
        let nth = sides.iter().map(|side| nth(&[self.run], side)).collect();
        let candidate = Candidate {
            sides,
            until: None,
            same_object: false,
            nth,
        };
        Demand {
            candidates: vec![candidate],
        }
    }

    /// A wait for a lock made of atomics sleeps in a system call; what leads there
    /// is a first look at the lock, and then one look after the other.
    fn attempt(&self, waits: &Moment) -> Moment {
        let operation = &waits.operation;
        if matches!(
            operation.kind,
            EventKind::Acquire | EventKind::AcquireShared
        ) {
            return waits.clone();
        }
        let looks = |other: &Operation| other.kind.is_access() && touch(other, operation);
        let own: Vec<(usize, &Operation)> = self.run.events_of(&waits.thread).collect();
        let last = own.iter().rposition(|(_, other)| looks(other));
        let Some(last) = last else {
            return waits.clone();
        };
        let before = own[..last].iter().rev();
        let looked = before.take_while(|(_, other)| looks(other)).count();
        Moment::at(self.run, own[last - looked].0)
    }

    /// The other thread comes between two moments of the interrupted one.
    fn window(&self, window: &Window) -> Demand {
        let culprit = window.culprit.as_ref();
        let mut late: Vec<Moment> = Vec::new();
        late.extend(culprit.and_then(|culprit| culprit.after.clone()));
        late.extend(window.closes.clone());
        let mut coming: Vec<Moment> = Vec::new();
        coming.extend(culprit.map(|culprit| culprit.between.clone()));
        coming.extend(window.intrusion.clone());
        if let Some(opens) = &window.opens {
            late.extend(Moment::of(self.run, &opens.thread, opens.number + 1));
            coming.extend(self.next_of_another(opens));
        }
        let runs: Vec<&Recorded> = std::iter::once(self.run).chain(&window.passing).collect();
        let mut demand = self.pairs(&runs, coming, late);
        let until = window.intrusion.as_ref();
        let until = until.and_then(|last| Moment::of(self.run, &last.thread, last.number + 1));
        let extended: Vec<Candidate> = demand
            .candidates
            .iter()
            .filter(|candidate| {
                let first = &candidate.sides[0];
                let later = |until: &Moment| {
                    until.thread == first.thread && until.number > first.number + 1
                };
                until.as_ref().is_some_and(later)
            })
            .map(|candidate| Candidate {
                until: until.clone(),
                ..candidate.clone()
            })
            .collect();
        demand.candidates.extend(extended);
        demand
    }

    /// What another thread does first after a moment.
    fn next_of_another(&self, moment: &Moment) -> Option<Moment> {
        let position = moment.position(self.run)?;
        let mut behind = position + 1..self.run.steps.len();
        let other = behind.find(|event| self.run.path(*event) != &moment.thread)?;
        Some(Moment::at(self.run, other))
    }

    /// All ways to have one of the first come before one of the second, moved to
    /// where locks are taken if need be. The moments are in one of these runs.
    fn pairs(&self, runs: &[&Recorded], firsts: Vec<Moment>, seconds: Vec<Moment>) -> Demand {
        let firsts = self.with_lifted(runs, firsts);
        let seconds = self.with_lifted(runs, seconds);
        let mut candidates: Vec<Candidate> = Vec::new();
        for second in &seconds {
            for first in &firsts {
                let locks = self.held(runs, second);
                let both = self
                    .held(runs, first)
                    .iter()
                    .any(|held| locks.contains(held));
                if first.thread == second.thread || both {
                    continue;
                }
                let candidate = Candidate {
                    same_object: touch(&first.operation, &second.operation),
                    nth: vec![nth(runs, first), nth(runs, second)],
                    sides: vec![first.clone(), second.clone()],
                    until: None,
                };
                if !candidates.contains(&candidate) {
                    candidates.push(candidate);
                }
            }
        }
        Demand { candidates }
    }

    /// The moments, and where the locks that are held then were taken.
    fn with_lifted(&self, runs: &[&Recorded], moments: Vec<Moment>) -> Vec<Moment> {
        let mut all: Vec<Moment> = Vec::new();
        for moment in moments {
            let taken = self
                .taken(runs, &moment)
                .into_iter()
                .map(|(_, taken)| taken);
            for one in std::iter::once(moment.clone()).chain(taken) {
                if !all.contains(&one) {
                    all.push(one);
                }
            }
        }
        all
    }

    fn held(&self, runs: &[&Recorded], moment: &Moment) -> Vec<u64> {
        let taken = self.taken(runs, moment).into_iter();
        taken.map(|(lock, _)| lock).collect()
    }

    /// The locks that a thread holds before a moment, with where it took them,
    /// the outermost first.
    fn taken(&self, runs: &[&Recorded], moment: &Moment) -> Vec<(u64, Moment)> {
        let known =
            |run: &&&Recorded| run.events_of(&moment.thread).count() as u64 >= moment.number;
        let Some(run) = runs.iter().find(known) else {
            return Vec::new();
        };
        let before = run.events_of(&moment.thread).take(moment.number as usize);
        let mut held: Vec<(u64, Moment)> = Vec::new();
        for (event, operation) in before {
            let word = operation.kind.writes() && (self.is_lock)(operation);
            let known = held.iter().position(|(lock, _)| *lock == operation.object);
            match (operation.kind, known) {
                (EventKind::Acquire | EventKind::AcquireShared, _) => {
                    held.push((operation.object, Moment::at(run, event)));
                }
                (EventKind::Release | EventKind::ReleaseShared, Some(known)) => {
                    held.remove(known);
                }
                (_, Some(known)) if word => drop(held.remove(known)),
                (EventKind::Update, None) if word => {
                    held.push((operation.object, Moment::at(run, event)));
                }
                _ => {}
            }
        }
        held
    }
}

/// Which of its thread's visits of its place a moment is, from 1.
fn nth(runs: &[&Recorded], moment: &Moment) -> u64 {
    let known = |run: &&&Recorded| run.events_of(&moment.thread).count() as u64 >= moment.number;
    let place = moment.operation.place;
    runs.iter().find(known).map_or(1, |run| {
        let before = run.events_of(&moment.thread).take(moment.number as usize);
        1 + before
            .filter(|(_, operation)| operation.place == place)
            .count() as u64
    })
}

/// Whether two operations are about the same memory or lock.
fn touch(one: &Operation, other: &Operation) -> bool {
    let memory = |operation: &Operation| (operation.object, u64::from(operation.size));
    one.object != 0 && other.object != 0 && same_memory(memory(one), memory(other))
}
