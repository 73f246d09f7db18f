//! `bohr run`: one run under control, or natively with breakpoints.

mod checkpoint;
mod native;

use crate::control::breakpoints::{self, Finder};
use crate::control::{
    FromArgs, OmissionArgs, ProgramArgs, ScheduleArgs, at_least_one, describe_lock_cycles,
    describe_races, describe_unwatched, describe_verdict, interruption, libraries, signature_tag,
};
use crate::outcome::Outcome;
use crate::trace;
use bohr_event::breakpoint::Counts;
use bohr_event::control::{Detailing, Job, Outcome as End, Output};
use bohr_explore::bug_file::Races;
use bohr_explore::{Closer, Ran, Target, Verdict, Voice, judge, look_closer};
use bohr_schedule::read_report;
use bohr_trigger::Expression;
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

/// Which run.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  bohr run --seed 7 -- ./server --test
  bohr run --strategy sequential --json -- ./server 2>/dev/null
  bohr run --without-thread 0:2 --without-iteration 3@0:1=0,4-7 -- ./server --test
  bohr run --strategy slices:500 --trace server.trace -- ./server --test
  bohr run --break 'cache.c:30 -> cache.c:45 if same-object' -- ./cache
  bohr run --checkpoint-at 5000000 --checkpoint warm.image -- ./server --test
  bohr run --from warm.image --seed 7 -- ./server
  bohr run --native --break 'cache.c:30 -> cache.c:45 if same-object' -- ./cache

A breakpoint is two places or more: threads that come there wait for each other
and go on in that order. docs/breakpoints.md has the grammar.")]
pub struct Args {
    #[command(flatten)]
    schedule: ScheduleArgs,
    #[command(flatten)]
    omissions: OmissionArgs,
    /// Hold threads up at one place until another comes to the other place, as in
    /// 'a.c:15 -> b.c:20 if same-object'. Can be given several times.
    #[arg(long = "break", value_name = "BREAKPOINT")]
    breakpoints: Vec<String>,
    /// Keep every event in this file, for `bohr simplify` or as a record.
    #[arg(long, value_name = "FILE", conflicts_with = "native")]
    trace: Option<PathBuf>,
    /// Stop after so many events and keep the run as it is then in a file, for other
    /// runs to begin there: `--from` of `run`, `hunt`, `replay` and `core`. For programs
    /// that take long before they do what is of interest; without this option a run
    /// tells how many events it has. The file holds all memory of the program, secrets
    /// included.
    #[arg(long, value_name = "EVENTS", requires = "checkpoint", conflicts_with_all = ["native", "trace", "breakpoints"], value_parser = at_least_one::<u64>)]
    checkpoint_at: Option<u64>,
    /// The file for `--checkpoint-at`.
    #[arg(long, value_name = "FILE", requires = "checkpoint_at")]
    checkpoint: Option<PathBuf>,
    #[command(flatten)]
    from: FromArgs,
    /// Real, parallel threads at nearly the speed of the program, controlled
    /// nowhere but at the breakpoints.
    #[arg(long, requires = "breakpoints")]
    native: bool,
    /// Print one JSON object on standard output; the program's goes to standard error.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    program: ProgramArgs,
}

