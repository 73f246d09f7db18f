//! `--at 'FILE:LINE if CONDITION'`: a core of a run that goes wrong without a crash.
//!
//! The program is built again for production with a check before that line, in its own
//! language, so that a condition is whatever its author could write there; then it runs
//! natively until the check stops it, and bohr takes the core. From there on it is a
//! core like any other: the program with the check is one that crashes.

use super::{examine, likeness};
use crate::checked::{At, CheckError, beside, checked};
use crate::control::{interruption, model};
use crate::outcome::Failure;
use bohr_build::{Cache, Profile};
use bohr_event::{Diagnosis, Fault};
use bohr_explore::native::{Watched, take as take_core, traceable};
use bohr_explore::{ExploreError, write_whole};
use serde::Serialize;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Longest native run.
const LONGEST: Duration = Duration::from_secs(10);

/// A core that was taken.
#[derive(Clone, Debug, Serialize)]
pub struct Taken {
    /// Where, and what held there.
    pub at: String,
    /// In which of the native runs.
    pub native_runs: u64,
    /// The program with the check, whose failure the bug file has.
    pub program: PathBuf,
    /// The core.
    pub core: PathBuf,
}

/// Why none was.
#[derive(Debug, thiserror::Error)]
pub enum NotTaken {
    /// There is no program with the check.
    #[error(transparent)]
    Unchecked(#[from] CheckError),
    /// It cannot be run as it has to be.
    #[error("the program cannot be run and watched")]
    Untraceable(#[source] io::Error),
    /// Every run was good.
    #[error("no core was taken at {at}: in {runs} native runs within {seconds:.0} s {passed}")]
    NeverHeld {
        /// Where.
        at: String,
        /// How many.
        runs: u64,
        /// How long they took.
        seconds: f64,
        /// What was seen instead.
        passed: String,
        /// The program with the check.
        program: PathBuf,
    },
}

impl Diagnosis for NotTaken {
    fn fault(&self) -> Fault {
        Fault::Input
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            NotTaken::Unchecked(error) => return error.help(),
            NotTaken::Untraceable(_) => {
                String::from("is tracing allowed? see /proc/sys/kernel/yama/ptrace_scope")
            }
            NotTaken::NeverHeld { program, .. } => format!(
                "give it more time with --time, or look for it under control: bohr hunt -- {} …",
                program.display()
            ),
        })
    }
}

/// How the program is run.
pub struct Request<'a> {
    pub at: &'a At,
    pub program: &'a Path,
    pub arguments: &'a [OsString],
    pub input: Option<&'a Path>,
    pub time: Duration,
    /// What comes of it lies beside this.
    pub output: &'a Path,
}

/// See the module.
pub fn take(request: &Request<'_>) -> Result<Taken, Failure> {
    let cache = Cache::open()?.interrupted_by(interruption());
    let built = cache.profile(request.program, Profile::Production)?;
    let model = model::load(&built.model)?;
    let program = checked(request.at, request.program, &model, request.output)?.program;
    let core = beside(request.output, "core");
    let begun = Instant::now();
    let (mut runs, mut others) = (0, 0);
    while begun.elapsed() < request.time && !interruption().load(Ordering::Relaxed) {
        runs += 1;
        let left = request.time.saturating_sub(begun.elapsed());
        let watched = run(request, &program, left.min(LONGEST))?;
        let Watched::Core(bytes) = watched else {
            continue;
        };
        write_whole(&core, &bytes).map_err(|source| ExploreError::File {
            path: core.clone(),
            source,
        })?;
        if is_at(request.at, &core, &program)? {
            return Ok(Taken {
                at: request.at.to_string(),
                native_runs: runs,
                program,
                core,
            });
        }
        others += 1;
    }
    let passed = match others {
        0 => String::from("the check stopped none"),
        _ => format!("the check stopped none, and {others} failed elsewhere"),
    };
    Err(NotTaken::NeverHeld {
        at: request.at.to_string(),
        runs,
        seconds: begun.elapsed().as_secs_f64(),
        passed,
        program,
    }
    .into())
}

fn run(request: &Request<'_>, program: &Path, limit: Duration) -> Result<Watched, Failure> {
    let program = fs::canonicalize(program).map_err(NotTaken::Untraceable)?;
    let mut command = traceable(&program);
    command.args(request.arguments).stdin(match request.input {
        Some(path) => Stdio::from(File::open(path).map_err(NotTaken::Untraceable)?),
        None => Stdio::null(),
    });
    command.stdout(Stdio::null()).stderr(Stdio::null());
    Ok(take_core(command, limit).map_err(NotTaken::Untraceable)?)
}

/// Whether it was the check that stopped the program.
fn is_at(at: &At, core: &Path, program: &Path) -> Result<bool, Failure> {
    let likeness = likeness::of(&examine(core, Some(program))?).ok();
    let line = likeness.and_then(|likeness| likeness.places.into_iter().next()?.line);
    Ok(line.is_some_and(|line| at.is_line(&line)))
}
