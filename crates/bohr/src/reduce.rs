//! `bohr reduce`: the same failure with only the threads and iterations that it
//! needs.

mod analyses;
mod budget;
mod calls;
mod crew;
mod criterion;
mod error;
mod examiner;
mod input;
mod ledger;
mod lines;
mod observation;
mod question;
mod report;
mod size;
mod stores;
mod watch;
mod workshop;

use crate::control::{BugArgs, duration, environment, interruption, load_bug, stages};
use crate::outcome::{Failure, Outcome};
use analyses::Analyses;
use bohr_event::control::Omissions;
use bohr_explore::bug_file::Bug;
use bohr_explore::{ExploreError, Subject, Trials, check_place};
use bohr_reduce::Execution;
use bohr_reduce::execution_reduction::irrelevant;
use bohr_reduce::reduction::{self, Reducer};
use bohr_schedule::Plan;
use crew::Crew;
use error::ReduceError;
use examiner::Examiner;
use input::{Source, is_shrunk, shrink};
use lines::Lines;
use report::{Ended, Report};
use serde_json::json;
use std::cell::OnceCell;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use watch::Watch;
use workshop::Workshop;

/// Which bug, and how long to try.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  bohr reduce server.bohr                   keep what is left in server.bohr
  bohr reduce server.bohr -o small.bohr     leave server.bohr as it is
  bohr reduce server.bohr --time 10m
  bohr reduce server.bohr -o small.bohr --resume   go on where that stopped
  bohr reduce server.bohr --rcb server.c:40-52
  bohr reduce sort.bohr --shrink-input stdin
  bohr reduce server.bohr --method er       what the dependence graph alone could do

A thread or an iteration goes if the failure still comes without it, and if the
threads that are left do not fail when they run one after the other. The program
has to be built with bohr. Exit codes: 0 done, 2 bohr could not do it.")]
pub struct Args {
    #[command(flatten)]
    subject: BugArgs,
    /// Where the result goes; by default the bug file itself.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Longest time, as in 10s or 5m.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    time: Duration,
    /// Candidates that are tried at once; as many as there are processors by
    /// default. The result does not depend on it.
    #[arg(short, long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Go on with what an earlier reduction has written to FILE.
    #[arg(long, requires = "output")]
    resume: bool,
    /// Shrink an input first: `arguments`, `stdin`, or a file that an argument
    /// names; the smaller file is written beside the result, as OUT.input (as OUT.spare
    /// if that is the file itself).
    #[arg(long, value_name = "INPUT", conflicts_with = "resume")]
    shrink_input: Option<Source>,
    /// A block of the source that runs over and over, by its lines: each time, what
    /// can be left out of it goes as a whole.
    #[arg(long, value_name = "FILE:FROM-TO")]
    rcb: Vec<Lines>,
    /// How to find out what is not needed.
    #[arg(long, value_enum, value_name = "METHOD", default_value = "lean")]
    method: Method,
}

/// How to find out what is not needed.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Method {
    /// Leave something out and run the program.
    Lean,
    /// Count what the dependence graph of the run can do without; writes nothing.
    Er,
}

