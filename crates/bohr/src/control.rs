//! What `hunt`, `run`, `replay` and `check` have in common: the program under
//! control, how a run is judged, and how an end from outside is noticed.

pub mod breakpoints;
mod bug;
pub mod checkpoint;
pub mod input;
pub mod libraries;
mod mode;
pub mod model;
mod omission;
mod progress;
mod races;
mod relevance;
mod schedule;
mod text;

pub use bohr_explore::signature_tag;
pub use bug::{BugArgs, load_bug, same_build, subject_of_bug};
pub use checkpoint::FromArgs;
pub use omission::OmissionArgs;
pub use progress::{bar, budget_bar, counter, show_hunt, stages};
pub use races::{describe_lock_cycles, describe_races, describe_unwatched};
pub use relevance::{Unknown, relevant, relevant_by};
pub use schedule::ScheduleArgs;
pub use text::{describe_bug, describe_verdict, note_missing_lines};

use crate::outcome::{EXIT_INTERRUPTED, Failure};
use bohr_build::{Cache, Environment, Profile, carries_bundle};
use bohr_event::{Diagnosis, Fault, MemoryModel};
use bohr_explore::bug_file::Invocation;
use bohr_explore::{ExploreError, Subject, Target, find_program, inspect};
use bohr_program::Program;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use races::RacesArg;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The program under test and the rules of its runs.
#[derive(clap::Args)]
pub struct ProgramArgs {
    /// File that the program reads as its standard input, `-` for bohr's own, which is
    /// read to its end first; it has none otherwise.
    #[arg(long, value_name = "FILE")]
    stdin: Option<PathBuf>,
    /// Exit code of a good run.
    #[arg(long, value_name = "CODE", default_value_t = 0)]
    expect_exit: i32,
    /// A good run prints what is in this file.
    #[arg(long, value_name = "FILE")]
    expect_output: Option<PathBuf>,
    /// A good run's output makes this shell command end with 0.
    #[arg(long, value_name = "COMMAND")]
    check_output: Option<String>,
    /// Data races: tell those of the runs that are traced, or have every run fail
    /// that has one. Needs a program built with bohr; what libraries that were not
    /// do to order threads is not seen. Lock orders that can deadlock are told with
    /// them, and are never failures.
    #[arg(long, value_enum, value_name = "WHAT", default_value = "report")]
    races: RacesArg,
    /// Waits on conditions may end without a signal.
    #[arg(long)]
    spurious_wakes: bool,
    /// Timed waits may expire while others could still end them.
    #[arg(long)]
    early_timeouts: bool,
    /// When stores become visible to other threads: at once (sc), after waiting in
    /// a buffer, in order, as on x86 (tso), or in order for each address only (pso).
    /// Needs a program built with bohr. Data races are looked for under sc only.
    #[arg(long, value_name = "MODEL", default_value = "sc", value_parser = memory_model())]
    model: MemoryModel,
    /// A Rust panic is no failure by itself: only if it ends the program, or what comes
    /// of it is one.
    #[arg(long)]
    allow_panics: bool,
    /// Longest time of a single run, as in 10s or 500ms.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    run_time: Duration,
    /// Most events of a single run; more is a livelock, and so are more switches than a
    /// quarter of it, or a million.
    #[arg(long, value_name = "N", default_value_t = bohr_explore::DEFAULT_LIMITS.events, value_parser = at_least_one::<u64>)]
    run_events: u64,
    /// Longest time to the program's first thread.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    startup: Duration,
    /// Control the program at its calls only, even if it was built with bohr.
    #[arg(long)]
    calls_only: bool,
    /// The program and its arguments.
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    command: Vec<OsString>,
}

/// Why a command cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// A file that the user named cannot be read.
    #[error("the file `{path}` cannot be read")]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// As the system says.
        source: std::io::Error,
    },
    /// Races are to be failures and accesses are not seen.
    #[error("data races cannot be seen in a program that is controlled at its calls only")]
    RacesUnseen,
    /// Races are to be failures and stores wait in buffers.
    #[error("data races are looked for under --model sc only")]
    RacesBuffered,
    /// Stores are to wait in buffers and accesses are not seen.
    #[error(
        "--model {0} needs hooks at memory accesses, and the program is controlled at its calls only"
    )]
    StoresUnseen(MemoryModel),
    /// Stores are to wait in buffers and threads are real.
    #[error(
        "a native run has the processor's own store buffers: --model {0} is for controlled runs"
    )]
    NativeBuffers(MemoryModel),
}

