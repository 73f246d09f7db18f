//! Two moments in the wrong order, in a run in which nobody is preempted: one
//! thread has done something before another has, and the other way round the
//! program does not fail.

use crate::experiment::{Experimenter, Importance, last_failing};
use crate::moment::Moment;
use bohr_event::control::{Recorded, Step};
use bohr_event::{EventKind, Operation, PlaceNumber, Schedule, Segment, ThreadPath};
use serde::Serialize;
use std::ops::Range;

/// Conflicts between two segments that are tried the other way round, the last ones.
const MOST_MET: usize = 16;

/// Conflicts of a segment with a thread that came too late that are tried, the last ones.
const MOST_OVERTAKEN: usize = 128;

/// See the module.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Order {
    /// What came first and should not have.
    pub first: Moment,
    /// What should have come before it.
    pub second: Moment,
    /// What the thread of `second` did with the same variable last before `first`.
    pub earlier: Option<Moment>,
    /// The run that has them the other way round, and does not fail.
    #[serde(skip)]
    pub passing: Option<Recorded>,
}

impl Order {
    /// The nearest run that does not fail.
    #[must_use]
    pub fn passing_run(&self) -> Option<&Recorded> {
        self.passing.as_ref()
    }

    /// All that is named, in the order in which it happens.
    pub fn named(&self) -> impl Iterator<Item = &Moment> {
        self.earlier.iter().chain([&self.first, &self.second])
    }
}

/// The orders between neighbouring segments of a failing run that have to be as
/// they are for it to fail.
///
/// # Errors
/// If the program cannot be run.
pub fn orders<E: Experimenter>(
    run: &Recorded,
    experimenter: &mut E,
) -> Result<Vec<Order>, E::Error> {
    let mut found = Vec::new();
    for segment in 0..run.schedule.segments().len().saturating_sub(1) {
        let pair = Pair::new(run, segment);
        let length = run.schedule.segments()[segment].events;
        let Some((most, mut passing)) = pair.turned(experimenter)? else {
            continue;
        };
        // So many events of the first thread can come behind the second.
        let behind = last_failing(most, |distance| {
            let nearer = pair.harmless(distance, experimenter)?;
            let fails = nearer.is_none();
            passing = nearer.unwrap_or_else(|| std::mem::take(&mut passing));
            Ok(fails)
        })?;
        let importance = |operation: &Operation| experimenter.importance(operation);
        found.push(Order {
            passing: Some(passing),
            ..pair.order((length - behind) as usize, &importance)
        });
    }
    Ok(found)
}

/// The orders between a failing run and threads that had not begun at its end, or, if
/// `waiting`, that wait there: had one of them come first, the run would not fail.
///
/// # Errors
/// If the program cannot be run.
pub fn absentees<E: Experimenter>(
    run: &Recorded,
    waiting: bool,
    experimenter: &mut E,
) -> Result<Vec<Order>, E::Error> {
    let last = run.schedule.segments().len().saturating_sub(1);
    let all = last.saturating_sub(MOST_MET)..last + 1;
    let mut found = Vec::new();
    for step in &run.pending {
        let before = match step.operation.kind {
            EventKind::Start => last..last + 1,
            // Whom it waits for, it cannot overtake.
            EventKind::Join => continue,
            _ if !waiting => continue,
            _ => all.clone(),
        };
        found.extend(Absent::of(run, step).first_before(before, experimenter)?);
    }
    // What was too late for one that had not begun may have happened long before the end.
    let begins = |step: &&Step| step.operation.kind == EventKind::Start;
    for step in run.pending.iter().filter(begins) {
        if waiting && found.is_empty() {
            let earlier = all.start..last;
            found.extend(Absent::of(run, step).first_before(earlier, experimenter)?);
        }
    }
    Ok(found)
}

/// A thread that could have come first.
struct Absent<'a> {
    run: &'a Recorded,
    thread: &'a ThreadPath,
    /// Events that it has had.
    done: usize,
}

