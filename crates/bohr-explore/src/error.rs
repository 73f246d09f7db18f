//! Why a hunt, a replay or a check cannot be done, whose fault that is, and
//! what to try next.

use crate::bug_file::BugFileError;
use crate::image::ImageError;
use crate::record::StorageError;
use crate::server::ServerError;
use crate::stored::StoredTraceError;
use crate::target::TargetError;
use bohr_event::control::{Outcome, RunReport};
use bohr_event::{Diagnosis, Fault};
use bohr_log::raw::RawError;
use std::path::PathBuf;

/// See the module.
#[derive(Debug, thiserror::Error)]
pub enum ExploreError {
    /// The program cannot be controlled.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The conversation with the program failed.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// A bug file cannot be read.
    #[error("`{path}` cannot be read as a bug file")]
    BugFile {
        /// Which.
        path: PathBuf,
        /// Why.
        source: BugFileError,
    },
    /// A file cannot be read or written.
    #[error("the file `{path}` cannot be used")]
    File {
        /// Which.
        path: PathBuf,
        /// As the system says.
        source: std::io::Error,
    },
    /// The bug was found in another build of the program.
    #[error("the bug was found in another build of `{path}`: {difference}")]
    OtherBuild {
        /// The program now.
        path: PathBuf,
        /// What differs.
        difference: String,
    },
    /// The runtime made a mistake.
    #[error("the runtime failed in the run of seed {seed}: {message}")]
    Broken {
        /// Of which seed.
        seed: u64,
        /// What it says.
        message: String,
    },
    /// The program needs what bohr does not do.
    #[error("bohr cannot control this program: {0}")]
    Unsupported(String),
    /// The disk is full.
    #[error("there is no room for the trace of a run in {}", .0.display())]
    NoRoom(PathBuf),
    /// The budget was spent before a single run had ended.
    #[error("no run came to its end within {0:?}")]
    NoRunEnded(std::time::Duration),
    /// A run failed, and nobody could replay it.
    #[error(
        "a run failed ({failure}), but it switched threads {switches} times, {lost} times more often than bohr keeps"
    )]
    TooManySwitches {
        /// What the program said, or what was expected of it.
        failure: String,
        /// Of the run.
        switches: u64,
        /// Those at its end of which nothing is known.
        lost: u64,
    },
    /// The runtime does not see the hooks of the profile.
    #[error(
        "the runtime finds no hooks in the control profile: they are of different versions of bohr"
    )]
    NotHooked,
    /// Breakpoints need sites.
    #[error("the program was not built with bohr, so there is nothing to break at")]
    NotBuiltWithBohr,
    /// The recorded failure does not come again.
    #[error("the recorded schedule does not show the recorded failure")]
    NotReproduced,
    /// The trace of a run cannot be read.
    #[error(transparent)]
    Trace(#[from] StoredTraceError),
    /// A recorded run left nothing that can be used.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// An image cannot be taken or used.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// A job ended without telling about its run.
    #[error("the fork server ended a job without a report")]
    NoReport,
}

impl ExploreError {
    /// An error if the runtime says that it failed, or had no room.
    ///
    /// # Errors
    /// Just then.
    pub fn if_broken(report: &RunReport) -> Result<(), ExploreError> {
        match &report.outcome {
            Outcome::Broken(message) => Err(ExploreError::Broken {
                seed: report.seed,
                message: message.clone(),
            }),
            Outcome::Unsupported(what) => Err(ExploreError::Unsupported(what.clone())),
            Outcome::NoRoom => Err(ExploreError::NoRoom(std::env::temp_dir())),
            _ => Ok(()),
        }
    }

    /// Whether somebody asked for the end.
    #[must_use]
    pub fn is_interruption(&self) -> bool {
        matches!(self, ExploreError::Server(ServerError::Interrupted))
    }
}

