//! What reading a large core takes: time and memory of `bohr core CORE`.

use super::native;
use crate::shell;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The program that leaves it.
const SOURCE: &str = "eval/reading/large.c";
/// Bytes that a core has to have.
const LEAST: u64 = 150_000_000;
/// Objects of the program that make its core a little larger than that; the stacks of its
/// threads add their share.
const NODES: u64 = 2_000_000;
/// The better of so many turns counts.
const TURNS: u32 = 3;
/// How often the memory of the process is looked at.
const PERIOD: Duration = Duration::from_millis(2);

/// Leaves such a core and reads it.
pub fn measure(bohr: &Path) -> Result<Value, String> {
    let folder = shell::root().join("target/eval-dump/reading");
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let program = folder.join("program");
    let mut compiler = Command::new(bohr);
    let compiler = compiler.args(["cc", "--production", "-g", "-O2", "-pthread"]);
    shell::run(
        compiler
            .arg(shell::root().join(SOURCE))
            .arg("-o")
            .arg(&program),
    )?;
    let bytes = native::run_to_core(&folder, &[NODES.to_string()])?;
    let bytes = bytes.ok_or_else(|| format!("{SOURCE} left no core"))?;
    if bytes < LEAST {
        return Err(format!(
            "the core of {SOURCE} has {bytes} bytes, not {LEAST}"
        ));
    }
    let mut seconds = f64::INFINITY;
    let mut peak = 0;
    for _ in 0..TURNS {
        let mut command = Command::new(bohr);
        let command = command.args(["core", native::CORE, "--json", "--program"]);
        let command = command.arg(&program).current_dir(&folder);
        let begun = Instant::now();
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        peak = peak.max(peak_memory(child.map_err(|error| error.to_string())?)?);
        seconds = seconds.min(begun.elapsed().as_secs_f64());
    }
    Ok(json!({ "bytes": bytes, "seconds": seconds, "peak_bytes": peak }))
}

/// The most memory that a process has, up to its good end.
fn peak_memory(mut child: Child) -> Result<u64, String> {
    let path = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        let status = fs::read_to_string(&path).unwrap_or_default();
        peak = highest(&status).unwrap_or(peak);
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) if status.success() => return Ok(peak),
            Some(status) => return Err(format!("bohr core ended with {status}")),
            None => std::thread::sleep(PERIOD),
        }
    }
}

/// The high-water mark in what Linux tells of a process; none of one that has ended.
fn highest(status: &str) -> Option<u64> {
    let mut lines = status.lines();
    let line = lines.find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(1024 * kilobytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_high_water_mark_is_told_in_kilobytes() {
        let status = "Name:\tbohr\nVmPeak:\t   9000 kB\nVmHWM:\t   4000 kB\nThreads:\t1\n";
        assert_eq!(highest(status), Some(4_096_000));
        assert_eq!(highest("Name:\tbohr\nState:\tZ (zombie)\n"), None);
    }
}
