//! `bohr reduce`: the same failure with only the threads and iterations that it
//! needs.

mod crew;
mod examiner;
mod report;
mod size;
mod workshop;

use crate::control::{BugArgs, duration, interruption, stages};
use crate::outcome::Outcome;
use bohr_explore::Trials;
use bohr_reduce::execution_reduction::irrelevant;
use bohr_reduce::reduction;
use crew::Crew;
use examiner::{Examiner, REPLAYS};
use report::Report;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use workshop::Workshop;

/// Which bug, and how long to try.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  bohr reduce server.bohr                   keep what is left in server.bohr
  bohr reduce server.bohr -o small.bohr     leave server.bohr as it is
  bohr reduce server.bohr --time 10m

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
}

pub fn run(args: &Args) -> Outcome {
    let (bug, subject) = args.subject.load()?;
    let interrupted = interruption();
    let deadline = Instant::now() + args.time;
    let go_on = || !interrupted.load(Ordering::Relaxed) && Instant::now() < deadline;
    let path = args.output.as_ref().unwrap_or(&args.subject.bug);
    let bar = stages();
    // A run that is under way is not broken off: what was found is kept.
    let start = || {
        Ok(Examiner::new(
            Trials::start(&subject, &bug, &|| true)?,
            &bug,
        ))
    };
    let crew = Crew::new(&start, args.jobs.map_or_else(processors, usize::from))?;
    let mut workshop = Workshop::new(&bug, crew, path, &go_on, &bar)?;
    let mut omissions = bug.without();
    let mut stages = Vec::new();
    let mut started = Instant::now();
    let done = reduction::reduce(&mut workshop, &mut omissions, |stage| {
        stages.push((stage.clone(), started.elapsed()));
        started = Instant::now();
    });
    bar.finish_and_clear();
    // Whatever went wrong, what was found before it is on disk.
    done?;
    let report = Report {
        before: workshop.before(),
        after: workshop.after()?,
        stages,
        blocks_redundant: workshop.redundant_blocks(),
        er: irrelevant(workshop.execution()),
        sequential: workshop.is_sequential(),
        evaluated: workshop.is_evaluated(),
        verified: workshop.replays(REPLAYS)? == REPLAYS,
        runs: workshop.runs(),
    };
    match args.subject.json {
        true => println!("{}", report.as_json(path)),
        false => print!("{}", report.as_text(path)),
    }
    Ok(ExitCode::SUCCESS)
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
