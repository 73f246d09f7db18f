//! Breakpoints that may reproduce an explained failure (methodology I of the
//! paper, section 5), as moments of its run.
//!
//! Every part of an explanation is a *demand*: a window asks that another thread
//! comes in between, an order that one thing comes first, a circle that all its
//! threads stand before what they wait for, a notification that it comes before
//! the wait. A demand can be met by holding threads up at various moments; which
//! of them works with real threads is for experiments to tell. What can be told
//! here: nobody meets where both hold the same lock, so such moments are moved
//! to where the lock is taken, or, inside of a wait, to who ends the wait.

mod waits;

use bohr_event::breakpoint::{MOST_SIDES, same_memory};
use bohr_event::control::Recorded;
use bohr_event::{EventKind, Operation, ThreadPath};
use bohr_explain::{Explanation, Link, Moment, Order, Window};
use waits::{awakened, before_wait, begin, waker};

/// Threads that are to meet, and go on in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// What each is about to do.
    pub sides: Vec<Moment>,
    /// Where the statement of a side is over, if that is not at once.
    pub until: Option<(usize, Moment)>,
    /// Whether all are about to touch the same.
    pub same_object: bool,
}

/// What a failure takes, and the ways in which breakpoints can bring it about,
/// the most direct first.
#[derive(Clone, Debug, Default)]
pub struct Demand {
    /// Alternatives.
    pub candidates: Vec<Candidate>,
}

/// The demands of a failure. `is_lock` tells the words that locks made of atomics
/// consist of. If no failure will tell whether it was the right meeting, only those
/// are meant that are explained, in the order in which they were.
#[must_use]
pub fn demands(
    explanation: &Explanation,
    is_lock: &dyn Fn(&Operation) -> bool,
    fails: bool,
) -> Vec<Demand> {
    let run = &explanation.run;
    let workshop = Workshop {
        run,
        is_lock,
        fails,
    };
    if !explanation.circle.is_empty() {
        return workshop.circle(&explanation.circle);
    }
    let mut demands: Vec<Demand> = Vec::new();
    for window in &explanation.windows {
        demands.push(workshop.window(window));
        demands.extend(fails.then(|| workshop.opening(window)));
    }
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
        let mut firsts = vec![first.clone()];
        firsts.extend(workshop.last_before(&first.thread, second));
        demands.push(workshop.pairs(&[run], firsts, vec![second.clone()]));
    }
    demands.push(workshop.chains(&explanation.orders));
    demands.extend(workshop.meanwhile());
    demands.retain(|demand| !demand.candidates.is_empty());
    demands
}

struct Workshop<'a> {
    run: &'a Recorded,
    is_lock: &'a dyn Fn(&Operation) -> bool,
    fails: bool,
}