impl Diagnosis for ControlError {
    fn fault(&self) -> Fault {
        Fault::Input
    }

    fn help(&self) -> Option<String> {
        match self {
            ControlError::Unreadable { .. } => None,
            ControlError::RacesUnseen => Some(
                "build it with `bohr cc`, `bohr c++` or `bohr cargo`, or leave out `--races fail`"
                    .to_string(),
            ),
            ControlError::RacesBuffered => Some(
                "a program has a data race under one model if it has one under the others: leave \
                 out `--model`"
                    .to_string(),
            ),
            ControlError::NativeBuffers(_) => Some("leave out `--model` or `--native`".to_string()),
            ControlError::StoresUnseen(_) => Some(
                "build it with `bohr cc`, `bohr c++` or `bohr cargo`, and leave out `--calls-only`"
                    .to_string(),
            ),
        }
    }
}

/// A length of time with its unit: `25s`, `500ms`, `2m`, `1h`.
pub fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let number: f64 = digits
        .parse()
        .map_err(|_| format!("`{text}` is not a time like 25s"))?;
    let seconds = match &text[digits.len()..] {
        "ms" => number / 1e3,
        "s" | "" => number,
        "m" => number * 60.0,
        "h" => number * 3600.0,
        unit => return Err(format!("`{unit}` is not a unit of time: ms, s, m, h")),
    };
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

/// A number of things of which there has to be one.
pub fn at_least_one<T: FromStr + Default + PartialEq>(text: &str) -> Result<T, String> {
    match text.parse() {
        Ok(number) if number != T::default() => Ok(number),
        _ => Err(format!("`{text}` is not a number from 1 on")),
    }
}

pub fn memory_model() -> impl TypedValueParser<Value = MemoryModel> {
    PossibleValuesParser::new(MemoryModel::ALL.map(MemoryModel::name))
        .try_map(|name| name.parse::<MemoryModel>())
}

impl ProgramArgs {
    /// File name of the program, for naming what comes of it.
    pub fn name(&self) -> String {
        let name = Path::new(&self.command[0])
            .file_name()
            .unwrap_or(&self.command[0]);
        name.to_string_lossy().into_owned()
    }

    /// Where the program is.
    pub fn path(&self) -> Result<PathBuf, Failure> {
        let path = find_program(Path::new(&self.command[0])).map_err(ExploreError::from)?;
        Ok(path)
    }

    /// What is to be run; says on standard error how it is controlled.
    pub fn subject(&self) -> Result<Subject, Failure> {
        let mut subject = self.quiet_subject()?;
        if !subject.models.is_empty() {
            subject = libraries::with_late_ones(subject)?;
        }
        mode::say(&subject.target);
        Ok(subject)
    }

    /// When stores become visible.
    pub fn model(&self) -> MemoryModel {
        self.model
    }

    /// Refuses to simulate store buffers where threads are real.
    pub fn refuse_buffers(&self) -> Result<(), ControlError> {
        match self.model.has_buffers() {
            true => Err(ControlError::NativeBuffers(self.model)),
            false => Ok(()),
        }
    }

    /// Longest time of a single run.
    pub fn run_time(&self) -> Duration {
        self.run_time
    }

