//! One exhibit through all stages, part by part.

use super::bounds;
use super::kept::Shelf;
use super::part::Part;
use super::settings::{FEWEST_TRIALS, Settings};
use super::statistics::{Summary, summary};
use super::twin::TwinHunt;
use crate::paper_size::{self, Recorded, object};
use bohr_museum::{Compilers, Exhibit, Hunting, Mirror, Papers, Rate};
use bohr_museum::{Replaying, Report, Variant};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Under which name it is told that the native rate of an exhibit is not known.
const NATIVE: &str = "native";

/// The hunts of one strategy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Hunts {
    pub strategy: String,
    /// Schedules up to and with the first that failed.
    pub runs: Vec<Option<f64>>,
    pub seconds: Vec<Option<f64>>,
    /// How long all of them took.
    pub elapsed: f64,
}

impl Hunts {
    pub fn runs_summary(&self) -> Summary {
        summary(&self.runs)
    }

    pub fn seconds_summary(&self) -> Summary {
        summary(&self.seconds)
    }

    pub fn found(&self) -> usize {
        self.runs.iter().flatten().count()
    }

    /// Takes in what came of a trial; whether it is the bug of the exhibit. What fails
    /// in another way is complained of, and has not found anything.
    fn take(&mut self, exhibit: &Exhibit, report: &Report) -> Result<bool, String> {
        let judged = match report.found {
            true => bohr_museum::judge(exhibit, report).map(|()| true),
            false => Ok(false),
        };
        let is_it = judged == Ok(true);
        self.runs.push(is_it.then_some(report.runs as f64));
        self.seconds.push(is_it.then_some(report.seconds));
        judged
    }
}

/// Where a bug comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    pub strategy: String,
    pub trial: u64,
    pub seed: u64,
}

/// What became of an exhibit. A part that has not been measured, or that went
/// wrong, has left nothing.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Measured {
    pub name: String,
    /// Lines of its source.
    pub lines: u64,
    pub mirrors: Vec<Mirror>,
    /// The fewest preemptions that the manifest knows of.
    pub fewest_preemptions: u64,
    /// The fewest threads, likewise.
    pub fewest_threads: u64,
    /// Failures in a thousand native runs, as the manifest has them; nothing if they
    /// were never measured of this program.
    pub native_per_thousand: Option<f64>,
    pub hunts: Vec<Hunts>,
    /// Which of the bugs that were found is the one that is taken further.
    pub bug: Option<Origin>,
    /// Replays that showed the failure, and how many were made.
    pub replays: Option<(u64, u64)>,
    /// What `bohr reduce --json` printed.
    pub reduced: Option<Value>,
    /// What `bohr simplify --json` printed, of the bug as it was found.
    pub simplified: Option<Value>,
    /// A run of the size that the paper's subject had; `Some(None)` if the
    /// exhibit mirrors no row of SimTrace's table.
    pub recorded: Option<Option<Recorded>>,
    /// What `bohr break from --json` printed.
    pub broken: Option<Value>,
    /// What `bohr solve --json` printed of a recorded failure, by the way of solving.
    #[serde(default)]
    pub solved: Option<Value>,
    /// What became of a core, by what was measured.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dumped: BTreeMap<String, Value>,
    /// Hunts of the fixed twin, all of which found nothing.
    pub twin: Option<Vec<TwinHunt>>,
    /// What went wrong, by part.
    pub errors: BTreeMap<String, String>,
}

impl Measured {
    /// Nothing yet.
    pub fn of(exhibit: &Exhibit) -> Measured {
        let mut measured = Measured::default();
        measured.describe(exhibit);
        measured
    }

    /// An exhibit of which nothing can be measured.
    pub fn damaged(name: &str, error: &str) -> Measured {
        Measured {
            name: name.to_string(),
            errors: BTreeMap::from([("manifest".to_string(), error.to_string())]),
            ..Measured::default()
        }
    }

