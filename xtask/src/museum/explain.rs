//! `cargo xtask museum explain`: hunts exhibits, explains what was found, and
//! holds the named culprits against the manifests.

use super::chosen;
use super::hunt::{build_bohr, hunt};
use crate::shell;
use bohr_museum::{Exhibit, Variant};
use std::path::Path;

/// Seconds per hunt, and per step of an explanation, unless `--seconds` says
/// otherwise.
const SECONDS: u32 = 10;

/// Explains each exhibit. One whose culprit is not named is an error of the
/// command, named at the end; the others are explained all the same.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let (seconds, names) = shell::number_and_rest("--seconds", SECONDS, arguments)?;
    let exhibits = chosen(names)?;
    let bohr = build_bohr()?;
    let mut wrong = Vec::new();
    let mut named = 0;
    for exhibit in &exhibits {
        let name = &exhibit.manifest.name;
        match judge(exhibit, &bohr, seconds) {
            Ok(sentence) => {
                named += 1;
                println!("{name:20} {sentence}");
            }
            Err(sentence) => {
                println!("{name:20} WRONG: {sentence}");
                wrong.push(name.as_str());
            }
        }
    }
    let reachable = named + wrong.len();
    println!("culprits named: {named} of {reachable}");
    match wrong.len() {
        0 => Ok(()),
        _ => Err(format!("culprits not named: {}", wrong.join(" "))),
    }
}

/// The sentence in which variable and places were named.
fn judge(exhibit: &Exhibit, bohr: &Path, seconds: u32) -> Result<String, String> {
    let sizes = &exhibit.manifest.arguments;
    let hunt = |arguments: &[u64]| {
        let hunted = hunt(exhibit, Variant::Buggy, arguments, bohr, seconds);
        hunted.map_err(|error| error.to_string())
    };
    // The smallest runs are the quickest to explain, and as good as any.
    let (mut report, mut bug_file) = hunt(&sizes.small)?;
    if bohr_museum::judge(exhibit, &report).is_err() {
        (report, bug_file) = hunt(&sizes.default)?;
    }
    bohr_museum::judge(exhibit, &report)?;
    let explained = bohr_museum::explain(bohr, &bug_file, seconds);
    let explanation = explained.map_err(|error| error.to_string())?;
    let unnamed = bohr_museum::unnamed(exhibit, &explanation);
    let said = explanation.verdict.join("; ");
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    match unnamed.is_empty() {
        true => Ok(said),
        false => Err(format!("{} unnamed: {said}", unnamed.join(", "))),
    }
}
