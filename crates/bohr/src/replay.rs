//! `bohr replay`: shows a recorded failure again, every time.

mod gdb;

use crate::control::{
    FromArgs, at_least_one, bar, describe_bug, describe_lock_cycles, describe_races, interruption,
    load_bug, same_build, signature_tag, subject_of_bug,
};
use crate::outcome::Outcome;
use bohr_event::control::Backend;
use bohr_explore::bug_file::{self, Bug, Races};
use bohr_explore::replay::{Adaptation, Replays, Reproduction, adapt, as_it_is_now, once, replay};
use bohr_explore::{Closer, ExploreError, Subject, write_whole};
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

/// What threads run on.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum BackendArg {
    /// Fibers on one thread of the system: fast.
    Fiber,
    /// Threads of the system that pass a baton: for debuggers.
    Threads,
}

/// Which bug, and how often.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  bohr replay server.bohr
  bohr replay server.bohr --times 1000 --json
  bohr replay server.bohr --times 20 --fresh --backend threads
  bohr replay server.bohr --gdb
  bohr replay server.bohr --from warm.image
  bohr replay server.bohr --adapt --program ./server-of-today")]
pub struct Args {
    /// A bug file, as `bohr hunt` writes it.
    bug: PathBuf,
    /// How many times.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = at_least_one::<u64>)]
    times: u64,
    /// Each time in a fresh process, not in a clone of one.
    #[arg(long)]
    fresh: bool,
    /// What the program's threads run on.
    #[arg(long, value_enum, default_value = "fiber")]
    backend: BackendArg,
    /// The program, if it is not where it was.
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// For a changed program: follow the old schedule as far as it goes, then
    /// search close to it. What is found is written to NAME-adapted.bohr.
    #[arg(long)]
    adapt: bool,
    /// Stop where it fails and start gdb there, with every thread of the program.
    #[arg(long, conflicts_with_all = ["times", "fresh", "adapt", "json"])]
    gdb: bool,
    /// Tell the data races of the run, too, and its lock orders that can deadlock, with
    /// their stacks.
    #[arg(long, conflicts_with_all = ["adapt", "gdb"])]
    races: bool,
    /// Make one more run and tell a hash of all its events: equal for both back
    /// ends, and on every machine that has the same libraries.
    #[arg(long, conflicts_with_all = ["adapt", "gdb"])]
    hash_events: bool,
    #[command(flatten)]
    from: FromArgs,
    /// Print one JSON object on standard output.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Outcome {
    let bug = load_bug(&args.bug)?;
    let subject = subject_of_bug(&bug, args.program.as_deref())?;
    let mut subject = args.from.of(subject)?;
    subject.backend = match args.backend {
        BackendArg::Fiber => Backend::Fibers,
        BackendArg::Threads => Backend::Threads,
    };
    if args.adapt {
        return run_adapt(args, &bug, &subject);
    }
    same_build(&bug, &subject.target)?;
    if args.gdb {
        return gdb::run(&bug, &subject);
    }
    let interrupted = interruption();
    let go_on = || !interrupted.load(Ordering::Relaxed);
    let bar = bar(args.times, "replays");
    let mut show = |done| bar.set_position(done);
    let replays = replay(&subject, &bug, args.times, args.fresh, &go_on, &mut show);
    bar.finish_and_clear();
    let replays = replays?;
    let all = replays.reproduced == args.times;
    let closer = match args.races {
        true => races(&subject, &bug, &go_on)?,
        false => Closer::default(),
    };
    let events = match args.hash_events {
        true => Some(once(&subject, &bug, &go_on)?.event_hash),
        false => None,
    };
    let events = events.map(|hash| format!("{hash:016x}"));
    match args.json {
        true => println!("{}", as_json(&bug, &replays, &closer, events)),
        false => {
            tell(&as_it_is_now(&subject, &bug, &go_on)?, &replays);
            if let Some(hash) = events {
                println!("events {hash}");
            }
            print!("{}", describe_races(&closer.races));
            print!("{}", describe_lock_cycles(&closer.lock_cycles));
        }
    }
    Ok(ExitCode::from(u8::from(!all)))
}

