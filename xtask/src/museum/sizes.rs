//! `cargo xtask museum sizes`: runs every exhibit at its three sizes under control and
//! holds the numbers of events against what sizes are for: a trace that one can read,
//! the one that figures are made with, and one of over a million events.

use super::{build_bohr, chosen};
use crate::paper_size::object;
use bohr_museum::{Compilers, Exhibit, Language, Variant};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Most events of a small run. Strings and maps take their share of it; a smaller run
/// of such an exhibit would not have its bug.
const SMALL: u64 = 600;

/// Of a small run in Rust, where a thread that does nothing takes some 160 events of the
/// standard library.
const SMALL_RUST: u64 = 1_300;

/// Fewest events of a large run.
const LARGE: u64 = 1_000_000;

/// Seeds with which the exhibit is tried before its fixed twin is taken, whose runs
/// never end early.
const SEEDS: u64 = 3;

/// A thread goes on for so many events on average: switches cost time, and say
/// nothing of sizes.
const SLICE: &str = "slices:1000";

/// Events at the small, the default and the large size.
type Sizes = [u64; 3];

/// Runs all three sizes of each exhibit. One whose sizes are not what they should be is
/// an error of the command; the others are run all the same.
pub fn run(names: &[String]) -> Result<(), String> {
    let exhibits = chosen(names)?;
    let bohr = build_bohr()?;
    println!(
        "{:20} {:>9} {:>9} {:>9}",
        "events", "small", "default", "large"
    );
    let mut wrong = Vec::new();
    for exhibit in &exhibits {
        let name = &exhibit.manifest.name;
        let complaints = match sizes(&bohr, exhibit) {
            Ok(sizes @ [small, default, large]) => {
                println!("{name:20} {small:9} {default:9} {large:9}");
                complaints(exhibit.manifest.language, sizes)
            }
            Err(error) => vec![error],
        };
        wrong.extend(complaints.iter().map(|it| format!("{name}: {it}")));
    }
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "sizes are not what they say\n  {}",
            wrong.join("\n  ")
        )),
    }
}

/// What is wrong with the sizes of an exhibit in this language.
fn complaints(language: Language, [small, default, large]: Sizes) -> Vec<String> {
    let most = match language {
        Language::Rust => SMALL_RUST,
        Language::C | Language::Cpp => SMALL,
    };
    let mut wrong = Vec::new();
    if small > most {
        wrong.push(format!("small has {small} events, {most} are the most"));
    }
    if small > default {
        wrong.push(format!("small has {small} events, and default {default}"));
    }
    if large < LARGE {
        wrong.push(format!("large has {large} events, {LARGE} are the fewest"));
    }
    wrong
}

fn sizes(bohr: &Path, exhibit: &Exhibit) -> Result<Sizes, String> {
    let compile = |variant| {
        bohr_museum::compile(exhibit, variant, &Compilers::of_bohr(bohr))
            .map_err(|error| error.to_string())
    };
    let programs = [compile(Variant::Buggy)?, compile(Variant::Fixed)?];
    let arguments = &exhibit.manifest.arguments;
    let mut sizes = [0; 3];
    let asked = [&arguments.small, &arguments.default, &arguments.large];
    for (size, arguments) in sizes.iter_mut().zip(asked) {
        *size = events(bohr, &programs, arguments)?;
    }
    Ok(sizes)
}

/// Events of a run to the end: of the exhibit if one of a few seeds gives one; else of
/// its twin, or of the longest of those that failed, if that is longer: what fails at
/// its end is whole, and what the fix made local has no events.
fn events(
    bohr: &Path,
    [buggy, fixed]: &[std::path::PathBuf; 2],
    arguments: &[u64],
) -> Result<u64, String> {
    let told = |program: &Path, seed: u64| -> Result<Value, String> {
        let mut command = Command::new(bohr);
        command.args(["run", "--json", "--races", "ignore", "--strategy", SLICE]);
        command
            .args(["--seed", &seed.to_string(), "--"])
            .arg(program);
        object(command.args(arguments.iter().map(u64::to_string)))
    };
    let mut longest = 0;
    for seed in 1..=SEEDS {
        let run = told(buggy, seed)?;
        if run["failed"] == false {
            return number(&run);
        }
        longest = longest.max(number(&run)?);
    }
    Ok(longest.max(number(&told(fixed, 1)?)?))
}

fn number(run: &Value) -> Result<u64, String> {
    let events = run["events"].as_u64();
    events.ok_or_else(|| format!("`bohr run --json` tells no events: {run}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_held_against_what_they_are_for() {
        let wrong = |language, sizes| complaints(language, sizes).len();
        assert_eq!(wrong(Language::C, [100, 300, 1_000_000]), 0);
        assert_eq!(wrong(Language::Rust, [1_000, 1_000, 2_000_000]), 0);
        assert_eq!(wrong(Language::Cpp, [1_000, 2_000, 1_000_000]), 1);
        assert_eq!(wrong(Language::C, [100, 36, 1_000_000]), 1);
        assert_eq!(wrong(Language::C, [700, 36, 999_999]), 3);
    }
}
