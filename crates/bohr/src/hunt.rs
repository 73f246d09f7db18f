//! `bohr hunt`: searches for a failing schedule.

mod merge;

use crate::control::{
    FromArgs, ProgramArgs, ScheduleArgs, at_least_one, budget_bar, describe_bug,
    describe_lock_cycles, describe_races, describe_unwatched, duration, interruption, libraries,
    note_missing_lines, show_hunt, signature_tag,
};
use crate::dump;
use crate::outcome::{EXIT_INTERRUPTED, Failure, Outcome};
use crate::shell_word::as_word;
use bohr_event::control::Obstacle;
use bohr_event::{FailureKind, MemoryModel};
use bohr_explore::hunt::{Budget, Finding, Hunt, HuntResult, Shard, hunt};
use bohr_explore::replay::Reproduction;
use bohr_explore::{ExploreError, ToldRace, bug_file, check_place, write_whole};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Time that a hunt takes if nobody says otherwise.
const DEFAULT_TIME: Duration = Duration::from_secs(60);

const EXAMPLES: &str = "\
Examples:
  bohr hunt -- ./server --test             until something fails, at most a minute
  bohr hunt --time 10m --strategy pct:3 -- ./server
  bohr hunt --runs 5000 --keep-going --json -- ./server > bugs.json
  bohr hunt --like core.1234 -- ./server   the failure that left this core
  bohr hunt --from warm.image -- ./server  from a moment of `bohr run --checkpoint`
  bohr hunt --check-output 'sort -c' -- ./parallel-sort
  bohr hunt --shard 2/4 --json -- ./server > 2.json     on the second of four machines
  bohr hunt --merge 1.json 2.json 3.json 4.json         and their results together";

/// What to hunt, how, and for how long.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Give up after this many runs.
    #[arg(long, value_name = "N", value_parser = at_least_one::<u64>)]
    runs: Option<u64>,
    /// Give up after this time, as in 25s or 10m [default: 60s without --runs].
    #[arg(long, value_name = "TIME", value_parser = duration)]
    time: Option<Duration>,
    #[command(flatten)]
    schedule: ScheduleArgs,
    /// Workers [default: one per core].
    #[arg(short, long, value_name = "N", value_parser = at_least_one::<u32>)]
    jobs: Option<u32>,
    /// Do part I of N of a hunt that N machines share.
    #[arg(long, value_name = "I/N", default_value = "1/1")]
    shard: Shard,
    /// Join the results of shards, given as files with what --json printed.
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "command")]
    merge: Vec<PathBuf>,
    /// Hunt the failure that left this core file; others only count.
    #[arg(long, value_name = "CORE")]
    like: Option<PathBuf>,
    /// Go on after the first bug; further ones are written beside it.
    #[arg(long)]
    keep_going: bool,
    /// Begin every run of a search at the same point; for comparison.
    #[arg(long)]
    no_checkpoints: bool,
    /// Make every run in a process of its own; for comparison.
    #[arg(long)]
    no_rewind: bool,
    /// Where to write the bug [default: NAME.bohr].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print one JSON object on standard output.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    from: FromArgs,
    #[command(flatten)]
    program: Option<ProgramArgs>,
}