    /// Takes over what the manifest says.
    pub fn describe(&mut self, exhibit: &Exhibit) {
        let manifest = &exhibit.manifest;
        self.name.clone_from(&manifest.name);
        self.lines = exhibit.source.text().lines().count() as u64;
        self.mirrors.clone_from(&manifest.mirrors);
        self.fewest_preemptions = u64::from(manifest.minimum.preemptions);
        self.fewest_threads = u64::from(manifest.minimum.threads);
        self.errors.remove(NATIVE);
        self.native_per_thousand = match exhibit.rate() {
            Rate::Measured(rate) => Some(rate),
            rate => {
                let name = &manifest.name;
                let error = format!("{rate}; run `cargo xtask museum measure {name}`");
                self.errors.insert(NATIVE.to_string(), error);
                None
            }
        };
    }

    /// Threads that reduction leaves, those that run in one piece included.
    pub fn threads_left(&self) -> Option<f64> {
        Some(self.reduced("threads_after")? + self.reduced("threads_serial")?)
    }

    /// Whether any hunt found anything.
    pub fn is_found(&self) -> bool {
        self.hunts.iter().any(|hunts| hunts.found() > 0)
    }

    /// A figure of `bohr simplify`.
    pub fn simplified(&self, field: &str) -> Option<f64> {
        self.simplified.as_ref()?[field].as_f64()
    }

    /// A figure of `bohr reduce`.
    pub fn reduced(&self, field: &str) -> Option<f64> {
        self.reduced.as_ref()?[field].as_f64()
    }

    /// A figure of `bohr break from`.
    pub fn broken(&self, field: &str) -> Option<f64> {
        self.broken.as_ref()?[field].as_f64()
    }

    /// How many breakpoints were needed.
    pub fn breakpoints(&self) -> Option<usize> {
        Some(self.broken.as_ref()?["breakpoints"].as_array()?.len())
    }

    /// Writes down what went wrong with a part, and says in a line what came of it.
    pub fn note(&mut self, part: Part, outcome: Result<(), String>) -> String {
        self.errors.remove(part.name());
        if let Err(error) = outcome {
            let line = format!("WRONG: {}", error.lines().next().unwrap_or_default());
            self.errors.insert(part.name().to_string(), error);
            return line;
        }
        self.line(part).unwrap_or_default()
    }

    fn line(&self, part: Part) -> Option<String> {
        Some(match part {
            Part::Build => "exhibit and twin".to_string(),
            Part::Hunt(strategy) => {
                let hunts = self.hunts.iter().find(|it| it.strategy == strategy)?;
                let (found, trials) = (hunts.found(), hunts.runs.len());
                let median = hunts.runs_summary().quartiles[1];
                let median = median.map_or("-".to_string(), |median| format!("{median:.0}"));
                format!("found in {found} of {trials} trials, median {median} schedules")
            }
            Part::Replay => {
                let (reproduced, runs) = self.replays?;
                format!("{reproduced} of {runs} replays")
            }
            Part::Reduce => format!(
                "{} events to {}, {} threads to {} and {} in one piece",
                self.reduced("events_before")?,
                self.reduced("events_after")?,
                self.reduced("threads_before")?,
                self.reduced("threads_after")?,
                self.reduced("threads_serial")?
            ),
            Part::Simplify => format!(
                "{} switches to {} and {}, {} of them preemptive",
                self.simplified("switches_before")?,
                self.simplified("switches_static")?,
                self.simplified("switches_dynamic")?,
                self.simplified("preemptive_after")?
            ),
            Part::Record => match self.recorded.as_ref()? {
                Some(recorded) => format!(
                    "{} events, {:.1} % of the switches saved",
                    recorded.number("events"),
                    recorded.reduction()
                ),
                None => "no row of the table".to_string(),
            },
            Part::Break => format!(
                "{} breakpoints, probability {:.2}",
                self.breakpoints()?,
                self.broken("probability")?
            ),
            Part::Twin => {
                let hunts = self.twin.as_ref()?;
                let runs: u64 = hunts.iter().map(|hunt| hunt.runs).sum();
                format!("silent in {} hunts, {runs} runs", hunts.len())
            }
        })
    }
}

