//! Breakpoints for every exhibit: how surely they bring its bug about with real
//! threads, how many there are, and what they cost.

use crate::museum::{build_bohr, chosen, hunt};
use bohr_museum::{Exhibit, Variant, Verdict};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// The share of native runs that have to fail.
const LEAST_PROBABILITY: f64 = 0.99;

/// Breakpoints of a set.
const MOST_BREAKPOINTS: usize = 3;

/// Time of a run with breakpoints over that of one without.
const MOST_OVERHEAD: f64 = 1.4;

/// Seconds per hunt, and per step of an explanation.
const SECONDS: u32 = 10;

/// Runs of the large size, with breakpoints and without.
const LARGE_RUNS: usize = 5;

/// What became of an exhibit.
enum Broken {
    /// What `bohr break from --json` printed, and the overhead of a large run.
    Figures(Value, Option<f64>),
    /// Nothing was found that breakpoints could be made from, for this reason.
    OutOfReach(&'static str),
}

/// Prints the table; an exhibit that misses a target is an error, named at the
/// end.
pub fn run(names: &[String]) -> Result<(), String> {
    let exhibits = chosen(names)?;
    let bohr = build_bohr()?;
    println!(
        "\n{:20} {:>6} {:>6} {:>9} {:>9} {:>9}  breakpoints",
        "exhibit", "prob.", "number", "overhead", "of large", "MTTE (s)"
    );
    let mut missed = Vec::new();
    let mut met = 0;
    for exhibit in &exhibits {
        let name = exhibit.manifest.name.as_str();
        match broken(exhibit, &bohr) {
            Ok(Broken::OutOfReach(why)) => println!("{name:20} {why}"),
            Ok(Broken::Figures(told, large)) => match print(name, &told, large) {
                true => met += 1,
                false => missed.push(name),
            },
            Err(error) => {
                let line = error.lines().next().unwrap_or_default();
                println!("{name:20} MISSED: {line}");
                missed.push(name);
            }
        }
    }
    println!("targets met: {met} of {}", met + missed.len());
    match missed.is_empty() {
        true => Ok(()),
        false => Err(format!("targets missed: {}", missed.join(" "))),
    }
}

/// One line of the table; whether the targets are met. Where the bug's own run
/// takes a few milliseconds, the overhead is that of a large run.
fn print(name: &str, told: &Value, large: Option<f64>) -> bool {
    let number = |field: &str| told[field].as_f64().unwrap_or(f64::NAN);
    let breakpoints = told["breakpoints"].as_array().map_or(0, Vec::len);
    let overhead = large.unwrap_or(number("overhead"));
    let met = number("probability") >= LEAST_PROBABILITY
        && breakpoints <= MOST_BREAKPOINTS
        && overhead <= MOST_OVERHEAD;
    let expressions = told["breakpoints"].as_array().into_iter().flatten();
    let expressions: Vec<&str> = expressions
        .filter_map(|one| one["expression"].as_str())
        .map(|text| text.rsplit_once("/museum/").map_or(text, |(_, end)| end))
        .collect();
    println!(
        "{name:20} {:>6.2} {breakpoints:>6} {:>8.2}x {:>9} {:>9.4}  {}{}",
        number("probability"),
        number("overhead"),
        large.map_or("-".to_string(), |large| format!("{large:.2}x")),
        number("mean_time_to_error"),
        expressions.join("; "),
        if met { "" } else { "  MISSED" }
    );
    met
}

fn broken(exhibit: &Exhibit, bohr: &Path) -> Result<Broken, String> {
    if exhibit.manifest.memory_model.simulated() != "sc" {
        return Ok(Broken::OutOfReach(
            "needs store buffers, which no breakpoint holds",
        ));
    }
    let sizes = &exhibit.manifest.arguments;
    let hunted = |arguments: &[u64]| {
        let hunted = hunt(exhibit, Variant::Buggy, arguments, bohr, SECONDS);
        hunted.map_err(|error| error.to_string())
    };
    let (mut report, mut bug) = hunted(&sizes.small)?;
    if bohr_museum::judge(exhibit, &report) != Verdict::Right {
        (report, bug) = hunted(&sizes.default)?;
    }
    match bohr_museum::judge(exhibit, &report) {
        Verdict::Right => {}
        Verdict::Wrong(sentence) => return Err(sentence),
    }
    let mut command = Command::new(bohr);
    command.args(["break", "from", "--json", "--time", &format!("{SECONDS}s")]);
    command
        .arg("--output")
        .arg(bug.parent().unwrap_or(Path::new(".")));
    let told = parsed(command.arg(&bug))?;
    let large = large_overhead(exhibit, bohr, &bug.with_extension(""), &told)?;
    Ok(Broken::Figures(told, large))
}

/// The median time of large runs with the breakpoints over that without; `None`
/// if the bug ends those with them early, so that there is nothing to compare.
fn large_overhead(
    exhibit: &Exhibit,
    bohr: &Path,
    program: &Path,
    told: &Value,
) -> Result<Option<f64>, String> {
    let large = &exhibit.manifest.arguments.large;
    let words: Vec<String> = large.iter().map(u64::to_string).collect();
    let mut with = Vec::new();
    let mut without = Vec::new();
    for _ in 0..LARGE_RUNS {
        let mut command = Command::new(bohr);
        command.args(["run", "--native", "--json", "--run-time", "60s"]);
        for breakpoint in told["breakpoints"].as_array().into_iter().flatten() {
            command
                .arg("--break")
                .arg(breakpoint["expression"].as_str().unwrap_or_default());
        }
        let run = parsed(command.arg("--").arg(program).args(&words))?;
        if run["failed"] != false {
            return Ok(None);
        }
        with.extend(run["seconds"].as_f64());
        let plain = bohr_museum::run_once(exhibit, program, large);
        without.push(plain.map_err(|error| error.to_string())?.time.as_secs_f64());
    }
    Ok(Some(median(with) / median(without)))
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

/// What a command of bohr prints as JSON, whether it found a bug or not.
fn parsed(command: &mut Command) -> Result<Value, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    serde_json::from_slice(&output.stdout)
        .map_err(|_| String::from_utf8_lossy(&output.stderr).trim().to_string())
}