pub fn run(args: &Args) -> Outcome {
    let interrupted = interruption();
    let go_on = || !interrupted.load(Ordering::Relaxed);
    if args.native {
        args.program.refuse_buffers()?;
        return native::run(args);
    }
    let expressions = breakpoints::expressions(&args.breakpoints)?;
    args.refuse_at_checkpoint()?;
    let subject = args.from.subject(&args.program)?;
    if let (Some(at), Some(path)) = (args.checkpoint_at, &args.checkpoint) {
        return checkpoint::take_one(args, subject, at, path);
    }
    let voice = if args.json {
        Voice::Aside
    } else {
        Voice::Heard
    };
    let mut server = subject.serve(voice, &go_on)?;
    let mut atlas = subject.atlas(&server);
    let mut plan = args.schedule.plan();
    let finder = match expressions.is_empty() {
        true => None,
        false => Some(Finder::of(&subject)?),
    };
    if let Some(finder) = &finder {
        let found = finder.find(&expressions)?;
        let objects = &server.ready().objects;
        let program = finder.identity();
        plan.breakpoints = breakpoints::under_control(&expressions, &found, objects, program)?;
    }
    let job = subject.job(&plan);
    let job = Job {
        first_seed: args.schedule.seed,
        details: Detailing::Always,
        trace: match (subject.oracle.races, &args.trace) {
            (Races::Ignored, None) => Detailing::Never,
            _ => Detailing::Always,
        },
        output: match subject.oracle.needs_output() {
            true => job.output,
            false => Output::Inherit,
        },
        without: args.omissions.omissions(&subject)?,
        ..job
    };
    let report = subject.run_once(&mut server, job.clone(), &go_on)?;
    if let Some(path) = &args.trace {
        trace::keep(&report, &mut atlas, path)?;
    }
    let mut verdict = judge(&report, &subject.oracle, &mut atlas);
    let mut again = |probes| {
        let job = Job {
            probes,
            output: Output::Discard,
            ..job.clone()
        };
        subject.run_once(&mut server, job, &go_on)
    };
    let closer = look_closer(&report, true, &mut atlas, &mut again)?;
    let learnt = report.detail.as_ref().map(|detail| &detail.learnt[..]);
    let counts: Vec<Counts> = learnt.and_then(read_report).unwrap_or_default();
    let counted: Vec<(&Expression, &Counts)> = expressions.iter().zip(&counts).collect();
    if let Some(verdict) = &mut verdict {
        closer.complete(&mut verdict.threads);
    }
    if args.json {
        println!(
            "{}",
            as_json(
                args,
                &subject.target,
                &report,
                verdict.as_ref(),
                &closer,
                &counted
            )
        );
    }
    eprintln!(
        "bohr: {} events, {} switches, {} threads, schedule {:016x}",
        report.events, report.switches, report.threads, report.hash
    );
    if let Some(finder) = &finder {
        breakpoints::tell(counted.iter().copied(), finder);
    }
    if let Some(detail) = &report.detail {
        for line in args.omissions.describe(detail) {
            eprintln!("bohr: {line}");
        }
        for notice in &detail.notices {
            eprintln!("bohr: note: {notice}");
        }
        if let Some(sentence) = describe_unwatched(report.missing()) {
            eprintln!("bohr: note: {sentence}");
        }
    }
    if let Some(verdict) = &verdict {
        eprintln!("bohr: {}", describe_verdict(verdict));
    }
    eprint!("{}", describe_races(&closer.races));
    eprint!("{}", describe_lock_cycles(&closer.lock_cycles));
    Ok(ExitCode::from(u8::from(verdict.is_some())))
}

fn as_json(
    args: &Args,
    target: &Target,
    report: &Ran,
    verdict: Option<&Verdict>,
    closer: &Closer,
    counted: &[(&Expression, &Counts)],
) -> serde_json::Value {
    let counted = counted.iter();
    let notices = report.detail.iter().flat_map(|detail| &detail.notices);
    json!({
        "failed": verdict.is_some(),
        "libraries": libraries::names(target),
        "strategy": args.schedule.single().to_string(),
        "seed": args.schedule.seed,
        "kind": verdict.map(|verdict| verdict.signature.kind_name()),
        "signature": verdict.map(|verdict| signature_tag(&verdict.signature)),
        "message": verdict.map(|verdict| verdict.message.clone()),
        "exit_code": match report.outcome {
            End::Exited { code } => Some(code),
            _ => None,
        },
        "threads": report.threads,
        "events": report.events,
        "switches": report.switches,
        "schedule": format!("{:016x}", report.hash),
        "notices": notices.map(ToString::to_string).collect::<Vec<_>>(),
        "races": closer.races,
        "lock_cycles": closer.lock_cycles,
        "trace_file": args.trace,
        "breakpoints": counted.map(|(expression, counts)| breakpoints::as_json(expression, counts)).collect::<Vec<_>>(),
    })
}
