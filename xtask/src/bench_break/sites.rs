//! What two sites cost that are switched on in a native run while nobody is held
//! up there: hooks, counters, and the build that has room for them.

use super::figure;
use super::museum::parsed;
use crate::museum::build_bohr;
use crate::shell;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// Time of a run with two sites over that of the program as it is.
const MOST: f64 = 1.1;

/// Runs of each kind, in pairs; the middle one of their ratios counts, since
/// whatever else the machine does slows down both of a pair, or spoils it.
const RUNS: usize = 15;

const SOURCE: &str = include_str!("two_sites.c");

/// Measures, prints, and says what misses its target.
pub fn run() -> Result<Option<String>, String> {
    let bohr = build_bohr()?;
    let folder = shell::built("bench-break");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let program = folder.join("two_sites");
    let source = shell::root().join("xtask/src/bench_break/two_sites.c");
    let mut compiler = Command::new(&bohr);
    compiler.args(["cc", "-g", "-O2", "-pthread"]).arg(source);
    shell::run(compiler.arg("-o").arg(&program))?;
    let mut pairs = Vec::new();
    let mut visits = 0.0_f64;
    for _ in 0..RUNS {
        let begun = Instant::now();
        shell::output(&mut Command::new(&program))?;
        let plain = begun.elapsed().as_secs_f64();
        let (hooked, came) = with_sites(&bohr, &program)?;
        pairs.push(hooked / plain);
        visits = visits.max(came);
    }
    pairs.sort_by(f64::total_cmp);
    let what = format!("native run with two sites on, {visits:.0} visits");
    Ok(figure(&what, pairs[RUNS / 2], MOST, "x"))
}

/// Seconds of a run, and visits of the sites.
fn with_sites(bohr: &Path, program: &Path) -> Result<(f64, f64), String> {
    let side = |marker: &str| {
        let line = SOURCE.lines().position(|line| line.contains(marker));
        let line = line.ok_or_else(|| format!("two_sites.c has no {marker}"))?;
        Ok::<String, String>(format!(
            "two_sites.c:{} (ignore-first 1000000000)",
            line + 1
        ))
    };
    let breakpoint = format!("{} -> {}", side("// first site")?, side("// second site")?);
    let mut command = Command::new(bohr);
    command.args(["run", "--native", "--json", "--break", &breakpoint, "--"]);
    let told = parsed(command.arg(program))?;
    let seconds = told["seconds"].as_f64().ok_or("the run told no time")?;
    let visits = told["breakpoints"][0]["visits"].as_f64().unwrap_or(0.0);
    Ok((seconds, visits))
}
