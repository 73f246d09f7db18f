//! The release build of bohr, and the programs that it is measured on.

use crate::bench::median;
use crate::shell;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// How a program is built.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Build {
    /// By clang alone.
    Plain,
    /// By `bohr cc`.
    Bohr,
}

pub struct Bohr {
    program: PathBuf,
    /// Where programs and bug files go.
    folder: PathBuf,
}

const SOURCES: [(&str, &str); 6] = [
    ("three_threads", include_str!("three_threads.c")),
    ("sixteen_threads", include_str!("sixteen_threads.c")),
    ("long_way", include_str!("long_way.c")),
    ("accesses", include_str!("accesses.c")),
    ("resident", include_str!("resident.c")),
    ("lost_update", include_str!("lost_update.c")),
];

impl Bohr {
    /// Builds bohr for speed.
    pub fn build() -> Result<Bohr, String> {
        let packages = ["bohr", "bohr-runtime", "bohr-instrument"];
        let mut cargo = shell::cargo();
        cargo.args(["build", "--release"]);
        for package in packages {
            cargo.args(["--package", package]);
        }
        shell::run(&mut cargo)?;
        let folder = shell::built("bench-control");
        std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        Ok(Bohr {
            program: shell::built("release").join("bohr"),
            folder,
        })
    }

    /// Compiles one of the programs.
    pub fn program(&self, name: &str, build: Build) -> Result<PathBuf, String> {
        let text = SOURCES.iter().find(|source| source.0 == name);
        let (_, text) = text.ok_or_else(|| format!("no program `{name}`"))?;
        let source = self.folder.join(format!("{name}.c"));
        std::fs::write(&source, text).map_err(|error| error.to_string())?;
        let (mut compiler, output) = match build {
            Build::Plain => (Command::new("clang-22"), self.folder.join(name)),
            Build::Bohr => {
                let mut compiler = Command::new(&self.program);
                compiler.arg("cc");
                (compiler, self.folder.join(format!("{name}-bohr")))
            }
        };
        compiler
            .args(["-g", "-O2", "-pthread"])
            .arg(source)
            .arg("-o")
            .arg(&output);
        match shell::succeeds(&mut compiler) {
            true => Ok(output),
            false => Err(format!("{name}.c does not compile")),
        }
    }

    /// The runtime that belongs to it.
    pub fn runtime(&self) -> PathBuf {
        self.program.with_file_name(bohr_explore::RUNTIME)
    }

    /// The control profile of a program that was built with bohr.
    pub fn profile(&self, program: &Path) -> Result<PathBuf, String> {
        let mut command = Command::new(&self.program);
        let printed = shell::output(command.arg("profile").arg(program))?;
        Ok(PathBuf::from(printed.trim()))
    }

    /// Runs a program without bohr.
    pub fn start(&self, program: &Path, arguments: &[&str]) -> Result<(), String> {
        let status = Command::new(program).args(arguments).status();
        match status {
            Ok(status) if status.success() => Ok(()),
            other => Err(format!("{} ended with {other:?}", program.display())),
        }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(&self.folder).args(words).arg("--json");
        command
    }

    /// What a command of bohr on a program prints with `--json`.
    pub fn json(
        &self,
        words: &[&str],
        program: &Path,
        arguments: &[&str],
        code: i32,
    ) -> Result<Value, String> {
        let mut command = self.command(words);
        command.arg("--").arg(program).args(arguments);
        answer(&mut command, code)
    }

    pub fn replay(&self, words: &[&str]) -> Result<Value, String> {
        answer(&mut self.command(&[&["replay"], words].concat()), 0)
    }

    /// Memory of bohr and its fork servers, in KiB, in the second tenth of so many
    /// runs and in the last.
    pub fn memory_over(&self, runs: u64, program: &Path) -> Result<(f64, f64), String> {
        let runs = runs.to_string();
        let mut command = self.command(&["hunt", "--strategy", "random", "--runs", &runs]);
        command
            .arg("--")
            .arg(program)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let mut samples = Vec::new();
        while child
            .try_wait()
            .map_err(|error| error.to_string())?
            .is_none()
        {
            samples.push(memory_of_family(child.id()) as f64);
            std::thread::sleep(Duration::from_millis(200));
        }
        // The last samples may have been taken while bohr was ending.
        samples.truncate(samples.len().saturating_sub(3));
        let tenth = samples.len() / 10;
        if tenth == 0 {
            return Err("the hunt was too short to sample its memory".to_string());
        }
        let early = median(samples[tenth..2 * tenth].to_vec());
        let late = median(samples[9 * tenth..].to_vec());
        Ok((early.max(1.0), late))
    }
}

fn answer(command: &mut Command, code: i32) -> Result<Value, String> {
    let output = command
        .output()
        .map_err(|error| format!("cannot run bohr: {error}"))?;
    if output.status.code() != Some(code) {
        let messages = String::from_utf8_lossy(&output.stderr);
        return Err(format!(
            "{command:?} ended with {}: {messages}",
            output.status
        ));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("{command:?}: {error}"))
}

/// Resident KiB of a process and its children: bohr and its fork servers.
/// Their clones come and go and share nearly all of it.
fn memory_of_family(process: u32) -> u64 {
    let children = format!("/proc/{process}/task");
    let tasks = std::fs::read_dir(children).into_iter().flatten().flatten();
    let listed =
        tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let servers: Vec<u32> = listed
        .flat_map(|line| {
            line.split_whitespace()
                .map(str::to_string)
                .collect::<Vec<_>>()
        })
        .filter_map(|word| word.parse().ok())
        .collect();
    servers.into_iter().chain([process]).map(resident).sum()
}

fn resident(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let figure = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    figure.unwrap_or(0)
}
