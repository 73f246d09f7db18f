//! Lock orders of a run that can deadlock, for people: who took what where, holding
//! what.

use crate::atlas::Atlas;
use crate::awaited::awaited;
use crate::bug_file::Bug;
use crate::lock_words::LockWords;
use crate::names::Names;
use crate::race::{Stacks, stack_at};
use crate::ran::Ran;
use crate::verdict::{is_written, written_spot};
use bohr_event::control::Step;
use bohr_event::{FailureKind, Operation};
use bohr_explain::{Awaited, LockCycle, Taking, lock_cycles};
use serde::Serialize;

/// A thread of a cycle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToldTaking {
    /// Which.
    pub thread: String,
    /// The lock that it had.
    pub holds: String,
    /// Where it had taken that.
    pub held_since: ToldPlace,
    /// The lock that it took then.
    pub takes: String,
    /// Where.
    pub at: ToldPlace,
}

/// Where a lock was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToldPlace {
    /// The line, the author's own if it is known.
    pub line: String,
    /// Who had called, innermost first; only the place itself if nobody looked closer.
    pub stack: Vec<String>,
}

/// A cycle, told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToldLockCycle {
    /// Each takes what the next one holds, the last one what the first holds.
    pub threads: Vec<ToldTaking>,
    /// How many there are at the same lines.
    pub count: u64,
}

impl ToldLockCycle {
    /// In one line, without stacks.
    #[must_use]
    pub fn line(&self) -> String {
        let takings = self.threads.iter().map(ToldTaking::short);
        takings.collect::<Vec<_>>().join("; ")
    }

    /// The lines of each thread, beginning with the smallest: the same cycle has the same
    /// ones.
    #[must_use]
    pub fn lines(&self) -> Vec<[&str; 2]> {
        let lines = self.threads.iter();
        let lines: Vec<[&str; 2]> = lines
            .map(|one| [one.held_since.line.as_str(), one.at.line.as_str()])
            .collect();
        let rotated = |by: usize| [&lines[by..], &lines[..by]].concat();
        (0..lines.len()).map(rotated).min().unwrap_or_default()
    }

    /// Whether it is what the threads of a deadlock wait in.
    #[must_use]
    pub fn is_of(&self, bug: &Bug) -> bool {
        let waits = |taking: &ToldTaking| {
            let mut frames = bug.threads.iter().flat_map(|line| &line.stack);
            frames.any(|frame| is_same_line(frame, &taking.at.line))
        };
        bug.signature.kind == FailureKind::Deadlock && self.threads.iter().all(waits)
    }
}

/// Whether two places are on one line. The program's model and its line table may write
/// folders and functions in different ways.
fn is_same_line(one: &str, other: &str) -> bool {
    let line = |told: &str| told.rsplit_once(" at ").map(|(_, line)| line.to_string());
    let ends = |long: &str, short: &str| {
        let folder = long.strip_suffix(short);
        folder.is_some_and(|folder| folder.is_empty() || folder.ends_with('/'))
    };
    one == other
        || line(one)
            .zip(line(other))
            .is_some_and(|(one, other)| ends(&one, &other) || ends(&other, &one))
}

impl ToldTaking {
    fn short(&self) -> String {
        format!(
            "{} takes {} in {} and has {} since {}",
            self.thread, self.takes, self.at.line, self.holds, self.held_since.line
        )
    }
}

/// The cycles of a traced run.
#[must_use]
pub fn found(run: &Ran, atlas: &mut Atlas) -> Vec<LockCycle> {
    if let Some(detail) = &run.detail {
        atlas.update(&detail.objects);
    }
    let mut words = LockWords::of(atlas);
    let mut cycles = |atlas: &mut Atlas, awaited: &[Awaited]| {
        let mut step = |operation: &Operation| words.step(atlas, operation);
        lock_cycles(run.steps(), awaited, &mut step)
    };
    // What threads have waited for can only take cycles away, and most runs have none.
    if cycles(atlas, &[]).is_empty() {
        return Vec::new();
    }
    let awaited = awaited(atlas, run.steps(), run.values());
    cycles(atlas, &awaited)
}

/// The events of cycles.
pub(crate) fn events(cycles: &[LockCycle]) -> impl Iterator<Item = u64> {
    let links = cycles.iter().flat_map(|cycle| &cycle.links);
    links.flat_map(|link| [link.held as u64, link.wanted as u64])
}

/// Tells cycles of a run, those at the same lines as one.
pub(crate) fn tell(
    cycles: &[LockCycle],
    run: &Ran,
    atlas: &mut Atlas,
    stacks: &Stacks,
) -> Vec<ToldLockCycle> {
    if cycles.is_empty() {
        return Vec::new();
    }
    let steps = run.steps();
    let mut place = |event: usize| place_of(event, steps, atlas, stacks);
    let places: Vec<Vec<[ToldPlace; 2]>> = { cycles.iter() }
        .map(|cycle| {
            let links = cycle.links.iter();
            links
                .map(|link| [place(link.held), place(link.wanted)])
                .collect()
        })
        .collect();
    let threads = run.detail.as_ref();
    let threads = threads.map_or(&[][..], |detail| &detail.threads);
    let mut names = Names::new(atlas, threads, steps);
    let mut told: Vec<ToldLockCycle> = Vec::new();
    for (cycle, places) in cycles.iter().zip(places) {
        let links = cycle.links.iter().zip(places);
        let one = ToldLockCycle {
            threads: links
                .map(|(link, places)| taking(link, places, steps, &mut names))
                .collect(),
            count: cycle.count,
        };
        match told.iter_mut().find(|known| known.lines() == one.lines()) {
            Some(known) => known.count += one.count,
            None => told.push(one),
        }
    }
    told
}

fn taking(
    link: &Taking,
    [held_since, at]: [ToldPlace; 2],
    steps: &[Step],
    names: &mut Names<'_>,
) -> ToldTaking {
    ToldTaking {
        thread: names.thread(steps[link.wanted].thread),
        holds: names.object_or_region(&steps[link.held].operation),
        held_since,
        takes: names.object_or_region(&steps[link.wanted].operation),
        at,
    }
}

pub(crate) fn place_of(
    event: usize,
    steps: &[Step],
    atlas: &mut Atlas,
    stacks: &Stacks,
) -> ToldPlace {
    let place = steps[event].operation.place;
    let frames = stacks.get(&(event as u64));
    let callers = frames
        .and_then(|frames| frames.get(1..))
        .unwrap_or_default();
    let mut all = std::iter::once(place).chain(callers.iter().copied());
    let written = all.find(|place| is_written(atlas, *place));
    ToldPlace {
        line: written_spot(atlas, written.unwrap_or(place)).to_string(),
        stack: stack_at(event, steps, atlas, stacks),
    }
}
