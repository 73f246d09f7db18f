//! Whether `bohr hunt` finds in an exhibit what the manifest says, and nothing
//! in its fixed twin.

use crate::{Error, Exhibit, MemoryModel, Site};
use bohr_event::{FailureKind, Signature};
use serde::Deserialize;
use std::path::Path;
use std::process::Command;

/// What `bohr hunt --json` prints, as far as it is compared.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Report {
    /// Whether any run failed.
    pub found: bool,
    /// How many runs there were.
    pub runs: u64,
    /// How long they took.
    pub seconds: f64,
    /// How the failing run failed.
    #[serde(default)]
    pub kind: Option<String>,
    /// What the program said.
    #[serde(default)]
    pub message: Option<String>,
    /// Threads of the failing run.
    #[serde(default)]
    pub threads: Option<u64>,
    /// Events of the failing run.
    #[serde(default)]
    pub events: Option<u64>,
    /// Switches of the failing run.
    #[serde(default)]
    pub switches: Option<u64>,
    /// Whether a replay showed the failure again.
    #[serde(default)]
    pub reproduced: Option<bool>,
    /// Every thread at the moment of failure.
    #[serde(default)]
    pub stacks: Option<Vec<Stack>>,
    /// Lock orders that can deadlock.
    #[serde(default)]
    pub lock_cycles: Vec<LockOrder>,
}

/// A lock order that can deadlock, as far as it is told here.
#[derive(Clone, Debug, Deserialize)]
pub struct LockOrder {
    /// How many there are at the same lines.
    pub count: u64,
}

/// One thread at the moment of failure.
#[derive(Clone, Debug, Deserialize)]
pub struct Stack {
    /// What it was doing: `failed`, or what it waits for, or was about to do.
    pub doing: String,
    /// Function and file:line of each frame, innermost first.
    pub stack: Vec<String>,
}

/// How a program is hunted.
#[derive(Clone, Debug)]
pub struct Hunting {
    /// For how many seconds at most.
    pub seconds: u32,
    /// By which strategy; bohr's own choice if none.
    pub strategy: Option<String>,
    /// From which seed on.
    pub seed: u64,
    /// Whether data races are failures.
    pub races: bool,
    /// By which memory model, as bohr calls it.
    pub model: &'static str,
}

/// Hunts a program for so many seconds and reads the report.
///
/// # Errors
/// If bohr cannot be started or prints no report.
pub fn hunt(bohr: &Path, program: &Path, arguments: &[u64], seconds: u32) -> Result<Report, Error> {
    Hunting::of(seconds).run(bohr, program, arguments)
}

impl Hunting {
    /// As bohr does by itself, for so many seconds.
    #[must_use]
    pub fn of(seconds: u32) -> Hunting {
        Hunting {
            seconds,
            strategy: None,
            seed: 0,
            races: false,
            model: "sc",
        }
    }

    /// As it takes to see the bug of an exhibit: one that only the language
    /// forbids is a data race and nothing else, and one of memory order needs
    /// store buffers.
    #[must_use]
    pub fn of_exhibit(exhibit: &Exhibit, seconds: u32) -> Hunting {
        Hunting {
            races: exhibit.manifest.memory_model == MemoryModel::Language,
            model: exhibit.manifest.memory_model.simulated(),
            ..Hunting::of(seconds)
        }
    }

    /// Hunts a program and reads the report. The bug file lies beside the program.
    ///
    /// # Errors
    /// If bohr cannot be started or prints no report.
    pub fn run(&self, bohr: &Path, program: &Path, arguments: &[u64]) -> Result<Report, Error> {
        let mut command = Command::new(bohr);
        command
            .args(["hunt", "--json", "--time", &format!("{}s", self.seconds)])
            .args(["--seed", &self.seed.to_string()])
            .args(["--model", self.model]);
        if let Some(strategy) = &self.strategy {
            command.args(["--strategy", strategy]);
        }
        if self.races {
            command.args(["--races", "fail"]);
        }
        command
            .arg("-o")
            .arg(program.with_extension("bohr"))
            .arg("--")
            .arg(program)
            .args(arguments.iter().map(u64::to_string));
        read(&mut command, program)
    }
}

