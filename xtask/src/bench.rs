//! `cargo xtask bench NAME`: measures, prints, and says what the target is.
//! Each benchmark has its own file. Figures are made with optimised code only,
//! so a bench started from a debug build builds and starts the release build.

use crate::{
    Command, bench_break, bench_build, bench_control, bench_explain, bench_record, bench_reduce,
    bench_simplify, bench_trace, shell,
};
use std::process;
use std::time::Duration;

pub const COMMAND: Command = Command {
    name: "bench",
    about: "measure: break, build, control, explain, record, reduce, simplify, trace",
    run,
};

/// One benchmark.
pub struct Bench {
    pub name: &'static str,
    pub run: fn(&[String]) -> Result<(), String>,
}

const BENCHES: &[Bench] = &[
    bench_break::BENCH,
    bench_build::BENCH,
    bench_control::BENCH,
    bench_explain::BENCH,
    bench_record::BENCH,
    bench_reduce::BENCH,
    bench_simplify::BENCH,
    bench_trace::BENCH,
];

fn run(arguments: &[String]) -> Result<(), String> {
    let names = || BENCHES.iter().map(|bench| bench.name).collect::<Vec<_>>();
    let (name, rest) = arguments
        .split_first()
        .ok_or_else(|| format!("which one? {}", names().join(", ")))?;
    let bench = BENCHES.iter().find(|bench| bench.name == name);
    let bench = bench.ok_or_else(|| format!("no benchmark `{name}`: {}", names().join(", ")))?;
    if cfg!(debug_assertions) {
        return optimised(arguments);
    }
    (bench.run)(rest)
}

/// Time that this thread has spent on a processor: what others do meanwhile
/// does not count.
pub fn processor_time() -> Duration {
    let status = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = status.split(' ').next().and_then(|word| word.parse().ok());
    Duration::from_nanos(nanoseconds.expect("Linux tells the processor time of a thread"))
}

/// The middle one of a few figures.
pub fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// Begins to watch the memory of this process anew.
pub fn forget_peak_memory() {
    std::fs::write("/proc/self/clear_refs", "5").expect("Linux forgets the peak when asked to");
}

/// The most memory that this process had since then, in bytes.
pub fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok());
    1024 * kilobytes.expect("Linux tells the peak memory of a process")
}

/// The same command, built for speed.
fn optimised(arguments: &[String]) -> Result<(), String> {
    let mut cargo = process::Command::new("cargo");
    cargo
        .current_dir(shell::root())
        .args([
            "run",
            "--quiet",
            "--release",
            "--package",
            "xtask",
            "--",
            "bench",
        ])
        .args(arguments);
    match cargo.status() {
        Ok(status) if status.success() => Ok(()),
        // It has said itself what went wrong.
        Ok(status) => process::exit(status.code().unwrap_or(2)),
        Err(error) => Err(format!("cannot run cargo: {error}")),
    }
}
