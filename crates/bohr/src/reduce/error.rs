//! Why a bug cannot be reduced.

use super::lines::Lines;
use bohr_event::{Diagnosis, Fault};
use std::path::PathBuf;

/// See the module.
#[derive(Debug, thiserror::Error)]
pub enum ReduceError {
    /// It comes and goes although nothing is left to chance.
    #[error("the bug is flaky: its own schedule shows it in {shown} of {of} replays")]
    Flaky {
        /// Replays that showed it.
        shown: u64,
        /// Replays that were made.
        of: u64,
    },
    /// What is left of it does, which the bug as it was found does not.
    #[error(
        "what is left of the bug comes and goes: {shown} of {of} replays show it; `{path}` holds the bug as it was found"
    )]
    Unsteady {
        /// Replays that showed it.
        shown: u64,
        /// Replays that were made.
        of: u64,
        /// The file.
        path: PathBuf,
    },
    /// Nobody tells the program to read this file.
    #[error("no argument of the program is `{path}`")]
    NotNamed {
        /// The file.
        path: PathBuf,
    },
    /// Nothing in the lines that the user has named can go.
    #[error(
        "nothing in {lines} can be left out: no loop that can do without an iteration, and no call whose result nobody uses"
    )]
    NothingThere {
        /// The lines.
        lines: Lines,
    },
    /// What the dependence graph could do without is counted, and no more.
    #[error("`--method er` only counts: there is nothing to write, to shrink or to name")]
    OnlyCounts,
    /// The file to go on with is about something else.
    #[error("`{path}` holds another bug than the one to reduce")]
    OtherBug {
        /// The file.
        path: PathBuf,
    },
}

impl Diagnosis for ReduceError {
    fn fault(&self) -> Fault {
        Fault::Input
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            ReduceError::Flaky { .. } | ReduceError::Unsteady { .. } => {
                "something that bohr does not control leaks in; `bohr check -- PROGRAM` looks for it"
                    .to_string()
            }
            ReduceError::NotNamed { .. } => {
                "write the file as the program was given it, or shrink `stdin` or `arguments`".to_string()
            }
            ReduceError::NothingThere { .. } => {
                "`bohr inspect --gates PROGRAM` lists what can; BOHR_RCB_BEGIN and BOHR_RCB_END of bohr.h mark any block"
                    .to_string()
            }
            ReduceError::OnlyCounts => {
                "leave out -o, --resume, --shrink-input and --rcb, or --method er".to_string()
            }
            ReduceError::OtherBug { .. } => {
                "name another file with -o, or leave out --resume to replace it".to_string()
            }
        })
    }
}
