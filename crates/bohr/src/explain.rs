//! `bohr explain`: what a failure takes, readable in a minute.

mod callers;
mod page;
mod probe;
pub mod source;
pub mod stacks;
mod telling;

use crate::control::{BugArgs, counter, describe_bug, duration, interruption, note_missing_lines};
use crate::outcome::{Failure, Outcome};
use crate::simplify::Work;
use bohr_event::control::Failure as SeenFailure;
use bohr_event::{FailureKind, Operation};
use bohr_explain::{Explanation, LockOrders, Moment, explain, explain_race};
use bohr_explore::bug_file::Bug;
use bohr_explore::{
    ExploreError, LockWords, Names, Observed, Trials, Vocabulary, awaited, libraries_of,
    signature_tag, verdict_on, write_whole,
};
use bohr_program::Libraries;
use bohr_report::{Story, printable};
use bohr_schedule::Plan;
use callers::allocations;
use page::Shown;
use probe::{Probe, failing_thread};
use source::Sources;
use stacks::Stacks;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use telling::Telling;

/// Lock orders of which stacks are looked at; each takes a few runs.
const SHOWN_LOCK_CYCLES: usize = 5;

/// Which bug.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  bohr explain cache.bohr
  bohr explain cache.bohr --json | jq .findings
  bohr explain cache.bohr --sarif cache.sarif
  bohr explain cache.bohr --html cache.html

The failing run is simplified first, unless `bohr simplify` has done that. Then
every switch is moved until the failure goes away: what is left in between is
what must not be interrupted. Exit codes: 0 done, 2 bohr could not do it.")]
pub struct Args {
    #[command(flatten)]
    subject: BugArgs,
    /// Longest time for simplifying and for moving switches, as in 10s or 5m.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    time: Duration,
    /// Also write the findings as SARIF, for code hosts and editors.
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
    /// Also write one page to click through, for any browser, with the sources in it.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Tell of packages that cargo has fetched as of the program's own sources; without
    /// it they are libraries, unless the run failed in one of them.
    #[arg(long)]
    packages: bool,
}

pub fn run(args: &Args) -> Outcome {
    let (bug, subject) = args.subject.load()?;
    let interrupted = interruption();
    let go_on = || !interrupted.load(Ordering::Relaxed);
    let mut trials = Trials::start(&subject, &bug, &go_on)?;
    let mut explained = find_out(&bug, &mut trials, args.packages, args.time)?;
    let shown = match &args.html {
        Some(_) => Some(Shown::of(&explained.explanation, &bug, &mut trials)?),
        None => None,
    };
    let program = Path::new(OsStr::from_bytes(&bug.program.path));
    let (story, mut telling) = tell(&bug, &mut explained, program, &mut trials)?;
    if story.unexamined > 0 {
        eprintln!(
            "bohr: note: {} earlier preemptions were not looked at; `bohr simplify` with more time may do without them",
            story.unexamined
        );
    }
    note_missing(&bug, &telling.sources);
    if let Some(path) = &args.sarif {
        let log = story.as_sarif(env!("CARGO_PKG_VERSION")).to_string();
        write(path, &log)?;
    }
    if let (Some(path), Some(shown)) = (&args.html, shown) {
        let program = program.display().to_string();
        write(path, &shown.page(&program, &story, &mut telling))?;
    }
    match args.subject.json {
        true => println!("{}", story.as_json()),
        false => print!("{}", story.as_text()),
    }
    Ok(ExitCode::SUCCESS)
}

/// All there is to find out about a failure.
pub struct Explained {
    /// What was found.
    pub explanation: Explanation,
    /// What the runtime saw at the end.
    pub failure: Option<SeenFailure>,
    /// What the variables are called and worth.
    pub vocabulary: Vocabulary,
}

