//! `bohr run --checkpoint`: a run that stops where later ones begin.

use super::Args;
use crate::control::{interruption, libraries};
use crate::outcome::{Failure, Outcome};
use bohr_event::{Diagnosis, Fault};
use bohr_explore::image::{Moment, take};
use bohr_explore::{ExploreError, Subject, Voice, check_place};
use serde_json::json;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

/// What cannot begin at a checkpoint.
#[derive(Debug, thiserror::Error)]
#[error("{0} cannot be had in a run that begins at a checkpoint")]
pub struct NotFromHere(&'static str);

impl Diagnosis for NotFromHere {
    fn fault(&self) -> Fault {
        Fault::Input
    }

    fn help(&self) -> Option<String> {
        Some("leave out --from: the run then begins where the program does".into())
    }
}

impl Args {
    /// Refuses what is counted from the start of the program.
    pub(super) fn refuse_at_checkpoint(&self) -> Result<(), NotFromHere> {
        let what = if !self.from.is_given() {
            return Ok(());
        } else if !self.breakpoints.is_empty() {
            "--break"
        } else if self.omissions.is_any() {
            "--without-thread and --without-iteration"
        } else {
            return Ok(());
        };
        Err(NotFromHere(what))
    }
}

/// Runs up to the moment and keeps it.
pub(super) fn take_one(args: &Args, mut subject: Subject, at: u64, path: &Path) -> Outcome {
    check_place(path).map_err(|source| ExploreError::File {
        path: path.to_path_buf(),
        source,
    })?;
    // It takes as long as it takes; whoever waits can break it off.
    subject.limits.events = subject.limits.events.max(at.saturating_mul(2));
    subject.limits.milliseconds = u32::MAX / 4;
    let voice = if args.json {
        Voice::Aside
    } else {
        Voice::Heard
    };
    let moment = Moment {
        plan: &args.schedule.plan(),
        strategy: args.schedule.single().to_string(),
        seed: args.schedule.seed,
        events: at,
        watch: None,
    };
    let interrupted = interruption();
    let go_on = || !interrupted.load(Ordering::Relaxed);
    let taken = take(&subject, &moment, voice, path, &go_on).map_err(Failure::from)?;
    if args.json {
        let object = json!({
            "checkpoint": path,
            "events": taken.events,
            "milliseconds": taken.milliseconds,
            "memory": taken.memory,
            "bytes": taken.file,
            "libraries": libraries::names(&subject.target),
            "strategy": moment.strategy,
            "seed": moment.seed,
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
