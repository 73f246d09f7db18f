//! `cargo xtask bench reduce [--seconds N] [NAME...]`: of every exhibit, whether
//! `bohr reduce` comes down to as few threads as it can, and whether each thread and
//! each pass through a loop that it leaves was tried by itself; of the museum's mirrors of
//! LEAN's eight programs, what it makes of failures as a test run on an operating
//! system records them, after about a million events, beside the paper's Table 2,
//! and how long that takes.
//!
//! Everything that is printed comes from `bohr --json` or `eval/papers.toml`.

mod table;

use crate::bench::Bench;
use crate::install;
use crate::museum::build_bohr;
use crate::shell;
use bohr_museum::{Compilers, Exhibit, Hunting, Papers, Variant};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

pub const BENCH: Bench = Bench {
    name: "reduce",
    run,
};

/// Seconds that hunts and reductions may take, unless `--seconds` says otherwise.
const SECONDS: u32 = 60;
/// The share of exhibits whose minimum of threads has to be reached, and of those
/// whose result has to be 1-minimal.
const SHARE: f64 = 0.95;
/// Reduction of large executions, in replays of the original.
const MOST_REPLAYS: f64 = 4.0;
/// Events of an execution that counts as large.
const LARGE: f64 = 5e5;
/// Events of a thread's time slice, on average, with which a failure is looked
/// for: the longest first, since what fails under long ones fails late.
const SLICES: [u32; 6] = [30_000, 10_000, 3_000, 1_000, 300, 100];
const MOST_SECONDS: f64 = 60.0;
const MOST_MEGABYTES: f64 = 2048.0;

/// What became of one exhibit.
struct Reduced {
    name: String,
    /// The row of LEAN's tables that it mirrors.
    mirrors: Option<String>,
    minimum: u64,
    report: Value,
    /// Of the whole command, and the most memory that it had.
    seconds: f64,
    megabytes: f64,
}

impl Reduced {
    fn number(&self, field: &str) -> f64 {
        self.report[field].as_f64().unwrap_or(0.0)
    }

    /// Whether nothing that is left can go by itself.
    fn is_minimal(&self) -> bool {
        self.report["minimal"] == Value::Bool(true)
    }

    fn reaches_minimum(&self) -> bool {
        self.number("threads_after") <= self.minimum as f64
    }

    /// Seconds of all stages.
    fn stage_seconds(&self) -> f64 {
        let stages = self.report["stages"].as_array();
        let seconds = { stages.into_iter().flatten() }.filter_map(|one| one["seconds"].as_f64());
        seconds.sum()
    }

    fn rounds(&self) -> u64 {
        let stages = self.report["stages"].as_array();
        let rounds = { stages.into_iter().flatten() }.filter_map(|one| one["rounds"].as_u64());
        rounds.sum()
    }
}

fn run(arguments: &[String]) -> Result<(), String> {
    let (seconds, names) = shell::number_and_rest("--seconds", SECONDS, arguments)?;
    install::needed(&[("time", "/usr/bin/time")])?;
    let bohr = build_bohr()?;
    let papers = Papers::load().map_err(|error| error.to_string())?;
    let exhibits = chosen(names)?;
    let reducing = Reducing {
        bohr: &bohr,
        seconds,
    };
    println!("at their default size\n");
    table::heading();
    let mut missed = Vec::new();
    let mut all = Vec::new();
    for exhibit in &exhibits {
        match reducing.exhibit(exhibit, &exhibit.manifest.arguments.default) {
            Ok(reduced) => {
                table::row(&reduced);
                missed.extend(restless(&reduced));
                all.push(reduced);
            }
            Err(error) => {
                println!("{:18} {error}", exhibit.manifest.name);
                missed.push(error);
            }
        }
    }
    missed.extend(minimum(&all));
    missed.extend(large(&reducing, &exhibits, &papers));
    match missed.is_empty() {
        true => Ok(()),
        false => Err(format!("missed:\n  {}", missed.join("\n  "))),
    }
}

/// Whether enough exhibits come down to as little as they can.
fn minimum(all: &[Reduced]) -> Vec<String> {
    let threads = all.iter().filter(|one| one.reaches_minimum()).count();
    let minimal = all.iter().filter(|one| one.is_minimal()).count();
    let measures = [
        ("the manifest's minimum of threads", threads),
        ("no thread and no iteration that can go by itself", minimal),
    ];
    println!();
    let missed = measures.iter().filter_map(|(name, reached)| {
        let line = format!("{name}: {reached} of {} exhibits", all.len());
        println!("{line}, target {:.0} %", 100.0 * SHARE);
        ((*reached as f64) < SHARE * all.len() as f64).then_some(line)
    });
    missed.collect()
}

/// LEAN's programs, with failures that come late.
fn large(reducing: &Reducing<'_>, exhibits: &[Exhibit], papers: &Papers) -> Vec<String> {
    println!(
        "\nat their large size, under time slices: at most {MOST_SECONDS} s, {MOST_MEGABYTES} MB and {MOST_REPLAYS} replays\n"
    );
    table::heading();
    let mut missed = Vec::new();
    for exhibit in exhibits.iter().filter(|exhibit| mirrors(exhibit).is_some()) {
        match reducing.large(exhibit) {
            Ok(reduced) => {
                table::row(&reduced);
                table::paper_row(&reduced, papers);
                table::profile(&reduced);
                missed.extend(table::misses(&reduced, papers));
                missed.extend(restless(&reduced));
                missed.extend(too_slow(&reduced));
            }
            Err(error) => {
                println!("{:18} {error}", exhibit.manifest.name);
                missed.push(error);
            }
        }
    }
    missed
}

