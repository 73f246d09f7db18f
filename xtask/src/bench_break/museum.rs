//! Breakpoints for every exhibit: how surely they bring its bug about with real
//! threads, how many there are, and what they cost.

use super::kept::{Broken, Shelf};
use crate::museum::{build_bohr, chosen, hunt};
use bohr_museum::{Exhibit, MemoryModel, Variant};
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// The share of native runs that have to fail.
const LEAST_PROBABILITY: f64 = 0.99;

/// Breakpoints of a set.
const MOST_BREAKPOINTS: usize = 3;

/// Time of a run with breakpoints over that of one of the same build without.
const MOST_OVERHEAD: f64 = 1.4;

/// The share of runs that have to fail once the source has changed, too.
const LEAST_AFTER_CHANGE: f64 = 0.9;

/// Seconds per hunt, which ends with what it finds.
const HUNT: u32 = 60;

/// Seconds after which `bohr break from` is given up.
const PATIENCE: u32 = 300;

/// Which targets an exhibit meets.
#[derive(Clone, Copy, Default)]
struct Met {
    probability: bool,
    number: bool,
    overhead: bool,
    patch: bool,
}

/// Prints the table; what misses its target.
pub fn run(names: &[String], fresh: bool) -> Result<Vec<String>, String> {
    let exhibits = chosen(names)?;
    let bohr = build_bohr()?;
    let shelf = Shelf::new(&bohr, fresh)?;
    let begun = Instant::now();
    println!(
        "\n{:18} {:>5} {:>6} {:>8} {:>9} {:>9} {:>9} {:>7}  breakpoints",
        "exhibit", "prob.", "number", "overhead", "w/ (ms)", "w/o (ms)", "MTTE (ms)", "patched"
    );
    let mut told: Vec<(&str, Met)> = Vec::new();
    for exhibit in &exhibits {
        let name = exhibit.manifest.name.as_str();
        if let Some(why) = out_of_reach(exhibit) {
            println!("{name:18} {why}");
            continue;
        }
        let met = match measured(exhibit, &bohr, &shelf)? {
            Broken::Figures(figures) => print(name, &figures),
            Broken::Failed(error) => {
                println!("{name:18} MISSED: {error}");
                Met::default()
            }
        };
        told.push((name, met));
    }
    println!(
        "\nw/ and w/o: median times of whole runs of the same build with the breakpoints and\n\
         without that did not fail; overhead: the median of their ratios, pair by pair. patched: runs that fail of 20\n\
         of the program with the patch in its sources, without bohr, after a change that shifts all\n\
         lines and adds a thread. {:.1} min.",
        begun.elapsed().as_secs_f64() / 60.0
    );
    Ok(sum_up(&told))
}

/// Whether an exhibit meets one of them.
type Target = fn(&Met) -> bool;

/// One line per target; those that are missed.
fn sum_up(told: &[(&str, Met)]) -> Vec<String> {
    let targets: [(&str, Target); 4] = [
        ("probability at least 0.99", |met| met.probability),
        ("at most 3 breakpoints", |met| met.number),
        ("overhead at most 1.4x", |met| met.overhead),
        ("patch outlives a change", |met| met.patch),
    ];
    let mut missed = Vec::new();
    for (target, is_met) in targets {
        let missing = told.iter().filter(|(_, met)| !is_met(met));
        let names: Vec<&str> = missing.map(|(name, _)| *name).collect();
        let met = told.len() - names.len();
        let line = format!(
            "{target:26} {met:2} of {:2}  {}",
            told.len(),
            names.join(" ")
        );
        println!("{line}");
        missed.extend((!names.is_empty()).then_some(line));
    }
    missed
}

/// What is known of an exhibit, or found out now.
fn measured(exhibit: &Exhibit, bohr: &Path, shelf: &Shelf) -> Result<Broken, String> {
    if let Some(known) = shelf.take(exhibit) {
        return Ok(known);
    }
    let broken = match broken(exhibit, bohr) {
        Ok(figures) => Broken::Figures(figures),
        Err(error) => Broken::Failed(error.lines().next().unwrap_or_default().to_string()),
    };
    shelf.keep(exhibit, &broken)?;
    Ok(broken)
}

/// One line of the table; which targets are met.
fn print(name: &str, told: &Value) -> Met {
    let number = |field: &str| told[field].as_f64().unwrap_or(f64::NAN);
    let breakpoints = told["breakpoints"].as_array().map_or(0, Vec::len);
    let patched = |field: &str| told["patched"][field].as_f64();
    let met = Met {
        probability: number("probability") >= LEAST_PROBABILITY,
        number: breakpoints <= MOST_BREAKPOINTS,
        overhead: number("overhead") <= MOST_OVERHEAD,
        patch: match (patched("failures"), patched("runs")) {
            (Some(failures), Some(runs)) => failures >= LEAST_AFTER_CHANGE * runs,
            _ => false,
        },
    };
    let expressions = told["breakpoints"].as_array().into_iter().flatten();
    let expressions: Vec<&str> = expressions
        .filter_map(|one| one["expression"].as_str())
        .collect();
    let shorter = expressions
        .join("; ")
        .replace(&format!("{}/", crate::shell::root().display()), "");
    println!(
        "{name:18} {:>5.2} {breakpoints:>6} {:>7.2}x {:>9.2} {:>9.2} {:>9.2} {:>7}  {shorter}{}",
        number("probability"),
        number("overhead"),
        number("seconds") * 1e3,
        number("normal_seconds") * 1e3,
        number("mean_time_to_error") * 1e3,
        patched("failures").map_or("-".to_string(), |failing| failing.to_string()),
        match met.probability && met.number && met.overhead && met.patch {
            true => "",
            false => "  MISSED",
        }
    );
    met
}

/// Why no breakpoint can bring an exhibit's bug about.
fn out_of_reach(exhibit: &Exhibit) -> Option<&'static str> {
    match exhibit.manifest.memory_model {
        MemoryModel::Sc => None,
        MemoryModel::Tso | MemoryModel::Pso => {
            Some("needs store buffers, which no breakpoint holds")
        }
        MemoryModel::Language => Some("no order of threads shows it, only the language's rules do"),
    }
}

fn broken(exhibit: &Exhibit, bohr: &Path) -> Result<Value, String> {
    let sizes = &exhibit.manifest.arguments;
    let hunted = |arguments: &[u64]| {
        let hunted = hunt(exhibit, Variant::Buggy, arguments, bohr, HUNT);
        hunted.map_err(|error| error.to_string())
    };
    let (mut report, mut bug) = hunted(&sizes.small)?;
    if bohr_museum::judge(exhibit, &report).is_err() {
        (report, bug) = hunted(&sizes.default)?;
    }
    bohr_museum::judge(exhibit, &report)?;
    let mut command = Command::new("timeout");
    command.arg(PATIENCE.to_string()).arg(bohr);
    command.args(["break", "from", "--json", "--output"]);
    command.arg(bug.parent().unwrap_or(Path::new(".")));
    parsed(command.arg(&bug))
}

/// What a command of bohr prints as JSON, whether it found a bug or not.
pub fn parsed(command: &mut Command) -> Result<Value, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    serde_json::from_slice(&output.stdout).map_err(|_| {
        let errors = String::from_utf8_lossy(&output.stderr);
        let own = errors.lines().rev().find(|line| line.starts_with("bohr: "));
        own.unwrap_or("it took too long").to_string()
    })
}
