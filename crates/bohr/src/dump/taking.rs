//! `--at 'FILE:LINE if CONDITION'`: a core of a run that goes wrong without a crash.
//!
//! The program is built again for production with a check before that line, in its own
//! language, so that a condition is whatever its author could write there; then it runs
//! natively until the check stops it, and bohr takes the core. From there on it is a
//! core like any other: the program with the check is one that crashes.

mod check;

use super::{examine, likeness};
use crate::control::{interruption, model};
use crate::outcome::Failure;
use bohr_build::{Cache, Changes, Making, Profile, RebuildError, copy_program, rebuild};
use bohr_event::{Diagnosis, Fault};
use bohr_explore::native::{Watched, take as take_core, traceable};
use bohr_explore::{ExploreError, write_whole};
use bohr_program::Program;
use check::{Language, with_check};
use serde::Serialize;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::str::FromStr;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Longest native run.
const LONGEST: Duration = Duration::from_secs(10);

/// Where a core is to be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At {
    /// The end of the file's path.
    file: PathBuf,
    /// Counted from 1.
    line: usize,
    /// What has to hold there, in the program's own language.
    condition: Option<String>,
}

impl FromStr for At {
    type Err = String;

    fn from_str(text: &str) -> Result<At, String> {
        let (place, condition) = match text.split_once(" if ") {
            Some((place, condition)) => (place, Some(condition.trim().to_string())),
            None => (text, None),
        };
        let place = place.trim().rsplit_once(':');
        let line = place.and_then(|(file, line)| Some((file, line.parse().ok()?)));
        match (line, &condition) {
            (Some((file, line)), condition)
                if line > 0 && !file.is_empty() && *condition != Some(String::new()) =>
            {
                Ok(At {
                    file: PathBuf::from(file),
                    line,
                    condition: condition.clone(),
                })
            }
            _ => Err(String::from(
                "expected FILE:LINE, or FILE:LINE if CONDITION, as in 'sum.c:42 if total != 200'",
            )),
        }
    }
}

impl std::fmt::Display for At {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}:{}", self.file.display(), self.line)?;
        match &self.condition {
            Some(condition) => write!(out, " if {condition}"),
            None => Ok(()),
        }
    }
}

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
    /// No source of the program has that name.
    #[error("the program has no source file {}", file.display())]
    NoFile {
        /// The name.
        file: PathBuf,
        /// Those that it has.
        known: Vec<String>,
    },
    /// Several have it.
    #[error("several source files are called {}", .0.display())]
    Ambiguous(PathBuf, Vec<String>),
    /// The file does not go that far.
    #[error("{} has no line {line} with code on it", file.display())]
    NoLine {
        /// Which.
        file: PathBuf,
        /// What was asked for.
        line: usize,
    },
    /// The program with the check cannot be made.
    #[error("the program cannot be built with a check at {at}")]
    Unbuilt {
        /// Where.
        at: String,
        /// Why.
        source: RebuildError,
    },
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
            NotTaken::NoFile { known, .. } => format!("it has {}", known.join(", ")),
            NotTaken::Ambiguous(_, files) => format!("say which: {}", files.join(", ")),
            NotTaken::NoLine { .. } => {
                String::from("the line has to be one on which a statement begins")
            }
            NotTaken::Unbuilt { .. } => String::from(
                "a statement has to begin on that line, and the condition is an expression of the \
                 program's own language that could stand before it; the program has to be where \
                 `bohr cc`, `bohr c++` or `bohr cargo` has put it on this machine",
            ),
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
    let program = checked(request)?;
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
    Ok(line.is_some_and(|line| {
        let told = line.rsplit_once(':');
        told.is_some_and(|(file, line)| {
            line == at.line.to_string() && Path::new(file).file_name() == at.file.file_name()
        })
    }))
}

/// Builds the program with the check.
fn checked(request: &Request<'_>) -> Result<PathBuf, Failure> {
    let at = request.at;
    let cache = Cache::open()?.interrupted_by(interruption());
    let built = cache.profile(request.program, Profile::Production)?;
    let source = source(&*model::load(&built.model)?, &at.file)?;
    let text = fs::read_to_string(&source).map_err(|error| ExploreError::File {
        path: source.clone(),
        source: error,
    })?;
    let language = Language::of(&source);
    let text = with_check(&text, at, language).ok_or_else(|| NotTaken::NoLine {
        file: source.clone(),
        line: at.line,
    })?;
    let folder = tempfile::tempdir().map_err(NotTaken::Untraceable)?;
    let changes = Changes {
        texts: &[(source, text)],
        headers: &[],
        options: &[],
        library: None,
        making: Making::Production,
    };
    let unbuilt = |source| NotTaken::Unbuilt {
        at: at.to_string(),
        source,
    };
    let made = rebuild(request.program, changes, folder.path()).map_err(unbuilt)?;
    let program = beside(request.output, "program");
    copy_program(&made, &program)?;
    Ok(program)
}

/// The source of the program whose path ends so.
fn source(program: &Program, file: &Path) -> Result<PathBuf, NotTaken> {
    let paths = program.files.values().map(|source| {
        let text = |number| Path::new(&program.texts[number]);
        text(source.directory).join(text(source.path))
    });
    let paths: Vec<PathBuf> = paths.collect();
    let named = paths.iter().filter(|path| path.ends_with(file));
    let found: BTreeSet<PathBuf> = named.filter_map(|path| path.canonicalize().ok()).collect();
    let told = |path: &PathBuf| path.display().to_string();
    let mut found: Vec<PathBuf> = found.into_iter().collect();
    match (found.pop(), found.is_empty()) {
        (Some(one), true) => Ok(one),
        (Some(one), false) => {
            found.push(one);
            let found = found.iter().map(told).collect();
            Err(NotTaken::Ambiguous(file.to_path_buf(), found))
        }
        (None, _) => Err(NotTaken::NoFile {
            file: file.to_path_buf(),
            known: {
                let own = paths.iter().filter(|path| !path.starts_with("/usr"));
                let own: BTreeSet<String> = own.map(told).collect();
                own.into_iter().collect()
            },
        }),
    }
}

/// `server.bohr` has `server.bohr.core` beside it.
fn beside(output: &Path, ending: &str) -> PathBuf {
    let mut name = output.as_os_str().to_os_string();
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_conditions_are_told_apart() {
        let at: At = "src/sum.c:42 if total != 200 && !done".parse().unwrap();
        assert_eq!(at.file, Path::new("src/sum.c"));
        assert_eq!(at.line, 42);
        assert_eq!(at.condition.as_deref(), Some("total != 200 && !done"));
        assert_eq!(at.to_string(), "src/sum.c:42 if total != 200 && !done");
        assert_eq!("sum.c:7".parse::<At>().unwrap().condition, None);
        for wrong in [
            "sum.c",
            "sum.c:",
            "sum.c:0",
            ":3",
            "sum.c:x if y",
            "sum.c:3 if  ",
        ] {
            assert!(wrong.parse::<At>().is_err(), "{wrong}");
        }
    }
}
