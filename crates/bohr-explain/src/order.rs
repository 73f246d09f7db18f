//! Two moments in the wrong order, in a run in which nobody is preempted: one
//! thread has done something before another has, and the other way round the
//! program does not fail.

use crate::experiment::{Experimenter, last_failing};
use crate::moment::Moment;
use bohr_event::control::Recorded;
use bohr_event::{PlaceNumber, Schedule, Segment};
use serde::Serialize;

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
    let segments = run.schedule.segments();
    for segment in 0..segments.len().saturating_sub(1) {
        let length = segments[segment].events;
        let all_behind = entered(&run.schedule, segment, length);
        let seen = experimenter.observe(&all_behind)?;
        if seen.fails || seen.run.steps.is_empty() {
            continue;
        }
        // So many events of the first thread can come behind the second.
        let behind = last_failing(length, |distance| {
            let candidate = entered(&run.schedule, segment, distance);
            Ok(experimenter.observe(&candidate)?.fails)
        })?;
        let start: u64 = segments[..segment].iter().map(|other| other.events).sum();
        let first = (start + length - behind) as usize;
        if let Some(order) = order(run, first.saturating_sub(1), start + length) {
            found.push(order);
        }
    }
    Ok(found)
}

/// The event `first` with the one of the following segment that conflicts with it.
fn order(run: &Recorded, first: usize, boundary: u64) -> Option<Order> {
    let boundary = boundary as usize;
    let thread = run.steps.get(boundary)?.thread;
    let following =
        (boundary..run.steps.len()).take_while(|&event| run.steps[event].thread == thread);
    let operation = &run.steps[first].operation;
    let conflicting = |event: &usize| run.steps[*event].operation.conflicts(operation);
    let second = following.clone().find(conflicting).unwrap_or(boundary);
    Some(Order {
        first: Moment::at(run, first),
        second: Moment::at(run, second),
    })
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
