//! `bohr check`: proves or refutes that a schedule determines the run.

use crate::control::{ProgramArgs, ScheduleArgs, at_least_one, bar, interruption};
use crate::outcome::Outcome;
use bohr_explore::check::{Check, Leak, Way, check};
use serde_json::json;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

/// What to check, and how often.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  bohr check -- ./server --test
  bohr check --times 100 --strategy pct --seed 3 --json -- ./server")]
pub struct Args {
    /// Runs in clones of one process, as many in fresh processes, and as many
    /// in a process that is put back after each, as a hunt does it.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = at_least_one::<u64>)]
    times: u64,
    #[command(flatten)]
    schedule: ScheduleArgs,
    /// Print one JSON object on standard output.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    program: ProgramArgs,
}

pub fn run(args: &Args) -> Outcome {
    let interrupted = interruption();
    let go_on = || !interrupted.load(Ordering::Relaxed);
    let subject = args.program.subject()?;
    let plan = args.schedule.plan();
    let bar = bar(args.times * 3, "runs");
    let mut show = |done| bar.set_position(done);
    let result = check(
        &subject,
        &plan,
        args.schedule.seed,
        args.times,
        &go_on,
        &mut show,
    );
    bar.finish_and_clear();
    let result = result?;
    match args.json {
        true => println!("{}", as_json(&result)),
        false => tell(&result),
    }
    Ok(ExitCode::from(u8::from(result.leak.is_some())))
}

fn as_json(result: &Check) -> serde_json::Value {
    json!({
        "deterministic": result.leak.is_none(),
        "runs": result.runs,
        "events": result.events,
        "notices": result.notices.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "leak": result.leak.as_ref().map(|leak| json!({
            "run": leak.run,
            "fresh_process": leak.way == Way::Fresh,
            "undone": leak.way == Way::Undone,
            "event": leak.event,
            "expected": leak.expected,
            "found": leak.found,
        })),
    })
}

fn tell(result: &Check) {
    match &result.leak {
        None => println!(
            "nothing leaks in: {} runs of one schedule, {} events each, equal event for event and in what they print, undone runs in their schedules",
            result.runs, result.events
        ),
        Some(leak) => tell_leak(leak),
    }
    for notice in &result.notices {
        println!("  note: {notice}");
    }
}

fn tell_leak(leak: &Leak) {
    let process = match leak.way {
        Way::Fresh => "in a fresh process",
        Way::Cloned => "in a clone of the same process",
        Way::Undone => "in the same process after a run that was undone",
    };
    let event = match leak.event {
        Some(event) => format!("at event {event}"),
        None => "at its end".to_string(),
    };
    println!(
        "something uncontrolled leaks in: run {}, {process}, differs {event}",
        leak.run
    );
    println!("  expected {}\n  found    {}", leak.expected, leak.found);
}
