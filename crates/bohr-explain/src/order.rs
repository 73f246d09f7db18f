//! Two moments in the wrong order, in a run in which nobody is preempted: one
//! thread has done something before another has, and the other way round the
//! program does not fail.

use crate::experiment::{Experimenter, last_failing};
use crate::moment::Moment;
use bohr_event::control::Recorded;
use bohr_event::{PlaceNumber, Schedule, Segment};
use serde::Serialize;
use std::ops::Range;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Order {
    /// What came first and should not have.
    pub first: Moment,
    /// What should have come before it.
    pub second: Moment,
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
        if !pair.harmless(length, experimenter)? {
            continue;
        }
        // So many events of the first thread can come behind the second.
        let behind = last_failing(length, |distance| {
            Ok(!pair.harmless(distance, experimenter)?)
        })?;
        found.push(pair.order((length - behind) as usize));
    }
    Ok(found)
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

    /// Whether the program does not fail if the second segment comes `distance`
    /// events before the end of the first. Where it cannot, as before its thread
    /// is created, nothing is known, and that is no.
    fn harmless<E: Experimenter>(
        &self,
        distance: u64,
        experimenter: &mut E,
    ) -> Result<bool, E::Error> {
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
        Ok(!seen.fails && came_first)
    }

    /// The first event of the first segment that has to come before, with the
    /// one of the second that touches the same; if there is no such pair, what
    /// comes there.
    fn order(&self, needed: usize) -> Order {
        let from = self.first.start + needed.saturating_sub(1);
        let operation = |event: usize| &self.run.steps[event].operation;
        let conflict = (from..self.first.end).find_map(|event| {
            let touches = |other: &usize| {
                let accesses = operation(event).kind.is_access();
                accesses && operation(event).conflicts(operation(*other))
            };
            Some((event, self.second.clone().find(touches)?))
        });
        let (first, second) = conflict.unwrap_or((from, self.second.start));
        Order {
            first: Moment::at(self.run, first),
            second: Moment::at(self.run, second),
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
