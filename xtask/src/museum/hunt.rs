//! `cargo xtask museum hunt`: builds exhibits and twins with bohr, hunts them,
//! and holds what was found against the manifests.

use super::chosen;
use crate::{install, shell};
use bohr_museum::{Compilers, Error, Exhibit, Hunting, Report, Variant, Verdict, replay_every_way};
use std::path::{Path, PathBuf};

/// Seconds per exhibit, unless `--seconds` says otherwise.
const SECONDS: u32 = 60;

/// Replays of what was found, unless `--replays` says otherwise.
const REPLAYS: u32 = 100;

/// One in so many of these is made on threads of the system, and as many in
/// fresh processes, but not more than `MOST_FRESH`.
const FRESH_SHARE: u64 = 10;
const MOST_FRESH: u64 = 100;

/// A twin is hunted for this share of the time that its exhibit gets.
const TWIN_SHARE: u32 = 3;

/// Hunts each exhibit and its twin. One that is not found, is found otherwise
/// than its manifest says, or whose twin fails is an error of the command,
/// named at the end; the others are hunted all the same.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let (seconds, rest) = shell::number_and_rest("--seconds", SECONDS, arguments)?;
    let (replays, names) = shell::number_and_rest("--replays", REPLAYS, rest)?;
    let exhibits = chosen(names)?;
    let bohr = build_bohr()?;
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
    match wrong.len() {
        0 => Ok(()),
        count => Err(format!(
            "{count} of {} exhibits: {}",
            exhibits.len(),
            wrong.join(" ")
        )),
    }
}

/// Builds bohr as it is used, and returns its path; or the bohr that the
/// variable `BOHR` names, to measure an installed one.
pub fn build_bohr() -> Result<PathBuf, String> {
    if let Some(installed) = std::env::var_os("BOHR") {
        return Ok(PathBuf::from(installed));
    }
    install::for_building()?;
    let packages = ["-p", "bohr", "-p", "bohr-instrument", "-p", "bohr-runtime"];
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
    let hunt = |variant, seconds| {
        hunt(exhibit, variant, arguments, bohr, seconds).map_err(|error| error.to_string())
    };
    let (report, bug_file) = hunt(Variant::Buggy, seconds)?;
    let found = match bohr_museum::judge(exhibit, &report) {
        Verdict::Right => {
            let fresh = (replays / FRESH_SHARE).clamp(1, MOST_FRESH);
            let replayed = replay_every_way(bohr, &bug_file, replays, fresh);
            if let Some(complaint) = replayed.map_err(|error| error.to_string())? {
                return Err(complaint);
            }
            format!(
                "found in run {:5}, {:.1} s; {replays} replays, {fresh} on threads, {fresh} elsewhere",
                report.runs, report.seconds
            )
        }
        Verdict::OutOfReach(why) => format!("{why}; silent in {} runs", report.runs),
        Verdict::Wrong(sentence) => return Err(sentence),
    };
    let (twin, _) = hunt(Variant::Fixed, seconds.div_ceil(TWIN_SHARE))?;
    match bohr_museum::judge_twin(&twin) {
        Verdict::Wrong(sentence) => Err(sentence),
        _ => Ok(format!("{found}; twin silent in {} runs", twin.runs)),
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