impl Workshop<'_> {
    /// Everybody stands before what it waits for; and, so that all come that far,
    /// before what it holds then.
    fn circle(&self, links: &[Link]) -> Vec<Demand> {
        let waits = links.iter().map(|link| self.attempt(&link.waits)).collect();
        let mut demands = vec![Demand {
            candidates: vec![meeting(waits)],
        }];
        let held: Option<Vec<Moment>> = links.iter().map(|link| link.holds.clone()).collect();
        if let Some(mut held) = held {
            let mut candidates = Vec::new();
            for _ in 0..held.len() {
                candidates.push(meeting(held.clone()));
                held.rotate_left(1);
            }
            demands.push(Demand { candidates });
        }
        demands
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
        let mut demand = self.pairs(&runs, coming.clone(), late.clone());
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
                until: until.clone().map(|until| (0, until)),
                ..candidate.clone()
            })
            .collect();
        demand.candidates.extend(extended);
        // What one of two does to the other, the other can often do to the one; and
        // where a statement has to be cut in two for that one way, the other way is
        // something that sources can keep.
        if self.fails {
            let reversed = self.pairs(&runs, late, coming);
            demand.candidates.extend(reversed.candidates);
        }
        demand
    }

    /// The other thread comes to what it does in between only when the window is open.
    fn opening(&self, window: &Window) -> Demand {
        let culprit = window.culprit.as_ref().map(|culprit| &culprit.between);
        let other = window.intrusion.as_ref().or(culprit);
        let (Some(opens), Some(other)) = (&window.opens, other) else {
            return Demand::default();
        };
        let late: Vec<Moment> = self.next_of(&other.thread, opens).into_iter().collect();
        self.pairs(&[self.run], vec![opens.clone()], late)
    }

    /// Where what one thread does has to come after something and before something else,
    /// all three can meet: of several threads that do the same, it is one that does both.
    fn chains(&self, orders: &[Order]) -> Demand {
        let mut demand = Demand::default();
        for before in orders {
            let middle = &before.second;
            let follows = |after: &&Order| {
                let others = [&before.first.thread, &after.second.thread];
                after.first.thread == middle.thread
                    && after.first.number >= middle.number
                    && others[0] != others[1]
                    && !others.contains(&&middle.thread)
            };
            for after in orders.iter().filter(follows) {
                for last in self.with_lifted(&[self.run], vec![after.second.clone()]) {
                    let sides = vec![before.first.clone(), middle.clone(), last];
                    let next = after.first.number + 1;
                    let until = Moment::of(self.run, &middle.thread, next);
                    demand.candidates.extend(self.meeting_of(sides, until));
                }
            }
        }
        demand
    }

    /// A meeting of three, of whom the one in the middle has to come as far as to a
    /// moment, if nobody is kept away by a lock that another one holds.
    fn meeting_of(&self, sides: Vec<Moment>, until: Option<Moment>) -> Vec<Candidate> {
        let runs = &[self.run];
        let held: Vec<u64> = sides
            .iter()
            .flat_map(|side| self.held(runs, side))
            .collect();
        let apart = held.iter().enumerate();
        if { apart }.any(|(position, lock)| held[..position].contains(lock)) {
            return Vec::new();
        }
        let bare = meeting(sides);
        let whole = until.map(|until| Candidate {
            until: Some((1, until)),
            ..bare.clone()
        });
        whole.into_iter().chain([bare]).collect()
    }

    /// Whoever fails does so before the others do what they were about to. Nobody
    /// had to be interrupted for that where threads come one after the other; with
    /// real threads they are all under way.
    fn meanwhile(&self) -> Vec<Demand> {
        let Some(last) = self.run.steps.len().checked_sub(1) else {
            return Vec::new();
        };
        let failing = Moment::at(self.run, last);
        let others = self.run.pending.iter().filter_map(|step| {
            let thread = self.run.threads.get(step.thread.position())?;
            (*thread != failing.thread).then(|| Moment {
                thread: thread.clone(),
                number: self.run.events_of(thread).count() as u64,
                operation: step.operation,
            })
        });
        let others: Vec<Moment> = others.collect();
        let mut demands = vec![self.all_at_once(&failing, &others)];
        let pair = |other| self.pairs(&[self.run], vec![failing.clone()], vec![other]);
        demands.extend(others.into_iter().map(pair));
        demands
    }

    /// Everybody but those who only wait for the end of others is held up until the
    /// failing thread comes, at what it does then or where it took its locks.
    fn all_at_once(&self, failing: &Moment, others: &[Moment]) -> Demand {
        let runs = &[self.run];
        let held = others.iter().filter(|other| {
            let kind = other.operation.kind;
            kind != EventKind::Join
        });
        let held: Vec<Moment> = held
            .map(|other| before_wait(runs, other, |wait| self.taken(runs, wait)))
            .collect();
        let few = (2..MOST_SIDES).contains(&held.len());
        let locks: Vec<u64> = held.iter().flat_map(|one| self.held(runs, one)).collect();
        let mut candidates = Vec::new();
        for first in self.with_lifted(runs, vec![failing.clone()]) {
            let both = self
                .held(runs, &first)
                .iter()
                .any(|one| locks.contains(one));
            if few && !both {
                let mut sides = vec![first];
                sides.extend(held.iter().cloned());
                candidates.push(meeting(sides));
            }
        }
        Demand { candidates }
    }

    /// What a thread does last before a moment of another: it may be blocked from
    /// then on, and whoever comes there is.
    fn last_before(&self, thread: &ThreadPath, moment: &Moment) -> Option<Moment> {
        let position = moment.position(self.run)?;
        let own = self.run.events_of(thread);
        let last = own.take_while(|(event, _)| *event < position).last();
        last.map(|(event, _)| Moment::at(self.run, event))
    }

    /// What a thread does first after a moment of another.
    fn next_of(&self, thread: &ThreadPath, moment: &Moment) -> Option<Moment> {
        let position = moment.position(self.run)?;
        let mut own = self.run.events_of(thread);
        let (event, _) = own.find(|(event, _)| *event > position)?;
        Some(Moment::at(self.run, event))
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
                    sides: vec![first.clone(), second.clone()],
                    until: None,
                };
                let until = awakened(runs, second).map(|until| Candidate {
                    until: Some((1, until)),
                    ..candidate.clone()
                });
                for candidate in [Some(candidate), until].into_iter().flatten() {
                    if !candidates.contains(&candidate) {
                        candidates.push(candidate);
                    }
                }
            }
        }
        Demand { candidates }
    }

    /// The moments, and where the locks that are held then were taken.
    fn with_lifted(&self, runs: &[&Recorded], moments: Vec<Moment>) -> Vec<Moment> {
        let mut all: Vec<Moment> = Vec::new();
        let begins = |moment| {
            let begin = begin(runs, &moment);
            std::iter::once(moment).chain(begin)
        };
        for moment in moments.into_iter().flat_map(begins) {
            let taken = self
                .taken(runs, &moment)
                .into_iter()
                .map(|(_, taken)| taken);
            for one in std::iter::once(moment.clone()).chain(taken) {
                let waker = waker(runs, &one);
                for one in std::iter::once(one).chain(waker) {
                    if !all.contains(&one) {
                        all.push(one);
                    }
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

/// Threads that stand at these moments at once.
fn meeting(sides: Vec<Moment>) -> Candidate {
    Candidate {
        sides,
        until: None,
        same_object: false,
    }
}

/// Whether two operations are about the same memory or lock.
fn touch(one: &Operation, other: &Operation) -> bool {
    let memory = |operation: &Operation| (operation.object, u64::from(operation.size));
    one.object != 0 && other.object != 0 && same_memory(memory(one), memory(other))
}
