//! `cargo xtask bench break [--fresh] [EXHIBIT…]`: what breakpoints cost in a program
//! that keeps them, and how surely those that bohr finds bring the museum's bugs
//! about. Exhibits that were measured with the same bohr are not measured again,
//! so an interrupted run goes on where it was; `--fresh` begins anew.

mod kept;
mod museum;
mod sites;

use crate::bench::Bench;
use crate::shell;
use std::process::Command;

pub const BENCH: Bench = Bench { name: "break", run };

/// Nanoseconds of a visit that is asleep.
const MOST_VISIT: f64 = 2.0;

/// Microseconds from the partner's arrival until who was held up goes on.
const MOST_WAKE: f64 = 100.0;

/// Names are exhibits, and nothing else is measured then. What misses its target
/// is listed at the end.
fn run(arguments: &[String]) -> Result<(), String> {
    let (options, names): (Vec<String>, Vec<String>) = arguments
        .iter()
        .cloned()
        .partition(|word| word.starts_with("--"));
    let fresh = match &options[..] {
        [] => false,
        [option] if option == "--fresh" => true,
        _ => return Err(format!("{}: there is --fresh alone", options.join(" "))),
    };
    let mut missed = Vec::new();
    if names.is_empty() {
        missed.extend(library()?);
        missed.extend(sites::run()?);
    }
    missed.extend(museum::run(&names, fresh)?);
    if missed.is_empty() {
        println!("all targets are met");
        return Ok(());
    }
    println!("missed:");
    missed.iter().for_each(|line| println!("  {line}"));
    Err(format!("{} targets missed", missed.len()))
}

/// Prints a figure that should not be larger than its target; says so if it is.
fn figure(what: &str, value: f64, most: f64, unit: &str) -> Option<String> {
    let line = format!("{what:46} {value:8.2} {unit}   at most {most} {unit}");
    // What is not a number is no success.
    let met = value <= most;
    println!("{line}{}", if met { "" } else { "  MISSED" });
    (!met).then_some(line)
}

/// Prints what a visit costs; what of it is too much.
fn library() -> Result<Vec<String>, String> {
    let mut cargo = shell::cargo();
    cargo.args(["run", "--release", "--quiet", "--package", "bohr-break"]);
    cargo.args(["--features", "armed", "--example", "visit_time"]);
    let printed = shell::output(&mut cargo)?;
    let mut numbers = printed.lines().map(first_number);
    let mut next = || numbers.next().flatten().ok_or("visit_time printed no time");
    let (rust, wake) = (next()?, next()?);
    let figures = [
        figure("visit that is asleep, Rust", rust, MOST_VISIT, "ns"),
        figure("visit that is asleep, C", in_c()?, MOST_VISIT, "ns"),
        figure(
            "from the partner's arrival to the one held up",
            wake,
            MOST_WAKE,
            "µs",
        ),
    ];
    Ok(figures.into_iter().flatten().collect())
}

fn in_c() -> Result<f64, String> {
    let folder = shell::built("bench-break");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let program = folder.join("visits");
    let mut compiler = Command::new("clang-22");
    compiler
        .args(["-O2", "-pthread", "-I"])
        .arg(shell::root().join("include"))
        .arg(shell::root().join("xtask/src/bench_break/visits.c"))
        .arg("-o")
        .arg(&program);
    shell::run(&mut compiler)?;
    let printed = shell::output(&mut Command::new(program))?;
    first_number(&printed).ok_or("the C program printed no time".to_string())
}

fn first_number(line: &str) -> Option<f64> {
    line.split_whitespace().next()?.parse().ok()
}