/// Whether a result has more switches than what was found.
fn restless(reduced: &Reduced) -> Option<String> {
    let (before, after) = (
        reduced.number("switches_before"),
        reduced.number("switches_after"),
    );
    (after > before).then(|| format!("{}: {before:.0} switches became {after:.0}", reduced.name))
}

/// What a large execution took too much of.
fn too_slow(reduced: &Reduced) -> Option<String> {
    let name = &reduced.name;
    let replays = reduced.stage_seconds() / reduced.number("replay_seconds_before");
    let is_large = reduced.number("events_before") >= LARGE;
    if reduced.seconds > MOST_SECONDS || reduced.megabytes > MOST_MEGABYTES {
        Some(format!("{name}: time or memory of a large execution"))
    } else if is_large && replays > MOST_REPLAYS {
        Some(format!("{name}: {replays:.1} replays"))
    } else {
        None
    }
}

fn chosen(names: &[String]) -> Result<Vec<Exhibit>, String> {
    let exhibits = match names {
        [] => bohr_museum::all(),
        names => names.iter().map(|name| bohr_museum::named(name)).collect(),
    };
    let mut exhibits: Vec<Exhibit> = exhibits.map_err(|error| error.to_string())?;
    // The paper's programs first.
    exhibits.sort_by_key(|exhibit| mirrors(exhibit).is_none());
    Ok(exhibits)
}

/// The row of LEAN's Table 2 that an exhibit mirrors.
fn mirrors(exhibit: &Exhibit) -> Option<String> {
    let mut mirrors = exhibit.manifest.mirrors.iter();
    let found = mirrors.find(|mirror| mirror.paper == "lean" && mirror.table == "2");
    found.map(|mirror| mirror.row.clone())
}

/// How exhibits are reduced.
struct Reducing<'a> {
    bohr: &'a Path,
    seconds: u32,
}

impl Reducing<'_> {
    fn exhibit(&self, exhibit: &Exhibit, arguments: &[u64]) -> Result<Reduced, String> {
        let hunting = Hunting::of_exhibit(exhibit, self.seconds);
        let reduced = self.hunted(exhibit, arguments, &hunting)?;
        let name = &exhibit.manifest.name;
        reduced.ok_or_else(|| format!("{name} is not found in {} s", self.seconds))
    }

    /// At its large size, with a failure that the longest time slices show.
    fn large(&self, exhibit: &Exhibit) -> Result<Reduced, String> {
        for slice in SLICES {
            let hunting = Hunting {
                strategy: Some(format!("slices:{slice}")),
                ..Hunting::of_exhibit(exhibit, self.seconds.div_ceil(4))
            };
            let arguments = &exhibit.manifest.arguments.large;
            if let Some(reduced) = self.hunted(exhibit, arguments, &hunting)? {
                return Ok(reduced);
            }
        }
        Err(format!(
            "{} is not found under time slices",
            exhibit.manifest.name
        ))
    }

    /// What is left of the failure that a hunt finds, if it does.
    fn hunted(
        &self,
        exhibit: &Exhibit,
        arguments: &[u64],
        hunting: &Hunting,
    ) -> Result<Option<Reduced>, String> {
        let compilers = Compilers::of_bohr(self.bohr);
        let program = bohr_museum::compile(exhibit, Variant::Buggy, &compilers)
            .map_err(|error| error.to_string())?;
        let hunt = hunting.run(self.bohr, &program, arguments);
        if !hunt.map_err(|error| error.to_string())?.found {
            return Ok(None);
        }
        let (report, seconds, megabytes) = self.reduce(&program.with_extension("bohr"))?;
        Ok(Some(Reduced {
            name: exhibit.manifest.name.clone(),
            mirrors: mirrors(exhibit),
            minimum: u64::from(exhibit.manifest.minimum.threads),
            report,
            seconds,
            megabytes,
        }))
    }

    /// The report, and the time and memory of the command and of what it started.
    fn reduce(&self, bug: &Path) -> Result<(Value, f64, f64), String> {
        let small: PathBuf = bug.with_extension("reduced.bohr");
        let mut command = Command::new("/usr/bin/time");
        command.args(["--format", "%e %M"]).arg(self.bohr);
        command.args(["reduce", "--json", "--time", &format!("{}s", self.seconds)]);
        command.arg("--output").arg(small).arg(bug);
        let output = command
            .output()
            .map_err(|error| format!("/usr/bin/time: {error}"))?;
        let words = String::from_utf8_lossy(&output.stderr);
        let report = serde_json::from_slice(&output.stdout)
            .map_err(|_| format!("bohr printed no report: {}", words.trim()))?;
        let mut figures = words.lines().last().unwrap_or_default().split(' ');
        let mut figure = || figures.next().and_then(|word| word.parse::<f64>().ok());
        let (seconds, kilobytes) = (figure().unwrap_or(0.0), figure().unwrap_or(0.0));
        Ok((report, seconds, kilobytes / 1024.0))
    }
}

/// What a paper's table says about a row, as a number.
fn paper(papers: &Papers, row: &str, column: &str) -> Option<f64> {
    let cell = papers.table("lean", "2")?.cell(row, column)?.to_string();
    let (number, unit) = match cell.strip_suffix('K') {
        Some(number) => (number, 1e3),
        None => cell
            .strip_suffix('M')
            .map_or((&cell[..], 1.0), |n| (n, 1e6)),
    };
    Some(number.parse::<f64>().ok()? * unit)
}