impl<'a> Absent<'a> {
    fn of(run: &'a Recorded, pending: &Step) -> Absent<'a> {
        let thread = &run.threads[pending.thread.position()];
        let done = run.events_of(thread).count();
        Absent { run, thread, done }
    }

    /// The order with the last of some segments before which the thread prevents the failure.
    fn first_before<E: Experimenter>(
        &self,
        segments: Range<usize>,
        experimenter: &mut E,
    ) -> Result<Option<Order>, E::Error> {
        let all = self.run.schedule.segments();
        for segment in segments.rev() {
            let Some(one) = all.get(segment) else {
                continue;
            };
            if one.thread == *self.thread {
                continue;
            }
            if let Some(passing) = self.harmless(segment, one.events, experimenter)? {
                return self.overtaken(segment, passing, experimenter);
            }
        }
        Ok(None)
    }

    /// The run in which the thread does all that it can so many events before the end of a
    /// segment, if that does not fail.
    fn harmless<E: Experimenter>(
        &self,
        segment: usize,
        distance: u64,
        experimenter: &mut E,
    ) -> Result<Option<Recorded>, E::Error> {
        let whole = Segment {
            thread: self.thread.clone(),
            events: u64::from(u32::MAX),
            end: None,
        };
        let schedule = &self.run.schedule;
        let behind = &schedule.segments()[segment + 1..];
        let seen = experimenter.observe(&put_in(schedule, segment, distance, whole, behind))?;
        Ok((!seen.fails).then_some(seen.run))
    }

    /// The last event of a segment that conflicts with what the thread would have done, and
    /// before which it still prevents the failure. A thread may be held up somewhere in
    /// between, so the outcome can change more than once, and each is tried from the last
    /// on. If there is none, the last that conflicts. Where that belongs to a lock or to the
    /// language, data that comes with it says more.
    fn overtaken<E: Experimenter>(
        &self,
        segment: usize,
        mut passing: Recorded,
        experimenter: &mut E,
    ) -> Result<Option<Order>, E::Error> {
        let lengths = self.run.schedule.segments()[..=segment].iter();
        let ends: usize = lengths.map(|segment| segment.events as usize).sum();
        let begins = ends - self.run.schedule.segments()[segment].events as usize;
        let met = self.met_by(&passing);
        let conflicts = |event: &usize| met.conflicts(&self.run.steps[*event].operation);
        let events = (begins..ends).rev().filter(conflicts);
        let events: Vec<usize> = events.take(MOST_OVERTAKEN).collect();
        let Some(mut decisive) = events.first().copied() else {
            return Ok(None);
        };
        for event in &events {
            if let Some(nearer) = self.harmless(segment, (ends - event) as u64, experimenter)? {
                (decisive, passing) = (*event, nearer);
                break;
            }
        }
        let met = self.met_by(&passing);
        let is_data = |event: &usize| {
            let operation = &self.run.steps[*event].operation;
            met.conflicts(operation) && experimenter.importance(operation) == Importance::Data
        };
        let mut around = (decisive..ends).chain((begins..decisive).rev());
        let first = around.find(is_data).unwrap_or(decisive);
        let Some(second) = met.first(&self.run.steps[first].operation) else {
            return Ok(None);
        };
        Ok(Some(Order {
            first: Moment::at(self.run, first),
            second: Moment::at(&passing, second),
            earlier: None,
            passing: Some(passing),
        }))
    }

    /// What the thread does in another run only.
    fn met_by(&self, other: &Recorded) -> Met {
        let own = other.events_of(self.thread).skip(self.done);
        let accesses = own.filter(|(_, operation)| operation.kind.is_access());
        Met(accesses
            .map(|(position, operation)| (position, *operation))
            .collect())
    }
}

/// Accesses of a thread, with their positions.
struct Met(Vec<(usize, Operation)>);

impl Met {
    /// The first that conflicts with an access.
    fn first(&self, operation: &Operation) -> Option<usize> {
        let conflicts =
            |(_, own): &&(usize, Operation)| operation.kind.is_access() && operation.conflicts(own);
        self.0.iter().find(conflicts).map(|(position, _)| *position)
    }

    fn conflicts(&self, operation: &Operation) -> bool {
        self.first(operation).is_some()
    }
}

/// Two neighbouring segments.
struct Pair<'a> {
    run: &'a Recorded,
    segment: usize,
    /// Positions of the events of the first.
    first: Range<usize>,
    /// Positions of the events of the second.
    second: Range<usize>,
}

