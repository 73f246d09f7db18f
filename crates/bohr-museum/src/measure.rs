//! Runs an exhibit many times, as anybody would, counts the failures and writes
//! the count into the manifest. A rate that a person typed is a rate that
//! nobody measured.

use crate::exhibit::read;
use crate::machine::Ticks;
use crate::{Compilers, Error, Exhibit, Language, Native, Outcome, Variant};
use crate::{compile, machine, native, run_once};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, fs};

/// One run of the twin for so many runs of the exhibit.
const TWIN_SHARE: u32 = 10;

/// Fewer runs are no rate that a manifest may hold.
pub const FEWEST_RUNS: u32 = 1000;

/// The share of runs, in a thousand, from which on an exhibit is no Heisenbug.
const MOST: f64 = 200.0;

/// What is known of how often an exhibit fails when it is simply run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// So many times in a thousand.
    Measured(f64),
    /// So many, but of another source or at another size than it has now.
    Stale(f64),
    /// Nothing.
    Unmeasured,
}

impl fmt::Display for Rate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rate::Measured(rate) => write!(out, "{rate:.0} ‰"),
            Rate::Stale(rate) => write!(out, "{rate:.0} ‰ before the exhibit was changed"),
            Rate::Unmeasured => out.write_str("not measured"),
        }
    }
}

impl Exhibit {
    /// How often it fails when it is simply run.
    #[must_use]
    pub fn rate(&self) -> Rate {
        let Some(native) = &self.manifest.native else {
            return Rate::Unmeasured;
        };
        let rate = native.per_thousand();
        let is_same = native.sources == fingerprint(self)
            && native.arguments == self.manifest.arguments.default;
        match is_same {
            true => Rate::Measured(rate),
            false => Rate::Stale(rate),
        }
    }

    /// What is wrong with how often it fails, if anything.
    #[must_use]
    pub fn poor_rate(&self) -> Option<String> {
        let native = self.manifest.native.as_ref();
        let runs = native.map_or(0, |native| native.runs);
        match self.rate() {
            Rate::Measured(_)
                if native.is_some_and(|native| native.load.and(native.others).is_none()) =>
            {
                Some("nobody knows how busy the machine was".to_string())
            }
            Rate::Measured(_) if runs < FEWEST_RUNS => {
                Some(format!("{runs} runs are no rate; {FEWEST_RUNS} are"))
            }
            Rate::Measured(rate) if rate > MOST => {
                Some(format!("fails natively {rate:.0} times in 1,000"))
            }
            Rate::Measured(_) => None,
            rate => Some(rate.to_string()),
        }
    }
}

/// The line that begins the measured part of a manifest.
const HEADING: &str = "# Written by `cargo xtask museum measure`.";

/// Runs an exhibit `runs` times at its default size, and its twin a tenth as often.
///
/// # Errors
/// If it does not build, fails in another way than it says, or its twin fails.
pub fn measure(exhibit: &Exhibit, runs: u32) -> Result<Native, Error> {
    let compilers = Compilers::default();
    let (load, begun) = (machine::load(), Ticks::now());
    let arguments = &exhibit.manifest.arguments.default;
    let twin = compile(exhibit, Variant::Fixed, &compilers)?;
    let (failures, _) = repeat(exhibit, &twin, arguments, runs.div_ceil(TWIN_SHARE))?;
    if failures > 0 {
        return Err(Error::Twin {
            name: exhibit.manifest.name.clone(),
            failures,
        });
    }
    let program = compile(exhibit, Variant::Buggy, &compilers)?;
    let (failures, median) = repeat(exhibit, &program, arguments, runs)?;
    let compiler = match exhibit.manifest.language {
        Language::C => &compilers.c,
        Language::Cpp => &compilers.cpp,
        Language::Rust => &compilers.cargo,
    };
    let environment = native::environment(&exhibit.manifest.failure.kind);
    Ok(Native {
        runs,
        failures,
        arguments: arguments.clone(),
        environment: environment
            .map(|(name, value)| format!("{name}={value}"))
            .unwrap_or_default(),
        median_milliseconds: (median.as_secs_f64() * 10_000.0).round() / 10.0,
        machine: machine::facts(),
        load: Some([load, machine::load()]),
        others: Ticks::now()
            .zip(begun)
            .map(|(now, then)| now.others_since(then)),
        compiler: machine::version(compiler),
        sources: fingerprint(exhibit),
    })
}