pub fn run(args: &Args) -> Outcome {
    let Some(program) = &args.program else {
        return merge::run(&args.merge, args.json);
    };
    let interrupted = interruption();
    let output = output(args, program);
    check_place(&output).map_err(|source| unusable(&output, source))?;
    let subject = args.from.subject(program)?;
    let mut plan = plan(args);
    if let Some(core) = &args.like {
        let wanted = dump::likeness(core, &program.path()?)?;
        eprintln!("bohr: looks for {wanted}");
        plan.wanted = Some(wanted);
    }
    let bar = budget_bar(plan.budget);
    let result = hunt(&subject, &plan, interrupted, &mut |progress| {
        show_hunt(&bar, progress)
    });
    bar.finish_and_clear();
    let result = result?;
    let files = save(args, program, &result.findings)?;
    for notice in &result.notices {
        eprintln!("bohr: note: {notice}");
    }
    if let Some(trouble) = &result.trouble {
        eprintln!("bohr: the hunt ended early, with what it had found: {trouble}");
    }
    if let Some(sentence) = describe_unwatched(result.unwatched) {
        eprintln!("bohr: note: {sentence}");
    }
    if let Some(obstacle) = result
        .obstacle
        .filter(|obstacle| *obstacle != Obstacle::NoThread)
    {
        eprintln!("bohr: note: every run begins at main, since before its first thread {obstacle}");
    }
    match args.json {
        true => println!(
            "{}",
            as_json(args, &result, &files, &libraries::names(&subject.target))
        ),
        false => tell(&result, &files, interrupted.load(Ordering::Relaxed)),
    }
    Ok(
        match (
            result.findings.is_empty(),
            interrupted.load(Ordering::Relaxed),
        ) {
            (false, _) => ExitCode::from(1),
            (true, true) => ExitCode::from(EXIT_INTERRUPTED),
            (true, false) => ExitCode::SUCCESS,
        },
    )
}

fn plan(args: &Args) -> Hunt {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
    Hunt {
        strategy: args.schedule.strategy,
        seed: args.schedule.seed,
        jobs: args.jobs.unwrap_or(cores),
        shard: args.shard,
        budget: Budget {
            runs: args.runs,
            time: args.time.or(args.runs.is_none().then_some(DEFAULT_TIME)),
        },
        keep_going: args.keep_going,
        wanted: None,
        ways: None,
        checkpoints: !args.no_checkpoints,
        rewind: !args.no_rewind,
        listed: None,
    }
}

/// Where the first bug is to be written.
fn output(args: &Args, program: &ProgramArgs) -> PathBuf {
    let named = || PathBuf::from(format!("{}.bohr", program.name()));
    args.output.clone().unwrap_or_else(named)
}

fn unusable(path: &Path, source: std::io::Error) -> ExploreError {
    ExploreError::File {
        path: path.to_path_buf(),
        source,
    }
}

/// Writes the bug files: the first where the user wants it, others numbered.
fn save(args: &Args, program: &ProgramArgs, findings: &[Finding]) -> Result<Vec<PathBuf>, Failure> {
    let first = output(args, program);
    let mut files = Vec::new();
    for (number, finding) in findings.iter().enumerate() {
        let path = match number {
            0 => first.clone(),
            _ => numbered(&first, number + 1),
        };
        let bytes = bug_file::write(&finding.bug);
        write_whole(&path, &bytes).map_err(|source| unusable(&path, source))?;
        files.push(path);
    }
    Ok(files)
}

fn numbered(path: &Path, number: usize) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let ending = path
        .extension()
        .map_or("bohr".into(), |ending| ending.to_string_lossy());
    path.with_file_name(format!("{stem}-{number}.{ending}"))
}