impl<'a> Pair<'a> {
    fn new(run: &'a Recorded, segment: usize) -> Pair<'a> {
        let lengths = run
            .schedule
            .segments()
            .iter()
            .map(|one| one.events as usize);
        let start: usize = lengths.take(segment).sum();
        let segments = &run.schedule.segments()[segment..];
        let middle = start + segments[0].events as usize;
        Pair {
            run,
            segment,
            first: start..middle,
            second: middle..middle + segments[1].events as usize,
        }
    }

    /// The run in which the second segment comes `distance` events before the end
    /// of the first, if that does not fail. Where it cannot come there, as before
    /// its thread is created, nothing is known, and there is none.
    fn harmless<E: Experimenter>(
        &self,
        distance: u64,
        experimenter: &mut E,
    ) -> Result<Option<Recorded>, E::Error> {
        let candidate = entered(&self.run.schedule, self.segment, distance);
        let seen = experimenter.observe(&candidate)?;
        let position = |event: usize| {
            let moment = Moment::at(self.run, event);
            let mut own = seen.run.events_of(&moment.thread);
            own.nth(moment.number as usize).map(|event| event.0)
        };
        let overtaken = self.first.end - (distance as usize).min(self.first.len());
        let came = position(self.second.start);
        let came_first = match position(overtaken) {
            Some(overtaken) => came.is_some_and(|came| came < overtaken),
            None => came.is_some(),
        };
        Ok((!seen.fails && came_first).then_some(seen.run))
    }

    /// How far before the end of the first segment the second does no harm, and the run
    /// that shows it: before all of it, or, where the second needs something of the
    /// first, before something that touches the same.
    fn turned<E: Experimenter>(
        &self,
        experimenter: &mut E,
    ) -> Result<Option<(u64, Recorded)>, E::Error> {
        let operation = |event: usize| &self.run.steps[event].operation;
        let conflicts = |event: &usize| {
            let mut second = self.second.clone();
            second.any(|other| operation(*event).conflicts(operation(other)))
        };
        let met = self.first.clone().rev().filter(conflicts);
        let met = met.map(|event| self.first.end - event);
        for distance in std::iter::once(self.first.len()).chain(met.take(MOST_MET)) {
            let distance = distance as u64;
            if let Some(run) = self.harmless(distance, experimenter)? {
                return Ok(Some((distance, run)));
            }
        }
        Ok(None)
    }

    /// The first event of the first segment that has to come before, with the
    /// one of the second that touches the same. What has to come before may be
    /// the end of a critical section: then it is an access in that. If there is
    /// no such pair, what comes there.
    fn order(&self, needed: usize, importance: &dyn Fn(&Operation) -> Importance) -> Order {
        let from = self.first.start + needed.saturating_sub(1);
        let operation = |event: usize| &self.run.steps[event].operation;
        let conflict = |event: usize, wanted: Importance| {
            let touches = |other: &usize| {
                let accesses = operation(event).kind.is_access();
                accesses && operation(event).conflicts(operation(*other))
            };
            let worth = importance(operation(event)) == wanted;
            Some((event, self.second.clone().find(touches).filter(|_| worth)?))
        };
        let around = (from..self.first.end).chain((self.first.start..from).rev());
        let of_worth = |wanted| around.clone().find_map(|event| conflict(event, wanted));
        let found = of_worth(Importance::Data).or_else(|| of_worth(Importance::Lock));
        let (first, second) = found.unwrap_or((from, self.second.start));
        let before = (0..first).rev().find(|event| {
            let same = operation(*event).object == operation(first).object;
            same && self.run.steps[*event].thread == self.run.steps[second].thread
        });
        Order {
            first: Moment::at(self.run, first),
            second: Moment::at(self.run, second),
            earlier: before
                .filter(|_| found.is_some())
                .map(|event| Moment::at(self.run, event)),
            passing: None,
        }
    }
}

/// The schedule in which the following segment comes `distance` events before
/// the end of this one.
fn entered(
    schedule: &Schedule<PlaceNumber>,
    segment: usize,
    distance: u64,
) -> Schedule<PlaceNumber> {
    let segments = schedule.segments();
    let entering = segments[segment + 1].clone();
    let behind = &segments[segment + 2..];
    put_in(schedule, segment, distance, entering, behind)
}

/// The schedule in which another segment comes `distance` events before the end of one;
/// then what is left of that, and what is behind.
fn put_in(
    schedule: &Schedule<PlaceNumber>,
    segment: usize,
    distance: u64,
    entering: Segment<PlaceNumber>,
    behind: &[Segment<PlaceNumber>],
) -> Schedule<PlaceNumber> {
    let segments = schedule.segments();
    let mut order: Vec<Segment<PlaceNumber>> = segments[..segment].to_vec();
    let part = |events| Segment {
        events,
        end: None,
        ..segments[segment].clone()
    };
    let length = segments[segment].events;
    if distance < length {
        order.push(part(length - distance));
    }
    order.push(entering);
    if distance > 0 {
        order.push(part(distance));
    }
    order.extend_from_slice(behind);
    let mut result: Schedule<PlaceNumber> = order.into_iter().collect();
    for choice in schedule.choices() {
        result.choose(choice.clone());
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Observation;
    use crate::toy::{operation, recorded};
    use EventKind::{Acquire, Exit, Read, Start, Update, Write};
    use bohr_event::ThreadIndex;
    use std::convert::Infallible;

    const SEMAPHORE: u64 = 0x10;
    const COUNT: u64 = 0x20;

    /// A program in which thread 1 keeps what thread 2 needs, unless that comes first.
    struct Program;

    impl Experimenter for Program {
        type Error = Infallible;

        fn observe(&mut self, schedule: &Schedule<PlaceNumber>) -> Result<Observation, Infallible> {
            let mut segments = schedule.segments().iter();
            let first = segments.find(|segment| segment.thread != ThreadPath::MAIN);
            let second = ThreadPath::MAIN.child(2);
            let fails = first.is_none_or(|first| first.thread != second);
            let run = recorded(&[
                (2, Start, 0, 0),
                (2, Acquire, SEMAPHORE, 0),
                (2, Write, COUNT, 4),
                (1, Read, COUNT, 4),
            ]);
            Ok(Observation { fails, run })
        }
    }

    #[test]
    fn who_waits_at_the_end_would_have_come_first() {
        let mut run = recorded(&[
            (1, Acquire, SEMAPHORE, 0),
            (1, Read, COUNT, 4),
            (1, Exit, 0, 0),
            (2, Start, 0, 0),
        ]);
        run.pending.push(Step {
            thread: ThreadIndex(2),
            operation: operation(Acquire, SEMAPHORE, 0),
        });
        let Ok(found) = absentees(&run, true, &mut Program);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].first.position(&run), Some(1));
        assert_eq!(found[0].second.operation.kind, Write);
        assert_eq!(found[0].second.thread.to_string(), "0:2");
        let Ok(none) = absentees(&run, false, &mut Program);
        assert_eq!(none, []);
    }

