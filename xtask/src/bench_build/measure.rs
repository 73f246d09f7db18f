//! Processor time of other programs.

use std::process::{Command, Stdio};

/// Clock ticks per second in `/proc`, the same on every Linux for x86-64.
const TICKS: f64 = 100.0;

/// Processor seconds of all children that have ended so far, theirs included.
fn children() -> f64 {
    let status = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The program's name may hold spaces; it ends with the last parenthesis.
    let fields = status
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace();
    let ticks: Vec<u64> = fields
        .skip(13)
        .take(2)
        .filter_map(|field| field.parse().ok())
        .collect();
    ticks.iter().sum::<u64>() as f64 / TICKS
}

/// Processor seconds that `action` makes other programs use.
pub fn seconds(action: impl FnOnce() -> Result<(), String>) -> Result<f64, String> {
    let before = children();
    action()?;
    Ok(children() - before)
}

/// Runs a program without its output.
pub fn quiet(command: &mut Command) -> Result<(), String> {
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?} ended with {status}")),
        Err(error) => Err(format!("cannot run {command:?}: {error}")),
    }
}

/// The least of several turns of each of two actions, taken in turns.
pub fn least_of_both(
    turns: u32,
    mut one: impl FnMut() -> Result<(), String>,
    mut other: impl FnMut() -> Result<(), String>,
) -> Result<(f64, f64), String> {
    let mut least = (f64::INFINITY, f64::INFINITY);
    for _ in 0..turns {
        least.0 = least.0.min(seconds(&mut one)?);
        least.1 = least.1.min(seconds(&mut other)?);
    }
    Ok(least)
}
