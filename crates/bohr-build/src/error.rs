//! Why a build step of bohr failed. What clang, rustc or the linker have to say
//! about the user's code is never one of these: it passes through unchanged.

use bohr_bundle::BundleError;
use bohr_event::{Diagnosis, Fault};
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Everything that can go wrong in bohr's own part of a build.
#[derive(Debug, Error)]
pub enum BuildError {
    /// A program that bohr needs is not installed.
    #[error("{program} is not installed")]
    MissingProgram {
        /// What was looked for.
        program: String,
        /// The Debian package that has it.
        package: &'static str,
    },
    /// rustc was built with another LLVM than the one that bohr reads bitcode with.
    #[error("{program} uses LLVM {found}, bohr needs LLVM {expected}")]
    OtherLlvm {
        /// Which compiler.
        program: String,
        /// The major version bohr was built for.
        expected: u32,
        /// What the compiler says.
        found: String,
    },
    /// A program could not be started.
    #[error("cannot run {}", program.display())]
    Start {
        /// Which.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file could not be read or written.
    #[error("cannot {action} {}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The bundle cannot be read or added.
    #[error("{}", path.display())]
    Bundle {
        /// The program.
        path: PathBuf,
        /// Why.
        source: BundleError,
    },
    /// The cache's place is not known.
    #[error(
        "there is no place for the profile cache: neither BOHR_CACHE, XDG_CACHE_HOME nor HOME is set"
    )]
    NoCache,
    /// The user, or the system, wanted bohr to end.
    #[error("interrupted while a profile was made; nothing was kept")]
    Interrupted,
    /// `bohr-lower` found something wrong with the program.
    #[error("no profile can be made of {}: {message}", program.display())]
    Lower {
        /// The program.
        program: PathBuf,
        /// Whose fault it is, by its exit code.
        fault: Fault,
        /// What it said.
        message: String,
    },
}

impl BuildError {
    pub(crate) fn file<'path>(
        action: &'static str,
        path: &'path Path,
    ) -> impl FnOnce(io::Error) -> BuildError + use<'path> {
        move |source| BuildError::File {
            action,
            path: path.to_owned(),
            source,
        }
    }

    pub(crate) fn bundle(path: &Path) -> impl FnOnce(BundleError) -> BuildError + use<'_> {
        move |source| BuildError::Bundle {
            path: path.to_owned(),
            source,
        }
    }
}

impl Diagnosis for BuildError {
    fn fault(&self) -> Fault {
        match self {
            BuildError::Bundle { source, .. } => source.fault(),
            BuildError::Lower { fault, .. } => *fault,
            _ => Fault::Input,
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            BuildError::MissingProgram { package, .. } => Some(format!(
                "apt-get install {package}; BOHR_LLVM=DIR names an LLVM 22 elsewhere"
            )),
            BuildError::OtherLlvm { expected, .. } => Some(format!(
                "use a toolchain with LLVM {expected}; `rustc -vV` and `clang --version` tell"
            )),
            BuildError::Bundle { source, .. } => source.help(),
            BuildError::NoCache => Some("BOHR_CACHE=/some/directory".into()),
            BuildError::Lower {
                fault: Fault::Internal,
                ..
            } => Some("please report it, with the program; other programs are not affected".into()),
            _ => None,
        }
    }
}
