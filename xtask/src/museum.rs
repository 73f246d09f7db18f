//! `cargo xtask museum`: the collection of Heisenbugs under `museum/`. Lists
//! the exhibits, builds them and their fixed twins, measures how often each
//! fails when nobody looks, and keeps the guided tour in step.

mod debian;
mod explain;
mod hunt;
mod races;
mod sizes;

pub use explain::run as explain_exhibits;
pub use hunt::{build_bohr, hunt};

use crate::{Command, shell};
use bohr_museum::{Compilers, Error, Exhibit, FEWEST_RUNS, Variant};
use std::fs;

pub const COMMAND: Command = Command {
    name: "museum",
    about: "list | build | measure [--runs N] | hunt [--seconds N] [--replays N] | explain [--seconds N] | races [--seconds N] | sizes | debian [--seeds N] | tour, then names (default: all)",
    run,
};

fn run(arguments: &[String]) -> Result<(), String> {
    let (verb, rest) = match arguments.split_first() {
        Some((verb, rest)) => (verb.as_str(), rest),
        None => ("list", arguments),
    };
    match verb {
        "list" => list(rest),
        "build" => build(rest),
        "measure" => measure(rest),
        "hunt" => hunt::run(rest),
        "explain" => explain::run(rest),
        "races" => races::run(rest),
        "sizes" => sizes::run(rest),
        "debian" => debian::run(rest),
        "tour" => tour().map_err(|error| error.to_string()),
        _ => Err(format!(
            "there is no `museum {verb}`; try list, build, measure, hunt, explain, races, sizes, debian or tour"
        )),
    }
}

/// The exhibits with these names; all of them if no name is given.
pub fn chosen(names: &[String]) -> Result<Vec<Exhibit>, String> {
    let exhibits = if names.is_empty() {
        bohr_museum::all()
    } else {
        names.iter().map(|name| bohr_museum::named(name)).collect()
    };
    exhibits.map_err(|error| error.to_string())
}

fn list(names: &[String]) -> Result<(), String> {
    for exhibit in chosen(names)? {
        println!("{:20} {}", exhibit.manifest.name, exhibit.manifest.title);
    }
    Ok(())
}

fn build(names: &[String]) -> Result<(), String> {
    let compilers = Compilers::default();
    for exhibit in chosen(names)? {
        for variant in [Variant::Buggy, Variant::Fixed] {
            let program = bohr_museum::compile(&exhibit, variant, &compilers)
                .map_err(|error| error.to_string())?;
            let shown = program.strip_prefix(shell::root()).unwrap_or(&program);
            println!("{}", shown.display());
        }
    }
    Ok(())
}

/// Measures each exhibit and writes down what was found. One that does not
/// build, does not fail as it says, or whose twin fails is an error of the
/// whole command; the others are measured all the same.
fn measure(arguments: &[String]) -> Result<(), String> {
    let (runs, names) = shell::number_and_rest("--runs", FEWEST_RUNS, arguments)?;
    let mut errors = Vec::new();
    for exhibit in chosen(names)? {
        match measure_one(&exhibit, runs) {
            Ok(line) => println!("{line}"),
            Err(error) => errors.push(error.to_string()),
        }
    }
    match errors.len() {
        0 => Ok(()),
        count => Err(format!(
            "{count} exhibits are not what they say\n  {}",
            errors.join("\n  ")
        )),
    }
}

fn measure_one(exhibit: &Exhibit, runs: u32) -> Result<String, Error> {
    let native = bohr_museum::measure(exhibit, runs)?;
    let kept = match runs < FEWEST_RUNS {
        true => "; too few to be written down",
        false => "",
    };
    if kept.is_empty() {
        bohr_museum::record(exhibit, &native)?;
    }
    let (name, failures) = (&exhibit.manifest.name, native.failures);
    let time = native.median_milliseconds;
    let others = native.others.unwrap_or(f64::NAN);
    Ok(format!(
        "{name:20} {failures:5} of {runs} failed, {time} ms a run, others took {others} % of the processors{kept}"
    ))
}

/// Rewrites the table in the museum's guide.
fn tour() -> Result<(), Error> {
    let path = bohr_museum::museum().join("README.md");
    let told = |cause| Error::File {
        path: path.clone(),
        cause,
    };
    let guide = fs::read_to_string(&path).map_err(told)?;
    let fresh = bohr_museum::with_table(&guide, &bohr_museum::all()?)?;
    fs::write(&path, fresh).map_err(told)
}
