//! One exhibit through all stages.

use super::Settings;
use super::statistics::{Summary, summary};
use bohr_museum::{Compilers, Exhibit, Hunting, Mirror, Replaying, Report, Variant, Verdict};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The hunts of one strategy.
#[derive(Clone, Debug)]
pub struct Hunts {
    pub strategy: &'static str,
    /// Schedules up to and with the first that failed.
    pub runs: Vec<Option<f64>>,
    pub seconds: Vec<Option<f64>>,
}

impl Hunts {
    pub fn runs_summary(&self) -> Summary {
        summary(&self.runs)
    }

    pub fn seconds_summary(&self) -> Summary {
        summary(&self.seconds)
    }
}

/// What became of an exhibit.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    pub name: String,
    pub mirrors: Vec<Mirror>,
    pub hunts: Vec<Hunts>,
    /// Replays that showed the failure, and how many were made.
    pub replays: Option<(u64, u64)>,
    /// What `bohr reduce --json` printed.
    pub reduced: Option<Value>,
    /// What `bohr simplify --json` printed, of the bug as it was found.
    pub simplified: Option<Value>,
    /// The fewest preemptions that the manifest knows of.
    pub fewest_preemptions: u64,
    /// Runs of the fixed twin, all of them good.
    pub twin_runs: u64,
    pub errors: Vec<String>,
}

impl Measured {
    /// One line about it.
    pub fn line(&self) -> String {
        if let Some(error) = self.errors.first() {
            return format!("WRONG: {error}");
        }
        let medians = self.hunts.iter().map(|hunts| {
            let median = hunts.runs_summary().quartiles[1];
            let median = median.map_or("-".to_string(), |median| format!("{median:.0}"));
            format!("{} {median}", hunts.strategy)
        });
        let medians: Vec<String> = medians.collect();
        let simplified = self.simplified.as_ref();
        let number = |name: &str| simplified.and_then(|report| report[name].as_u64());
        format!(
            "schedules to the bug: {}; switches {} to {}; twin silent in {} runs",
            medians.join(", "),
            number("switches_before").unwrap_or(0),
            number("switches_dynamic").unwrap_or(0),
            self.twin_runs
        )
    }
}

/// How exhibits are measured.
pub struct Measuring<'a> {
    bohr: &'a Path,
    settings: &'a Settings,
}

