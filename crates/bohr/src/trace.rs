//! `bohr trace`: every event of a failing run, for people and for other tools.

mod filter;
mod store;

use crate::control::{BugArgs, interruption};
use crate::outcome::{Failure, Outcome};
use bohr_event::control::Recorded;
use bohr_explain::Moment;
use bohr_explore::bug_file::Bug;
use bohr_explore::{ExploreError, Names, Trials, write_whole};
use bohr_export::{Format, export};
use bohr_schedule::Plan;
use bohr_trace::Trace;
use filter::{Filter, Line};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

/// Which bug, which events, and in which form.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  bohr trace cache.bohr
  bohr trace cache.bohr --filter thread=0:2,variable=table
  bohr trace cache.bohr --filter line=cache.c:43 --json
  bohr trace cache.bohr --export parquet -o cache.parquet

The bug is replayed, along its simplified schedule if it has one, and every
event is kept. docs/trace.md tells what other tools make of an export. Exit
codes: 0 done, 2 bohr could not do it.")]
pub struct Args {
    #[command(flatten)]
    subject: BugArgs,
    /// Only events for which all of these hold: thread=0:2, kind=write,
    /// variable=WORD, line=FILE:NUMBER; separated by commas.
    #[arg(long, value_name = "FILTER", default_value = "")]
    filter: Filter,
    /// Write the whole trace for another tool.
    #[arg(long, value_name = "FORMAT", conflicts_with_all = ["filter", "json"], value_parser = format)]
    export: Option<Format>,
    /// Where the export goes; by default to standard output.
    #[arg(short, long, value_name = "FILE", requires = "export")]
    output: Option<PathBuf>,
}

fn format(word: &str) -> Result<Format, String> {
    let named = |format: &Format| format.name() == word;
    let names = Format::ALL.map(Format::name).join(", ");
    let found = Format::ALL.into_iter().find(named);
    found.ok_or_else(|| format!("there is no such format; there are {names}"))
}

pub fn run(args: &Args) -> Outcome {
    let (bug, subject) = args.subject.load()?;
    let interrupted = interruption();
    let go_on = || !interrupted.load(Ordering::Relaxed);
    let mut trials = Trials::start(&subject, &bug, &go_on)?;
    let run = record(&bug, &mut trials)?;
    let mut names = Names::new(trials.atlas_mut(), &run.threads, &run.steps);
    match args.export {
        Some(format) => write_export(args, format, &run, &mut names)?,
        None => show(args, &run, &mut names),
    }
    Ok(ExitCode::SUCCESS)
}

fn record(bug: &Bug, trials: &mut Trials<'_>) -> Result<Recorded, Failure> {
    let schedule = bug.simplified.as_ref().unwrap_or(bug.unsimplified());
    let schedule = trials.atlas().inward(schedule);
    let run = trials.record(&Plan::replay(schedule), bug.seed)?;
    Ok(run.ok_or(ExploreError::NotReproduced)?)
}

fn show(args: &Args, run: &Recorded, names: &mut Names<'_>) {
    let events = 0..run.steps.len();
    let lines = events.map(|event| Line::of(event, &Moment::at(run, event), names));
    let lines = lines.filter(|line| args.filter.admits(line));
    match args.subject.json {
        true => {
            let lines: Vec<Line> = lines.collect();
            println!("{}", serde_json::json!({ "events": lines }));
        }
        false => lines.for_each(|line| println!("{line}")),
    }
}

fn write_export(
    args: &Args,
    format: Format,
    run: &Recorded,
    names: &mut Names<'_>,
) -> Result<(), Failure> {
    let file = store::store(run, names)?;
    let trace = Trace::open(&file)?;
    let mut bytes = Vec::new();
    export(&trace, format, &mut bytes)?;
    match &args.output {
        Some(path) => write_whole(path, &bytes).map_err(|source| ExploreError::File {
            path: path.clone(),
            source,
        })?,
        None => {
            let mut out = std::io::stdout();
            out.write_all(&bytes)
                .and_then(|()| out.flush())
                .map_err(bohr_export::ExportError::Write)?;
        }
    }
    Ok(())
}
