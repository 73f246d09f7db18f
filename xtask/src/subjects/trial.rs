//! One subject: build it, run what came out, make the control profiles, run
//! them with control off.

use super::{Compilers, Origin, Subject, directory, fetch};
use crate::shell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// A run of one subject.
pub(super) struct Trial<'subject> {
    subject: &'subject Subject,
    bohr: PathBuf,
    directory: PathBuf,
}

impl<'subject> Trial<'subject> {
    pub(super) fn new(subject: &'subject Subject) -> Trial<'subject> {
        Trial {
            subject,
            bohr: shell::root().join("target/release/bohr"),
            directory: directory().join(subject.name),
        }
    }

    pub(super) fn run(&self) -> Result<(), String> {
        let (programs, seconds) = timed(|| self.build())?;
        println!(
            "  built with bohr in {seconds:.1} s: {} programs",
            programs.len()
        );
        let mut failures = Vec::new();
        for program in &programs {
            failures.extend(self.try_program(program).err());
        }
        if failures.is_empty() {
            return Ok(());
        }
        Err(failures.join("\n  FAILED: "))
    }

    fn build(&self) -> Result<Vec<PathBuf>, String> {
        match &self.subject.origin {
            Origin::Debian { programs, .. } => {
                let place = self.directory.join("build");
                super::build(self.subject, &self.compilers(), &place)?;
                Ok(programs.iter().map(|program| place.join(program)).collect())
            }
            Origin::Crate { version, timed } => {
                let sources = fetch::krate(self.subject.name, version)?;
                let mut harnesses = self.build_tests(&sources)?;
                harnesses.retain(|path| !is_one_of(path, timed));
                Ok(harnesses)
            }
        }
    }

    fn compilers(&self) -> Compilers {
        let bohr = self.bohr.display();
        Compilers {
            cc: format!("{bohr} cc"),
            cxx: format!("{bohr} c++"),
        }
    }

    /// The test harnesses of a crate, as cargo names them.
    fn build_tests(&self, sources: &Path) -> Result<Vec<PathBuf>, String> {
        let mut command = Command::new(&self.bohr);
        command
            .args([
                "cargo",
                "test",
                "--no-run",
                "--lib",
                "--tests",
                "--target-dir",
            ])
            .arg(self.directory.join("target"))
            .current_dir(sources);
        let log = self.directory.join("build.log");
        shell::run_quietly(&mut command, &log)?;
        let text = fs::read_to_string(&log).map_err(|error| error.to_string())?;
        Ok(executables(&text).map(|path| sources.join(path)).collect())
    }

    fn try_program(&self, program: &Path) -> Result<(), String> {
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        let ((), native) = timed(|| self.exercise(program, "native"))?;
        let control = self.directory.join(format!("{name}.control"));
        let ((), making) = timed(|| self.make_profile(program, &control))?;
        let ((), controlled) = timed(|| self.exercise(&control, "control"))?;
        println!(
            "  {name}: native {native:.1} s; control profile made in {making:.1} s, \
             control off {controlled:.1} s"
        );
        Ok(())
    }

    fn make_profile(&self, program: &Path, control: &Path) -> Result<(), String> {
        let mut command = Command::new(&self.bohr);
        command.arg("profile").arg(program).arg("-o").arg(control);
        shell::run_quietly(&mut command, &self.directory.join("profile.log"))
    }

    /// Runs the smoke script, or a test harness, in an empty directory.
    fn exercise(&self, program: &Path, kind: &str) -> Result<(), String> {
        let place = self.directory.join(format!("run-{kind}"));
        let failed = |error: std::io::Error| format!("{}: {error}", place.display());
        if place.exists() {
            fs::remove_dir_all(&place).map_err(failed)?;
        }
        fs::create_dir_all(&place).map_err(failed)?;
        let mut command = match self.subject.origin {
            Origin::Debian { .. } => {
                let folder = shell::root().join("subjects").join(self.subject.name);
                let mut smoke = Command::new(folder.join("smoke.sh"));
                smoke.arg(program);
                smoke
            }
            Origin::Crate { .. } => Command::new(program),
        };
        command.current_dir(&place);
        shell::run_quietly(&mut command, &self.directory.join(format!("{kind}.log")))
    }
}

fn is_one_of(harness: &Path, beginnings: &[&str]) -> bool {
    let name = harness.file_name().unwrap_or_default().to_string_lossy();
    beginnings
        .iter()
        .any(|beginning| name.starts_with(beginning))
}

/// The programs in cargo's messages: `Executable tests/x.rs (target/…/x-hash)`.
fn executables(messages: &str) -> impl Iterator<Item = &str> {
    messages
        .lines()
        .filter(|line| line.trim_start().starts_with("Executable "))
        .filter_map(|line| line.rsplit_once('(')?.1.strip_suffix(')'))
}

fn timed<T>(work: impl FnOnce() -> Result<T, String>) -> Result<(T, f64), String> {
    let start = Instant::now();
    let result = work()?;
    Ok((result, start.elapsed().as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_in_cargos_messages() {
        let messages = "   Compiling one v1.0.0 (/x)\n  Executable unittests src/lib.rs \
                        (target/debug/deps/one-12)\n  Executable tests/a.rs (/t/a-3)\n";
        let found: Vec<&str> = executables(messages).collect();
        assert_eq!(found, ["target/debug/deps/one-12", "/t/a-3"]);
    }
}
