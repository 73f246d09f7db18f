//! `cargo xtask eval`: hunts every exhibit of the museum with every strategy,
//! several times with different seeds, takes what was found through the other
//! stages, and prints the results beside the papers' figures. Everything that
//! is shown comes from `bohr --json` or from `eval/papers.toml`.
//!
//! What is measured is kept part by part in `eval/results`: an evaluation that
//! was interrupted goes on where it was, and evaluations of a few exhibits add up
//! to a whole one.

mod bounds;
mod btrigger;
pub mod callgrind;
mod clap;
mod dump;
mod kept;
mod lean;
mod measure;
mod page;
mod papers;
mod part;
mod plots;
mod settings;
mod simtrace;
mod statistics;
mod tables;

use crate::museum::build_bohr;
use crate::{Command, shell};
use bohr_museum::{Exhibit, Papers};
use kept::Shelf;
pub use kept::fingerprint_of_bohr;
use measure::{Measured, Measuring};
use part::Part;
use settings::Settings;
use std::path::Path;
use std::time::Instant;

pub const COMMAND: Command = Command {
    name: "eval",
    about: "[--quick | --full] [--again] [--only NAME...]: the museum by strategy, beside the papers' tables; --only clap: recorded and solved; --only dump [NAME...]: from cores",
    run,
};

fn run(arguments: &[String]) -> Result<(), String> {
    if matches!(arguments, [only, clap] if only == "--only" && clap == "clap") {
        return clap::evaluate(&build_bohr()?);
    }
    if let [only, dump, names @ ..] = arguments
        && only == "--only"
        && dump == "dump"
    {
        return dump::evaluate(names);
    }
    let settings = Settings::from(arguments)?;
    evaluate(&settings, &build_bohr()?)
}

/// The quick evaluation with a bohr that is there: that nothing has collapsed.
pub fn quick(bohr: &Path) -> Result<(), String> {
    evaluate(&Settings::quick(), bohr)
}

fn evaluate(settings: &Settings, bohr: &Path) -> Result<(), String> {
    let papers = Papers::load().map_err(|error| error.to_string())?;
    let shelf = Shelf::new(bohr, settings)?;
    let measuring = Measuring::new(bohr, settings, &papers, &shelf);
    let exhibits = settings.exhibits()?;
    let mut results = Vec::new();
    for (number, exhibit) in exhibits.iter().enumerate() {
        let place = format!("[{}/{}]", number + 1, exhibits.len());
        results.push(one(&place, exhibit, &measuring, &shelf)?);
        // Whoever interrupts the rest has a page of what was measured.
        save(settings, &papers, &shelf.all(settings)?)?;
    }
    let files = save(settings, &papers, &shelf.all(settings)?)?;
    println!("written to {}", files.join(", "));
    verdict(&results)
}

/// The parts of one exhibit that have not been measured yet, each kept as soon
/// as it is there.
fn one(
    place: &str,
    exhibit: &Exhibit,
    measuring: &Measuring<'_>,
    shelf: &Shelf,
) -> Result<Measured, String> {
    let name = &exhibit.manifest.name;
    let mut measured = shelf.take(exhibit);
    for part in Part::all(measuring.settings(), exhibit) {
        if part.is_done(&measured) {
            continue;
        }
        let started = Instant::now();
        let outcome = measuring.part(part, exhibit, &mut measured);
        let line = measured.note(part, outcome);
        let seconds = started.elapsed().as_secs_f64();
        println!(
            "{place} {name:18} {:10} {seconds:7.1} s  {line}",
            part.name()
        );
        shelf.keep(exhibit, &measured)?;
        // The first parts are the hunts: what they do not find nobody can take further.
        if part.needs_a_bug() && !measured.is_found() {
            break;
        }
    }
    Ok(measured)
}

/// Writes the results as data, for reading and as a page.
fn save(settings: &Settings, papers: &Papers, results: &[Measured]) -> Result<Vec<String>, String> {
    let folder = shell::root().join("eval/results");
    let tables = tables::all(settings, papers, results)?;
    let contents = [
        ("json", format!("{:#}\n", page::json(settings, results))),
        ("md", page::markdown(settings, &tables)),
        ("html", page::html(settings, &tables, results)),
    ];
    let mut written = Vec::new();
    for (ending, text) in contents {
        let path = folder.join(format!("{}.{ending}", settings.name));
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        let shown = path.strip_prefix(shell::root()).unwrap_or(&path);
        written.push(shown.display().to_string());
    }
    Ok(written)
}

/// An exhibit that does not build, is not found or fails in another way than
/// its manifest says is an error of the whole.
fn verdict(results: &[Measured]) -> Result<(), String> {
    let errors = tables::errors(results).rows;
    let mut wrong: Vec<String> = errors.into_iter().map(|cells| cells.join(", ")).collect();
    wrong.extend(bounds::complaints(results));
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "{} of {} exhibits are not what they say\n  {}",
            { results.iter() }
                .filter(|it| !it.errors.is_empty())
                .count(),
            results.len(),
            wrong.join("\n  ")
        )),
    }
}
