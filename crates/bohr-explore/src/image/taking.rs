//! Takes an image: runs the program up to the moment, has it stop there, and writes
//! down its memory.

use super::file::Writing;
use super::process::{Stopped, state_of};
use super::{ImageError, Machine, Origin};
use crate::error::ExploreError;
use crate::replay::watch_stopped;
use crate::server::Voice;
use crate::subject::Subject;
use bohr_event::control::{Checkpoints, Detailing, Job, Output, Script, Watch};
use bohr_schedule::Plan;
use rustix::process::Pid;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Of which moment.
#[derive(Clone, Debug)]
pub struct Moment<'a> {
    /// How the run is made.
    pub plan: &'a Plan,
    /// What that is called.
    pub strategy: String,
    /// The seed.
    pub seed: u64,
    /// After so many events.
    pub events: u64,
    /// A thread that is to be watched on its way from the beginning.
    pub watch: Option<Watch>,
}

/// What was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Events executed before the moment.
    pub events: u64,
    /// How long they took.
    pub milliseconds: u64,
    /// Bytes of memory with content.
    pub memory: u64,
    /// Bytes of the file.
    pub file: u64,
}

/// Runs the program up to the moment and writes the image. What it prints goes where
/// `voice` says.
///
/// # Errors
/// If the program cannot be run, has something open that an image cannot have, or the
/// file cannot be written.
pub fn take(
    subject: &Subject,
    moment: &Moment<'_>,
    voice: Voice,
    path: &Path,
    go_on: &(dyn Fn() -> bool + Sync),
) -> Result<Taken, ExploreError> {
    let begun = Instant::now();
    let mut server = subject.serve(voice, go_on)?;
    let job = Job {
        first_seed: moment.seed,
        image_at: Some(moment.events),
        details: Detailing::Always,
        trace: Detailing::Never,
        watch: moment.watch.clone(),
        checkpoints: Checkpoints::Never,
        rewind: false,
        output: match voice {
            Voice::Muted => Output::Discard,
            Voice::Heard | Voice::Aside => Output::Inherit,
        },
        ..subject.job(moment.plan)
    };
    let (template, ended) = (server.process(), AtomicBool::new(false));
    let mut taken = None;
    let mut report = None;
    let run = std::thread::scope(|scope| {
        let watching = scope.spawn(|| {
            let mut taken = None;
            watch_stopped(template, &ended, |process| {
                taken = Some(write([process, template], subject, moment, path, begun));
            });
            taken
        });
        let run = server.run(job, go_on, |reports| {
            report = reports.into_iter().next_back().or(report.take());
            ControlFlow::Continue(())
        });
        ended.store(true, Ordering::Relaxed);
        taken = watching
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        run
    });
    if let Some(taken) = taken {
        return Ok(taken?);
    }
    run?;
    let report = report.ok_or(ExploreError::NoReport)?;
    ExploreError::if_broken(&report)?;
    Err(ImageError::Ended {
        events: report.events,
    }
    .into())
}

fn write(
    [process, template]: [Pid; 2],
    subject: &Subject,
    moment: &Moment<'_>,
    path: &Path,
    begun: Instant,
) -> Result<Taken, ImageError> {
    let milliseconds = begun.elapsed().as_millis() as u64;
    let stopped = Stopped::of(process, template)?;
    let mut writing = Writing::begin(path)?;
    let script = stopped.write(writing.pages())?;
    let memory = script.pages.iter().map(|stretch| stretch.length).sum();
    let origin = Origin {
        writer: env!("CARGO_PKG_VERSION").into(),
        program: subject.target.identity.clone(),
        invocation: subject.invocation.clone(),
        policy: subject.policy,
        plan: moment.plan.to_bytes(),
        strategy: moment.strategy.clone(),
        seed: moment.seed,
        events: stopped.events,
        milliseconds,
        mapped: mapped(&script)?,
        opened: opened(&script)?,
        machine: Machine::here().ok_or(ImageError::Unreadable("the machine"))?,
        script,
    };
    Ok(Taken {
        events: origin.events,
        milliseconds,
        memory,
        file: writing.end(&origin)?,
    })
}

fn mapped(script: &Script) -> Result<Vec<(String, [u8; 32])>, ImageError> {
    let files = script.mappings.iter();
    let files = files.filter_map(|one| one.file.as_ref().map(|(path, _)| path.clone()));
    let files: BTreeSet<String> = files.collect();
    let hashed = files.into_iter().map(|path| {
        let bytes = std::fs::read(&path).map_err(|source| ImageError::File {
            path: PathBuf::from(&path),
            source,
        })?;
        Ok((path, *blake3::hash(&bytes).as_bytes()))
    });
    hashed.collect()
}

fn opened(script: &Script) -> Result<Vec<(String, u64, u64)>, ImageError> {
    let files = script.files.iter().filter(|file| file.descriptor > 2);
    let states = files.map(|file| {
        let state = state_of(Path::new(&file.path));
        let (size, changed) = state.ok_or(ImageError::Unreadable("a file that it has open"))?;
        Ok((file.path.clone(), size, changed))
    });
    states.collect()
}
