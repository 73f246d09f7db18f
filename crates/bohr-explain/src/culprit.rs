//! The variables at the heart of a window: what the interrupted thread did with
//! them before, what another did with them in between, what the first does with
//! them afterwards.
//!
//! An interruption is harmless where the execution is the same as one without
//! it. It is not if the interrupted thread comes before the other one by one
//! conflict and after it by another (Bernstein, Hadzilacos and Goodman,
//! "Concurrency Control and Recovery in Database Systems", 1987). With one
//! variable in both conflicts these are the four patterns of Lu, Tucek, Qin and
//! Zhou ("AVIO", ASPLOS 2006); with two, the variables belong together.
//!
//! Conflicts are plenty. The edges of a window were found by experiment, so the
//! conflicts closest to them count: an edge is the access itself, or the end of
//! the critical section that it lies in.

use crate::directory::Directory;
use crate::experiment::Importance;
use crate::moment::Moment;
use bohr_event::{EventKind, Operation, ThreadPath};
use serde::Serialize;

/// Events of the interrupted thread that are looked at on either side.
pub(crate) const REACH: usize = 64;

/// Further variables that are named beside those of the closest conflicts.
const FURTHER: usize = 2;

/// So many events further away, one variable is still a better explanation than
/// two.
const ONE_FOR_TWO: usize = 1;

/// See the module. `before` and `between` conflict, and so do `then` and `after`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Culprit {
    /// The last access before the interruption.
    pub before: Option<Moment>,
    /// The one in between, by another thread.
    pub between: Moment,
    /// The one in between that comes before `after`, if that is about another
    /// variable.
    pub then: Option<Moment>,
    /// The first access afterwards, done or still to be done.
    pub after: Option<Moment>,
    /// The same with further variables around the same edges.
    pub further: Vec<[Moment; 3]>,
    /// Whether it is locks that conflict: the accesses are what they guard.
    pub by_locks: bool,
}

impl Culprit {
    /// All that is named, in the order in which it happens.
    pub fn named(&self) -> impl Iterator<Item = &Moment> {
        let own = self.before.iter().chain([&self.between]).chain(&self.then);
        own.chain(&self.after).chain(self.further.iter().flatten())
    }

    /// The pairs of it that conflict.
    pub fn conflicts(&self) -> impl Iterator<Item = [&Moment; 2]> {
        let left = self.before.iter().map(|before| [before, &self.between]);
        let then = self.then.as_ref().unwrap_or(&self.between);
        let right = self.after.iter().map(move |after| [then, after]);
        let further = self.further.iter();
        let further = further.flat_map(|[one, two, three]| [[one, two], [two, three]]);
        left.chain(right).chain(further)
    }
}

/// What is around an interruption.
pub(crate) struct Surroundings<'a> {
    pub directory: &'a Directory<'a>,
    pub thread: &'a ThreadPath,
    /// Events of the thread up to the one that opens the window.
    pub opened: u64,
    /// Events of the thread up to where it was interrupted.
    pub interrupted: u64,
    /// The events of others that are needed.
    pub between: std::ops::Range<usize>,
    /// All events of others before the interrupted thread goes on.
    pub whole: std::ops::Range<usize>,
    /// What the interrupted thread does from its window on: its own events, or
    /// those of a run in which it was not interrupted.
    pub after: Vec<Moment>,
    /// What accesses are worth.
    pub importance: &'a dyn Fn(&Operation) -> Importance,
}

/// A conflict with one side of the interrupted thread.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Conflict {
    importance: Importance,
    /// Events between it and the edge.
    distance: usize,
    /// Position of the interrupted thread's event, from the edge.
    own: usize,
    /// Position of the other's event in the run.
    other: usize,
}

impl Conflict {
    /// The best first.
    fn rank(&self) -> (std::cmp::Reverse<Importance>, usize) {
        (std::cmp::Reverse(self.importance), self.distance)
    }
}

