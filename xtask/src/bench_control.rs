//! `cargo xtask bench control`: what control costs, against plain processes on
//! the same machine in the same run. Everything that users meet is measured
//! through the command line.

mod bohr;
mod clones;

use crate::bench::{Bench, median};
use crate::shell;
use bohr::{Bohr, Build};
use serde_json::Value;
use std::time::{Duration, Instant};

pub const BENCH: Bench = Bench {
    name: "control",
    run,
};

/// The targets.
const LEAST_SCHEDULES: f64 = 5_000.0;
const MOST_TIMES_BARE: f64 = 2.0;
const MOST_HOOK: f64 = 5.0;
const MOST_SWITCH: f64 = 50.0;
const MOST_CHECKPOINT: Duration = Duration::from_micros(300);
const MOST_GROWTH: f64 = 0.05;

/// Rounds of what is compared side by side; the middle one is told.
const ROUNDS: usize = 5;
/// Workers of the hunts that are compared.
const WORKERS: usize = 2;
const SCHEDULES: u64 = 20_000;
const WRITES: u64 = 20_000_000;
const DECISIONS: u64 = 1_000_000;
const REPLAYS: u64 = 10_000;
const LONG_HUNT: u64 = 1_000_000;

/// What was measured, and whether it is what it should be.
struct Row {
    what: String,
    figure: String,
    target: String,
    met: bool,
}

/// One after the other.
const PARTS: &[(&str, Part)] = &[
    ("schedules", schedules),
    ("switches", switches),
    ("hooks", hooks),
    ("checkpoints", checkpoints),
    ("resident", resident),
    ("replays", replays),
    ("growth", growth),
];

type Part = fn(&Bohr) -> Result<Vec<Row>, String>;

/// Measures the parts that are named, or all.
fn run(names: &[String]) -> Result<(), String> {
    let known = |name: &&String| PARTS.iter().any(|(part, _)| part == name);
    if let Some(strange) = names.iter().find(|name| !known(name)) {
        let parts: Vec<&str> = PARTS.iter().map(|(part, _)| *part).collect();
        return Err(format!("no part `{strange}`: {}", parts.join(", ")));
    }
    let bohr = Bohr::build()?;
    let mut rows = Vec::new();
    let wanted = |part: &str| names.is_empty() || names.iter().any(|name| name == part);
    for (_, part) in PARTS.iter().filter(|(part, _)| wanted(part)) {
        let new = part(&bohr)?;
        new.iter().for_each(show);
        rows.extend(new);
    }
    let missed: Vec<&str> = rows
        .iter()
        .filter(|row| !row.met)
        .map(|row| &*row.what)
        .collect();
    match missed.is_empty() {
        true => Ok(()),
        false => Err(format!("targets missed: {}", missed.join("; "))),
    }
}

fn show(row: &Row) {
    let mark = if row.met { "" } else { "  MISSED" };
    println!("{:58} {:>22}   {}{mark}", row.what, row.figure, row.target);
}

fn row(what: impl Into<String>, figure: String, target: impl Into<String>, met: bool) -> Row {
    Row {
        what: what.into(),
        figure,
        target: target.into(),
        met,
    }
}

fn number(result: &Value, field: &str) -> Result<f64, String> {
    result[field]
        .as_f64()
        .ok_or_else(|| format!("no number `{field}` in {result}"))
}

