//! Recorded failures of an exhibit, as large as the paper's run was if that can be had,
//! and what solving makes of them.

use crate::paper_size::object;
use bohr_museum::{Compilers, Exhibit, MemoryModel, Papers, Variant};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Native runs in which an exhibit may fail before it is recorded under control.
const NATIVE_RUNS: &str = "100";

/// Runs under control in which it has to.
const RUNS: &str = "4000";

/// Events of a time slice under control.
pub const SLICE: u64 = 20;

/// Longest time of one way of solving.
pub const TIME: &str = "60s";

/// So often a run is made larger to get to the paper's size.
const STEPS: usize = 5;

pub const REPLAYS: &str = "20";

/// An exhibit that is recorded and solved.
pub struct Case<'a> {
    pub bohr: &'a Path,
    pub model: &'static str,
    pub program: PathBuf,
    pub arguments: Vec<u64>,
}

impl<'a> Case<'a> {
    /// The exhibit, built, with the arguments with which it is known to fail.
    pub fn new(bohr: &'a Path, exhibit: &Exhibit) -> Result<Case<'a>, String> {
        let manifest = &exhibit.manifest;
        let model = match manifest.memory_model {
            MemoryModel::Sc => "sc",
            MemoryModel::Tso => "tso",
            MemoryModel::Pso => "pso",
            _ => return Err("it fails by the rules of its language only".to_string()),
        };
        let compilers = Compilers::of_bohr(bohr);
        let program = bohr_museum::compile(exhibit, Variant::Buggy, &compilers);
        let native = manifest.native.as_ref();
        let arguments = native.map_or(&manifest.arguments.default, |native| &native.arguments);
        Ok(Case {
            bohr,
            model,
            program: program.map_err(|error| error.to_string())?,
            arguments: arguments.clone(),
        })
    }

    pub fn log(&self) -> PathBuf {
        self.program.with_extension("log")
    }

    /// A recorded failure: of a native run, if one of a few fails, else of one under
    /// control.
    pub fn record(&self) -> Result<Value, String> {
        if self.model == "sc" {
            let told = object(&mut self.recording(&["--runs", NATIVE_RUNS]))?;
            if told["failed"].as_bool() == Some(true) {
                return Ok(told);
            }
        }
        self.record_under_control(0, SLICE)
    }

    /// The same, under control, from a seed on, with slices of so many events.
    pub fn record_under_control(&self, seed: u64, slice: u64) -> Result<Value, String> {
        let [seed, slice] = [seed, slice].map(|number| number.to_string());
        let options = ["--runs", RUNS, "--slices", &slice, "--seed", &seed];
        let mut told = object(&mut self.recording(&options))?;
        told["controlled"] = json!(true);
        match told["failed"].as_bool() {
            Some(true) => Ok(told),
            _ => Err(format!("none of {RUNS} runs failed")),
        }
    }

    fn recording(&self, options: &[&str]) -> Command {
        let mut command = Command::new(self.bohr);
        command
            .args(["record", "--json", "--until-failure", "--run-time", "10s"])
            .args(["--model", self.model])
            .args(options)
            .arg("--output")
            .arg(self.log())
            .arg("--")
            .arg(&self.program)
            .args(self.arguments.iter().map(u64::to_string));
        command
    }

    /// Solves the log in one way, within a time, and replays what comes out.
    pub fn solve(&self, words: &[&str], time: &str, replays: &str) -> Result<Value, String> {
        let bug = self.program.with_extension("solved.bohr");
        let mut solve = Command::new(self.bohr);
        solve
            .args(["solve", "--json", "--time", time, "--model", self.model])
            .args(words)
            .arg("--output")
            .arg(&bug)
            .arg(self.log());
        let mut told = object(&mut solve)?;
        let mut replay = Command::new(self.bohr);
        replay
            .args(["replay", "--json", "--times", replays])
            .arg(&bug);
        told["replayed"] = object(&mut replay)?["reproduced"].clone();
        Ok(told)
    }

    /// A recorded failure with as many shared accesses as a row of the paper's, or with
    /// as many as could be solved. The log of it is there afterwards.
    pub fn at_paper_size(&mut self, papers: &Papers, row: &str) -> Result<Value, String> {
        let table = papers.table("clap", "1");
        let theirs = |column: &str| table.and_then(|table| table.cell(row, column)?.number());
        let (accesses, threads) = (theirs("shared accesses"), theirs("threads"));
        let mut recorded = self.record()?;
        let mut reached = self.accesses()?;
        for _ in 0..STEPS {
            let wanted = accesses.unwrap_or(0.0);
            if reached >= wanted || self.arguments.is_empty() {
                break;
            }
            let before = self.arguments.clone();
            self.enlarge(wanted / reached.max(1.0), threads, &recorded);
            let larger = self.record().and_then(|told| Ok((told, self.accesses()?)));
            match larger {
                Ok((told, found)) => (recorded, reached) = (told, found),
                Err(why) => {
                    self.arguments = before;
                    recorded = self.record()?;
                    recorded["no_larger"] = json!(why);
                    break;
                }
            }
        }
        recorded["arguments"] = json!(self.arguments);
        Ok(recorded)
    }

    /// Shared accesses of the log, as whoever solves it first counts them.
    fn accesses(&self) -> Result<f64, String> {
        // Trying takes longest where it also has to be tried when stores become visible.
        let ways = match self.model {
            "sc" => ["validate", "order"],
            _ => ["order", "validate"],
        };
        let [first, second] = ways.map(|way| ["--by", way]);
        let told = self.solve(&first, TIME, "1");
        let told = told.or_else(|_| self.solve(&second, TIME, "1"))?;
        let count = told["shared_accesses"].as_f64();
        count.ok_or_else(|| "it is not told how many accesses are shared".to_string())
    }

    /// More work, and more threads if there were too few.
    fn enlarge(&mut self, times: f64, threads: Option<f64>, recorded: &Value) {
        let ours = recorded["threads"].as_f64().unwrap_or(1.0);
        let more = threads.map_or(1.0, |theirs| (theirs - 1.0) / (ours - 1.0).max(1.0));
        if more > 1.0 && self.arguments.len() > 1 {
            self.arguments[0] = (self.arguments[0] as f64 * more).ceil() as u64;
        }
        if let Some(work) = self.arguments.last_mut() {
            *work = (*work as f64 * times.clamp(1.2, 4.0) / more.max(1.0)).ceil() as u64;
        }
    }
}