impl Diagnosis for ExploreError {
    fn fault(&self) -> Fault {
        use ServerError::*;
        match self {
            ExploreError::Target(error) => fault_of_target(error),
            ExploreError::Image(error) => error.fault(),
            ExploreError::Server(
                AddressSpace(_) | Start(_) | EndedEarly(_) | TooSlow(_) | Store(_) | Interrupted,
            ) => Fault::Input,
            ExploreError::Server(Refused(_))
            | ExploreError::Unsupported(_)
            | ExploreError::Storage(StorageError::Raw(RawError::Stranger | RawError::Nothing)) => {
                Fault::Unsupported
            }
            ExploreError::BugFile {
                source: BugFileError::Malformed(_),
                ..
            } => Fault::Internal,
            ExploreError::Server(_) | ExploreError::Broken { .. } | ExploreError::NoReport => {
                Fault::Internal
            }
            _ => Fault::Input,
        }
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            ExploreError::Target(error) => return help_for_target(error),
            ExploreError::Image(error) => return error.help(),
            ExploreError::Server(ServerError::EndedEarly(_)) => {
                "run the program without bohr and see that it works".to_string()
            }
            ExploreError::Server(ServerError::AddressSpace(_)) => {
                "lift the limit where bohr is started: `ulimit -v unlimited`".to_string()
            }
            ExploreError::Server(ServerError::TooSlow(_)) => {
                "if it needs longer to start, raise --startup".to_string()
            }
            ExploreError::Server(ServerError::Store(_)) | ExploreError::NoRoom(_) => {
                "set TMPDIR to a directory with room".to_string()
            }
            ExploreError::NoRunEnded(_) => {
                "give it more --time, or a shorter --run-time to see where a run hangs".to_string()
            }
            ExploreError::TooManySwitches { .. } => {
                "hunt with less work for each thread, or with a strategy that switches seldom: `--strategy pct:3`".to_string()
            }
            ExploreError::BugFile { source, .. } => help_for_bug_file(source)?,
            ExploreError::OtherBuild { .. } => {
                "`bohr replay --adapt BUG` follows the old schedule as far as it goes".to_string()
            }
            ExploreError::Storage(StorageError::Raw(RawError::Full) | StorageError::File { .. }) => {
                "name a log on a disk with room: `-o FILE`".to_string()
            }
            ExploreError::Storage(StorageError::Raw(RawError::Nothing)) => {
                "a program that is linked statically, or that starts another one, cannot be recorded".to_string()
            }
            ExploreError::NotHooked => "install bohr, bohr-lower and libbohr_runtime.so of one version, and remove the cached profile".to_string(),
            ExploreError::NotBuiltWithBohr => "build it with `bohr cc`, `bohr c++` or `bohr cargo`".to_string(),
            ExploreError::NotReproduced => "`bohr replay BUG` says where it differs".to_string(),
            _ => return None,
        };
        Some(help)
    }
}

fn fault_of_target(error: &TargetError) -> Fault {
    match error {
        TargetError::OtherMachine { .. }
        | TargetError::Static(_)
        | TargetError::StaticProfile(_)
        | TargetError::ChangesUser(_)
        | TargetError::Sanitizer { .. } => Fault::Unsupported,
        _ => Fault::Input,
    }
}

fn help_for_target(error: &TargetError) -> Option<String> {
    Some(match error {
        TargetError::Script { .. } => {
            "give the program that the script starts; children run uncontrolled".to_string()
        }
        TargetError::Static(_) => {
            "link it dynamically, or build it with `bohr cc`, `bohr c++` or `bohr cargo`"
                .to_string()
        }
        TargetError::StaticProfile(_) => {
            "link it without -static for the hunt; its code stays the same".to_string()
        }
        TargetError::NoRuntime(_) => format!(
            "build it with `cargo build --workspace`, or name it in {}",
            crate::target::RUNTIME_VARIABLE
        ),
        TargetError::Sanitizer { .. } => {
            "build it without, or with -fsanitize=address or -fsanitize=undefined; data races are \
             found by `bohr hunt --races fail`"
                .to_string()
        }
        TargetError::Truncated { .. } => "link it again, or copy it again".to_string(),
        TargetError::ChangesUser(_) => "run a copy of it: `cp PROGRAM .`".to_string(),
        _ => return None,
    })
}

fn help_for_bug_file(error: &BugFileError) -> Option<String> {
    Some(match error {
        BugFileError::NotABug => "bug files are written by `bohr hunt`".to_string(),
        BugFileError::OtherVersion { .. } => {
            "use the bohr that wrote it, or hunt again with this one".to_string()
        }
        BugFileError::Truncated { .. } | BugFileError::TooLong { .. } | BugFileError::Damaged => {
            "copy it again from where it was written".to_string()
        }
        BugFileError::Malformed(_) => return None,
    })
}
