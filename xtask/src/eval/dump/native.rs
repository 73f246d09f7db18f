//! A lengthened exhibit, built for production: how long it is, and the core that a
//! native run of it leaves.

use crate::shell;
use bohr_museum::{Exhibit, Language};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// The core that is analysed, in the exhibit's folder.
pub const CORE: &str = "left.core";
/// Native runs after which nobody waits for a failure any more.
const MOST_RUNS: u64 = 1_000;
/// Seconds after which a native run is taken to hang.
const LONGEST: &str = "60";

/// How an exhibit is lengthened, as `eval/lengthened/lengthened.toml` says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Length {
    /// Its own arguments.
    arguments: Vec<u64>,
    /// Rounds of work that precede it, per thread.
    rounds: u64,
}

/// See the module.
#[derive(Clone)]
pub struct Lengthened {
    name: String,
    source: PathBuf,
    language: Language,
    length: Length,
    folder: PathBuf,
    /// How `bohr cc` is asked for a production build.
    option: &'static str,
}

impl Lengthened {
    /// Of an exhibit.
    pub fn of(exhibit: &Exhibit) -> Result<Lengthened, String> {
        let name = exhibit.manifest.name.clone();
        let folder = shell::root().join("eval/lengthened");
        let path = folder.join("lengthened.toml");
        let text = fs::read_to_string(&path).map_err(|error| error.to_string())?;
        let all: BTreeMap<String, Length> =
            toml::from_str(&text).map_err(|error| error.to_string())?;
        let language = exhibit.manifest.language;
        let ending = match language {
            Language::Cpp => "cpp",
            _ => "c",
        };
        Ok(Lengthened {
            source: folder.join(format!("{name}.{ending}")),
            folder: shell::root().join("target/eval-dump").join(&name),
            length: { all.get(&name) }
                .ok_or_else(|| format!("{} has no {name}", path.display()))?
                .clone(),
            name,
            language,
            option: "--production",
        })
    }

    /// The same, with its blocks counted.
    pub fn counted(&self) -> Lengthened {
        Lengthened {
            folder: self.folder.with_extension("counted"),
            option: "--production=count",
            ..self.clone()
        }
    }

    /// Where it is built and run.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What it is started with.
    pub fn words(&self) -> Vec<String> {
        let numbers = self.length.arguments.iter().chain([&self.length.rounds]);
        numbers.map(u64::to_string).collect()
    }

    /// Builds it for production.
    pub fn build(&self, bohr: &Path) -> Result<PathBuf, String> {
        let mut command = Command::new(bohr);
        command.arg(match self.language {
            Language::Cpp => "c++",
            _ => "cc",
        });
        self.compile(command.arg(self.option), "program")
    }

    /// Builds it with the compiler alone.
    fn build_plainly(&self) -> Result<PathBuf, String> {
        let mut command = Command::new(match self.language {
            Language::Cpp => "clang++-22",
            _ => "clang-22",
        });
        self.compile(&mut command, "plain")
    }

    fn compile(&self, compiler: &mut Command, name: &str) -> Result<PathBuf, String> {
        fs::create_dir_all(&self.folder).map_err(|error| error.to_string())?;
        let program = self.folder.join(name);
        let standard = match self.language {
            Language::Cpp => "-std=c++20",
            _ => "-std=gnu17",
        };
        // What was `main` may end without a value.
        let flags = ["-fno-strict-return", "-Wno-return-type", "-pthread"];
        let compiler = compiler.args([standard, "-g", "-O2"]).args(flags);
        shell::run(compiler.arg(&self.source).arg("-o").arg(&program))?;
        Ok(program)
    }

    /// How long it is, and what its production build costs.
    pub fn measure(&self, program: &Path) -> Result<Value, String> {
        let preceding = self.instructions(program, self.length.rounds)?;
        let bare = self.instructions(program, 0)?;
        let plain = self.instructions(&self.build_plainly()?, self.length.rounds)?;
        Ok(json!({
            "instructions": preceding,
            "factor": preceding as f64 / bare as f64,
            "overhead": 100.0 * (preceding as f64 / plain as f64 - 1.0),
        }))
    }

    /// Runs it until it leaves a core; tells how often that was.
    pub fn leave_core(&self) -> Result<Value, String> {
        for run in 1..=MOST_RUNS {
            let begun = Instant::now();
            let left = run_to_core(&self.folder, &self.words())?;
            let seconds = begun.elapsed().as_secs_f64();
            if let Some(bytes) = left {
                return Ok(json!({
                    "runs": run,
                    "seconds": seconds,
                    "bytes": bytes,
                    "threads": self.length.arguments[0],
                }));
            }
        }
        Err(format!(
            "{} left no core in {MOST_RUNS} native runs; cores have to be left in the folder \
             (/proc/sys/kernel/core_pattern)",
            self.name
        ))
    }

    /// Instructions of a run in which nothing can fail: the work that precedes, and an
    /// exhibit with nothing to do.
    fn instructions(&self, program: &Path, rounds: u64) -> Result<u64, String> {
        let mut words = self.length.arguments.clone();
        if let Some(last) = words.last_mut() {
            *last = 0;
        }
        let words = words.into_iter().chain([rounds]);
        let words: Vec<String> = words.map(|word| word.to_string()).collect();
        super::super::callgrind::instructions(program, &words)
    }
}

/// Runs the program of a folder once; tells the bytes of the core that it left there.
pub fn run_to_core(folder: &Path, words: &[String]) -> Result<Option<u64>, String> {
    let script = format!(
        "ulimit -c unlimited; rm -f core* {CORE}; timeout {LONGEST} ./program {}; mv core* {CORE}",
        words.join(" ")
    );
    let mut shell = Command::new("sh");
    let shell = shell.args(["-c", &script]).current_dir(folder);
    shell.output().map_err(|error| error.to_string())?;
    let left = fs::metadata(folder.join(CORE));
    Ok(left.ok().map(|core| core.len()))
}