/// Schedules per second, against clones per second of the same process, which
/// stands where the runs begin.
fn schedules(bohr: &Bohr) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for (build, name) in [
        (Build::Plain, "unmodified"),
        (Build::Bohr, "built with bohr"),
    ] {
        let program = bohr.program("three_threads", build)?;
        let started = match build {
            Build::Plain => program.clone(),
            Build::Bohr => bohr.profile(&program)?,
        };
        let (mut rates, mut ratios, mut events) = (Vec::new(), Vec::new(), 0.0);
        let mut alone = Vec::new();
        for _ in 0..ROUNDS {
            let clones = clones::rate(bohr, &started, WORKERS)?;
            let runs = SCHEDULES.to_string();
            let workers = WORKERS.to_string();
            let words = [
                "hunt",
                "--runs",
                &runs,
                "--strategy",
                "random",
                "--jobs",
                &workers,
            ];
            let result = bohr.json(&words, &program, &[], 0)?;
            let rate = number(&result, "runs_per_second")?;
            events = number(&result, "events_per_run")?;
            rates.push(rate);
            ratios.push(clones / rate);
            let words = [&words[..], &["--no-rewind"]].concat();
            let result = bohr.json(&words, &program, &[], 0)?;
            alone.push(number(&result, "runs_per_second")?);
        }
        let (rate, ratio) = (median(rates), median(ratios));
        rows.push(row(
            format!("schedules of three threads, {events:.0} events, {name}"),
            format!("{rate:.0}/s"),
            format!("at least {LEAST_SCHEDULES:.0}/s"),
            rate >= LEAST_SCHEDULES,
        ));
        rows.push(row(
            "  with a process for every run",
            format!("{:.0}/s", median(alone)),
            "",
            true,
        ));
        rows.push(row(
            "  clone and wait of that process is faster by",
            format!("{ratio:.2}x"),
            format!("at most {MOST_TIMES_BARE}x"),
            ratio <= MOST_TIMES_BARE,
        ));
    }
    Ok(rows)
}

/// What a change from fiber to fiber takes.
fn switches(_: &Bohr) -> Result<Vec<Row>, String> {
    let mut cargo = shell::cargo();
    cargo.args(["run", "--release", "--quiet", "--package", "bohr-fiber"]);
    let printed = shell::output(cargo.args(["--example", "switch_time"]))?;
    let time = printed.split_whitespace().next();
    let time: f64 = time
        .and_then(|word| word.parse().ok())
        .ok_or_else(|| format!("no time in `{printed}`"))?;
    Ok(vec![row(
        "switch from fiber to fiber",
        format!("{time:.1} ns"),
        format!("at most {MOST_SWITCH} ns"),
        time <= MOST_SWITCH,
    )])
}

/// A checkpoint in a search, and what checkpoints are good for.
fn checkpoints(bohr: &Bohr) -> Result<Vec<Row>, String> {
    let crowd = bohr.program("sixteen_threads", Build::Plain)?;
    let cost = clones::checkpoint(bohr, &crowd, 16, WORKERS)?;
    let far = bohr.program("long_way", Build::Plain)?;
    let words = ["hunt", "--runs", "300", "--strategy", "bounded"];
    let with = bohr.json(&words, &far, &[], 0)?;
    let without = [&words[..], &["--no-checkpoints"]].concat();
    let without = number(&bohr.json(&without, &far, &[], 0)?, "seconds")?;
    Ok(vec![
        row(
            "checkpoint and discard, 16 threads alive",
            format!("{:.0} µs", cost.as_secs_f64() * 1e6),
            format!("at most {MOST_CHECKPOINT:?}"),
            cost <= MOST_CHECKPOINT,
        ),
        row(
            format!(
                "bounded search, {:.0} events, {} of 300 runs from checkpoints: faster by",
                number(&with, "events_per_run")?,
                number(&with, "resumed_runs")?
            ),
            format!("{:.1}x", without / number(&with, "seconds")?),
            "",
            true,
        ),
    ])
}

/// The cost of one hooked access: a long run less a short one, less the same
/// difference of a plain process.
fn hooks(bohr: &Bohr) -> Result<Vec<Row>, String> {
    let plain = bohr.program("accesses", Build::Plain)?;
    let built = bohr.program("accesses", Build::Bohr)?;
    let long = WRITES.to_string();
    let native = least(|| bohr.start(&plain, &["1", &long]))?;
    let idle = least(|| bohr.start(&plain, &["1", "1"]))?;
    let controlled = |strategy: &str, threads: &str, writes: &str| {
        least(|| {
            let words = [
                "run",
                "--run-time",
                "10m",
                "--run-events",
                "1000000000",
                "--races",
                "ignore",
                "--strategy",
                strategy,
            ];
            bohr.json(&words, &built, &[threads, writes], 0).map(drop)
        })
    };
    let granted =
        controlled("sequential", "1", &long)?.saturating_sub(controlled("sequential", "1", "1")?);
    let per_access = |time: Duration, count: u64| time.as_secs_f64() * 1e9 / count as f64;
    let hook = per_access(granted, WRITES) - per_access(native.saturating_sub(idle), WRITES);
    let asked = controlled("random", "2", &DECISIONS.to_string())?;
    let asked = asked.saturating_sub(controlled("random", "2", "1")?);
    Ok(vec![
        row(
            "hooked access without a switch",
            format!("{hook:.1} ns"),
            format!("at most {MOST_HOOK} ns"),
            hook <= MOST_HOOK,
        ),
        row(
            "access with a decision, every second one a switch",
            format!("{:.1} ns", per_access(asked, 2 * DECISIONS)),
            "",
            true,
        ),
    ])
}

