//! Bugs that published crates had, under `bugs/`: a driver of a dozen lines, the
//! last version with the bug and a version without it, each with a lock file,
//! so that versions which were withdrawn can still be fetched.

use crate::{Error, Report, Variant, root};
use bohr_event::{FailureKind, Signature};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What `bug.toml` says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RealBug {
    /// Name of its folder.
    #[serde(skip)]
    pub name: String,
    /// The bug in a line.
    pub title: String,
    /// Where it was announced.
    pub advisory: String,
    /// Which crate had it.
    #[serde(rename = "crate")]
    pub package: String,
    /// A version that has it.
    pub buggy: String,
    /// A version that does not.
    pub fixed: String,
    /// What goes wrong, for people.
    pub story: String,
    /// How it shows.
    pub failure: Showing,
}

/// How a bug shows.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Showing {
    /// In which way.
    pub kind: FailureKind,
    /// Functions, or parts of their names, that stand in the stacks.
    pub functions: Vec<String>,
}

/// The folder of all of them.
#[must_use]
pub fn real_bugs_folder() -> PathBuf {
    root().join("bugs")
}

/// All of them, by name.
///
/// # Errors
/// If one of the manifests is not what it should be.
pub fn real_bugs() -> Result<Vec<RealBug>, Error> {
    let folder = real_bugs_folder();
    let told = |cause| Error::File {
        path: real_bugs_folder(),
        cause,
    };
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(told)? {
        let entry = entry.map_err(told)?;
        if entry.path().join("bug.toml").exists() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    names.iter().map(|name| RealBug::load(name)).collect()
}

impl RealBug {
    /// The one in the folder of this name.
    ///
    /// # Errors
    /// If there is none, or its manifest is not what it should be.
    pub fn load(name: &str) -> Result<RealBug, Error> {
        let path = real_bugs_folder().join(name).join("bug.toml");
        let text = std::fs::read_to_string(&path).map_err(|cause| Error::File {
            path: path.clone(),
            cause,
        })?;
        let bug: RealBug = toml::from_str(&text).map_err(|cause| Error::Form {
            path,
            cause: Box::new(cause),
        })?;
        Ok(RealBug {
            name: name.to_string(),
            ..bug
        })
    }

    /// Builds the driver against one of the versions, and returns its path.
    /// Without optimisation: some of the crates check more then.
    ///
    /// # Errors
    /// If it does not build.
    pub fn compile(&self, variant: Variant, bohr: &Path, output: &Path) -> Result<PathBuf, Error> {
        let folder = real_bugs_folder().join(&self.name).join(variant.name());
        let target = output.join(&self.name).join(variant.name());
        let mut cargo = Command::new(bohr);
        cargo
            .args(["cargo", "build", "--locked", "--quiet", "--manifest-path"])
            .arg(folder.join("Cargo.toml"))
            .arg("--target-dir")
            .arg(&target)
            .env_remove("CARGO_TARGET_DIR");
        let ended = cargo.output().map_err(|cause| Error::Start {
            program: bohr.display().to_string(),
            cause,
        })?;
        match ended.status.success() {
            true => Ok(target.join("debug/driver")),
            false => Err(Error::Build {
                name: format!("{} {}", self.name, variant.name()),
                words: String::from_utf8_lossy(&ended.stderr).into_owned(),
            }),
        }
    }

    /// Holds a report about the version with the bug against the manifest.
    ///
    /// # Errors
    /// What is wrong, in a sentence.
    pub fn judge(&self, report: &Report) -> Result<(), String> {
        if !report.found {
            return Err(format!("not found in {} runs", report.runs));
        }
        let signature = Signature {
            kind: self.failure.kind.clone(),
            place: None,
            frames: Vec::new(),
            cycle: Vec::new(),
        };
        let (expected, kind) = (signature.kind_name(), report.kind.as_deref());
        if kind != Some(&*expected) {
            let kind = kind.unwrap_or("nothing");
            return Err(format!("{kind} instead of {expected}"));
        }
        if report.reproduced != Some(true) {
            return Err("found, but a replay did not show it again".to_string());
        }
        let frames: Vec<&String> = report
            .stacks
            .iter()
            .flatten()
            .flat_map(|thread| &thread.stack)
            .collect();
        let unseen = self.failure.functions.iter().find(|function| {
            let names = |frame: &&String| frame.contains(function.as_str());
            !frames.iter().any(names)
        });
        match unseen {
            Some(function) => Err(format!("{expected}, but not in {function}")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stack;

    #[test]
    fn every_folder_holds_a_bug_with_both_versions_pinned() {
        let bugs = real_bugs().unwrap();
        assert!(bugs.len() >= 5, "{} bugs", bugs.len());
        for bug in bugs {
            for (variant, version) in [(Variant::Buggy, &bug.buggy), (Variant::Fixed, &bug.fixed)] {
                let folder = real_bugs_folder().join(&bug.name).join(variant.name());
                let lock = std::fs::read_to_string(folder.join("Cargo.lock")).unwrap();
                let pinned = format!("name = \"{}\"\nversion = \"{version}\"", bug.package);
                assert!(lock.contains(&pinned), "{}: {pinned}", bug.name);
                let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
                assert!(
                    manifest.contains(&format!("\"={version}\"")),
                    "{}",
                    bug.name
                );
            }
        }
    }

    /// The drivers lie outside the workspace, where `cargo fmt` does not look.
    #[test]
    fn drivers_are_formatted() {
        for bug in real_bugs().unwrap() {
            let driver = real_bugs_folder().join(&bug.name).join("driver.rs");
            let mut rustfmt = Command::new("rustfmt");
            rustfmt.args(["--edition", "2024", "--check"]).arg(driver);
            let output = rustfmt.output().unwrap();
            let difference = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{difference}");
        }
    }

    #[test]
    fn kind_and_place_both_have_to_fit() {
        let bug = RealBug::load("parking_lot").unwrap();
        let report = |kind: &str, functions: &[&str]| Report {
            found: true,
            kind: Some(kind.to_string()),
            reproduced: Some(true),
            stacks: Some(vec![Stack {
                doing: "failed".to_string(),
                stack: functions.iter().map(ToString::to_string).collect(),
            }]),
            ..Report::default()
        };
        let stacks = [
            "a::RawRwLock::upgrade_slow at x.rs:1",
            "RawRwLock::lock_exclusive_slow",
        ];
        assert_eq!(bug.judge(&report("deadlock", &stacks)), Ok(()));
        for wrong in [
            report("deadlock", &stacks[1..]),
            report("panic", &stacks),
            Report::default(),
        ] {
            assert!(bug.judge(&wrong).is_err(), "{wrong:?}");
        }
    }
}
