//! `cargo xtask museum races`: hunts every fixed twin with data races as
//! failures, and looks at its lock orders. A twin is ordered by what its language and
//! libraries offer, so an alarm is either a twin that is not fixed or an order that bohr
//! has not seen.

use super::chosen;
use super::hunt::build_bohr;
use crate::shell;
use bohr_museum::{Compilers, Exhibit, Hunting, Variant, judge_twin};
use std::path::Path;

/// Seconds per twin, unless `--seconds` says otherwise.
const SECONDS: u32 = 3;

/// Hunts each twin. One with an alarm is an error of the command, named at the
/// end; the others are hunted all the same.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let (seconds, names) = shell::number_and_rest("--seconds", SECONDS, arguments)?;
    let exhibits = chosen(names)?;
    let bohr = build_bohr()?;
    let mut wrong = Vec::new();
    for exhibit in &exhibits {
        let name = &exhibit.manifest.name;
        match silent_runs(exhibit, &bohr, seconds) {
            Ok(runs) => println!("{name:20} silent in {runs} runs"),
            Err(sentence) => {
                println!("{name:20} WRONG: {sentence}");
                wrong.push(name.as_str());
            }
        }
    }
    match wrong.len() {
        0 => Ok(()),
        count => Err(format!(
            "{count} of {} twins: {}",
            exhibits.len(),
            wrong.join(" ")
        )),
    }
}

fn silent_runs(exhibit: &Exhibit, bohr: &Path, seconds: u32) -> Result<u64, String> {
    let told = |error: bohr_museum::Error| error.to_string();
    let compilers = Compilers::of_bohr(bohr);
    let twin = bohr_museum::compile(exhibit, Variant::Fixed, &compilers).map_err(told)?;
    let hunting = Hunting {
        races: true,
        ..Hunting::of(seconds)
    };
    let arguments = &exhibit.manifest.arguments.small;
    let report = hunting.run(bohr, &twin, arguments).map_err(told)?;
    judge_twin(&report)?;
    match report.lock_cycles.len() {
        0 => Ok(report.runs),
        count => Err(format!(
            "the fixed twin has {count} lock orders that can deadlock"
        )),
    }
}
