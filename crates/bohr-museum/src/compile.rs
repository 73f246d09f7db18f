//! Building an exhibit or its fixed twin, with the compilers of the caller's
//! choice: the plain ones here, bohr's where a profile is wanted.

use crate::{Error, Exhibit, Language, root};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// The exhibit as it is, or with its bug repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// As it is.
    Buggy,
    /// Repaired: `-DFIXED`, or the feature `fixed`.
    Fixed,
}

impl Variant {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Variant::Buggy => "buggy",
            Variant::Fixed => "fixed",
        }
    }
}

/// Which programs compile, each with its leading arguments, and where the
/// results go.
#[derive(Clone, Debug)]
pub struct Compilers {
    /// For C.
    pub c: Vec<String>,
    /// For C++.
    pub cpp: Vec<String>,
    /// For Rust.
    pub cargo: Vec<String>,
    /// The folder that gets one folder per exhibit.
    pub output: PathBuf,
}

impl Compilers {
    /// bohr's stand-ins for the compilers.
    #[must_use]
    pub fn of_bohr(bohr: &Path) -> Compilers {
        let command = |name: &str| vec![bohr.display().to_string(), name.to_string()];
        Compilers {
            c: command("cc"),
            cpp: command("c++"),
            cargo: command("cargo"),
            output: root().join("target/museum-bohr"),
        }
    }
}

impl Default for Compilers {
    /// Plain clang and cargo.
    fn default() -> Compilers {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_string());
        Compilers {
            c: vec!["clang-22".to_string()],
            cpp: vec!["clang++-22".to_string()],
            cargo: vec![cargo],
            output: root().join("target/museum"),
        }
    }
}

/// Builds a program unless it is newer than everything in its folder, and
/// returns its path.
///
/// # Errors
/// If the compiler is missing, or has anything at all to say.
pub fn compile(
    exhibit: &Exhibit,
    variant: Variant,
    compilers: &Compilers,
) -> Result<PathBuf, Error> {
    let folder = compilers.output.join(&exhibit.manifest.name);
    let program = folder.join(variant.name());
    if is_fresh(&program, exhibit) {
        return Ok(program);
    }
    fs::create_dir_all(&folder).map_err(|cause| Error::File {
        path: folder.clone(),
        cause,
    })?;
    match exhibit.manifest.language {
        Language::C => clang(&compilers.c, "-std=gnu17", exhibit, variant, &program)?,
        Language::Cpp => clang(&compilers.cpp, "-std=c++20", exhibit, variant, &program)?,
        Language::Rust => cargo(compilers, exhibit, variant, &program)?,
    }
    Ok(program)
}

fn is_fresh(program: &Path, exhibit: &Exhibit) -> bool {
    let changed = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
    let sources = [exhibit.source_path(), exhibit.folder.join("Cargo.toml")];
    let newest: Option<SystemTime> = sources.iter().filter_map(|path| changed(path)).max();
    changed(program) > newest
}

fn clang(
    compiler: &[String],
    standard: &str,
    exhibit: &Exhibit,
    variant: Variant,
    program: &Path,
) -> Result<(), Error> {
    let mut command = words(compiler);
    command.args([
        standard, "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-pthread",
    ]);
    if variant == Variant::Fixed {
        command.arg("-DFIXED");
    }
    command.arg(exhibit.source_path()).arg("-o").arg(program);
    quietly(&mut command, exhibit)
}

fn cargo(
    compilers: &Compilers,
    exhibit: &Exhibit,
    variant: Variant,
    program: &Path,
) -> Result<(), Error> {
    // A folder per variant: the two would otherwise take turns at one path.
    let target = compilers.output.join("cargo").join(variant.name());
    let mut command = words(&compilers.cargo);
    command
        .args(["build", "--release", "--quiet", "--manifest-path"])
        .arg(exhibit.folder.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&target)
        .env("CARGO_PROFILE_RELEASE_DEBUG", "true")
        .env("RUSTFLAGS", "-Dwarnings");
    if variant == Variant::Fixed {
        command.args(["--features", "fixed"]);
    }
    quietly(&mut command, exhibit)?;
    let built = target.join("release").join(&exhibit.manifest.name);
    match fs::copy(&built, program) {
        Ok(_) => Ok(()),
        Err(cause) => Err(Error::File { path: built, cause }),
    }
}

fn words(compiler: &[String]) -> Command {
    let (program, arguments) = compiler.split_first().expect("a compiler has a name");
    let mut command = Command::new(program);
    command.args(arguments);
    command
}

/// Runs a compiler whose words matter only if it fails.
fn quietly(command: &mut Command, exhibit: &Exhibit) -> Result<(), Error> {
    let output = command.output().map_err(|cause| Error::Start {
        program: command.get_program().to_string_lossy().into_owned(),
        cause,
    })?;
    if output.status.success() {
        return Ok(());
    }
    Err(Error::Build {
        name: exhibit.manifest.name.clone(),
        words: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Outcome, all, run_once};
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Every exhibit builds without a warning, in both variants, and the twin
    /// does its work.
    #[test]
    fn exhibits_build_and_twins_succeed() {
        let exhibits = all().unwrap();
        let compilers = Compilers::default();
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some(exhibit) = exhibits.get(next.fetch_add(1, Ordering::Relaxed)) {
                let name = &exhibit.manifest.name;
                compile(exhibit, Variant::Buggy, &compilers).unwrap();
                let twin = compile(exhibit, Variant::Fixed, &compilers).unwrap();
                let run = run_once(exhibit, &twin, &exhibit.manifest.arguments.small).unwrap();
                assert_eq!(run.outcome, Outcome::Passed, "the twin of {name}");
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(work);
            scope.spawn(work);
        });
    }

    /// The exhibits lie outside the workspace, where `cargo fmt` does not look.
    #[test]
    fn rust_exhibits_are_formatted() {
        for exhibit in all().unwrap() {
            if exhibit.manifest.language != Language::Rust {
                continue;
            }
            let mut rustfmt = Command::new("rustfmt");
            rustfmt.args(["--edition", "2024", "--check"]);
            let output = rustfmt.arg(exhibit.source_path()).output().unwrap();
            let difference = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{difference}");
        }
    }
}
