//! `bohr run --native`: real threads, held up at breakpoints and nowhere else.

use super::Args;
use crate::control::breakpoints::{self, Finder};
use crate::outcome::Outcome;
use bohr_explore::Voice;
use bohr_explore::native::{Ending, Native, NativeRun, failure_of};
use bohr_trigger::Expression;
use serde_json::json;
use std::process::ExitCode;

pub fn run(args: &Args) -> Outcome {
    let expressions = breakpoints::expressions(&args.breakpoints)?;
    let subject = args.program.quiet_subject()?;
    let finder = Finder::of(&subject)?;
    let found = finder.find(&expressions)?;
    let native = Native::new(&subject)?;
    let voice = match args.json {
        true => Voice::Aside,
        false => Voice::Heard,
    };
    let run = native.run(&found, voice, args.program.run_time())?;
    let failure = failure_of(&run, &subject.oracle);
    if args.json {
        let kind = failure.as_ref().map(bohr_event::FailureKind::name);
        println!("{}", as_json(&run, kind.as_deref(), &expressions));
    }
    breakpoints::tell(expressions.iter().zip(&run.counts), &finder);
    eprintln!(
        "bohr: {} after {:.3} s",
        describe(&run.ending),
        run.time.as_secs_f64()
    );
    Ok(ExitCode::from(u8::from(failure.is_some())))
}

fn as_json(run: &NativeRun, kind: Option<&str>, expressions: &[Expression]) -> serde_json::Value {
    let counted = expressions.iter().zip(&run.counts);
    let told = counted.map(|(expression, counts)| breakpoints::as_json(expression, counts));
    json!({
        "failed": kind.is_some(),
        "kind": kind,
        "ending": describe(&run.ending),
        "exit_code": match run.ending {
            Ending::Exited(code) => Some(code),
            _ => None,
        },
        "seconds": run.time.as_secs_f64(),
        "breakpoints": told.collect::<Vec<_>>(),
    })
}

/// How a run ended, for people.
pub fn describe(ending: &Ending) -> String {
    match ending {
        Ending::Exited(code) => format!("exit code {code}"),
        Ending::Signalled(signal) => format!("ended by signal {signal}"),
        Ending::Stalled(stall) => stall.to_string(),
        Ending::Endless => "still running when its time was over".to_string(),
    }
}
