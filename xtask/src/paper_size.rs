//! Recorded runs of exhibits at the size of the rows of SimTrace's Table 1: as
//! many threads, about as many events and switches, under time slices as an
//! operating system gives them. Sizes come from `eval/papers.toml`; what the
//! program has to be asked for to get there is found by running it.

use bohr_museum::{Compilers, Exhibit, Papers, Variant};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs that look for the right arguments.
const ROUNDS: usize = 8;

/// Off by such a share, a size is right.
const CLOSE: f64 = 0.05;

/// Seeds with which the exhibit is tried before its fixed twin is taken, whose
/// runs never end early.
const SEEDS: u64 = 10;

/// What the static step may take. A target of its own says how long in all.
const SEARCH: &str = "500ms";

/// A row of the paper's table, as numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub name: String,
    pub threads: f64,
    pub events: f64,
    pub switches: f64,
    /// Per cent of the switches that were saved.
    pub reduction: f64,
    pub seconds: f64,
}

/// A recorded run and what `bohr simplify` made of its trace.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Recorded {
    pub row: Row,
    /// What the program was asked for.
    pub arguments: Vec<u64>,
    /// Events of a time slice, on average.
    pub slice: u64,
    pub seed: u64,
    /// Whether it is a run of the program without its bug.
    pub twin: bool,
    /// What the arguments that are not fitted were chosen by.
    #[serde(default)]
    pub why: Option<String>,
    /// What `bohr simplify --json` printed.
    pub simplified: Value,
    /// Of the whole command, files read and written included.
    pub processor_seconds: f64,
    pub megabytes: f64,
}

impl Recorded {
    pub fn number(&self, field: &str) -> f64 {
        self.simplified[field].as_f64().unwrap_or(f64::NAN)
    }

    /// Per cent of the switches that reordering saves.
    pub fn reduction(&self) -> f64 {
        100.0 * (1.0 - self.number("switches_static") / self.number("switches_before"))
    }
}

/// The row of SimTrace's Table 1 that an exhibit mirrors.
pub fn row(papers: &Papers, exhibit: &Exhibit) -> Option<Row> {
    let mut mirrors = exhibit.manifest.mirrors.iter();
    let mirror = mirrors.find(|mirror| mirror.paper == "simtrace" && mirror.table == "1")?;
    let table = papers.table(&mirror.paper, &mirror.table)?;
    let number = |column| table.cell(&mirror.row, column)?.number();
    Some(Row {
        name: mirror.row.clone(),
        threads: number("threads")?,
        events: number("events")?,
        switches: number("switches")?,
        // As its counts give it: the percentage that is printed beside one row
        // is another.
        reduction: 100.0 * (1.0 - number("simplified switches")? / number("switches")?),
        seconds: number("time")?,
    })
}

/// Records a run of an exhibit at the size of a row and simplifies its trace.
pub fn simplified(bohr: &Path, exhibit: &Exhibit, row: Row) -> Result<Recorded, String> {
    let mut fitting = Fitting::new(bohr, exhibit, row)?;
    fitting.fit()?;
    let trace = fitting.program().with_extension("trace");
    fitting.run(Some(&trace))?;
    let mut command = Command::new("/usr/bin/time");
    command.args(["--format", "%U %S %M"]).arg(bohr);
    command.args(["simplify", "--json", "--time", SEARCH, "--output"]);
    command
        .arg(trace.with_extension("simple.trace"))
        .arg(&trace);
    let (simplified, words) = object_and_words(&mut command)?;
    let usage = words.lines().last().unwrap_or_default();
    let usage: Vec<f64> = { usage.split(' ') }
        .filter_map(|word| word.parse().ok())
        .collect();
    let [user, system, kilobytes] = usage[..] else {
        return Err(format!("/usr/bin/time printed no figures: {words}"));
    };
    Ok(Recorded {
        simplified,
        processor_seconds: user + system,
        megabytes: kilobytes / 1024.0,
        row: fitting.row,
        arguments: fitting.arguments,
        slice: fitting.slice,
        seed: fitting.seed,
        twin: fitting.twin,
        why: fitting.why,
    })
}

/// On the way to the right arguments.
struct Fitting<'a> {
    bohr: &'a Path,
    /// The exhibit, and its twin.
    programs: [PathBuf; 2],
    row: Row,
    arguments: Vec<u64>,
    /// Which argument the number of events is fitted by.
    scaled: Option<usize>,
    slice: u64,
    seed: u64,
    twin: bool,
    why: Option<String>,
}