impl Surroundings<'_> {
    /// The best explanation, if there is one.
    pub fn culprit(&self) -> Option<Culprit> {
        let mut before = self.before(self.opened);
        let mut left = self.conflicts(&before, true, &self.between);
        let mut right = self.conflicts(&self.after, false, &self.between);
        let mut one = self.one_variable(&left, &right, &before);
        if one.is_none() {
            // Another way to fail may have hidden where the window really opens.
            let inside = self.before(self.interrupted);
            let conflicts = self.conflicts(&inside, true, &self.between);
            if let Some(closer) = self.one_variable(&conflicts, &right, &inside) {
                (before, left, one) = (inside, conflicts, Some(closer));
            }
        }
        // It may as well have hidden how much has to come in between: of a lost update,
        // the other thread's read is enough, since then it is that one's that is lost.
        let distance = |(first, second): (Conflict, Conflict)| first.distance + second.distance;
        let closest = || left.first().copied().zip(right.first().copied());
        let reached = one.or_else(closest).map(distance);
        let own = self.before(self.opened);
        let [earlier, later] = [
            self.conflicts(&own, true, &self.whole),
            self.conflicts(&self.after, false, &self.whole),
        ];
        let wider = self.one_variable(&earlier, &later, &own);
        let wider = wider.filter(|pair| reached.is_none_or(|reached| distance(*pair) < reached));
        if wider.is_some() {
            (before, left, right, one) = (own, earlier, later, wider);
        }
        let named = match one {
            Some((first, second)) => [Some(first), Some(second)],
            None => [left.first().copied(), right.first().copied()],
        };
        let further = self.further(&left, &right, &before, named);
        let by_locks = named
            .iter()
            .flatten()
            .all(|conflict| conflict.importance == Importance::Lock);
        let [first, second] = named;
        let first = first.map(|first| self.seen(&before, first, true));
        let second = second.map(|second| self.seen(&self.after, second, false));
        let (_, between) = first.as_ref().or(second.as_ref())?;
        let apart = |then: &&Moment| !overlap(&then.operation, &between.operation);
        let then = second.as_ref().map(|second| &second.1).filter(apart);
        Some(Culprit {
            then: then.cloned(),
            between: between.clone(),
            before: first.map(|first| first.0),
            after: second.map(|second| second.0),
            further,
            by_locks,
        })
    }

    /// The two accesses of a conflict. Where only locks conflict, these are
    /// accesses in the critical sections: two that would conflict if there are
    /// any, or else the first of each, since code out of sight may do the rest.
    fn seen(&self, own: &[Moment], conflict: Conflict, left: bool) -> (Moment, Moment) {
        let moment = &own[conflict.own];
        let other = self.directory.at(conflict.other);
        if self.worth(&moment.operation) != Importance::Lock {
            return (moment.clone(), other);
        }
        // Of a lock made of atomics, the last change before the edge gives it back.
        let (nearer, further) = (&own[..conflict.own], &own[conflict.own + 1..]);
        let lock = &moment.operation;
        let mine: Vec<&Moment> = match (left, lock.kind) {
            (true, EventKind::Acquire) => self.section(nearer.iter().rev(), lock),
            (true, _) => self.section(further.iter(), lock),
            (false, _) => self.section(further.iter(), lock),
        };
        let behind = self.directory.behind(conflict.other);
        let theirs: Vec<Moment> = behind.take(REACH).collect();
        let theirs = self.section(theirs.iter(), lock);
        let conflicts = |one: &Moment, two: &Moment| {
            let reads = |moment: &Moment| moment.operation.kind == EventKind::Read;
            overlap(&one.operation, &two.operation) && !(reads(one) && reads(two))
        };
        let pair = mine.iter().find_map(|one| {
            let two = theirs.iter().find(|two| conflicts(one, two))?;
            Some(((*one).clone(), (*two).clone()))
        });
        pair.unwrap_or_else(|| {
            let first = |section: &[&Moment], lock: &Moment| {
                let shared = section
                    .iter()
                    .find(|moment| self.directory.is_shared(moment));
                (*shared.or(section.first()).unwrap_or(&lock)).clone()
            };
            (first(&mine, moment), first(&theirs, &other))
        })
    }

    /// The accesses to data in a critical section of a lock.
    fn section<'m>(
        &self,
        events: impl Iterator<Item = &'m Moment>,
        lock: &Operation,
    ) -> Vec<&'m Moment> {
        let is_end = |moment: &&Moment| {
            let kind = moment.operation.kind;
            kind == EventKind::Release
                || kind != EventKind::Read && overlap(&moment.operation, lock)
        };
        let inside = events.take_while(|moment| !is_end(moment));
        let data = |moment: &&Moment| {
            moment.operation.kind.is_access() && self.worth(&moment.operation) == Importance::Data
        };
        inside.filter(data).collect()
    }

    /// The conflicts of the events on one side, the best first; of each event the
    /// last one in between on the left, the first one on the right.
    fn conflicts(
        &self,
        own: &[Moment],
        left: bool,
        between: &std::ops::Range<usize>,
    ) -> Vec<Conflict> {
        let mut found = Vec::new();
        for (distance, moment) in own.iter().enumerate() {
            let hits = |event: usize| {
                self.conflict(&moment.operation, event, left)
                    && !(left && self.directory.is_before_creation(moment, event))
            };
            let other = self
                .directory
                .conflicting(&moment.operation, between, !left, hits);
            found.extend(other.map(|other| {
                Conflict {
                    importance: self
                        .worth(&moment.operation)
                        .min(self.worth(&self.directory.run.steps[other].operation)),
                    distance,
                    own: distance,
                    other,
                }
            }));
        }
        found.retain(|conflict| conflict.importance > Importance::Private);
        found.sort_by_key(Conflict::rank);
        found
    }

    fn worth(&self, operation: &Operation) -> Importance {
        match operation.kind.is_access() {
            true => (self.importance)(operation),
            false if operation.kind == EventKind::Free => Importance::Data,
            false => Importance::Lock,
        }
    }

    /// Whether an event in between conflicts with one on the left or right of it.
    /// That memory ends is of no importance to those who came before.
    fn conflict(&self, own: &Operation, event: usize, left: bool) -> bool {
        let other = &self.directory.run.steps[event].operation;
        let kinds = [own.kind, other.kind];
        let data = kinds.iter().all(|kind| kind.is_access());
        let ends = !left && own.kind.is_access() && other.kind == EventKind::Free;
        let locks = kinds.iter().all(|kind| *kind == EventKind::Acquire);
        let changes = kinds.iter().any(|kind| *kind != EventKind::Read);
        // Paths are compared last: it takes longest.
        (data || ends || locks)
            && changes
            && overlap(own, other)
            && self.directory.run.path(event) != self.thread
    }

    /// One variable on both sides, if it explains about as well as the best two.
    fn one_variable(
        &self,
        left: &[Conflict],
        right: &[Conflict],
        before: &[Moment],
    ) -> Option<(Conflict, Conflict)> {
        let distance = |one: &Conflict, two: &Conflict| one.distance + two.distance;
        let bound = distance(left.first()?, right.first()?) + ONE_FOR_TWO;
        let importance = left.first()?.importance.min(right.first()?.importance);
        let pairs = left.iter().flat_map(|first| {
            let same = move |second: &&Conflict| self.is_same(first, second, before);
            right.iter().find(same).map(|second| (*first, *second))
        });
        let good = pairs.filter(|(first, second)| {
            first.importance.min(second.importance) >= importance
                && distance(first, second) <= bound
                && self.is_unserial(first, second, before)
        });
        good.min_by_key(|(first, second)| distance(first, second))
    }

    fn is_same(&self, first: &Conflict, second: &Conflict, before: &[Moment]) -> bool {
        let one = &before[first.own].operation;
        overlap(one, &self.after[second.own].operation)
    }

    /// Whether no serial order explains three accesses to one variable. Of a lock,
    /// those to what it guards decide.
    fn is_unserial(&self, first: &Conflict, second: &Conflict, before: &[Moment]) -> bool {
        let writes = |moment: &Moment| moment.operation.kind != EventKind::Read;
        let (one, between) = self.seen(before, *first, true);
        let (two, _) = self.seen(&self.after, *second, false);
        matches!(
            (writes(&one), writes(&between), writes(&two)),
            (false, true, _) | (true, true, false) | (true, false, true)
        )
    }

    /// More variables with both conflicts in the critical sections at the edges.
    fn further(
        &self,
        left: &[Conflict],
        right: &[Conflict],
        before: &[Moment],
        named: [Option<Conflict>; 2],
    ) -> Vec<[Moment; 3]> {
        let ends = [self.edge(before), self.edge(&self.after)];
        let mut known: Vec<Operation> = Vec::new();
        known.extend(named[0].map(|first| before[first.own].operation));
        known.extend(named[1].map(|second| self.after[second.own].operation));
        let mut found = Vec::new();
        for first in left.iter().filter(|first| first.own < ends[0]) {
            let operation = before[first.own].operation;
            let second = right
                .iter()
                .find(|second| second.own < ends[1] && self.is_same(first, second, before));
            let Some(second) = second.filter(|_| first.importance == Importance::Data) else {
                continue;
            };
            if found.len() < FURTHER && !known.iter().any(|other| overlap(other, &operation)) {
                known.push(operation);
                found.push([
                    before[first.own].clone(),
                    self.directory.at(first.other),
                    self.after[second.own].clone(),
                ]);
            }
        }
        found
    }

    /// How many events from the edge belong to the critical section there.
    fn edge(&self, own: &[Moment]) -> usize {
        let is_boundary = |moment: &Moment| {
            let kind = moment.operation.kind;
            !kind.is_access() || self.worth(&moment.operation) != Importance::Data
        };
        let inside = own.iter().enumerate().skip(1);
        let mut boundary = inside.filter(|(_, moment)| is_boundary(moment));
        boundary.next().map_or(own.len(), |(position, _)| position)
    }

    /// The first so many events of the interrupted thread, the last of them first.
    fn before(&self, end: u64) -> Vec<Moment> {
        let numbers = (end.saturating_sub(REACH as u64)..end).rev();
        numbers
            .filter_map(|number| self.directory.moment(self.thread, number))
            .collect()
    }
}

pub(crate) fn overlap(one: &Operation, two: &Operation) -> bool {
    let end = |operation: &Operation| operation.object + u64::from(operation.size.max(1));
    one.object < end(two) && two.object < end(one)
}
