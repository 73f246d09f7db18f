//! Plans that follow a schedule from the start of the program, for runs that begin at
//! an image: what lies before its moment has happened already.

use crate::{engine::ENGINE, record::RECORD};
use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use bohr_event::{Choice, PlaceNumber, Schedule, ThreadPath};
use bohr_schedule::Plan;

/// The plan for the rest of a run. Nothing changes in a process that was not made from
/// an image.
pub fn behind(plan: Plan) -> Result<Plan, String> {
    let begun = ENGINE.begun();
    match plan.follow {
        Some(mut follow) if begun > 0 => {
            follow.schedule = rest(&follow.schedule, begun)?;
            Ok(Plan {
                follow: Some(follow),
                ..plan
            })
        }
        _ => Ok(plan),
    }
}

fn rest(schedule: &Schedule<PlaceNumber>, begun: u64) -> Result<Schedule<PlaceNumber>, String> {
    let threads = ENGINE.threads();
    let paths: Vec<ThreadPath> = threads.iter().map(|thread| thread.path.clone()).collect();
    let own = RECORD.so_far(&paths, ENGINE.last_ran(), begun).schedule;
    let asked = |path: &ThreadPath| {
        let thread = threads.iter().rev().find(|thread| thread.path == *path);
        thread.map_or(0, |thread| RECORD.asked(thread.index))
    };
    let before = |choice: &&Choice| choice.number < asked(&choice.thread);
    let same_segments = turns(&own).eq(turns(&schedule.prefix(begun)));
    let same_choices = own
        .choices()
        .iter()
        .eq(schedule.choices().iter().filter(before));
    if !same_segments || !same_choices {
        return Err(format!(
            "the schedule does not lead to the moment of the image: its first {begun} events are \
             others"
        ));
    }
    let mut rest: Schedule<PlaceNumber> =
        schedule.suffix(begun).segments().iter().cloned().collect();
    for choice in schedule.choices() {
        if let Some(number) = choice.number.checked_sub(asked(&choice.thread)) {
            rest.choose(Choice {
                number,
                ..choice.clone()
            });
        }
    }
    match rest.segments().is_empty() {
        true => Err("the schedule ends before the moment of the image".to_string()),
        false => Ok(rest),
    }
}

fn turns(schedule: &Schedule<PlaceNumber>) -> impl Iterator<Item = (&ThreadPath, u64)> {
    let segments = schedule.segments().iter();
    segments.map(|segment| (&segment.thread, segment.events))
}
