//! Breakpoints for every exhibit: how surely they bring its bug about with real
//! threads, how many there are, and what they cost.

use super::patched;
use crate::museum::{build_bohr, chosen, hunt};
use bohr_museum::{Exhibit, MemoryModel, Variant, Verdict};
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

/// Seconds per hunt, and per step of an explanation.
const SECONDS: u32 = 10;

/// Seconds after which `bohr break from` is given up.
const PATIENCE: u32 = 180;

/// What became of an exhibit.
enum Broken {
    /// What `bohr break from --json` printed, and how many runs of the patched
    /// program fail after an unrelated change, if there is a patch to try.
    Figures(Value, Option<u32>),
    /// Nothing was found that breakpoints could be made from, for this reason.
    OutOfReach(&'static str),
}

/// Which targets an exhibit meets.
#[derive(Clone, Copy, Default)]
struct Met {
    probability: bool,
    number: bool,
    overhead: bool,
    patch: bool,
}

/// Prints the table; an exhibit that misses a target is an error, named at the
/// end.
pub fn run(names: &[String]) -> Result<(), String> {
    let exhibits = chosen(names)?;
    let bohr = build_bohr()?;
    let begun = Instant::now();
    println!(
        "\n{:18} {:>5} {:>6} {:>8} {:>9} {:>9} {:>9} {:>7}  breakpoints",
        "exhibit", "prob.", "number", "overhead", "w/ (ms)", "w/o (ms)", "MTTE (ms)", "patched"
    );
    let mut told: Vec<(&str, Met)> = Vec::new();
    for exhibit in &exhibits {
        let name = exhibit.manifest.name.as_str();
        let met = match broken(exhibit, &bohr) {
            Ok(Broken::OutOfReach(why)) => {
                println!("{name:18} {why}");
                continue;
            }
            Ok(Broken::Figures(figures, patched)) => print(name, &figures, patched),
            Err(error) => {
                let line = error.lines().next().unwrap_or_default();
                println!("{name:18} MISSED: {line}");
                Met::default()
            }
        };
        told.push((name, met));
    }
    println!(
        "\nw/ and w/o: median times of whole runs of the same build with the breakpoints and\n\
         without, by turns. patched: runs that fail of {} of the program with the patch, without\n\
         bohr, after a change that shifts all lines and adds a thread; - where there is no patch,\n\
         or one of Rust, which the tests apply. {:.1} min.",
        patched::RUNS,
        begun.elapsed().as_secs_f64() / 60.0
    );
    sum_up(&told)
}

/// Whether an exhibit meets one of them.
type Target = fn(&Met) -> bool;

/// One line per target; an error if any is missed.
fn sum_up(told: &[(&str, Met)]) -> Result<(), String> {
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
        println!(
            "{target:26} {:2} of {:2}  {}",
            told.len() - names.len(),
            told.len(),
            names.join(" ")
        );
        missed.extend((!names.is_empty()).then_some(target));
    }
    match missed.is_empty() {
        true => Ok(()),
        false => Err(format!("targets missed: {}", missed.join(", "))),
    }
}

/// One line of the table; which targets are met.
fn print(name: &str, told: &Value, patched: Option<u32>) -> Met {
    let number = |field: &str| told[field].as_f64().unwrap_or(f64::NAN);
    let breakpoints = told["breakpoints"].as_array().map_or(0, Vec::len);
    let met = Met {
        probability: number("probability") >= LEAST_PROBABILITY,
        number: breakpoints <= MOST_BREAKPOINTS,
        overhead: number("overhead") <= MOST_OVERHEAD,
        patch: patched.is_none_or(|failing| {
            f64::from(failing) >= LEAST_AFTER_CHANGE * f64::from(patched::RUNS)
        }),
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
        patched.map_or("-".to_string(), |failing| failing.to_string()),
        match met.probability && met.number && met.overhead && met.patch {
            true => "",
            false => "  MISSED",
        }
    );
    met
}

fn broken(exhibit: &Exhibit, bohr: &Path) -> Result<Broken, String> {
    match exhibit.manifest.memory_model {
        MemoryModel::Sc => {}
        MemoryModel::Tso | MemoryModel::Pso => {
            return Ok(Broken::OutOfReach(
                "needs store buffers, which no breakpoint holds",
            ));
        }
        MemoryModel::Language => {
            return Ok(Broken::OutOfReach(
                "no order of threads shows it, only the language's rules do",
            ));
        }
    }
    let sizes = &exhibit.manifest.arguments;
    let hunted = |arguments: &[u64]| {
        let hunted = hunt(exhibit, Variant::Buggy, arguments, bohr, SECONDS);
        hunted.map_err(|error| error.to_string())
    };
    let mut arguments = &sizes.small;
    let (mut report, mut bug) = hunted(arguments)?;
    if bohr_museum::judge(exhibit, &report) != Verdict::Right {
        arguments = &sizes.default;
        (report, bug) = hunted(arguments)?;
    }
    match bohr_museum::judge(exhibit, &report) {
        Verdict::Right => {}
        Verdict::Wrong(sentence) => return Err(sentence),
    }
    let mut command = Command::new("timeout");
    command.arg(PATIENCE.to_string()).arg(bohr);
    command.args(["break", "from", "--json", "--time", &format!("{SECONDS}s")]);
    command
        .arg("--output")
        .arg(bug.parent().unwrap_or(Path::new(".")));
    let figures = parsed(command.arg(&bug))?;
    let patch = figures["patch_file"].as_str().map(Path::new);
    let patched = patch.map(|patch| patched::failures(exhibit, patch, arguments));
    Ok(Broken::Figures(figures, patched.transpose()?.flatten()))
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