pub fn run(args: &Args) -> Outcome {
    let (mut bug, mut subject) = args.subject.load()?;
    let path = args.output.as_ref().unwrap_or(&args.subject.bug);
    if args.method == Method::Er {
        return by_graph(args, &bug, &subject);
    }
    // A place that cannot be written to is found out before anything is run.
    check_place(path).map_err(|source| ExploreError::File {
        path: path.clone(),
        source,
    })?;
    if let (true, Some(path)) = (args.resume, &args.output) {
        resume(&mut bug, path)?;
        subject.invocation = bug.invocation.with_secrets_of(&environment());
    }
    let interrupted = interruption();
    let deadline = Instant::now() + args.time;
    let go_on = || !interrupted.load(Ordering::Relaxed) && Instant::now() < deadline;
    let bar = stages();
    let mut input = None;
    if let Some(source) = &args.shrink_input {
        bar.set_prefix("input");
        let shrunk = shrink(&bug, &subject, source, path, &go_on)?;
        bug = shrunk.bug.clone();
        subject.invocation = bug.invocation.with_secrets_of(&environment());
        input = Some(shrunk);
    }
    let mut watch = Watch::start();
    // A run that is under way is not broken off: what was found is kept.
    let start = || {
        Ok(Examiner::new(
            Trials::start(&subject, &bug, &|| true)?,
            &bug,
        ))
    };
    let mut crew = Crew::new(&start, args.jobs.map_or_else(processors, usize::from))?;
    watch.ended("start");
    let program = crew
        .first_examiner()
        .trials
        .atlas()
        .models()
        .first()
        .cloned();
    let sharing = OnceCell::new();
    let analyses = Analyses::new(program.as_deref(), &sharing);
    let mut workshop = Workshop::new(&bug, crew, path, &go_on, &bar, &analyses, &mut watch)?;
    workshop.group(&args.rcb)?;
    if input.is_some() || args.output.is_some() && !args.resume {
        // Whatever comes now, there is a result.
        workshop.keep()?;
    }
    let mut cut = workshop.cut().clone();
    let mut stages = Vec::new();
    let mut started = Instant::now();
    let done = reduction::reduce(&mut workshop, &mut cut, |stage| {
        stages.push((stage.clone(), started.elapsed()));
        started = Instant::now();
    });
    bar.finish_and_clear();
    // Whatever went wrong, what was found before it is on disk.
    let minimal = done?;
    let ended = match (interrupted.load(Ordering::Relaxed), go_on()) {
        (true, _) => Ended::Interrupted,
        (false, false) => Ended::OutOfTime,
        (false, true) => Ended::ByItself,
    };
    workshop.keep()?;
    watch.go_on();
    workshop.insist_on_the_result()?;
    watch.ended("verification");
    let after = workshop.after()?;
    let least_run = workshop.least_run()?;
    watch.ended("timed_replays");
    let er = irrelevant(workshop.execution());
    watch.ended("execution_reduction");
    let relevant = workshop.relevant().map(|relevant| relevant.count());
    watch.ended("relevance");
    let mut report = Report {
        before: workshop.before(),
        after,
        stages,
        blocks_redundant: workshop.redundant_blocks(),
        er,
        relevant,
        input,
        sequential: workshop.is_sequential(),
        evaluated: workshop.is_evaluated(),
        evaluated_places: workshop.evaluated_places(),
        stores_left_out: workshop.stores_left_out(),
        refusals: workshop.refusals(),
        minimal,
        ended,
        cut: workshop.cut().clone(),
        spent: workshop.spent(),
        ledger: workshop.ledger(),
        least_run,
        elsewhere: watch.as_json(),
    };
    watch.ended("report");
    report.elsewhere = watch.as_json();
    match args.subject.json {
        true => println!("{}", report.as_json(path)),
        false => print!("{}", report.as_text(path)),
    }
    Ok(ExitCode::SUCCESS)
}

/// Takes over what an earlier reduction of the same bug has come to.
fn resume(bug: &mut Bug, path: &Path) -> Result<(), Failure> {
    if !path.exists() {
        return Ok(());
    }
    let begun = load_bug(path)?;
    let is_about_it = begun.signature == bug.signature && begun.program == bug.program;
    let is_as_found = begun.schedule == bug.schedule && begun.invocation == bug.invocation;
    if !is_about_it || !is_as_found && !is_shrunk(&begun.invocation, &bug.invocation, path) {
        let path = path.to_path_buf();
        return Err(ReduceError::OtherBug { path }.into());
    }
    *bug = begun;
    Ok(())
}

/// Execution reduction by the dependence graph alone.
fn by_graph(args: &Args, bug: &Bug, subject: &Subject) -> Outcome {
    if args.output.is_some() || args.shrink_input.is_some() || !args.rcb.is_empty() {
        return Err(ReduceError::OnlyCounts.into());
    }
    let mut trials = Trials::start(subject, bug, &|| true)?;
    trials.leave_out(Omissions::default());
    let plan = Plan::replay(trials.atlas().inward(&bug.schedule));
    let run = trials.record(&plan, bug.seed)?;
    let run = run.ok_or(ExploreError::NotReproduced)?;
    let result = irrelevant(Execution::recorded(&run));
    match args.subject.json {
        true => println!(
            "{}",
            json!({
                "events_before": run.steps.len(),
                "er_events_removed": result.events,
                "er_regions_removed": result.regions,
                "er_threads_removed": result.threads,
            })
        ),
        false => println!(
            "no path leads from {} of {} events to the failure, in {} regions, among them {} whole threads",
            result.events,
            run.steps.len(),
            result.regions,
            result.threads
        ),
    }
    Ok(ExitCode::SUCCESS)
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
