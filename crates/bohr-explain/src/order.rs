//! Two moments in the wrong order, in a run in which nobody is preempted: one
//! thread has done something before another has, and the other way round the
//! program does not fail.

use crate::experiment::{Experimenter, Importance, last_failing};
use crate::moment::Moment;
use bohr_event::control::Recorded;
use bohr_event::{EventKind, Operation, PlaceNumber, Schedule, Segment, ThreadPath};
use serde::Serialize;
use std::ops::Range;

/// Conflicts between two segments that are tried the other way round, the last ones.
const MOST_MET: usize = 16;

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
    let segments = run.schedule.segments();
    let mut found = Vec::new();
    for step in &run.pending {
        let thread = &run.threads[step.thread.position()];
        let last = segments.len().saturating_sub(1);
        let before = match step.operation.kind {
            EventKind::Start => last..segments.len(),
            // Whom it waits for, it cannot overtake.
            EventKind::Join => continue,
            _ if !waiting => continue,
            _ => last.saturating_sub(MOST_MET)..segments.len(),
        };
        for segment in before.rev() {
            if segments[segment].thread == *thread {
                continue;
            }
            let seen = experimenter.observe(&with_all_of(&run.schedule, thread, segment))?;
            if !seen.fails {
                found.extend(overtaken(run, segment, &seen.run, thread));
                break;
            }
        }
    }
    Ok(found)
}

/// The schedule in which a thread does all that it can before a segment of another one.
fn with_all_of(
    schedule: &Schedule<PlaceNumber>,
    thread: &ThreadPath,
    segment: usize,
) -> Schedule<PlaceNumber> {
    let (before, behind) = schedule.segments().split_at(segment);
    let whole = Segment {
        thread: thread.clone(),
        events: u64::from(u32::MAX),
        end: None,
    };
    let all = before.iter().cloned().chain([whole]);
    let mut candidate: Schedule<PlaceNumber> = all.chain(behind.iter().cloned()).collect();
    for choice in schedule.choices() {
        candidate.choose(choice.clone());
    }
    candidate
}

/// The last event of a segment of a failing run that conflicts with what an absent
/// thread did only in another run.
fn overtaken(
    run: &Recorded,
    segment: usize,
    other: &Recorded,
    thread: &ThreadPath,
) -> Option<Order> {
    let lengths = run.schedule.segments()[..=segment].iter();
    let ends: usize = lengths.map(|segment| segment.events as usize).sum();
    let begins = ends - run.schedule.segments()[segment].events as usize;
    let done = run.events_of(thread).count();
    let absent: Vec<(usize, &Operation)> = other.events_of(thread).skip(done).collect();
    (begins..ends).rev().find_map(|event| {
        let own = &run.steps[event].operation;
        let conflicts = |(_, operation): &&(usize, &Operation)| {
            own.kind.is_access() && operation.kind.is_access() && own.conflicts(operation)
        };
        let (second, _) = absent.iter().find(conflicts)?;
        Some(Order {
            first: Moment::at(run, event),
            second: Moment::at(other, *second),
            earlier: None,
            passing: Some(other.clone()),
        })
    })
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
    order.push(segments[segment + 1].clone());
    if distance > 0 {
        order.push(part(distance));
    }
    order.extend_from_slice(&segments[segment + 2..]);
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
    use EventKind::{Acquire, Exit, Read, Start, Write};
    use bohr_event::ThreadIndex;
    use bohr_event::control::Step;
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
}
