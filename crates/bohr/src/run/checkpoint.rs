//! `bohr run --checkpoint`: a run that stops where later ones begin.

use super::Args;
use crate::control::checkpoint::{keep, place};
use crate::control::libraries;
use crate::outcome::Outcome;
use bohr_event::{Diagnosis, Fault};
use bohr_explore::image::Moment;
use bohr_explore::{Subject, Voice};
use serde_json::json;
use std::path::Path;
use std::process::ExitCode;

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
pub(super) fn take_one(args: &Args, subject: Subject, at: u64, path: &Path) -> Outcome {
    place(path)?;
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
    let names = libraries::names(&subject.target);
    let taken = keep(subject, &moment, voice, path)?;
    if args.json {
        let object = json!({
            "checkpoint": path,
            "events": taken.events,
            "milliseconds": taken.milliseconds,
            "memory": taken.memory,
            "bytes": taken.file,
            "libraries": names,
            "strategy": moment.strategy,
            "seed": moment.seed,
        });
        println!("{object}");
    }
    Ok(ExitCode::SUCCESS)
}