impl<'a> Measuring<'a> {
    pub fn new(bohr: &'a Path, settings: &'a Settings) -> Measuring<'a> {
        Measuring { bohr, settings }
    }

    /// Takes an exhibit through all stages; what goes wrong is noted.
    pub fn exhibit(&self, exhibit: &Exhibit) -> Measured {
        let mut measured = Measured {
            name: exhibit.manifest.name.clone(),
            mirrors: exhibit.manifest.mirrors.clone(),
            fewest_preemptions: u64::from(exhibit.manifest.minimum.preemptions),
            ..Measured::default()
        };
        if let Err(error) = self.stages(exhibit, &mut measured) {
            measured.errors.push(error);
        }
        measured
    }

    fn stages(&self, exhibit: &Exhibit, measured: &mut Measured) -> Result<(), String> {
        let program = self.compile(exhibit, Variant::Buggy)?;
        let bug = program.with_extension("bohr");
        for &strategy in self.settings.strategies {
            let hunts = self.hunts(exhibit, &program, strategy, measured)?;
            measured.hunts.push(hunts);
        }
        if !measured
            .hunts
            .iter()
            .any(|hunts| hunts.runs.iter().any(Option::is_some))
        {
            return Err("no strategy finds it".to_string());
        }
        let replaying = Replaying {
            times: self.settings.replays,
            ..Replaying::default()
        };
        let replays = bohr_museum::replay(self.bohr, &bug, replaying);
        let replays = replays.map_err(|error| error.to_string())?;
        measured.replays = Some((replays.reproduced, replays.runs));
        measured.errors.extend(replays.complaint());
        measured.reduced = Some(self.reduce(&bug)?);
        measured.simplified = Some(self.json(&["simplify", "--json"], &bug)?);
        self.twin(exhibit, measured)
    }

    /// Into a file of its own, so that what comes after starts from the whole bug.
    fn reduce(&self, bug: &Path) -> Result<Value, String> {
        let time = format!("{}s", self.settings.seconds);
        let small = bug.with_extension("reduced.bohr");
        let mut command = Command::new(self.bohr);
        command.args(["reduce", "--json", "--time", &time]);
        parsed(command.arg("--output").arg(small).arg(bug))
    }

    /// Several hunts with different seeds. The first that finds something is
    /// held against the manifest.
    fn hunts(
        &self,
        exhibit: &Exhibit,
        program: &Path,
        strategy: &'static str,
        measured: &mut Measured,
    ) -> Result<Hunts, String> {
        let mut hunts = Hunts {
            strategy,
            runs: Vec::new(),
            seconds: Vec::new(),
        };
        let mut judged = false;
        for trial in 0..self.settings.trials {
            let report = self.hunt(exhibit, program, strategy, trial)?;
            if report.found && !judged {
                judged = true;
                if let Verdict::Wrong(sentence) = bohr_museum::judge(exhibit, &report) {
                    measured.errors.push(format!("{strategy}: {sentence}"));
                }
            }
            hunts.runs.push(report.found.then_some(report.runs as f64));
            hunts.seconds.push(report.found.then_some(report.seconds));
        }
        Ok(hunts)
    }

    /// The fixed twin has to survive what its exhibit did not.
    fn twin(&self, exhibit: &Exhibit, measured: &mut Measured) -> Result<(), String> {
        let program = self.compile(exhibit, Variant::Fixed)?;
        let report = self.hunt(exhibit, &program, self.settings.strategies[0], 0)?;
        measured.twin_runs = report.runs;
        if let Verdict::Wrong(sentence) = bohr_museum::judge_twin(&report) {
            measured.errors.push(sentence);
        }
        Ok(())
    }

    fn compile(&self, exhibit: &Exhibit, variant: Variant) -> Result<PathBuf, String> {
        let compilers = Compilers::of_bohr(self.bohr);
        bohr_museum::compile(exhibit, variant, &compilers).map_err(|error| error.to_string())
    }

    fn hunt(
        &self,
        exhibit: &Exhibit,
        program: &Path,
        strategy: &str,
        trial: u64,
    ) -> Result<Report, String> {
        let sizes = &exhibit.manifest.arguments;
        let sizes = match self.settings.full_size {
            true => &sizes.default,
            false => &sizes.small,
        };
        let hunting = Hunting {
            strategy: Some(strategy.to_string()),
            // Seeds of different trials must not meet: a hunt uses one per run.
            seed: trial << 32,
            ..Hunting::of_exhibit(exhibit, self.settings.seconds)
        };
        let report = hunting.run(self.bohr, program, sizes);
        report.map_err(|error| error.to_string())
    }

    fn json(&self, words: &[&str], bug: &Path) -> Result<Value, String> {
        let mut command = Command::new(self.bohr);
        parsed(command.args(words).arg(bug))
    }
}

/// Runs bohr and reads the object that it prints.
fn parsed<T: serde::de::DeserializeOwned>(command: &mut Command) -> Result<T, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    serde_json::from_slice(&output.stdout).map_err(|_| {
        let words = String::from_utf8_lossy(&output.stderr);
        format!("bohr printed no report: {}", words.trim())
    })
}

/// All results as data.
pub fn as_json(settings: &Settings, results: &[Measured]) -> Value {
    let hunts = |hunts: &Hunts| {
        json!({
            "strategy": hunts.strategy,
            "runs": hunts.runs,
            "seconds": hunts.seconds,
        })
    };
    let exhibit = |measured: &Measured| {
        json!({
            "name": measured.name,
            "hunts": measured.hunts.iter().map(hunts).collect::<Vec<_>>(),
            "reproduced": measured.replays.map(|replays| replays.0),
            "replays": measured.replays.map(|replays| replays.1),
            "reduced": measured.reduced,
            "simplified": measured.simplified,
            "fewest_preemptions_known": measured.fewest_preemptions,
            "twin_runs": measured.twin_runs,
            "errors": measured.errors,
        })
    };
    json!({
        "machine": bohr_museum::machine_facts(),
        "command": super::page::command(settings),
        "trials": settings.trials,
        "seconds": settings.seconds,
        "exhibits": results.iter().map(exhibit).collect::<Vec<_>>(),
    })
}
