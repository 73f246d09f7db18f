//! `bohr trace`: every event of a failing run, for people and for other tools.

mod aim;
mod bare;
mod digest;
mod filter;
mod store;

use crate::control::{BugArgs, Unknown, interruption, relevant};
use crate::outcome::{Failure, Outcome};
pub use bare::{is_trace, pending, threads};

use aim::Aim;
use bohr_event::{Diagnosis, Fault};
use bohr_explore::bug_file::Bug;
use bohr_explore::{Atlas, ExploreError, Names, Ran, StoredTrace, Traced, Trials, write_whole};
use bohr_export::{Format, export};
use bohr_schedule::Plan;
use bohr_slice::Relevant;
use bohr_trace::{Completeness, Trace};
use digest::digest;
use filter::{Filter, Sieve};
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;

/// Which bug, which events, and in which form.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  bohr trace cache.bohr
  bohr trace cache.bohr --filter thread=0:2,variable=table
  bohr trace cache.bohr --filter line=cache.c:43 --json
  bohr trace cache.bohr --relevant          what the failure depends on
  bohr trace cache.bohr --export parquet -o cache.parquet
  bohr trace cache.bohr --export trace -o cache.trace
  bohr trace cache.trace                    a trace in a file of its own

A bug is replayed, along its simplified schedule if it has one, and every
event is kept. docs/trace.md tells what other tools make of an export. Exit
codes: 0 done, 2 bohr could not do it.")]
pub struct Args {
    #[command(flatten)]
    subject: BugArgs,
    /// Only events for which all of these hold: thread=0:2, kind=write,
    /// variable=WORD, line=FILE:NUMBER; separated by commas.
    #[arg(long, value_name = "FILTER", default_value = "")]
    filter: Filter,
    /// Only events from which a path of dependences leads to the failure: between
    /// threads those of the trace, within a thread those of the program.
    #[arg(long, conflicts_with = "export")]
    relevant: bool,
    /// Write the whole trace for another tool, or as bohr itself keeps it: parquet,
    /// csv, json, perfetto, trace.
    #[arg(long, value_name = "FORMAT", conflicts_with_all = ["filter", "json"], value_parser = form)]
    export: Option<Form>,
    /// Where the export goes; by default to standard output.
    #[arg(short, long, value_name = "FILE", requires = "export")]
    output: Option<PathBuf>,
}

/// What is exported.
#[derive(Clone, Copy)]
enum Form {
    /// The trace itself.
    Trace,
    /// For another tool.
    Other(Format),
}

fn form(word: &str) -> Result<Form, String> {
    let named = |format: &Format| format.name() == word;
    match Format::ALL.into_iter().find(named) {
        Some(format) => Ok(Form::Other(format)),
        None if word == "trace" => Ok(Form::Trace),
        None => {
            let names = Format::ALL.map(Format::name).join(", ");
            Err(format!("there is no such format; there are {names}, trace"))
        }
    }
}

