//! Checkpoints of good runs: a program that takes long before it does what is of
//! interest comes to the failure's neighbourhood once.
//!
//! The run that is kept is the good run that a search would align with the failure. It
//! is watched on its way there, so what the thread had come past before is known to the
//! runs that begin at the checkpoint. A thread that begins later
//! needs no such knowledge, and for it any checkpoint of the same program will do.

use super::reproduce::{Request, prepare};
use crate::control::{checkpoint::from, interruption};
use crate::outcome::{Failure, Outcome};
use bohr_explore::image::{Image, Moment, take};
use bohr_explore::{ExploreError, Subject, Voice, check_place};
use serde_json::json;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Runs up to the moment and keeps it at `request.output`.
pub fn take_one(request: &Request<'_>, at: u64, as_json: bool) -> Outcome {
    let path = request.output;
    check_place(path).map_err(|source| ExploreError::File {
        path: path.to_path_buf(),
        source,
    })?;
    let prepared = prepare(request)?;
    let plan = prepared.plan()?;
    let mut subject = prepared.watched;
    // It takes as long as it takes; whoever waits can break it off.
    subject.limits.events = subject.limits.events.max(at.saturating_mul(2));
    subject.limits.milliseconds = u32::MAX / 4;
    let moment = Moment {
        plan: &plan,
        strategy: "sequential".into(),
        // Nobody asks for it again: a good run has to begin here as those do that are tried.
        seed: u64::MAX,
        events: at,
        watch: Some(prepared.watch),
    };
    let interrupted = interruption();
    let go_on = || !interrupted.load(Ordering::Relaxed);
    let taken = take(&subject, &moment, Voice::Muted, path, &go_on).map_err(Failure::from)?;
    if as_json {
        let object = json!({
            "checkpoint": path,
            "events": taken.events,
            "milliseconds": taken.milliseconds,
            "memory": taken.memory,
            "bytes": taken.file,
        });
        println!("{object}");
    }
    eprintln!(
        "bohr: checkpoint after {} events, {:.1} s: {} MiB of memory in {} ({} KiB)",
        taken.events,
        taken.milliseconds as f64 / 1e3,
        taken.memory >> 20,
        path.display(),
        taken.file >> 10
    );
    Ok(ExitCode::SUCCESS)
}

/// Good runs that begin at the checkpoint in a file.
pub fn from_file(subject: Subject, path: &Path) -> Result<Subject, Failure> {
    let image = Image::open(path).map_err(ExploreError::from)?;
    Ok(from(subject, Arc::new(image))?)
}
