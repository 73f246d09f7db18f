//! `cargo xtask museum hunt`: builds exhibits and twins with bohr, hunts them,
//! and holds what was found against the manifests. With `--replays 10000` this is
//! the whole figure: every bug found in a minute and replayed so often, on fibers,
//! on threads of the system and in fresh processes on one core, event for event.

use super::chosen;
use crate::{install, shell};
use bohr_museum::{Compilers, Error, Exhibit, Hunting, Report, Variant, replay_every_way};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Seconds per exhibit, unless `--seconds` says otherwise.
const SECONDS: u32 = 60;

/// Replays of what was found, unless `--replays` says otherwise.
const REPLAYS: u32 = 100;

/// One in so many of these is made on threads of the system, and as many in
/// fresh processes, but not more than `MOST_FRESH`.
const FRESH_SHARE: u64 = 10;
const MOST_FRESH: u64 = 100;

/// A twin is hunted for this share of the time that others get: it takes all of it.
const SILENT_SHARE: u32 = 12;

/// Hunts each exhibit and its twin. One that is not found, is found otherwise
/// than its manifest says, or whose twin fails is an error of the command,
/// named at the end; the others are hunted all the same.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let (seconds, rest) = shell::number_and_rest("--seconds", SECONDS, arguments)?;
    let (replays, names) = shell::number_and_rest("--replays", REPLAYS, rest)?;
    let exhibits = chosen(names)?;
    let bohr = build_bohr()?;
    let begun = Instant::now();
    println!("{:20} {HEADINGS}", "exhibit");
    let mut wrong = Vec::new();
    for exhibit in &exhibits {
        let name = &exhibit.manifest.name;
        match hunt_both(exhibit, &bohr, seconds, u64::from(replays)) {
            Ok(line) => println!("{name:20} {line}"),
            Err(sentence) => {
                println!("{name:20} WRONG: {sentence}");
                wrong.push(name.as_str());
            }
        }
    }
    let right = exhibits.len() - wrong.len();
    let minutes = begun.elapsed().as_secs_f64() / 60.0;
    println!(
        "{right} of {} as they should be, {minutes:.1} min",
        exhibits.len()
    );
    match wrong.len() {
        0 => Ok(()),
        count => Err(format!(
            "{count} of {} exhibits: {}",
            exhibits.len(),
            wrong.join(" ")
        )),
    }
}

/// What [`hunt_both`] tells.
const HEADINGS: &str = "   run  seconds  replays  threads  elsewhere  seconds  twin's runs";

/// Builds bohr as it is used, and returns its path; or the bohr that the
/// variable `BOHR` names, to measure an installed one.
pub fn build_bohr() -> Result<PathBuf, String> {
    if let Some(installed) = std::env::var_os("BOHR") {
        return Ok(PathBuf::from(installed));
    }
    install::for_building()?;
    let packages = [
        "bohr",
        "bohr-instrument",
        "bohr-native",
        "bohr-recorder",
        "bohr-runtime",
    ];
    let packages = packages.iter().flat_map(|name| ["-p", name]);
    shell::run(
        shell::cargo()
            .args(["build", "--quiet", "--release"])
            .args(packages),
    )?;
    Ok(shell::built("release").join("bohr"))
}

/// What to say about the exhibit and its twin if both are right.
fn hunt_both(exhibit: &Exhibit, bohr: &Path, seconds: u32, replays: u64) -> Result<String, String> {
    let arguments = &exhibit.manifest.arguments.default;
    let buggy = hunt(exhibit, Variant::Buggy, arguments, bohr, seconds);
    let (report, bug_file) = buggy.map_err(|error| error.to_string())?;
    bohr_museum::judge(exhibit, &report)?;
    let found = replayed(&report, bohr, &bug_file, replays)?;
    let seconds = seconds.div_ceil(SILENT_SHARE);
    let silent = silent_runs(exhibit, arguments, bohr, seconds)?;
    Ok(format!("{found}  {silent:11}"))
}

/// Runs of the twin, under the model that shows the bug and, where stores wait in
/// buffers, under the weakest one.
fn silent_runs(
    exhibit: &Exhibit,
    arguments: &[u64],
    bohr: &Path,
    seconds: u32,
) -> Result<u64, String> {
    let told = |error: Error| error.to_string();
    let compilers = Compilers::of_bohr(bohr);
    let program = bohr_museum::compile(exhibit, Variant::Fixed, &compilers).map_err(told)?;
    let own = Hunting::of_exhibit(exhibit, seconds);
    let mut models = vec![own.model];
    models.extend((own.model == "tso").then_some("pso"));
    let mut runs = 0;
    for model in models {
        let hunting = Hunting {
            model,
            ..own.clone()
        };
        let twin = hunting.run(bohr, &program, arguments).map_err(told)?;
        bohr_museum::judge_twin(&twin).map_err(|sentence| format!("{sentence}, under {model}"))?;
        runs += twin.runs;
    }
    Ok(runs)
}

/// Replays what was found in every way; the columns that tell of it.
fn replayed(report: &Report, bohr: &Path, bug_file: &Path, replays: u64) -> Result<String, String> {
    let few = (replays / FRESH_SHARE).clamp(1, MOST_FRESH);
    let begun = Instant::now();
    let complaint = replay_every_way(bohr, bug_file, replays, few);
    match complaint.map_err(|error| error.to_string())? {
        Some(complaint) => Err(complaint),
        None => Ok(format!(
            "{:6}  {:7.1}  {replays:7}  {few:7}  {few:9}  {:7.1}",
            report.runs,
            report.seconds,
            begun.elapsed().as_secs_f64()
        )),
    }
}

/// The report, and where the bug was written if there is one.
pub fn hunt(
    exhibit: &Exhibit,
    variant: Variant,
    arguments: &[u64],
    bohr: &Path,
    seconds: u32,
) -> Result<(Report, PathBuf), Error> {
    let program = bohr_museum::compile(exhibit, variant, &Compilers::of_bohr(bohr))?;
    let report = Hunting::of_exhibit(exhibit, seconds).run(bohr, &program, arguments)?;
    Ok((report, program.with_extension("bohr")))
}