/// Finds out all there is; if `packages`, also of what happens in them.
pub fn find_out(
    bug: &Bug,
    trials: &mut Trials<'_>,
    packages: bool,
    time: Duration,
) -> Result<Explained, Failure> {
    let observed = simplest(bug, trials, time)?;
    let failing = failing_thread(&observed);
    let Observed {
        run,
        values,
        failure,
        ..
    } = observed;
    let run = run.ok_or(ExploreError::NotReproduced)?;
    let bar = counter("schedules tried");
    let libraries = match packages {
        true => Libraries::System,
        false => libraries_of(failure.as_ref(), trials.atlas_mut()),
    };
    trials.atlas_mut().set_libraries(libraries);
    let mut vocabulary = Vocabulary::of(trials.atlas_mut(), &run.steps, &values);
    let enough = Instant::now() + time / 4;
    callers::ask(&mut vocabulary, &run, trials, bug.seed, enough)?;
    let states = failure.as_ref().map_or(&[][..], |failure| &failure.states);
    let atlas = trials.atlas_mut();
    let awaited = awaited(atlas, &run.steps, &values);
    let mut words = LockWords::of(atlas);
    let mut word = |operation: &Operation| words.step(atlas, operation);
    let locks = LockOrders::of(&run.steps, states, &awaited, &mut word);
    let mut probe = Probe {
        trials,
        seed: bug.seed,
        deadline: Instant::now() + time,
        bar: &bar,
        vocabulary: &vocabulary,
        failing,
    };
    let explanation = match bug.signature.kind {
        FailureKind::DataRace => explain_race(run, locks),
        _ => explain(run, &values, failure.as_ref(), locks, &mut probe)?,
    };
    bar.finish_and_clear();
    Ok(Explained {
        explanation,
        failure,
        vocabulary,
    })
}

fn write(path: &Path, text: &str) -> Result<(), ExploreError> {
    write_whole(path, text.as_bytes()).map_err(|source| ExploreError::File {
        path: path.to_path_buf(),
        source,
    })
}

/// Puts what was found out in words.
fn tell<'t>(
    bug: &Bug,
    explained: &'t mut Explained,
    program: &Path,
    trials: &'t mut Trials<'_>,
) -> Result<(Story, Telling<'t>), Failure> {
    let Explained {
        explanation,
        failure,
        vocabulary,
    } = explained;
    let named = explanation.named();
    let orders = explanation.lock_moments(SHOWN_LOCK_CYCLES);
    let named: Vec<&Moment> = named.into_iter().chain(&orders).collect();
    let blocks = allocations(&explanation.run, &named);
    let stacks = Stacks::of(
        named.into_iter().chain(&blocks),
        explanation,
        failure.as_ref(),
        trials,
        bug.seed,
    )?;
    let threads = &explanation.run.threads;
    let verdict = failure.as_ref();
    let verdict = verdict.map(|failure| verdict_on(failure, threads, trials.atlas_mut()));
    let description = match verdict {
        Some(verdict) => describe_bug(&verdict.shown_of(bug)),
        None => describe_bug(bug),
    };
    let names = Names::with(
        trials.atlas_mut(),
        &explanation.run.threads,
        &explanation.run.steps,
        std::mem::take(vocabulary),
    );
    let mut telling = Telling::new(names, stacks, Sources::new(program));
    telling.learn_origins(&blocks);
    let told = bohr_report::Bug {
        signature: signature_tag(&bug.signature),
        kind: bug.signature.kind_name(),
        description,
    };
    Ok((Story::new(told, explanation, &mut telling), telling))
}

/// Says what is missing to tell more.
fn note_missing(bug: &Bug, sources: &Sources) {
    for file in sources.missing() {
        let file = printable(file);
        eprintln!("bohr: note: {file} was not found: its lines are told without their text");
    }
    for file in sources.newer() {
        let file = printable(file);
        eprintln!(
            "bohr: note: {file} was changed after the program was built: its lines may not be those that ran"
        );
    }
    note_missing_lines(bug);
}

/// The failing run with the fewest switches: the one in the bug file, or what
/// simplification finds now.
fn simplest(bug: &Bug, trials: &mut Trials<'_>, time: Duration) -> Result<Observed, Failure> {
    let schedule = match &bug.simplified {
        Some(schedule) => trials.atlas().inward(schedule),
        None => {
            let mut work = Work::begin(bug, trials)?;
            work.reorder(time)?;
            work.experiment(time, None)?;
            work.best()
        }
    };
    let observed = trials.observe(&Plan::replay(schedule), bug.seed)?;
    match observed.same {
        true => Ok(observed),
        false => Err(ExploreError::NotReproduced.into()),
    }
}
