//! `cargo xtask eval`: hunts every exhibit of the museum with every strategy,
//! several times with different seeds, takes what was found through the other
//! stages, and prints the results beside the papers' figures. Everything that
//! is shown comes from `bohr --json` or from `eval/papers.toml`.

mod measure;
mod page;
mod papers;
mod statistics;
mod tables;

use crate::museum::build_bohr;
use crate::{Command, shell};
use bohr_museum::{Exhibit, MemoryModel};
use measure::{Measured, Measuring};
use std::path::{Path, PathBuf};

pub const COMMAND: Command = Command {
    name: "eval",
    about: "[--quick | --full] [--only NAME...]: the museum by strategy, beside the papers' tables",
    run,
};

/// How much is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// For the names of the files.
    name: &'static str,
    /// Hunts per exhibit and strategy.
    trials: u64,
    /// Seconds of a hunt that finds nothing.
    seconds: u32,
    /// Replays of what was found.
    replays: u64,
    strategies: &'static [&'static str],
    /// Whether exhibits run at their default size or at their smallest.
    full_size: bool,
    /// Which exhibits; all if empty.
    only: Vec<String>,
}

/// Exhibits of every class and language, and few enough for every change.
const QUICK: [&str; 8] = [
    "account",
    "async-appender",
    "guarded-pointer",
    "log-rotation",
    "park-event",
    "philosophers",
    "server-start",
    "view-descriptor",
];

impl Settings {
    fn quick() -> Settings {
        Settings {
            name: "quick",
            trials: 3,
            seconds: 5,
            replays: 100,
            strategies: &["mixed", "random", "pct:3", "surw"],
            full_size: false,
            only: QUICK.map(String::from).to_vec(),
        }
    }

    fn full() -> Settings {
        Settings {
            name: "full",
            trials: 20,
            seconds: 60,
            replays: 10_000,
            strategies: &[
                "mixed", "random", "pct:3", "pos", "surw", "feedback", "bounded",
            ],
            full_size: true,
            only: Vec::new(),
        }
    }

    fn from(arguments: &[String]) -> Result<Settings, String> {
        let (mut settings, rest) = match arguments.split_first() {
            Some((word, rest)) if word == "--quick" => (Settings::quick(), rest),
            Some((word, rest)) if word == "--full" => (Settings::full(), rest),
            _ => (Settings::quick(), arguments),
        };
        match rest.split_first() {
            None => {}
            Some((word, names)) if word == "--only" && !names.is_empty() => {
                settings.only = names.to_vec();
            }
            Some((word, _)) => {
                return Err(format!(
                    "`{word}` is not understood; try --quick, --full or --only NAME..."
                ));
            }
        }
        Ok(settings)
    }

    fn exhibits(&self) -> Result<Vec<Exhibit>, String> {
        let exhibits = match self.only.is_empty() {
            true => bohr_museum::all(),
            false => self
                .only
                .iter()
                .map(|name| bohr_museum::named(name))
                .collect(),
        };
        exhibits.map_err(|error| error.to_string())
    }
}

fn run(arguments: &[String]) -> Result<(), String> {
    let settings = Settings::from(arguments)?;
    evaluate(&settings, &build_bohr()?)
}

/// The quick evaluation with a bohr that is there: that nothing has collapsed.
pub fn quick(bohr: &Path) -> Result<(), String> {
    evaluate(&Settings::quick(), bohr)
}

fn evaluate(settings: &Settings, bohr: &Path) -> Result<(), String> {
    let exhibits = settings.exhibits()?;
    let measuring = Measuring::new(bohr, settings);
    let mut results = Vec::new();
    for exhibit in &exhibits {
        let name = &exhibit.manifest.name;
        if exhibit.manifest.memory_model != MemoryModel::Sc {
            println!("{name:20} needs a weaker memory model than bohr controls");
            continue;
        }
        let measured = measuring.exhibit(exhibit);
        println!("{name:20} {}", measured.line());
        results.push(measured);
    }
    let files = save(settings, &results)?;
    println!("written to {}", files.join(", "));
    verdict(&results)
}

/// Writes the results as data, for reading and as a page.
fn save(settings: &Settings, results: &[Measured]) -> Result<Vec<String>, String> {
    let folder = shell::root().join("eval/results");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let tables = tables::all(settings, results)?;
    let contents = [
        (
            "json",
            format!("{:#}\n", measure::as_json(settings, results)),
        ),
        ("md", page::markdown(settings, &tables)),
        ("html", page::html(settings, &tables, results)),
    ];
    let mut written = Vec::new();
    for (ending, text) in contents {
        let path: PathBuf = folder.join(format!("{}.{ending}", settings.name));
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        let shown = path.strip_prefix(shell::root()).unwrap_or(&path);
        written.push(shown.display().to_string());
    }
    Ok(written)
}

/// An exhibit that does not build, is not found or fails in another way than
/// its manifest says is an error of the whole.
fn verdict(results: &[Measured]) -> Result<(), String> {
    let wrong: Vec<String> = results
        .iter()
        .flat_map(|measured| {
            let told = |error| format!("{}: {error}", measured.name);
            measured.errors.iter().map(told)
        })
        .collect();
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "{} of {} exhibits are not what they say\n  {}",
            results
                .iter()
                .filter(|measured| !measured.errors.is_empty())
                .count(),
            results.len(),
            wrong.join("\n  ")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(words: &[&str]) -> Result<Settings, String> {
        let words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
        Settings::from(&words)
    }

    #[test]
    fn arguments_choose_size_and_exhibits() {
        assert_eq!(settings(&[]), Ok(Settings::quick()));
        assert_eq!(settings(&["--full"]), Ok(Settings::full()));
        let one = settings(&["--full", "--only", "account"]).unwrap();
        assert_eq!((one.trials, one.only), (20, vec!["account".to_string()]));
        assert!(settings(&["--slow"]).is_err());
        assert!(settings(&["--only"]).is_err());
    }

    #[test]
    fn the_quick_exhibits_are_in_the_museum() {
        assert_eq!(Settings::quick().exhibits().unwrap().len(), QUICK.len());
    }
}
