//! A divergence in words: which thread, what was expected, what came.

use crate::atlas::Atlas;
use bohr_event::Operation;
use bohr_schedule::Divergence;

/// What happened, for people.
#[must_use]
pub fn explain(divergence: &Divergence, atlas: &mut Atlas) -> String {
    match divergence {
        Divergence::NoThread { segment, thread } => {
            format!("at segment {segment} thread {thread} was to run and has not been created")
        }
        Divergence::NotEnabled {
            segment,
            thread,
            pending,
        } => format!(
            "at segment {segment} thread {thread} was to run and cannot: {}",
            pending.map_or("it has ended".to_string(), |pending| doing(&pending, atlas))
        ),
        Divergence::TooShort {
            segment,
            thread,
            expected,
            executed,
        } => format!(
            "in segment {segment} thread {thread} was to execute {expected} events and stopped after {executed}"
        ),
        Divergence::OtherPlace {
            segment,
            thread,
            expected,
            found,
        } => format!(
            "at the end of segment {segment} thread {thread} was to be in {} and is in {}",
            atlas.spot(*expected),
            atlas.spot(*found)
        ),
        Divergence::PastEnd { segments } => {
            format!("all {segments} segments were executed and the program goes on without failing")
        }
        Divergence::OtherChoice {
            thread,
            number,
            expected,
            found,
        } => format!(
            "thread {thread} was to decide {expected:?} with its question {number} and decides {found:?}"
        ),
    }
}

fn doing(pending: &Operation, atlas: &mut Atlas) -> String {
    format!(
        "it waits to {} in {}",
        pending.kind,
        atlas.spot(pending.place)
    )
}