/// The data races and lock orders of the bug's run, whether they count or not.
fn races(subject: &Subject, bug: &Bug, go_on: &dyn Fn() -> bool) -> Result<Closer, ExploreError> {
    let mut subject = subject.clone();
    if subject.oracle.races == Races::Ignored {
        subject.oracle.races = Races::Reported;
    }
    Ok(once(&subject, bug, go_on)?.closer)
}

fn as_json(
    bug: &Bug,
    replays: &Replays,
    closer: &Closer,
    events: Option<String>,
) -> serde_json::Value {
    json!({
        "runs": replays.runs,
        "reproduced": replays.reproduced,
        "same_schedule": replays.same_hash,
        "schedule": replays.hash.map(|hash| format!("{hash:016x}")),
        "kind": bug.signature.kind_name(),
        "signature": signature_tag(&bug.signature),
        "events": bug.failing_event(),
        "switches": bug.best_schedule().switches(),
        "first_other_run": replays.first_other.as_ref().map(|other| other.0),
        "divergence": replays.first_other.as_ref().map(|other| in_words(&other.1)),
        "races": closer.races,
        "lock_cycles": closer.lock_cycles,
        "event_hash": events,
    })
}

fn tell(bug: &Bug, replays: &Replays) {
    println!("{}", describe_bug(bug));
    println!(
        "reproduced in {} of {} runs, at event {}",
        replays.reproduced,
        replays.runs,
        bug.failing_event()
    );
    if let Some((run, other)) = &replays.first_other {
        println!("run {run}: {}", in_words(other));
        println!("  something uncontrolled leaks in: `bohr check` looks for it");
    }
}

/// What a replay came to, for people.
pub fn in_words(reproduction: &Reproduction) -> String {
    match reproduction {
        Reproduction::Same => "the same failure at the same event".to_string(),
        Reproduction::OtherEvent { expected, found } => {
            format!("the same failure after {found} events instead of {expected}")
        }
        Reproduction::OtherFailure(signature) => {
            format!(
                "another failure: {} {}",
                signature.kind_name(),
                signature_tag(signature)
            )
        }
        Reproduction::NoFailure { code } => {
            format!("the program ended with exit code {code} and did not fail")
        }
        Reproduction::Diverged(divergence) => format!("left the schedule: {divergence}"),
    }
}

fn run_adapt(args: &Args, bug: &Bug, subject: &Subject) -> Outcome {
    let interrupted = interruption();
    let adaptation = adapt(subject, bug, &|| !interrupted.load(Ordering::Relaxed))?;
    let path = adapted_path(args);
    if let Some(found) = &adaptation.bug {
        write_whole(&path, &bug_file::write(found)).map_err(|source| ExploreError::File {
            path: path.clone(),
            source,
        })?;
    }
    match args.json {
        true => println!("{}", adaptation_as_json(&adaptation, &path)),
        false => tell_adaptation(&adaptation, &path),
    }
    Ok(ExitCode::from(u8::from(!adaptation.same)))
}

fn adapted_path(args: &Args) -> PathBuf {
    let stem = args.bug.file_stem().unwrap_or_default().to_string_lossy();
    args.bug.with_file_name(format!("{stem}-adapted.bohr"))
}

fn adaptation_as_json(adaptation: &Adaptation, path: &std::path::Path) -> serde_json::Value {
    json!({
        "segments": adaptation.segments,
        "segments_followed": adaptation.followed.matched,
        "segments_bent": adaptation.followed.bent,
        "segments_skipped": adaptation.followed.skipped,
        "runs": adaptation.runs,
        "reproduced": adaptation.same,
        "signature": adaptation.bug.as_ref().map(|bug| signature_tag(&bug.signature)),
        "bug_file": adaptation.bug.as_ref().map(|_| path),
    })
}

fn tell_adaptation(adaptation: &Adaptation, path: &std::path::Path) {
    let followed = &adaptation.followed;
    println!(
        "of {} segments {} could be followed, {} ended elsewhere, {} were left out; {} runs",
        adaptation.segments, followed.matched, followed.bent, followed.skipped, adaptation.runs
    );
    match (&adaptation.bug, adaptation.same) {
        (Some(bug), same) => {
            let words = if same {
                "the same bug"
            } else {
                "a failure of the same kind"
            };
            println!(
                "{words}: {}\nwritten to {}",
                describe_bug(bug),
                path.display()
            );
        }
        (None, _) => println!("the failure was not found again"),
    }
}