fn read(command: &mut Command, program: &Path) -> Result<Report, Error> {
    let output = command.output().map_err(|cause| Error::Start {
        program: command.get_program().to_string_lossy().into_owned(),
        cause,
    })?;
    serde_json::from_slice(&output.stdout).map_err(|_| Error::Hunt {
        program: program.display().to_string(),
        words: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// Holds a report about the exhibit against its manifest.
///
/// # Errors
/// What is wrong, in a sentence.
pub fn judge(exhibit: &Exhibit, report: &Report) -> Result<(), String> {
    if !report.found {
        return Err(format!("not found in {} runs", report.runs));
    }
    let expected = expected_kind(exhibit);
    let kind = report.kind.as_deref().unwrap_or("nothing");
    let message = report.message.as_deref().unwrap_or_default();
    if kind != expected {
        return Err(format!("{kind} instead of {expected}: {message}"));
    }
    if report.reproduced != Some(true) {
        return Err("found, but a replay did not show it again".to_string());
    }
    match unseen_site(exhibit, report) {
        Some(marker) => Err(format!("{kind}, but not at {marker}: {message}")),
        None => Ok(()),
    }
}

/// Holds a report about the fixed twin against what a twin is.
///
/// # Errors
/// What is wrong, in a sentence.
pub fn judge_twin(report: &Report) -> Result<(), String> {
    if !report.found {
        return Ok(());
    }
    let kind = report.kind.as_deref().unwrap_or("a failure");
    let message = report.message.as_deref().unwrap_or_default();
    Err(format!("the fixed twin fails: {kind}: {message}"))
}

/// The word for the expected failure, as bohr prints it.
pub(crate) fn expected_kind(exhibit: &Exhibit) -> String {
    let signature = Signature {
        kind: exhibit.manifest.failure.kind.clone(),
        place: None,
        frames: Vec::new(),
        cycle: Vec::new(),
    };
    signature.kind_name()
}

/// A marker where the failure had to show and did not: one of the threads of a
/// deadlock, or all of the alternatives of any other failure.
fn unseen_site(exhibit: &Exhibit, report: &Report) -> Option<String> {
    let failure = &exhibit.manifest.failure;
    // A wrong exit code has no place: the program has ended in good order, and no
    // thread is left whose stack could be asked.
    if matches!(failure.kind, FailureKind::Exit { .. }) {
        return None;
    }
    let unseen = |site: &&Site| !sees(exhibit, report, site);
    let first_unseen = failure.sites.iter().find(unseen);
    let wanted = match failure.kind {
        FailureKind::Deadlock => first_unseen.is_none(),
        _ => !failure.sites.iter().all(|site| unseen(&site)),
    };
    match wanted {
        true => None,
        false => Some(first_unseen.map_or(String::new(), |site| site.marker.clone())),
    }
}

/// Whether a thread is part of the failure: it failed, it is one of those that wait,
/// or it made one of the two accesses of a data race. Any other may stand at the
/// same place by chance.
fn takes_part(kind: &FailureKind, stack: &Stack) -> bool {
    match kind {
        FailureKind::Deadlock => stack.doing.starts_with("waits"),
        // The report has no others.
        FailureKind::DataRace => true,
        _ => stack.doing == "failed",
    }
}

/// Whether the message or a frame of a thread that takes part names the site's line.
/// Where the compiler has joined the ends of several branches there is none, and the
/// function has to do.
fn sees(exhibit: &Exhibit, report: &Report, site: &Site) -> bool {
    let Ok(line) = exhibit.source.line_of(&site.marker) else {
        return false;
    };
    let source = exhibit.manifest.language.source();
    let place = format!("{source}:{line}");
    let stacks = report.stacks.iter().flatten();
    stacks
        .filter(|stack| takes_part(&exhibit.manifest.failure.kind, stack))
        .flat_map(|stack| &stack.stack)
        .chain(&report.message)
        .any(|words| names(words, &place) || words.ends_with(&site.function))
}

/// Whether the words hold the place, and not one whose line merely begins so.
fn names(words: &str, place: &str) -> bool {
    words.match_indices(place).any(|(at, _)| {
        let rest = &words[at + place.len()..];
        !rest.starts_with(|letter: char| letter.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::named;

    fn report(kind: &str, frames: &[&str]) -> Report {
        let doing = match kind {
            "deadlock" => "waits to take a lock, held by 0:2",
            _ => "failed",
        };
        standing(kind, doing, frames)
    }

    fn standing(kind: &str, doing: &str, frames: &[&str]) -> Report {
        Report {
            found: true,
            kind: Some(kind.to_string()),
            reproduced: Some(true),
            stacks: Some(vec![Stack {
                doing: doing.to_string(),
                stack: frames.iter().map(ToString::to_string).collect(),
            }]),
            ..Report::default()
        }
    }

    fn frame(exhibit: &Exhibit, marker: &str) -> String {
        let line = exhibit.source.line_of(marker).unwrap();
        let source = exhibit.manifest.language.source();
        format!("some_function at museum/{source}:{line}")
    }

    #[test]
    fn any_of_the_alternatives_will_do() {
        let account = named("account").unwrap();
        let here = frame(&account, "not-overdrawn");
        assert_eq!(judge(&account, &report("assertion", &[&here])), Ok(()));
        for wrong in [
            Report::default(),
            report("deadlock", &[&here]),
            report("assertion", &[&format!("{here}0")]),
            Report {
                reproduced: Some(false),
                ..report("assertion", &[&here])
            },
        ] {
            assert!(judge(&account, &wrong).is_err(), "{wrong:?}");
        }
    }

    /// Whoever stands at the place and has not failed there proves nothing.
    #[test]
    fn only_threads_that_take_part_count() {
        let account = named("account").unwrap();
        let here = frame(&account, "not-overdrawn");
        let bystander = standing("assertion", "was about to take a lock", &[&here]);
        assert!(judge(&account, &bystander).is_err());
        let factory = named("client-factory").unwrap();
        let places = ["list-second", "factory-second"].map(|marker| frame(&factory, marker));
        let frames = places.each_ref().map(String::as_str);
        let running = standing("deadlock", "was about to take a lock", &frames);
        assert!(judge(&factory, &running).is_err());
    }

    #[test]
    fn a_deadlock_shows_in_all_its_places() {
        let factory = named("client-factory").unwrap();
        let [one, other] = ["list-second", "factory-second"].map(|marker| frame(&factory, marker));
        let whole = judge(&factory, &report("deadlock", &[&one, &other]));
        assert_eq!(whole, Ok(()));
        let half = judge(&factory, &report("deadlock", &[&one]));
        assert!(half.is_err());
    }

    #[test]
    fn an_exhibit_has_to_be_found_and_a_twin_must_not() {
        let dekker = named("dekker").unwrap();
        assert_eq!(Hunting::of_exhibit(&dekker, 1).model, "tso");
        let verdict = judge(&dekker, &Report::default());
        assert!(verdict.is_err());
        let race = judge(&named("relaxed-arc").unwrap(), &Report::default());
        assert!(race.is_err());
        assert_eq!(judge_twin(&Report::default()), Ok(()));
        assert!(judge_twin(&report("panic", &[])).is_err());
    }
}
