//! Checkpoints of good runs: a program that takes long before it does what is of
//! interest comes to the failure's neighbourhood once.
//!
//! The run that is kept is the good run that a search would align with the failure. It
//! is watched on its way there, so what the thread had come past before is known to the
//! runs that begin at the checkpoint. A thread that begins later
//! needs no such knowledge, and for it any checkpoint of the same program will do.

use super::reproduce::{Request, in_words, prepare};
use crate::control::checkpoint::{from, keep, place};
use crate::outcome::{Failure, Outcome};
use bohr_event::ThreadPath;
use bohr_explore::image::{Image, Moment};
use bohr_explore::{ExploreError, Subject, Voice};
use bohr_schedule::{Plan, Precedence, Rule};
use serde_json::json;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// Runs up to the moment and keeps it at `request.output`.
pub fn take_one(request: &Request<'_>, at: u64, as_json: bool) -> Outcome {
    let path = request.output;
    place(path)?;
    let prepared = prepare(request)?;
    let search = prepared.in_better_order()?;
    let moment = Moment {
        plan: &search.first(),
        strategy: "sequential".into(),
        // Nobody asks for it again: a good run has to begin here as those do that are tried.
        seed: u64::MAX,
        events: at,
        watch: Some(prepared.watch),
    };
    let taken = keep(prepared.watched, &moment, Voice::Muted, path)?;
    if as_json {
        let object = json!({
            "checkpoint": path,
            "events": taken.events,
            "milliseconds": taken.milliseconds,
            "memory": taken.memory,
            "bytes": taken.file,
            "order": in_words(&search.turns),
        });
        println!("{object}");
    }
    Ok(ExitCode::SUCCESS)
}

/// Good runs that begin at the checkpoint in a file.
pub fn from_file(subject: Subject, path: &Path) -> Result<Subject, Failure> {
    let image = Image::open(path).map_err(ExploreError::from)?;
    Ok(from(subject, Arc::new(image))?)
}

/// Whether this thread came first or last in the run that the checkpoint is of, if it was
/// taken for a failure of that thread. What comes after it then is the rest of that run:
/// asked again, with less of it left, the orders can seem to lead equally far.
pub fn order(image: &Image, thread: &ThreadPath) -> Option<Precedence> {
    match Plan::from_bytes(&image.origin.plan)?.rule {
        Rule::Preempting { turns, .. } => match &turns {
            Precedence::First(one) | Precedence::Last(one) if one == thread => Some(turns),
            _ => None,
        },
        _ => None,
    }
}
