//! Who waits for whom in a run that ended because nobody could go on: what each thread of
//! the circle waits for, who has that, and where it was taken.
//!
//! Of a lock of the C library the runtime tells who holds it, and no more; of a lock made
//! of atomics, as Rust's are, that a thread sleeps.

use crate::atlas::Atlas;
use crate::awaited::awaited;
use crate::bug_file::ThreadLine;
use crate::lock_order::place_of;
use crate::lock_words::LockWords;
use crate::names::Names;
use crate::race::Stacks;
use crate::ran::Ran;
use bohr_event::control::{Outcome, Recorded};
use bohr_event::{EventKind, FailureKind, Operation};
use bohr_explain::{Link, LockOrders, circle};

/// A thread of a circle.
pub(crate) struct Waiting {
    /// How it got what the one before it in the circle waits for.
    had: Option<usize>,
    /// What it waits to do.
    waits: Operation,
    thread: String,
}

/// The circle that a run ended in, as far as there is one; it must have been traced.
pub(crate) fn found(run: &Ran, atlas: &mut Atlas) -> Vec<Waiting> {
    let Outcome::Failed(failure) = &run.outcome else {
        return Vec::new();
    };
    let (FailureKind::Deadlock, Some(detail)) = (&failure.kind, &run.detail) else {
        return Vec::new();
    };
    let recorded = Recorded {
        threads: detail.threads.clone(),
        steps: run.steps().to_vec(),
        pending: run.pending(),
        ..Recorded::default()
    };
    let mut links = circle(&recorded, &failure.states);
    if links.is_empty() {
        let awaited = awaited(atlas, run.steps(), run.values());
        let mut words = LockWords::of(atlas);
        let mut word = |operation: &Operation| words.step(atlas, operation);
        let orders = LockOrders::of(run.steps(), &failure.states, &awaited, &mut word);
        let closed = orders.closed.map(|cycle| cycle.as_circle(&recorded));
        links = closed.unwrap_or_default();
    }
    let waiting = |link: &Link| Waiting {
        had: { link.holds.as_ref() }.and_then(|moment| moment.position(&recorded)),
        waits: link.waits.operation,
        thread: link.waits.thread.to_string(),
    };
    links.iter().map(waiting).collect()
}

/// The events of a circle.
pub(crate) fn events(circle: &[Waiting]) -> impl Iterator<Item = u64> {
    circle.iter().filter_map(|one| Some(one.had? as u64))
}

/// What the threads of a circle do, by their names.
pub(crate) fn tell(
    circle: &[Waiting],
    run: &Ran,
    atlas: &mut Atlas,
    stacks: &Stacks,
) -> Vec<(String, String)> {
    let steps = run.steps();
    let since: Vec<Option<String>> = { circle.iter() }
        .map(|one| Some(place_of(one.had?, steps, atlas, stacks).line))
        .collect();
    let threads = run.detail.as_ref();
    let threads = threads.map_or(&[][..], |detail| &detail.threads);
    let mut names = Names::new(atlas, threads, steps);
    let mut told = Vec::new();
    for (position, one) in circle.iter().enumerate() {
        let next = (position + 1) % circle.len();
        // An address alone says nothing to anybody.
        let object = names.object(&one.waits);
        let object = match object.starts_with("0x") {
            true => "a lock",
            false => &object,
        };
        let since = since[next].as_ref();
        let since = since.map_or_else(String::new, |line| format!(" since {line}"));
        let holder = &circle[next].thread;
        let doing = match one.waits.kind {
            EventKind::Join => format!("waits for the end of {holder}"),
            _ => format!("waits for {object}, held by {holder}{since}"),
        };
        told.push((one.thread.clone(), doing));
    }
    told
}

/// Puts what was found out into the lines of a report.
pub(crate) fn put_into(lines: &mut [ThreadLine], waits: &[(String, String)]) {
    for (thread, doing) in waits {
        let mut own = lines.iter_mut();
        if let Some(line) = own.find(|line| line.thread == *thread && !line.is_earlier()) {
            line.doing.clone_from(doing);
        }
    }
}
