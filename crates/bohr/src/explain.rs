//! `bohr explain`: what a failure takes, readable in a minute.

mod columns;
mod probe;
mod source;
mod story;
mod told;

use crate::control::{BugArgs, counter, describe_bug, duration, interruption};
use crate::outcome::{Failure, Outcome};
use crate::simplify::Work;
use bohr_event::control::Recorded;
use bohr_explain::{Order, Race, Window, orders, races, windows};
use bohr_explore::Names;
use bohr_explore::bug_file::Bug;
use bohr_explore::{ExploreError, Trials};
use bohr_schedule::Plan;
use probe::Probe;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use story::Story;

/// Which bug.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  bohr explain cache.bohr
  bohr explain cache.bohr --json | jq .windows

The failing run is simplified first, unless `bohr simplify` has done that. Then
every switch is moved until the failure goes away: what is left in between is
what must not be interrupted. Exit codes: 0 done, 2 bohr could not do it.")]
pub struct Args {
    #[command(flatten)]
    subject: BugArgs,
    /// Longest time for simplifying and for moving switches, as in 10s or 5m.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    time: Duration,
}

/// All that was found out about a failure.
pub struct Explanation {
    /// The simplest failing run that is known.
    run: Recorded,
    /// The preemptions that it takes.
    windows: Vec<Window>,
    /// The orders that it takes, if it takes no preemption.
    orders: Vec<Order>,
    /// Accesses that nothing orders.
    races: Vec<Race>,
}

pub fn run(args: &Args) -> Outcome {
    let (bug, subject) = args.subject.load()?;
    let interrupted = interruption();
    let go_on = || !interrupted.load(Ordering::Relaxed);
    let mut trials = Trials::start(&subject, &bug, &go_on)?;
    let explanation = explain(&bug, &mut trials, args.time)?;
    let mut names = Names::new(
        trials.atlas_mut(),
        &explanation.run.threads,
        &explanation.run.steps,
    );
    let story = Story::new(&bug, &explanation, &mut names);
    match args.subject.json {
        true => println!("{}", story.as_json()),
        false => print!("{}\n\n{}", describe_bug(&bug), story.as_text()),
    }
    Ok(ExitCode::SUCCESS)
}

fn explain(bug: &Bug, trials: &mut Trials<'_>, time: Duration) -> Result<Explanation, Failure> {
    let run = simplest(bug, trials, time)?;
    let bar = counter("schedules tried");
    let deadline = Instant::now() + time;
    let mut probe = Probe::new(trials, bug.seed, deadline, &bar);
    let windows = windows(&run, &mut probe)?;
    let orders = match windows.is_empty() {
        true => orders(&run, &mut probe)?,
        false => Vec::new(),
    };
    bar.finish_and_clear();
    let races = races(&run.steps);
    Ok(Explanation {
        run,
        windows,
        orders,
        races,
    })
}

/// The failing run with the fewest switches: the one in the bug file, or what
/// simplification finds now.
fn simplest(bug: &Bug, trials: &mut Trials<'_>, time: Duration) -> Result<Recorded, Failure> {
    let schedule = match &bug.simplified {
        Some(schedule) => trials.atlas().inward(schedule),
        None => {
            let mut work = Work::begin(bug, trials)?;
            work.reorder(time)?;
            work.experiment(time)?;
            work.best()
        }
    };
    let run = trials.record(&Plan::replay(schedule), bug.seed)?;
    Ok(run.ok_or(ExploreError::NotReproduced)?)
}