/// The least time of a few: what others do on the machine only adds.
fn least(work: impl Fn() -> Result<(), String>) -> Result<Duration, String> {
    let times = (0..ROUNDS).map(|_| timed(&work));
    let times = times.collect::<Result<Vec<Duration>, String>>()?;
    Ok(times.into_iter().min().unwrap_or_default())
}

fn timed(work: impl FnOnce() -> Result<(), String>) -> Result<Duration, String> {
    let begun = Instant::now();
    work()?;
    Ok(begun.elapsed())
}

/// A run against the memory that is resident at the fork point: cloned, which is
/// what a checkpoint costs, and undone.
fn resident(bohr: &Bohr) -> Result<Vec<Row>, String> {
    let program = bohr.program("resident", Build::Plain)?;
    let mut rows = Vec::new();
    for size in ["1", "10", "100", "1024"] {
        // The difference of a long hunt and a short one: filling the memory counts
        // for neither.
        let seconds = |runs: &str, more: &[&str]| {
            let words = [
                "hunt",
                "--runs",
                runs,
                "--jobs",
                "1",
                "--strategy",
                "random",
            ];
            let result = bohr.json(&[&words, more].concat(), &program, &[size], 0)?;
            number(&result, "seconds")
        };
        let milliseconds = |more: &[&str]| {
            let difference = seconds("1100", more)? - seconds("100", more)?;
            Ok::<f64, String>(difference.max(0.0))
        };
        let undone = milliseconds(&[])?;
        let cloned = milliseconds(&["--no-rewind"])?;
        rows.push(row(
            format!("run with {size} MiB resident, one worker, cloned and undone"),
            format!("{cloned:.2} ms, {undone:.2} ms"),
            "",
            true,
        ));
    }
    Ok(rows)
}

fn replays(bohr: &Bohr) -> Result<Vec<Row>, String> {
    let program = bohr.program("lost_update", Build::Plain)?;
    bohr.json(&["hunt", "--output", "lost.bohr"], &program, &[], 1)?;
    let times = REPLAYS.to_string();
    let begun = Instant::now();
    let all = bohr.replay(&["lost.bohr", "--times", &times])?;
    let rate = REPLAYS as f64 / begun.elapsed().as_secs_f64();
    let fresh = bohr.replay(&["lost.bohr", "--times", "100", "--fresh"])?;
    let reproduced = number(&all, "reproduced")? as u64;
    let reproduced_fresh = number(&fresh, "reproduced")? as u64;
    Ok(vec![
        row(
            format!("replays that show the bug again, {rate:.0}/s"),
            format!("{reproduced} of {REPLAYS}"),
            "all",
            reproduced == REPLAYS,
        ),
        row(
            "replays in fresh processes",
            format!("{reproduced_fresh} of 100"),
            "all",
            reproduced_fresh == 100,
        ),
    ])
}

/// Memory of bohr and its fork servers late in a long hunt, against early.
fn growth(bohr: &Bohr) -> Result<Vec<Row>, String> {
    let program = bohr.program("three_threads", Build::Plain)?;
    let (early, late) = bohr.memory_over(LONG_HUNT, &program)?;
    let growth = late / early - 1.0;
    Ok(vec![row(
        format!("memory at the end of {LONG_HUNT} runs ({late:.0} KiB), against a tenth of them"),
        format!("{:+.1} %", growth * 100.0),
        format!("at most {:+.0} %", MOST_GROWTH * 100.0),
        growth <= MOST_GROWTH,
    )])
}
