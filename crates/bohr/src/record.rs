//! `bohr record`: runs a program with real, parallel threads and writes down the
//! way of each.

mod controlled;

use crate::control::{
    at_least_one, counter, duration, environment, interruption, libraries, model,
};
use crate::outcome::{EXIT_INTERRUPTED, Failure, Outcome};
use bohr_build::{Cache, Profile};
use bohr_event::{Diagnosis, Fault};
use bohr_explore::bug_file::Invocation;
use bohr_explore::record::{Recorded, Recorder, Spent};
use bohr_explore::{ExploreError, Voice, find_program, write_whole};
use bohr_log::{DecodeError, End, LogKind, choices};
use bohr_program::Program;
use serde_json::json;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Which program, and what is kept.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  bohr record -o server.log -- ./server --test
  bohr record --until-failure --runs 1000 -o server.log -- ./server --test
  bohr record --compare --json -- ./compress file >/dev/null
  bohr record --until-failure --slices 20 -o server.log -- ./server --test

The program has to be built with `bohr cc`, `bohr c++` or `bohr cargo`. Its threads
run in parallel, without added synchronisation. After a crash the log is complete to
the last branch; if the program is killed, a thread may lack its last 63, behind which
it has done nothing that others could notice. Code of shared libraries is not recorded,
nor of any that were not built with bohr.

Exit codes: 0 recorded, and the run was good; 1 recorded, and the run failed; 2 bohr
could not do it.")]
pub struct Args {
    /// What is recorded.
    #[arg(long, value_enum, default_value = "path")]
    log: Log,
    /// Where the log goes [default: the program's name with .log].
    #[arg(short, long, value_name = "LOG")]
    output: Option<PathBuf>,
    /// Run again and again until a run fails, and keep the log of that one.
    #[arg(long)]
    until_failure: bool,
    /// Most runs of --until-failure.
    #[arg(long, value_name = "N", requires = "until_failure", value_parser = at_least_one::<u64>)]
    runs: Option<u64>,
    /// Also run the program as it was built, to compare the time.
    #[arg(long)]
    compare: bool,
    /// Do not count the branches: the log is written as it is, without reading it
    /// through, which takes longer than recording it.
    #[arg(long)]
    no_count: bool,
    /// File that the program reads as its standard input, `-` for bohr's own, which is
    /// read to its end first; it has none otherwise.
    #[arg(long, value_name = "FILE")]
    stdin: Option<PathBuf>,
    /// Record runs under control, with store buffers as this memory model has them;
    /// --until-failure tries as many schedules as it takes.
    #[arg(
        long,
        value_name = "MODEL",
        default_value = "sc",
        conflicts_with = "compare"
    )]
    model: bohr_event::MemoryModel,
    /// Record runs under control in which a random thread goes on for so many events
    /// on average, as an operating system has it: the same seed gives the same log.
    #[arg(long, value_name = "EVENTS", conflicts_with = "compare")]
    slices: Option<std::num::NonZeroU64>,
    /// The seed of the first run under control; each one after it has the next.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Exit code of a good run.
    #[arg(long, value_name = "CODE", default_value_t = 0)]
    expect_exit: i32,
    /// Longest time of a single run, as in 10s or 500ms; a longer one has failed.
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = duration)]
    run_time: Duration,
    /// Print one JSON object on standard output; the program's goes to standard error.
    #[arg(long)]
    json: bool,
    /// The program and its arguments.
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    command: Vec<OsString>,
}

/// What is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Log {
    /// The way of every thread: the least costly, and `bohr solve` has to search.
    Path,
    /// The same, and the order of locks and conditions, so that it searches less.
    #[value(name = "path+sync")]
    PathAndSync,
    /// The order in which threads come by memory that they share: costly, and there
    /// is nothing left to solve.
    Order,
}

impl Log {
    fn kind(self) -> LogKind {
        match self {
            Log::Path => LogKind::Path,
            Log::PathAndSync => LogKind::PathAndSync,
            Log::Order => LogKind::Order,
        }
    }

    fn profile(self) -> Profile {
        match self {
            Log::Path | Log::PathAndSync => Profile::Path,
            Log::Order => Profile::Order,
        }
    }
}

/// Why nothing was recorded.
#[derive(Debug, thiserror::Error)]
enum RecordError {
    /// What was recorded does not fit the program.
    #[error("what was recorded cannot be read")]
    Undecodable(#[from] DecodeError),
}

impl Diagnosis for RecordError {
    fn fault(&self) -> Fault {
        Fault::Unsupported
    }

