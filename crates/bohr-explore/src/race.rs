//! Data races of a run, for people: who did what, where, and holding which locks.

use crate::atlas::Atlas;
use crate::bug_file::ThreadLine;
use crate::names::Names;
use crate::ran::Ran;
use crate::verdict::{stack, written_spot};
use bohr_event::control::Step;
use bohr_event::{EventKind, Place, PlaceNumber};
use bohr_explain::{Race, locks_held, races};
use serde::Serialize;
use std::collections::BTreeMap;

/// One of the two accesses of a race.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToldAccess {
    /// By which thread.
    pub thread: String,
    /// `reads`, `writes` or `updates`.
    pub kind: &'static str,
    /// The variable.
    pub object: String,
    /// Who had called, innermost first; only the place itself if nobody looked closer.
    pub stack: Vec<String>,
    /// The locks that the thread held, as far as calls show them.
    pub locks: Vec<String>,
}

/// A race, told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToldRace {
    /// The earlier access.
    pub first: ToldAccess,
    /// The later one.
    pub second: ToldAccess,
    /// How many races there are between the two places.
    pub count: u64,
    /// The two places, the smaller first: the same race has the same ones.
    #[serde(skip)]
    pub places: Vec<Place>,
}

impl ToldRace {
    /// In one line, without stacks.
    #[must_use]
    pub fn line(&self) -> String {
        format!(
            "{}: {}; {}",
            self.first.object,
            self.first.short(),
            self.second.short()
        )
    }

    /// As the two threads of a failure.
    pub(crate) fn threads(&self) -> Vec<ThreadLine> {
        [&self.first, &self.second]
            .map(|access| ThreadLine {
                thread: access.thread.clone(),
                doing: access.deed(),
                stack: access.stack.clone(),
            })
            .into()
    }

    /// As the message of a failure.
    pub(crate) fn message(&self) -> String {
        let [first, second] = [&self.first, &self.second];
        format!(
            "{} {} {} and {} {} it, and nothing orders the two",
            first.thread, first.kind, first.object, second.thread, second.kind
        )
    }
}

impl ToldAccess {
    fn deed(&self) -> String {
        match self.locks.is_empty() {
            true => format!("{} {}", self.kind, self.object),
            false => format!(
                "{} {}, holding {}",
                self.kind,
                self.object,
                self.locks.join(", ")
            ),
        }
    }

    fn short(&self) -> String {
        let place = self.stack.first().map_or("?", String::as_str);
        format!("{} {} in {place}", self.thread, self.kind)
    }
}

/// Stacks of events, by position.
pub(crate) type Stacks = BTreeMap<u64, Vec<PlaceNumber>>;

/// Tells the races of a run, each with the place alone.
#[must_use]
pub fn tell(run: &Ran, atlas: &mut Atlas) -> Vec<ToldRace> {
    if let Some(detail) = &run.detail {
        atlas.update(&detail.objects);
    }
    let found = races(run.steps());
    let told = found
        .iter()
        .map(|race| told(race, run, atlas, &Stacks::new()));
    told.collect()
}

/// The events of races.
pub(crate) fn events(races: &[Race]) -> impl Iterator<Item = u64> {
    let both = |race: &Race| [race.first as u64, race.second as u64];
    races.iter().flat_map(both)
}

pub(crate) fn told(race: &Race, run: &Ran, atlas: &mut Atlas, stacks: &Stacks) -> ToldRace {
    let [first, second] = [race.first, race.second].map(|event| access(event, run, atlas, stacks));
    ToldRace {
        first,
        second,
        count: race.count,
        places: places(race, run.steps(), atlas),
    }
}

/// What makes two races the same.
pub(crate) fn places(race: &Race, steps: &[Step], atlas: &mut Atlas) -> Vec<Place> {
    let mut places =
        [race.first, race.second].map(|event| atlas.lasting_place(steps[event].operation.place));
    places.sort();
    places.into()
}

/// Who had called at an event; only the place itself if nobody looked.
pub(crate) fn stack_at(
    event: usize,
    steps: &[Step],
    atlas: &mut Atlas,
    stacks: &Stacks,
) -> Vec<String> {
    let place = steps[event].operation.place;
    match stacks.get(&(event as u64)).map_or(&[][..], Vec::as_slice) {
        [] => vec![written_spot(atlas, place).to_string()],
        // The access itself is known better than the code of its hook.
        [_, callers @ ..] => stack(&[&[place], callers].concat(), place, atlas),
    }
}

fn access(event: usize, run: &Ran, atlas: &mut Atlas, stacks: &Stacks) -> ToldAccess {
    let steps = run.steps();
    let step = &steps[event];
    let stack = stack_at(event, steps, atlas, stacks);
    let threads = run.detail.as_ref();
    let threads = threads.map_or(&[][..], |detail| &detail.threads);
    let mut names = Names::new(atlas, threads, steps);
    let locks = locks_held(steps, event).into_iter();
    ToldAccess {
        thread: names.thread(step.thread),
        kind: match step.operation.kind {
            EventKind::Write => "writes",
            EventKind::Update => "updates",
            _ => "reads",
        },
        object: names.object_or_region(&step.operation),
        stack,
        locks: locks
            .map(|lock| names.object_or_region(&steps[lock].operation))
            .collect(),
    }
}
