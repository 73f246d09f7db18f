//! `cargo xtask bench break`: what breakpoints cost in a program that keeps them,
//! and how surely those that bohr finds bring the museum's bugs about.

mod museum;
mod patched;
mod sites;

use crate::bench::Bench;
use crate::shell;
use std::process::Command;

pub const BENCH: Bench = Bench { name: "break", run };

/// Nanoseconds of a visit that is asleep.
const MOST_VISIT: f64 = 2.0;

/// Names are exhibits, and nothing else is measured then.
fn run(names: &[String]) -> Result<(), String> {
    let mut met = true;
    if names.is_empty() {
        met = library()?;
        met &= sites::run()?;
    }
    museum::run(names)?;
    match met {
        true => Ok(()),
        false => Err("targets missed: see the first lines".to_string()),
    }
}

/// Prints what a visit costs; whether that is little enough.
fn library() -> Result<bool, String> {
    let mut cargo = shell::cargo();
    cargo.args(["run", "--release", "--quiet", "--package", "bohr-break"]);
    cargo.args(["--features", "armed", "--example", "visit_time"]);
    let printed = shell::output(&mut cargo)?;
    let mut numbers = printed.lines().map(first_number);
    let mut next = || numbers.next().flatten().ok_or("visit_time printed no time");
    let (rust, wake) = (next()?, next()?);
    let c = in_c()?;
    let mut all_met = true;
    for (language, time) in [("Rust", rust), ("C", c)] {
        let met = time <= MOST_VISIT;
        let mark = if met { "" } else { "  MISSED" };
        println!(
            "visit that is asleep, {language:5} {time:6.2} ns   at most {MOST_VISIT} ns{mark}"
        );
        all_met &= met;
    }
    println!("from the partner's arrival to the one held up {wake:6.1} µs");
    Ok(all_met)
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