fn as_json(args: &Args, result: &HuntResult, files: &[PathBuf], libraries: &[String]) -> Value {
    let first = result.findings.first();
    let figures = &result.statistics;
    json!({
        "found": first.is_some(),
        "runs": figures.runs,
        "seconds": figures.seconds,
        "runs_per_second": figures.runs_per_second(),
        "distinct_schedules": figures.distinct,
        "conflicting_pairs": figures.pairs,
        "events_per_run": figures.events as f64 / (figures.runs as f64).max(1.0),
        "complete": result.complete,
        "resumed_runs": figures.resumed,
        "rewound_runs": figures.rewound,
        "other_failures": figures.others,
        "libraries": libraries,
        "begins_at_main": result.obstacle.map(|obstacle| obstacle.to_string()),
        "strategy": first.map_or(args.schedule.strategy.to_string(), |found| found.bug.strategy.clone()),
        "model": args.program.as_ref().map(|program| program.model().name()),
        "shard": args.shard.to_string(),
        "first_seed": args.schedule.seed,
        "seed": first.map_or(args.schedule.seed, |found| found.bug.seed),
        "kind": first.map(|found| found.bug.signature.kind_name()),
        "signature": first.map(|found| signature_tag(&found.bug.signature)),
        "message": first.map(|found| found.bug.message.clone()),
        "threads": first.map(|found| found.bug.thread_count),
        "events": first.map(|found| found.bug.events),
        "switches": first.map(|found| found.bug.schedule.switches()),
        "reproduced": first.and_then(|found| found.reproduction.as_ref()).map(|it| *it == Reproduction::Same),
        "stacks": first.map(|found| &found.bug.threads),
        "trouble": result.trouble.as_ref().map(ToString::to_string),
        "races": result.races,
        "lock_cycles": result.lock_cycles,
        "events_unwatched": result.unwatched,
        "bug_file": files.first(),
        "bugs": result.findings.iter().zip(files).map(|(found, file)| json!({
            "kind": found.bug.signature.kind_name(),
            "signature": signature_tag(&found.bug.signature),
            "bug_file": file,
        })).collect::<Vec<_>>(),
    })
}

fn tell(result: &HuntResult, files: &[PathBuf], interrupted: bool) {
    for (finding, file) in result.findings.iter().zip(files) {
        tell_finding(finding, file);
    }
    // A race that is a bug has been told.
    let is_bug = |race: &&ToldRace| {
        let mut bugs = result.findings.iter().map(|finding| &finding.bug.signature);
        bugs.any(|bug| bug.kind == FailureKind::DataRace && bug.cycle == race.places)
    };
    let others = result.races.iter().filter(|race| !is_bug(race));
    print!("{}", describe_races(others));
    let bugs = || result.findings.iter().map(|finding| &finding.bug);
    let others = { result.lock_cycles.iter() }.filter(|cycle| !bugs().any(|bug| cycle.is_of(bug)));
    print!("{}", describe_lock_cycles(others));
    let figures = &result.statistics;
    let end = match (result.findings.is_empty(), result.complete, interrupted) {
        (false, ..) => "",
        (true, true, _) => "nothing fails: every schedule has been seen\n",
        (true, false, true) => "interrupted; nothing found so far\n",
        (true, false, false) => "nothing found\n",
    };
    println!(
        "{end}{} runs in {:.1} s ({:.0}/s), {} different schedules, {} conflicting pairs",
        figures.runs,
        figures.seconds,
        figures.runs_per_second(),
        figures.distinct,
        figures.pairs
    );
}

fn under_model(model: MemoryModel) -> String {
    match model.has_buffers() {
        true => format!(", under {model}"),
        false => String::new(),
    }
}

fn tell_finding(finding: &Finding, file: &Path) {
    let bug = &finding.bug;
    println!("found: {}", describe_bug(bug));
    println!(
        "  strategy {}, seed {}{}: {} threads, {} events, {} switches; signature {}",
        bug.strategy,
        bug.seed,
        under_model(bug.policy.model),
        bug.thread_count,
        bug.events,
        bug.schedule.switches(),
        signature_tag(&bug.signature)
    );
    match &finding.reproduction {
        None => println!("  not replayed in a fresh process"),
        Some(Reproduction::Same) => {
            println!("  replayed in a fresh process: the same failure at the same event")
        }
        Some(other) => println!(
            "  WARNING: a replay in a fresh process did not show it again ({}); see `bohr check`",
            crate::replay::in_words(other)
        ),
    }
    let word = as_word(file);
    println!(
        "written to {}\n  replay it:  bohr replay {word}\n  next:       bohr reduce {word}, bohr simplify {word}, bohr explain {word}",
        file.display()
    );
    note_missing_lines(bug);
}