/// How exhibits are measured.
pub struct Measuring<'a> {
    bohr: &'a Path,
    settings: &'a Settings,
    papers: &'a Papers,
    shelf: &'a Shelf,
}

impl<'a> Measuring<'a> {
    pub fn new(
        bohr: &'a Path,
        settings: &'a Settings,
        papers: &'a Papers,
        shelf: &'a Shelf,
    ) -> Measuring<'a> {
        Measuring {
            bohr,
            settings,
            papers,
            shelf,
        }
    }

    pub fn settings(&self) -> &'a Settings {
        self.settings
    }

    /// Measures one part of an exhibit.
    pub fn part(
        &self,
        part: Part,
        exhibit: &Exhibit,
        measured: &mut Measured,
    ) -> Result<(), String> {
        if part.needs_a_bug() && !measured.is_found() {
            return Err("no strategy finds it".to_string());
        }
        let bug = self.shelf.bug(exhibit);
        let time = format!("{}s", self.settings.seconds);
        match part {
            Part::Build => {
                self.compile(exhibit, Variant::Buggy)?;
                self.compile(exhibit, Variant::Fixed)?;
            }
            Part::Hunt(strategy) => return self.hunts(exhibit, strategy, measured),
            Part::Replay => {
                let replaying = Replaying {
                    times: self.settings.replays,
                    ..Replaying::default()
                };
                let replays = bohr_museum::replay(self.bohr, &bug, replaying);
                let replays = replays.map_err(|error| error.to_string())?;
                measured.replays = Some((replays.reproduced, replays.runs));
                return replays.complaint().map_or(Ok(()), Err);
            }
            // Into files of their own, so that each starts from the whole bug.
            Part::Reduce => {
                let output = bug.with_extension("reduced.bohr");
                let words = ["reduce", "--json", "--time", &time];
                measured.reduced = Some(self.told(&words, &bug, &output)?);
            }
            Part::Simplify => {
                let output = bug.with_extension("simple.bohr");
                measured.simplified = Some(self.told(&["simplify", "--json"], &bug, &output)?);
            }
            Part::Record => {
                let row = paper_size::row(self.papers, exhibit);
                let recorded = row.map(|row| paper_size::simplified(self.bohr, exhibit, row));
                measured.recorded = Some(recorded.transpose()?);
            }
            Part::Break => {
                let folder = bug.with_extension("breakpoints");
                std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
                let words = ["break", "from", "--json", "--time", &time];
                measured.broken = Some(self.told(&words, &bug, &folder)?);
            }
            Part::Twin => {
                measured.twin = None;
                measured.twin = Some(self.twin(exhibit, measured)?);
            }
        }
        bounds::complaint(part, measured, self.settings.full_size).map_or(Ok(()), Err)
    }

    /// What a command prints about a bug.
    fn told(&self, words: &[&str], bug: &Path, output: &Path) -> Result<Value, String> {
        let mut command = Command::new(self.bohr);
        object(command.args(words).arg("--output").arg(output).arg(bug))
    }

    /// Several hunts with different seeds. What fails in another way than the manifest
    /// says has not been found, and is complained of.
    fn hunts(
        &self,
        exhibit: &Exhibit,
        strategy: &'static str,
        measured: &mut Measured,
    ) -> Result<(), String> {
        measured.hunts.retain(|it| it.strategy != strategy);
        let program = self.compile(exhibit, Variant::Buggy)?;
        let spent: f64 = measured.hunts.iter().map(|it| it.elapsed).sum();
        let begun = Instant::now();
        let mut hunts = Hunts {
            strategy: strategy.to_string(),
            runs: Vec::new(),
            seconds: Vec::new(),
            elapsed: 0.0,
        };
        let mut complaint = None;
        for trial in 0..self.settings.trials_of(strategy) {
            let in_time = spent + begun.elapsed().as_secs_f64() < f64::from(self.settings.hunting);
            if trial >= FEWEST_TRIALS && !in_time {
                break;
            }
            let seed = Settings::seed(trial);
            let report = self.hunt(exhibit, &program, (strategy, seed), self.settings.seconds)?;
            let judged = hunts.take(exhibit, &report);
            let is_it = judged == Ok(true);
            if let Err(sentence) = judged {
                complaint.get_or_insert(format!("trial {trial}: {sentence}"));
            }
            if is_it {
                let origin = Origin {
                    strategy: strategy.to_string(),
                    trial,
                    seed,
                };
                self.keep_bug(exhibit, &program, origin, measured)?;
            }
        }
        hunts.elapsed = begun.elapsed().as_secs_f64();
        measured.hunts.push(hunts);
        complaint.map_or(Ok(()), Err)
    }

    /// The first bug of all is what later parts work on.
    fn keep_bug(
        &self,
        exhibit: &Exhibit,
        program: &Path,
        origin: Origin,
        measured: &mut Measured,
    ) -> Result<(), String> {
        let bug = self.shelf.bug(exhibit);
        if measured.bug.is_some() && bug.exists() {
            return Ok(());
        }
        std::fs::copy(program.with_extension("bohr"), &bug)
            .map_err(|error| format!("{}: {error}", bug.display()))?;
        measured.bug = Some(origin);
        Ok(())
    }

    pub(super) fn bohr(&self) -> &Path {
        self.bohr
    }

    pub(super) fn compile(&self, exhibit: &Exhibit, variant: Variant) -> Result<PathBuf, String> {
        let compilers = Compilers::of_bohr(self.bohr);
        bohr_museum::compile(exhibit, variant, &compilers).map_err(|error| error.to_string())
    }

    /// One hunt by a strategy, from a seed on.
    pub(super) fn hunt(
        &self,
        exhibit: &Exhibit,
        program: &Path,
        (strategy, seed): (&str, u64),
        seconds: u32,
    ) -> Result<Report, String> {
        let sizes = &exhibit.manifest.arguments;
        let sizes = match self.settings.full_size {
            true => &sizes.default,
            false => &sizes.small,
        };
        let hunting = Hunting {
            strategy: Some(strategy.to_string()),
            seed,
            ..Hunting::of_exhibit(exhibit, seconds)
        };
        let report = hunting.run(self.bohr, program, sizes);
        report.map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bohr_museum::{Stack, named};

    #[test]
    fn only_the_bug_of_the_manifest_is_found() {
        let account = named("account").unwrap();
        let line = account.source.line_of("not-overdrawn").unwrap();
        let report = |found: bool, kind: &str| Report {
            found,
            runs: 7,
            kind: Some(kind.to_string()),
            reproduced: Some(true),
            stacks: Some(vec![Stack {
                doing: "failed".to_string(),
                stack: vec![format!("teller at main.c:{line}")],
            }]),
            ..Report::default()
        };
        let mut hunts = Hunts {
            strategy: "random".to_string(),
            runs: Vec::new(),
            seconds: Vec::new(),
            elapsed: 0.0,
        };
        assert_eq!(hunts.take(&account, &report(true, "assertion")), Ok(true));
        assert_eq!(hunts.take(&account, &report(false, "")), Ok(false));
        let wrong = hunts.take(&account, &report(true, "deadlock"));
        assert!(wrong.unwrap_err().contains("deadlock instead of assertion"));
        assert_eq!(hunts.runs, [Some(7.0), None, None]);
        assert_eq!((hunts.seconds.len(), hunts.found()), (3, 1));
    }

    #[test]
    fn a_rate_of_another_source_is_an_error_until_it_is_measured() {
        let mut account = named("account").unwrap();
        let mut measured = Measured::of(&account);
        assert!(measured.errors.is_empty() && measured.native_per_thousand.is_some());
        account.manifest.native.as_mut().unwrap().sources = "another".to_string();
        measured.describe(&account);
        assert_eq!(measured.native_per_thousand, None);
        assert!(measured.errors[NATIVE].contains("museum measure account"));
        account.manifest.native = None;
        assert!(Measured::of(&account).errors[NATIVE].contains("not measured"));
    }
}
