//! An order of events as a schedule that the runtime follows: who runs, and up to
//! which visit of which place. The runtime has more events than a problem has; what
//! nobody else can notice was left out of it, so only places are told, and counts of
//! visits there.

use crate::check::Turn;
use crate::event::{Action, Event, Problem};
use bohr_event::{Anchor, Place, Schedule, Segment, ThreadPath};
use bohr_program::Program;
use std::collections::HashMap;

/// More events than a run has: a segment that ends where its thread cannot go on.
const ON: u64 = 1 << 40;

/// The schedule of an order of events. Segments end at their anchors, whatever
/// their counts of events say.
#[must_use]
pub fn schedule(program: &Program, problem: &Problem, order: &[Turn]) -> Schedule {
    let mut schedule = Schedule::default();
    // By thread: the number of its last operation in an earlier segment.
    let mut before: HashMap<usize, u32> = HashMap::new();
    before.insert(
        0,
        problem.threads.first().map_or(0, |main| main.alone_until),
    );
    let mut turns = order.iter().peekable();
    let mut first = 0;
    while let Some(turn) = turns.next() {
        let (thread, event) = acting(problem, turn);
        let goes_on = turns
            .peek()
            .is_some_and(|next| acting(problem, next).0 == thread);
        first += 1;
        if goes_on {
            continue;
        }
        let events = std::mem::take(&mut first);
        let (events, end) = match (turn, event) {
            (Turn::Commit(_), _) => (events, None),
            (Turn::Event(id), event) => {
                let start = before.insert(id.thread, event.number).unwrap_or(0);
                anchored(program, problem, id.thread, event, start, events)
            }
        };
        schedule.push(Segment {
            thread,
            events,
            end,
        });
    }
    schedule
}

/// Who acts in a turn, and the event that it is about.
fn acting<'a>(problem: &'a Problem, turn: &Turn) -> (ThreadPath, &'a Event) {
    match turn {
        Turn::Event(id) => (problem.threads[id.thread].path.clone(), problem.event(*id)),
        Turn::Commit(id) => (
            problem.threads[id.thread].path.buffer(0),
            problem.event(*id),
        ),
    }
}

/// Where a segment ends.
fn anchored(
    program: &Program,
    problem: &Problem,
    thread: usize,
    event: &Event,
    start: u32,
    events: u64,
) -> (u64, Option<Anchor>) {
    match event.action {
        Action::Fail | Action::Exit => return (ON, None),
        Action::Start => return (events, None),
        _ => {}
    }
    let site = program.site_at(event.spot.function, event.spot.instruction);
    let visits = problem.threads[thread].visits.get(&event.spot);
    let visits = visits.map_or(0, |all| {
        all.iter()
            .filter(|number| (start + 1..=event.number).contains(number))
            .count()
    });
    match site {
        Some(site) => {
            let place = Place::Site(program.site_id(site));
            let visits = visits as u32;
            (events, Some(Anchor { place, visits }))
        }
        None => (events, None),
    }
}
