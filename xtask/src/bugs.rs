//! `cargo xtask bugs`: bugs that published crates had (`bugs/`). Builds each
//! driver with bohr against the version that had the bug and against one that
//! has not, hunts both, and replays what was found.

use crate::museum::build_bohr;
use crate::{Command, shell};
use bohr_museum::{RealBug, Variant, hunt, real_bugs, replay_every_way};
use std::path::Path;

pub const COMMAND: Command = Command {
    name: "bugs",
    about: "[--seconds N] [--replays N] [NAME...]: find real bugs of published crates",
    run,
};

/// What a bug may take to be found, as long as nobody says otherwise.
const SECONDS: u32 = 60;

/// How often each is replayed, as long as nobody says otherwise.
const REPLAYS: u32 = 1_000;

/// Of these on threads of the system, and in fresh processes.
const FEW: u64 = 20;

fn run(arguments: &[String]) -> Result<(), String> {
    let (seconds, rest) = shell::number_and_rest("--seconds", SECONDS, arguments)?;
    let (replays, names) = shell::number_and_rest("--replays", REPLAYS, rest)?;
    let bugs = match names {
        [] => real_bugs(),
        names => names.iter().map(|name| RealBug::load(name)).collect(),
    };
    let bugs = bugs.map_err(|error| error.to_string())?;
    let bohr = build_bohr()?;
    let mut wrong = Vec::new();
    for bug in &bugs {
        match one(bug, &bohr, seconds, replays) {
            Ok(line) => println!("{:18} {:18} {line}", bug.name, bug.advisory),
            Err(sentence) => {
                println!("{:18} {:18} WRONG: {sentence}", bug.name, bug.advisory);
                wrong.push(bug.name.as_str());
            }
        }
    }
    match wrong.len() {
        0 => Ok(()),
        count => Err(format!("{count} of {}: {}", bugs.len(), wrong.join(" "))),
    }
}

/// What to say if the bug is found, replays, and is gone where it was fixed.
fn one(bug: &RealBug, bohr: &Path, seconds: u32, replays: u32) -> Result<String, String> {
    let told = |error: bohr_museum::Error| error.to_string();
    let output = shell::built("bugs");
    let hunted = |variant| {
        let program = bug.compile(variant, bohr, &output)?;
        Ok((hunt(bohr, &program, &[], seconds)?, program))
    };
    let (report, program) = hunted(Variant::Buggy).map_err(told)?;
    bug.judge(&report)?;
    let file = program.with_extension("bohr");
    let replayed = replay_every_way(bohr, &file, u64::from(replays), FEW).map_err(told)?;
    if let Some(complaint) = replayed {
        return Err(complaint);
    }
    let (fixed, _) = hunted(Variant::Fixed).map_err(told)?;
    bohr_museum::judge_twin(&fixed)?;
    Ok(format!(
        "{} {}: {} in run {}, {:.1} s, {} replays; {}: silent in {} runs",
        bug.package,
        bug.buggy,
        report.kind.unwrap_or_default(),
        report.runs,
        report.seconds,
        replays,
        bug.fixed,
        fixed.runs
    ))
}