    /// What is to be run.
    pub fn quiet_subject(&self) -> Result<Subject, Failure> {
        let word = Path::new(&self.command[0]);
        let environment = environment();
        let accesses = match self.calls_only {
            true => Accesses::None,
            false => Accesses::All(&environment),
        };
        let (target, models) = target(word, accesses)?;
        if self.races == RacesArg::Fail && models.is_empty() {
            return Err(ControlError::RacesUnseen.into());
        }
        if self.model.has_buffers() && models.is_empty() {
            return Err(ControlError::StoresUnseen(self.model).into());
        }
        if self.races == RacesArg::Fail && self.model.has_buffers() {
            return Err(ControlError::RacesBuffered.into());
        }
        let mut subject = Subject::new(target, self.invocation()?);
        subject.models = models;
        subject.oracle.exit_code = self.expect_exit;
        subject.oracle.output = self.expect_output.as_deref().map(read).transpose()?;
        subject.oracle.check.clone_from(&self.check_output);
        subject.oracle.races = self.races.into();
        subject.policy.spurious_wakes = self.spurious_wakes;
        subject.policy.early_timeouts = self.early_timeouts;
        subject.policy.model = self.model;
        subject.policy.panics_fail = !self.allow_panics;
        subject.limits.events = self.run_events;
        let milliseconds = self.run_time.as_millis().clamp(1, u128::from(u32::MAX));
        subject.limits.milliseconds = milliseconds as u32;
        subject.patience = self.startup;
        Ok(subject)
    }

    fn invocation(&self) -> Result<Invocation, Failure> {
        Ok(Invocation {
            arguments: self.command[1..]
                .iter()
                .map(|word| word.as_bytes().to_vec())
                .collect(),
            environment: environment(),
            input: input::standard(self.stdin.as_deref())?,
            given: Vec::new(),
        })
    }
}

/// What breakpoints in a program's own sources ask for; other variables that begin
/// like these are bohr's.
const OF_BREAKPOINTS: [&[u8]; 3] = [b"BOHR_BREAK", b"BOHR_BREAK_PAUSE", b"BOHR_BREAK_SUMMARY"];

/// The environment of this process, sorted, so that equal ones are equal.
pub fn environment() -> Vec<(Vec<u8>, Vec<u8>)> {
    let is_own = |name: &[u8]| name.starts_with(b"BOHR_") && !OF_BREAKPOINTS.contains(&name);
    let mut variables: Vec<_> = std::env::vars_os()
        .map(|(name, value)| (name.into_vec(), value.into_vec()))
        .filter(|(name, _)| !is_own(name))
        .collect();
    variables.sort();
    variables
}

/// The content of a file that the user named.
pub fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let bytes = std::fs::read(path).map_err(|source| ControlError::Unreadable {
        path: path.to_path_buf(),
        source,
    })?;
    Ok(bytes)
}

/// At which of its accesses a program is controlled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accesses<'a> {
    /// At none: the program is run as it is.
    None,
    /// At those of what was built with bohr, shared libraries included that are loaded in
    /// this environment.
    All(&'a Environment),
    /// At those of the program's own file: whoever asks goes by one model.
    OfProgram,
}

/// The program to start: its control profile if it carries a bundle, itself if not; and
/// models of what is controlled at its accesses, the program's own first.
pub fn target(word: &Path, accesses: Accesses<'_>) -> Result<(Target, Vec<Arc<Program>>), Failure> {
    let path = find_program(word).map_err(ExploreError::from)?;
    if accesses == Accesses::None {
        let plain = inspect(&path, None).map_err(ExploreError::from)?;
        return Ok((plain, Vec::new()));
    }
    let cache = Cache::open()?.interrupted_by(interruption());
    let (target, mut models) = match carries_bundle(&path) {
        true => {
            let profile = cache.profile(&path, Profile::Control)?;
            let models = vec![model::load(&profile.model)?];
            let start = Some((profile.executable, profile.bundle.0));
            (inspect(&path, start), models)
        }
        false => (inspect(&path, None), Vec::new()),
    };
    let target = target.map_err(ExploreError::from)?;
    let Accesses::All(environment) = accesses else {
        return Ok((target, models));
    };
    let (target, of_libraries) = libraries::add(&cache, &path, target, environment)?;
    models.extend(of_libraries);
    Ok((target, models))
}

/// Set when the user or the system wants bohr to end.
pub fn interruption() -> &'static AtomicBool {
    static INTERRUPTED: AtomicBool = AtomicBool::new(false);
    // Fails only if a handler is installed already, and then this one is.
    let _ = ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            std::process::exit(EXIT_INTERRUPTED.into());
        }
    });
    &INTERRUPTED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(duration("25s"), Ok(Duration::from_secs(25)));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        for wrong in ["", "s", "5d", "-1s", "1e400s", "NaN"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
