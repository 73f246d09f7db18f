//! `cargo xtask subjects [NAME…]`: real programs, fetched, built with bohr by
//! their own build scripts, and run natively and in the control profile with
//! control off. `subjects/README.md` says how a subject is described.

pub mod fetch;
mod trial;

use crate::{Command, install, shell};
use std::path::{Path, PathBuf};
use std::process;
use trial::Trial;

pub const COMMAND: Command = Command {
    name: "subjects",
    about: "build real programs with bohr and run them natively and instrumented",
    run,
};

/// A real program.
pub struct Subject {
    /// Its folder below `subjects/`, or the name of the crate.
    pub name: &'static str,
    /// Where its sources come from.
    pub origin: Origin,
}

/// Where the sources of a subject come from.
pub enum Origin {
    /// Debian source packages, and the programs that the build script leaves.
    Debian {
        /// The source packages; the first is the subject itself.
        sources: &'static [&'static str],
        /// Packages that building takes, each with a file that only it brings.
        needs: &'static [(&'static str, &'static str)],
        /// The programs to run, relative to the build directory.
        programs: &'static [&'static str],
    },
    /// A crate; its test harnesses are the programs.
    Crate {
        /// Its version.
        version: &'static str,
        /// Harnesses left out: they check how long things take, and fail by
        /// themselves on a busy machine.
        timed: &'static [&'static str],
    },
}

/// All subjects.
pub const SUBJECTS: &[Subject] = &[
    Subject {
        name: "pbzip2",
        origin: Origin::Debian {
            sources: &["pbzip2", "bzip2"],
            needs: &[],
            programs: &["pbzip2/pbzip2"],
        },
    },
    Subject {
        name: "zstd",
        origin: Origin::Debian {
            sources: &["libzstd"],
            needs: &[],
            programs: &["libzstd/programs/zstd"],
        },
    },
    Subject {
        name: "leveldb",
        origin: Origin::Debian {
            sources: &["leveldb"],
            needs: &[
                ("cmake", "/usr/bin/cmake"),
                ("libgtest-dev", "/usr/include/gtest/gtest.h"),
                ("libgmock-dev", "/usr/include/gmock/gmock.h"),
                ("libbenchmark-dev", "/usr/include/benchmark/benchmark.h"),
                ("libsnappy-dev", "/usr/include/snappy.h"),
            ],
            programs: &[
                "out/c_test",
                "out/cache_test",
                "out/env_posix_test",
                "out/env_test",
                "out/recovery_test",
                "out/skiplist_test",
                "out/write_batch_test",
            ],
        },
    },
    Subject {
        name: "memcached",
        origin: Origin::Debian {
            sources: &["memcached"],
            needs: &[("libevent-dev", "/usr/include/event2/event.h")],
            programs: &["memcached/memcached"],
        },
    },
    Subject {
        name: "crossbeam-channel",
        origin: Origin::Crate {
            version: "0.5.15",
            timed: &["after-", "tick-"],
        },
    },
    Subject {
        name: "rayon",
        origin: Origin::Crate {
            version: "1.11.0",
            timed: &[],
        },
    },
];

/// The compilers that a subject is built with.
pub struct Compilers {
    /// `CC`.
    pub cc: String,
    /// `CXX`.
    pub cxx: String,
}

/// Where fetched sources and builds lie.
#[must_use]
pub fn directory() -> PathBuf {
    shell::root().join("target/subjects")
}

/// Fetches a Debian subject and builds it afresh in `directory`.
pub fn build(subject: &Subject, compilers: &Compilers, directory: &Path) -> Result<(), String> {
    unpack(subject, directory)?;
    compile(subject, compilers, directory)
}

/// Fetches a Debian subject and unpacks it afresh in `directory`.
pub fn unpack(subject: &Subject, directory: &Path) -> Result<(), String> {
    let Origin::Debian { sources, needs, .. } = &subject.origin else {
        return Err(format!("{} is built by cargo", subject.name));
    };
    install::needed(needs)?;
    fetch::unpack(sources, directory)
}

/// Runs the build script of a subject that was unpacked in `directory`.
pub fn compile(subject: &Subject, compilers: &Compilers, directory: &Path) -> Result<(), String> {
    let script = shell::root()
        .join("subjects")
        .join(subject.name)
        .join("build.sh");
    let mut command = process::Command::new(script);
    command
        .current_dir(directory)
        .env("CC", &compilers.cc)
        .env("CXX", &compilers.cxx);
    shell::run_quietly(&mut command, &directory.join("build.log"))
}

fn run(names: &[String]) -> Result<(), String> {
    let chosen: Vec<&Subject> = SUBJECTS
        .iter()
        .filter(|subject| names.is_empty() || names.iter().any(|name| name == subject.name))
        .collect();
    if chosen.is_empty() {
        let known: Vec<&str> = SUBJECTS.iter().map(|subject| subject.name).collect();
        return Err(format!(
            "there is no such subject; there are: {}",
            known.join(" ")
        ));
    }
    install::for_building()?;
    shell::run(shell::cargo().args(["build", "--release", "-p", "bohr", "-p", "bohr-instrument"]))?;
    let mut failed = Vec::new();
    for subject in chosen {
        println!("{}", subject.name);
        if let Err(message) = Trial::new(subject).run() {
            println!("  FAILED: {message}");
            failed.push(subject.name);
        }
    }
    match failed.len() {
        0 => Ok(()),
        _ => Err(format!("failed: {}", failed.join(" "))),
    }
}