    const LOCK: u64 = 0x30;
    const QUEUE: u64 = 0x40;

    /// A program in which thread 1 has to be at the queue before thread 2, and cannot go on
    /// while thread 2 has the lock.
    struct Senders;

    impl Experimenter for Senders {
        type Error = Infallible;

        fn observe(&mut self, schedule: &Schedule<PlaceNumber>) -> Result<Observation, Infallible> {
            let first = ThreadPath::MAIN.child(1);
            let segments = schedule.segments().iter();
            let before = segments.take_while(|segment| segment.thread != first);
            let second = before.filter(|segment| segment.thread != ThreadPath::MAIN);
            let done: u64 = second.map(|segment| segment.events).sum();
            let run = recorded(&[
                (1, Update, LOCK, 4),
                (1, Write, LOCK, 4),
                (1, Update, QUEUE, 8),
            ]);
            let fails = ![0, 2].contains(&done);
            Ok(Observation { fails, run })
        }
    }

    #[test]
    fn what_a_thread_came_too_late_for_is_not_where_it_would_be_held_up() {
        let mut run = recorded(&[
            (2, Update, LOCK, 4),
            (2, Write, LOCK, 4),
            (2, Update, QUEUE, 8),
            (0, Read, QUEUE, 8),
            (0, Read, COUNT, 4),
        ]);
        run.pending.push(Step {
            thread: ThreadIndex(1),
            operation: operation(Start, 0, 0),
        });
        let Ok(found) = absentees(&run, true, &mut Senders);
        let told: Vec<_> = found.iter().map(|one| one.first.position(&run)).collect();
        assert_eq!(told, [Some(2)]);
        assert_eq!(found[0].second.operation.object, QUEUE);
    }
}
