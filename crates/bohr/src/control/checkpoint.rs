//! Checkpoints: images of runs that have come far, and runs that begin there.

use super::{ProgramArgs, interruption};
use crate::outcome::Failure;
use bohr_explore::image::{Image, ImageError, Moment, Taken, take};
use bohr_explore::{ExploreError, Subject, Voice, check_place};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Where runs begin.
#[derive(clap::Args)]
pub struct FromArgs {
    /// Begin at the moment that this checkpoint was taken at, instead of the start of
    /// the program (see `bohr run --checkpoint`). The program's arguments and input are
    /// those of the checkpoint.
    #[arg(long, value_name = "CHECKPOINT")]
    from: Option<PathBuf>,
}

impl FromArgs {
    /// Whether runs begin at a checkpoint.
    pub fn is_given(&self) -> bool {
        self.from.is_some()
    }

    /// What is to be run, from the checkpoint if there is one.
    pub fn subject(&self, program: &ProgramArgs) -> Result<Subject, Failure> {
        self.of(program.subject()?)
    }

    /// The same for what is known to be run otherwise.
    pub fn of(&self, subject: Subject) -> Result<Subject, Failure> {
        match &self.from {
            None => Ok(subject),
            Some(path) => {
                let image = Image::open(path).map_err(ExploreError::from)?;
                Ok(from(subject, Arc::new(image))?)
            }
        }
    }
}

/// What is to be run, from the moment of an image.
pub fn from(mut subject: Subject, image: Arc<Image>) -> Result<Subject, ExploreError> {
    image.check(&subject.target)?;
    let (own, origin) = (&subject.invocation, &image.origin);
    let other = |what| Err(ImageError::OtherInvocation(what).into());
    let leaves_out = own.arguments.is_empty();
    if !leaves_out && own.arguments != origin.invocation.arguments {
        return other("arguments");
    }
    if !own.input.is_empty() && own.input != origin.invocation.input {
        return other("input");
    }
    if subject.policy != origin.policy {
        return other(
            "rules: --model, --spurious-wakes, --early-timeouts and --allow-panics have to be \
             as they were",
        );
    }
    subject.invocation = origin.invocation.clone();
    // Whoever makes such a run again from the start of the program needs all of it.
    subject.limits.events = subject.limits.events.saturating_add(origin.events);
    let more = u32::try_from(origin.milliseconds.saturating_mul(4)).unwrap_or(u32::MAX / 2);
    subject.limits.milliseconds = subject.limits.milliseconds.saturating_add(more);
    subject.image = Some(image);
    Ok(subject)
}

/// Whether a checkpoint can be written there: asked before what takes long.
pub fn place(path: &Path) -> Result<(), ExploreError> {
    check_place(path).map_err(|source| ExploreError::File {
        path: path.to_path_buf(),
        source,
    })
}

/// Runs up to the moment, keeps it at `path` and says so.
pub fn keep(
    mut subject: Subject,
    moment: &Moment<'_>,
    voice: Voice,
    path: &Path,
) -> Result<Taken, Failure> {
    // It takes as long as it takes; whoever waits can break it off.
    subject.limits.events = subject.limits.events.max(moment.events.saturating_mul(2));
    subject.limits.milliseconds = u32::MAX / 4;
    let interrupted = interruption();
    let go_on = || !interrupted.load(Ordering::Relaxed);
    let taken = take(&subject, moment, voice, path, &go_on)?;
    eprintln!(
        "bohr: checkpoint after {} events, {:.1} s: {} MiB of memory in {} ({} KiB)",
        taken.events,
        taken.milliseconds as f64 / 1e3,
        taken.memory >> 20,
        path.display(),
        taken.file >> 10
    );
    Ok(taken)
}