pub fn run(args: &Args) -> Outcome {
    if is_trace(&args.subject.bug) {
        return run_bare(args);
    }
    let (bug, subject) = args.subject.load()?;
    let interrupted = interruption();
    let go_on = || !interrupted.load(Ordering::Relaxed);
    let mut trials = Trials::start(&subject, &bug, &go_on)?;
    let Traced {
        file,
        threads,
        pending,
    } = record(&bug, &mut trials)?;
    let slice = match args.relevant {
        true => Some(relevant_events(&bug, &mut trials)?),
        false => None,
    };
    let steps = digest(&Trace::open(&file)?)?;
    let mut names = Names::new(trials.atlas_mut(), &threads, &steps);
    match args.export {
        Some(form) => write_export(args, form, store::complete(file, pending, &mut names)?)?,
        None => {
            let mut sieve = Sieve::new(&args.filter, &mut names);
            let aim = sieve.aim(&steps, threads.len());
            let is_in = |event: u64| {
                let has = |slice: &Relevant| u32::try_from(event).is_ok_and(|at| slice.has(at));
                slice.as_ref().is_none_or(has)
            };
            show(args, &Trace::open(&file)?, &aim, &is_in, &mut sieve)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The same for a trace in a file of its own.
fn run_bare(args: &Args) -> Outcome {
    let path = &args.subject.bug;
    if args.relevant {
        return Err(TraceArgsError::NoProgram.into());
    }
    let file = std::fs::read(path).map_err(|source| unwritten(path, source))?;
    let trace = Trace::open(&file)?;
    if trace.completeness() != Completeness::Complete {
        eprintln!("bohr: note: the trace is {}", trace.completeness());
    }
    match args.export {
        Some(form) => write_export(args, form, file)?,
        None => {
            let mut names = bare::Carried::of(&trace)?;
            let mut sieve = Sieve::new(&args.filter, &mut names);
            let aim = sieve.aim(&digest(&trace)?, threads(&trace)?.len());
            show(args, &trace, &aim, &|_| true, &mut sieve)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Why events cannot be told apart.
#[derive(Debug, thiserror::Error)]
pub enum TraceArgsError {
    /// The program's models do not tell.
    #[error(transparent)]
    Unknown(#[from] Unknown),
    /// There is only a trace.
    #[error("which events matter is not known: a trace alone does not say what its program does")]
    NoProgram,
}

impl Diagnosis for TraceArgsError {
    fn fault(&self) -> Fault {
        Fault::Input
    }

    fn help(&self) -> Option<String> {
        Some(
            match self {
                TraceArgsError::Unknown(Unknown::NoModel) => {
                    "build it with `bohr cc`, or leave out --relevant"
                }
                TraceArgsError::Unknown(Unknown::Libraries) => {
                    "link its libraries statically, or leave out --relevant"
                }
                TraceArgsError::NoProgram => "name the bug file, or leave out --relevant",
            }
            .to_string(),
        )
    }
}

fn record(bug: &Bug, trials: &mut Trials<'_>) -> Result<Traced, Failure> {
    let schedule = bug.simplified.as_ref().unwrap_or(bug.unsimplified());
    let schedule = trials.atlas().inward(schedule);
    let run = trials.trace(&Plan::replay(schedule), bug.seed)?;
    Ok(run.ok_or(ExploreError::NotReproduced)?)
}

/// Writes the trace of a run into a file, with the names of what it is about.
pub fn keep(run: &Ran, atlas: &mut Atlas, path: &Path) -> Result<(), Failure> {
    let file = run.trace().map(StoredTrace::read).transpose();
    let file = file.map_err(ExploreError::from)?.unwrap_or_default();
    let steps = digest(&Trace::open(&file)?)?;
    let threads = run.detail.as_ref().map(|detail| &detail.threads[..]);
    let mut names = Names::new(atlas, threads.unwrap_or_default(), &steps);
    let bytes = store::complete(file, run.pending(), &mut names)?;
    write_whole(path, &bytes).map_err(|source| unwritten(path, source))?;
    Ok(())
}

fn unwritten(path: &Path, source: std::io::Error) -> ExploreError {
    ExploreError::File {
        path: path.to_path_buf(),
        source,
    }
}

/// The events that matter for the failure.
fn relevant_events(bug: &Bug, trials: &mut Trials<'_>) -> Result<Relevant, Failure> {
    let schedule = trials.atlas().inward(bug.best_schedule());
    let run = trials.record(&Plan::replay(schedule), bug.seed)?;
    let run = run.ok_or(ExploreError::NotReproduced)?;
    let relevant = relevant(&run, trials.atlas(), &bug.signature);
    Ok(relevant.map_err(TraceArgsError::from)?)
}

fn show(
    args: &Args,
    trace: &Trace<'_>,
    aim: &Aim,
    is_in: &dyn Fn(u64) -> bool,
    sieve: &mut Sieve<'_, '_>,
) -> Result<(), Failure> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut written = Ok(());
    let mut first = true;
    let mut none = true;
    aim.visit(trace, |sequence, record| {
        if !is_in(sequence.0) {
            return;
        }
        let Some(line) = sieve.line(sequence, record).filter(|_| written.is_ok()) else {
            return;
        };
        none = false;
        written = match args.subject.json {
            true => {
                let before = if std::mem::take(&mut first) {
                    "{\"events\":["
                } else {
                    ","
                };
                write!(out, "{before}{}", serde_json::json!(line))
            }
            false => writeln!(out, "{line}"),
        };
    })?;
    if none && args.filter != Filter::default() {
        eprintln!(
            "bohr: note: no event is like that; without --filter all are shown, with the names \
             of threads and variables and the lines to choose from"
        );
    }
    if args.subject.json {
        let before = if first { "{\"events\":[" } else { "" };
        written = written.and_then(|()| writeln!(out, "{before}]}}"));
    }
    printed(written.and_then(|()| out.flush()))
}

/// Whoever reads no further, as `head` does, has seen enough.
fn printed(written: std::io::Result<()>) -> Result<(), Failure> {
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(bohr_export::ExportError::Write(error).into())
        }
        _ => Ok(()),
    }
}

/// Writes a trace that carries its names.
fn write_export(args: &Args, form: Form, file: Vec<u8>) -> Result<(), Failure> {
    let bytes = match form {
        Form::Trace => file,
        Form::Other(format) => {
            let mut bytes = Vec::new();
            export(&Trace::open(&file)?, format, &mut bytes)?;
            bytes
        }
    };
    match &args.output {
        Some(path) => write_whole(path, &bytes).map_err(|source| unwritten(path, source))?,
        None => {
            let mut out = std::io::stdout();
            printed(out.write_all(&bytes).and_then(|()| out.flush()))?;
        }
    }
    Ok(())
}
