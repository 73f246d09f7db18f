//! A closer look at a run: a failure and a trace name places, and of a few moments
//! one wants the whole stack. The run is the same when it is made again, so it is
//! made again with probes at those moments.

use crate::atlas::Atlas;
use crate::bug_file::ThreadLine;
use crate::error::ExploreError;
use crate::lock_order::{self, ToldLockCycle};
use crate::race::{self, ToldRace};
use crate::ran::Ran;
use crate::standstill;
use crate::verdict::stack;
use bohr_event::control::{Detail, Outcome, Probes, Sighting};
use bohr_event::{FailureKind, ThreadPath};
use bohr_explain::races;
use std::collections::BTreeSet;

/// What a closer look shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Closer {
    /// The run's data races, each access with its stack.
    pub races: Vec<ToldRace>,
    /// Its lock orders that can deadlock, likewise.
    pub lock_cycles: Vec<ToldLockCycle>,
    /// Who freed and who allocated the heap block that was misused.
    pub block: Vec<ThreadLine>,
    /// Of a deadlock: threads that wait for each other, and what for.
    pub waits: Vec<(String, String)>,
}

impl Closer {
    /// Adds to the lines of a failing run what was seen.
    pub fn complete(&self, lines: &mut Vec<ThreadLine>) {
        standstill::put_into(lines, &self.waits);
        lines.splice(0..0, self.block.clone());
    }
}

/// Looks closer at a run; with `with_races` at its races and lock orders, too, for
/// which it must have been traced. `again` makes the run once more, with these probes.
///
/// # Errors
/// If the run cannot be made again.
pub fn look_closer(
    run: &Ran,
    with_races: bool,
    atlas: &mut Atlas,
    again: &mut dyn FnMut(Probes) -> Result<Ran, ExploreError>,
) -> Result<Closer, ExploreError> {
    let Some(detail) = &run.detail else {
        return Ok(Closer::default());
    };
    atlas.update(&detail.objects);
    let (found, cycles) = match with_races {
        true => (races(run.steps()), lock_order::found(run, atlas)),
        false => (Vec::new(), Vec::new()),
    };
    let circle = standstill::found(run, atlas);
    let events: BTreeSet<u64> = { race::events(&found) }
        .chain(lock_order::events(&cycles))
        .chain(standstill::events(&circle))
        .collect();
    let probes = Probes {
        events: events.into_iter().collect(),
        block: misused(&run.outcome),
    };
    if probes == Probes::default() {
        return Ok(Closer::default());
    }
    let probed = again(probes.clone())?.into_detail().probed;
    let frames = probed.events.into_iter().map(|sighting| sighting.frames);
    let stacks = probes.events.into_iter().zip(frames).collect();
    let told = found.iter();
    Ok(Closer {
        races: told
            .map(|race| race::told(race, run, atlas, &stacks))
            .collect(),
        lock_cycles: lock_order::tell(&cycles, run, atlas, &stacks),
        waits: standstill::tell(&circle, run, atlas, &stacks),
        block: [("freed", &probed.freed), ("allocated", &probed.allocated)]
            .into_iter()
            .filter_map(|(verb, sighting)| Some(line(verb, sighting.as_ref()?, detail, atlas)))
            .collect(),
    })
}

/// The address in a heap block that the failure is about.
fn misused(outcome: &Outcome) -> Option<u64> {
    match outcome {
        Outcome::Failed(failure) => match failure.kind {
            FailureKind::UseAfterFree | FailureKind::DoubleFree => Some(failure.address),
            _ => None,
        },
        _ => None,
    }
}

fn line(verb: &str, sighting: &Sighting, detail: &Detail, atlas: &mut Atlas) -> ThreadLine {
    let path: Option<&ThreadPath> = detail.threads.get(sighting.thread.position());
    let place = sighting.frames.first().copied().unwrap_or_default();
    ThreadLine::earlier(
        path.map_or_else(String::new, ToString::to_string),
        &format!("{verb} the block"),
        stack(&sighting.frames, place, atlas),
    )
}