    fn help(&self) -> Option<String> {
        Some(
            "signal handlers that interrupt recorded code are the likeliest cause: \
             record without them, or search under control with `bohr hunt`"
                .into(),
        )
    }
}

/// What came of it.
struct Kept {
    recorded: Recorded,
    runs: u64,
    /// How many, if the log tells.
    branches: Option<u64>,
}

pub fn run(args: &Args) -> Outcome {
    let interrupted = interruption();
    let go_on = || !interrupted.load(Ordering::Relaxed);
    let output = args.output.clone().unwrap_or_else(|| args.default_output());
    let (recorder, program) = args.recorder(&output)?;
    let controlled = match args.model.has_buffers() || args.slices.is_some() {
        true => Some(controlled::Controlled::new(args, &recorder)?),
        false => None,
    };
    let native = match args.compare {
        true => Some(recorder.time_natively(&go_on)?),
        false => None,
    };
    let (kept, runs) = match controlled {
        Some(controlled) => controlled.record(args, &go_on)?,
        None => record(args, &recorder, &go_on)?,
    };
    let Some(recorded) = kept else {
        return Ok(nothing_kept(args, runs, go_on()));
    };
    let branches = match args.log.kind().has_paths() && !args.no_count {
        true => Some(choices(&program, &recorded.recording).map_err(RecordError::from)?),
        false => None,
    };
    let failed = recorded.recording.failed();
    let bytes = bohr_log::write(&recorded.recording);
    write_whole(&output, &bytes).map_err(|source| ExploreError::File {
        path: output.clone(),
        source,
    })?;
    let kept = Kept {
        recorded,
        runs,
        branches,
    };
    if args.json {
        println!("{}", as_json(&kept, native, &output));
    }
    eprintln!("bohr: {}", describe(&kept, &output));
    Ok(ExitCode::from(u8::from(failed)))
}

/// The run that is kept, if there is one, and how many there were.
fn record(
    args: &Args,
    recorder: &Recorder,
    go_on: &dyn Fn() -> bool,
) -> Result<(Option<Recorded>, u64), Failure> {
    let voice = match (args.until_failure, args.json) {
        (true, _) => Voice::Muted,
        (false, true) => Voice::Aside,
        (false, false) => Voice::Heard,
    };
    let progress = args.until_failure.then(|| counter("runs"));
    let most = match args.until_failure {
        true => args.runs.unwrap_or(u64::MAX),
        false => 1,
    };
    let mut kept = None;
    let mut runs = 0;
    while runs < most && kept.is_none() && go_on() {
        let recorded = recorder.record(voice, go_on)?;
        runs += 1;
        progress.iter().for_each(|bar| bar.inc(1));
        kept = recorded.filter(|run| !args.until_failure || run.recording.failed());
    }
    progress.iter().for_each(|bar| bar.finish_and_clear());
    Ok((kept, runs))
}

fn nothing_kept(args: &Args, runs: u64, finished: bool) -> ExitCode {
    let why = match finished {
        true => format!("none of {runs} runs failed"),
        false => "interrupted".into(),
    };
    if args.json {
        println!(
            "{}",
            json!({ "failed": false, "runs": runs, "log_file": null })
        );
    }
    eprintln!("bohr: {why}; no log was written");
    ExitCode::from(if finished { 0 } else { EXIT_INTERRUPTED })
}

impl Args {
    fn default_output(&self) -> PathBuf {
        let name = Path::new(&self.command[0]).file_name();
        let name = name.unwrap_or(&self.command[0]);
        Path::new(name).with_extension("log")
    }

    fn recorder(&self, output: &Path) -> Result<(Recorder, std::sync::Arc<Program>), Failure> {
        let path = find_program(Path::new(&self.command[0])).map_err(ExploreError::from)?;
        let cache = Cache::open()?.interrupted_by(interruption());
        let paths = cache.profile(&path, self.log.profile())?;
        libraries::note_left_out(&path, &environment(), "what it does is not recorded");
        let arguments = self.command[1..]
            .iter()
            .map(|word| word.as_bytes().to_vec());
        let folder = output
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let recorder = Recorder {
            program: path,
            kind: self.log.kind(),
            profile: paths.executable,
            bundle: paths.bundle.0,
            invocation: Invocation {
                arguments: arguments.collect(),
                environment: environment(),
                input: crate::control::input::standard(self.stdin.as_deref())?,
                given: Vec::new(),
            },
            good_exit: self.expect_exit,
            limit: self.run_time,
            folder: folder.unwrap_or(Path::new(".")).to_path_buf(),
        };
        Ok((recorder, model::load(&paths.model)?))
    }
}

fn as_json(kept: &Kept, native: Option<Spent>, output: &Path) -> serde_json::Value {
    let recording = &kept.recorded.recording;
    json!({
        "failed": recording.failed(),
        "log": recording.kind.to_string(),
        "runs": kept.runs,
        "native_seconds": native.map(|spent| spent.time.as_secs_f64()),
        "native_processor_seconds": native.map(|spent| spent.processor.as_secs_f64()),
        "recorded_seconds": kept.recorded.spent.time.as_secs_f64(),
        "recorded_processor_seconds": kept.recorded.spent.processor.as_secs_f64(),
        "log_bytes": recording.bytes(),
        "input_bytes": recording.input_bytes(),
        "branches": kept.branches,
        "threads": recording.threads.len(),
        "end": describe_end(&recording.end),
        "log_file": output,
    })
}

fn describe(kept: &Kept, output: &Path) -> String {
    let recording = &kept.recorded.recording;
    let runs = match kept.runs {
        1 => String::new(),
        runs => format!(" in run {runs}"),
    };
    let branches = kept
        .branches
        .map_or_else(String::new, |count| format!("{count} branches of "));
    format!(
        "{}{runs}; {branches}{} threads in {} bytes: {}",
        describe_end(&recording.end),
        recording.threads.len(),
        recording.bytes(),
        output.display()
    )
}

/// How a run ended, for people.
fn describe_end(end: &End) -> String {
    match end {
        End::Exit(code) => format!("exit code {code}"),
        End::Standstill => "all threads wait for each other".into(),
        End::Endless => "still running when its time was over".into(),
        End::Signal { number, thread, .. } => match thread {
            Some(thread) => format!("signal {number} in thread {thread}"),
            None => format!("signal {number}"),
        },
    }
}