/// The number of failures, and the median time of a run.
fn repeat(
    exhibit: &Exhibit,
    program: &Path,
    arguments: &[u64],
    runs: u32,
) -> Result<(u32, Duration), Error> {
    let mut failures = 0;
    let mut times = Vec::new();
    for _ in 0..runs {
        let run = run_once(exhibit, program, arguments)?;
        times.push(run.time);
        match run.outcome {
            Outcome::Passed => {}
            Outcome::Failed => failures += 1,
            Outcome::Surprised(how) => {
                return Err(Error::Surprise {
                    name: exhibit.manifest.name.clone(),
                    how,
                });
            }
        }
    }
    times.sort();
    Ok((failures, times[times.len() / 2]))
}

/// Tells one version of the program's source from another.
#[must_use]
pub fn fingerprint(exhibit: &Exhibit) -> String {
    let hash = blake3::hash(exhibit.source.text().as_bytes());
    hash.to_hex()[..16].to_string()
}

/// Tells one set of files from another; what is not there counts as empty.
#[must_use]
pub fn fingerprint_of_files(files: &[PathBuf]) -> String {
    let mut hasher = blake3::Hasher::new();
    for file in files {
        hasher.update(&fs::read(file).unwrap_or_default());
    }
    hasher.finalize().to_hex()[..16].to_string()
}

/// Writes a measurement into the exhibit's manifest.
///
/// # Errors
/// If the manifest cannot be read or written.
pub fn record(exhibit: &Exhibit, native: &Native) -> Result<(), Error> {
    let path = exhibit.manifest_path();
    let text = with_native(&read(&path)?, native);
    fs::write(&path, text).map_err(|cause| Error::File { path, cause })
}

/// The manifest with its measured part replaced, or added at the end.
fn with_native(manifest: &str, native: &Native) -> String {
    let written = manifest.split(HEADING).next().unwrap_or(manifest);
    let measured = toml::to_string(native).expect("plain values are TOML");
    format!("{}\n\n{HEADING}\n[native]\n{measured}", written.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::all;

    fn native(failures: u32) -> Native {
        Native {
            runs: 1000,
            failures,
            arguments: vec![2, 10],
            environment: String::new(),
            median_milliseconds: 1.5,
            machine: "a machine".into(),
            load: Some([0.25, 1.5]),
            others: Some(12.5),
            compiler: "a compiler".into(),
            sources: "0123".into(),
        }
    }

    #[test]
    fn measuring_again_replaces_the_measured_part() {
        let once = with_native("name = \"x\"\n", &native(3));
        let twice = with_native(&once, &native(4));
        assert_eq!(twice, with_native("name = \"x\"\n", &native(4)));
        #[derive(serde::Deserialize)]
        struct Read {
            name: String,
            native: Native,
        }
        let read: Read = toml::from_str(&twice).unwrap();
        assert_eq!((read.name.as_str(), read.native), ("x", native(4)));
    }

    /// An exhibit that fails every fifth time is no Heisenbug, and a rate of
    /// another program is no rate.
    #[test]
    fn every_exhibit_is_measured_and_rare() {
        for exhibit in all().unwrap() {
            let name = &exhibit.manifest.name;
            let again = format!("run `cargo xtask museum measure {name}`");
            assert_eq!(exhibit.poor_rate(), None, "{name}; {again}");
        }
    }

    #[test]
    fn a_rate_is_of_this_program_often_enough_and_small() {
        let mut exhibit = crate::named("account").unwrap();
        let mut measured = Native {
            sources: fingerprint(&exhibit),
            arguments: exhibit.manifest.arguments.default.clone(),
            ..native(3)
        };
        let mut rated = |native: Option<&Native>| {
            exhibit.manifest.native = native.cloned();
            (exhibit.rate(), exhibit.poor_rate().is_none())
        };
        assert_eq!(rated(None), (Rate::Unmeasured, false));
        assert_eq!(rated(Some(&measured)), (Rate::Measured(3.0), true));
        measured.others = None;
        assert!(!rated(Some(&measured)).1);
        measured.others = Some(0.0);
        measured.runs = 999;
        assert!(!rated(Some(&measured)).1);
        measured.runs = 1000;
        measured.failures = 201;
        assert_eq!(rated(Some(&measured)), (Rate::Measured(201.0), false));
        measured.failures = 3;
        measured.arguments[0] += 1;
        assert_eq!(rated(Some(&measured)), (Rate::Stale(3.0), false));
        measured.arguments[0] -= 1;
        measured.sources = "another".to_string();
        assert_eq!(rated(Some(&measured)), (Rate::Stale(3.0), false));
    }
}