impl<'a> Fitting<'a> {
    fn new(bohr: &'a Path, exhibit: &Exhibit, row: Row) -> Result<Fitting<'a>, String> {
        let compile = |variant| {
            bohr_museum::compile(exhibit, variant, &Compilers::of_bohr(bohr))
                .map_err(|error| error.to_string())
        };
        let mut size = exhibit.manifest.arguments.recorded();
        size.arguments[0] = (row.threads as u64).saturating_sub(1).max(1);
        Ok(Fitting {
            bohr,
            programs: [compile(Variant::Buggy)?, compile(Variant::Fixed)?],
            slice: (row.events / row.switches).round().max(1.0) as u64,
            arguments: size.arguments,
            scaled: size.scaled,
            seed: 1,
            twin: false,
            why: size.why,
            row,
        })
    }

    fn program(&self) -> &Path {
        &self.programs[usize::from(self.twin)]
    }

    /// Changes arguments and time slices until the sizes are the row's, or
    /// nothing gets them nearer.
    fn fit(&mut self) -> Result<(), String> {
        for _ in 0..ROUNDS {
            let told = self.whole_run()?;
            let number = |field: &str| told[field].as_f64().unwrap_or(1.0).max(1.0);
            let before = (self.arguments.clone(), self.slice);
            let more_threads = self.row.threads - number("threads");
            self.arguments[0] = (self.arguments[0] as f64 + more_threads).max(1.0) as u64;
            if more_threads == 0.0 {
                if let Some(place) = self.scaled {
                    let times = self.row.events / number("events");
                    self.arguments[place] = scaled(self.arguments[place], times);
                }
                let share = number("switches") / number("events");
                self.slice = scaled(self.slice, share / (self.row.switches / self.row.events));
            }
            if before == (self.arguments.clone(), self.slice) {
                break;
            }
        }
        self.whole_run().map(drop)
    }

    /// A run to the end: of the exhibit if one of a few seeds gives one, else of
    /// its twin.
    fn whole_run(&mut self) -> Result<Value, String> {
        while !self.twin {
            let told = self.run(None)?;
            if told["failed"] == false {
                return Ok(told);
            }
            self.twin = self.seed == SEEDS;
            self.seed = self.seed % SEEDS + 1;
        }
        self.run(None)
    }

    fn run(&self, trace: Option<&Path>) -> Result<Value, String> {
        let mut command = Command::new(self.bohr);
        command.args(["run", "--json", "--races", "ignore", "--strategy"]);
        command.arg(format!("slices:{}", self.slice));
        command.args(["--seed", &self.seed.to_string()]);
        if let Some(path) = trace {
            command.arg("--trace").arg(path);
        }
        command.arg("--").arg(self.program());
        object(command.args(self.arguments.iter().map(u64::to_string)))
    }
}

/// As many times as much, at least 1; as it is if that is close enough.
fn scaled(number: u64, times: f64) -> u64 {
    match (times - 1.0).abs() < CLOSE {
        true => number,
        false => (number as f64 * times).round().max(1.0) as u64,
    }
}

/// The object that a command of bohr prints.
pub fn object(command: &mut Command) -> Result<Value, String> {
    Ok(object_and_words(command)?.0)
}

/// The object, and what was said beside it.
fn object_and_words(command: &mut Command) -> Result<(Value, String), String> {
    let output = command.output().map_err(|error| error.to_string())?;
    let words = String::from_utf8_lossy(&output.stderr).trim().to_string();
    match serde_json::from_slice(&output.stdout) {
        Ok(object) => Ok((object, words)),
        Err(_) => Err(words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_table_has_an_exhibit() {
        let papers = Papers::load().unwrap();
        let exhibits = bohr_museum::all().unwrap();
        let mirrored = exhibits.iter().filter_map(|exhibit| row(&papers, exhibit));
        let mirrored: Vec<String> = mirrored.map(|row| row.name).collect();
        for name in papers.table("simtrace", "1").unwrap().names() {
            assert!(mirrored.iter().any(|row| row == name), "{name}");
        }
    }

    #[test]
    fn what_is_close_stays() {
        assert_eq!(scaled(100, 1.02), 100);
        assert_eq!(scaled(100, 2.5), 250);
        assert_eq!(scaled(3, 0.01), 1);
    }
}
