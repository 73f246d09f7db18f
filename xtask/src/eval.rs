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
mod source;
mod statistics;
mod tables;
mod twin;

use crate::museum::build_bohr;
use crate::{Command, shell};
use bohr_museum::{Exhibit, Papers};
use kept::Shelf;
pub use kept::fingerprint_of_bohr;
use measure::{Measured, Measuring};
use part::Part;
use settings::Settings;
use source::Source;
use std::path::Path;
use std::time::Instant;

pub const COMMAND: Command = Command {
    name: "eval",
    about: "[--quick | --full] [--again] [--only NAME...]: the museum by strategy, beside the papers' tables; --only clap [tables | soundness | growth]: recorded and solved; --only dump [NAME...]: from cores",
    run,
};

fn run(arguments: &[String]) -> Result<(), String> {
    // The other papers' tables have one size, and are always made anew.
    let is_size = |word: &&String| ["--quick", "--full", "--again"].contains(&word.as_str());
    let sizes = arguments.iter().take_while(is_size).count();
    match &arguments[sizes..] {
        [only, clap, parts @ ..] if only == "--only" && clap == "clap" => {
            let parts = clap::parts(parts)?;
            return clap::evaluate(&build_bohr()?, &parts);
        }
        [only, dump, names @ ..] if only == "--only" && dump == "dump" => {
            return dump::evaluate(names);
        }
        _ => {}
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
    let source = Source::of(bohr);
    for (number, (name, exhibit)) in exhibits.iter().enumerate() {
        let place = format!("[{}/{}]", number + 1, exhibits.len());
        results.push(match exhibit {
            Ok(exhibit) => one(&place, exhibit, &measuring, &shelf)?,
            Err(error) => {
                println!("{place} {name:18} WRONG: {error}");
                Measured::damaged(name, error)
            }
        });
        // Whoever interrupts the rest has a page of what was measured.
        save(settings, &source, &papers, &shelf.all(settings)?)?;
    }
    let (text, files) = save(settings, &source, &papers, &shelf.all(settings)?)?;
    println!("\n{text}\nwritten to {}", files.join(", "));
    verdict(&results)
}

/// The exhibits that can be measured, and what is wrong with the others.
fn whole_and_damaged() -> Result<(Vec<Exhibit>, Vec<String>), String> {
    let mut damaged = Vec::new();
    let mut whole = Vec::new();
    for (name, exhibit) in settings::every_folder()? {
        match exhibit {
            Ok(exhibit) => whole.push(exhibit),
            Err(error) => damaged.push(format!("{name}: {error}")),
        }
    }
    Ok((whole, damaged))
}

fn none_damaged(damaged: &[String]) -> Result<(), String> {
    match damaged.is_empty() {
        true => Ok(()),
        false => Err(format!("damaged exhibits\n  {}", damaged.join("\n  "))),
    }
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
        // Nothing more can be said of a program that is not there.
        if part == Part::Build && measured.errors.contains_key(part.name()) {
            break;
        }
        // The first parts are the hunts: what they do not find nobody can take further.
        if part.needs_a_bug() && !measured.is_found() {
            break;
        }
    }
    Ok(measured)
}

/// Writes the results as data, for reading and as a page; what is for reading, and
/// where all of it is.
fn save(
    settings: &Settings,
    source: &Source,
    papers: &Papers,
    results: &[Measured],
) -> Result<(String, Vec<String>), String> {
    let folder = shell::root().join("eval/results");
    let tables = tables::all(settings, papers, results)?;
    let markdown = page::markdown(settings, source, &tables);
    let data = page::json(settings, source, results);
    let contents = [
        ("json", format!("{data:#}\n")),
        ("md", markdown.clone()),
        ("html", page::html(settings, source, &tables, results)),
    ];
    let mut written = Vec::new();
    for (ending, text) in contents {
        let path = folder.join(format!("{}.{ending}", settings.stem()));
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        let shown = path.strip_prefix(shell::root()).unwrap_or(&path);
        written.push(shown.display().to_string());
    }
    Ok((markdown, written))
}

/// An exhibit that does not build, is not found or fails in another way than
/// its manifest says is an error of the whole.
fn verdict(results: &[Measured]) -> Result<(), String> {
    let errors = results.iter().flat_map(|measured| {
        let told = measured.errors.iter();
        told.map(|(part, error)| {
            let error = error.trim_end().replace('\n', "\n      ");
            format!("{}, {part}: {error}", measured.name)
        })
    });
    let mut wrong: Vec<String> = errors.collect();
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
