//! `bohr run`: one run under control.

use crate::control::{
    OmissionArgs, ProgramArgs, ScheduleArgs, describe_races, describe_unwatched, describe_verdict,
    interruption, signature_tag,
};
use crate::outcome::Outcome;
use bohr_event::control::{Detailing, Job, Outcome as End, Output};
use bohr_explore::bug_file::Races;
use bohr_explore::{Ran, ToldRace, Verdict, Voice, judge, look_closer};
use serde_json::json;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

/// Which run.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  bohr run --seed 7 -- ./server --test
  bohr run --strategy sequential --json -- ./server 2>/dev/null
  bohr run --without-thread 0:2 --without-iteration 3@0:1=0,4-7 -- ./server --test")]
pub struct Args {
    #[command(flatten)]
    schedule: ScheduleArgs,
    #[command(flatten)]
    omissions: OmissionArgs,
    /// Print one JSON object on standard output; the program's goes to standard error.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    program: ProgramArgs,
}

pub fn run(args: &Args) -> Outcome {
    let interrupted = interruption();
    let go_on = || !interrupted.load(Ordering::Relaxed);
    let subject = args.program.subject()?;
    let voice = if args.json {
        Voice::Aside
    } else {
        Voice::Heard
    };
    let mut server = subject.serve(voice, &go_on)?;
    let mut atlas = subject.atlas(&server);
    let job = subject.job(&args.schedule.plan());
    let job = Job {
        first_seed: args.schedule.seed,
        details: Detailing::Always,
        trace: match subject.oracle.races {
            Races::Ignored => Detailing::Never,
            Races::Reported | Races::Failures => Detailing::Always,
        },
        output: match subject.oracle.needs_output() {
            true => job.output,
            false => Output::Inherit,
        },
        without: args.omissions.omissions(&subject)?,
        ..job
    };
    let report = subject.run_once(&mut server, job.clone(), &go_on)?;
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
    let races = closer.races;
    if let Some(verdict) = &mut verdict {
        verdict.threads.splice(0..0, closer.block);
    }
    if args.json {
        println!("{}", as_json(args, &report, verdict.as_ref(), &races));
    }
    eprintln!(
        "bohr: {} events, {} switches, {} threads, schedule {:016x}",
        report.events, report.switches, report.threads, report.hash
    );
    if let Some(detail) = &report.detail {
        for line in args.omissions.describe(detail) {
            eprintln!("bohr: {line}");
        }
        if let Some(sentence) = describe_unwatched(report.missing()) {
            eprintln!("bohr: note: {sentence}");
        }
    }
    if let Some(verdict) = &verdict {
        eprintln!("bohr: {}", describe_verdict(verdict));
    }
    eprint!("{}", describe_races(&races));
    Ok(ExitCode::from(u8::from(verdict.is_some())))
}

fn as_json(
    args: &Args,
    report: &Ran,
    verdict: Option<&Verdict>,
    races: &[ToldRace],
) -> serde_json::Value {
    json!({
        "failed": verdict.is_some(),
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
        "races": races,
    })
}
