//! Images of runs: the memory of a run at one of its moments, in a file, from which
//! later runs begin. What happened up to there, minutes perhaps, happens only once.
//!
//! Schedules are those of the whole run, image or not: a run that begins at an image
//! tells its schedule with what had happened before, so what a hunt finds from there
//! is a bug file like any other and can be replayed without the image.

mod file;
mod machine;
mod process;
mod taking;

pub use file::{Image, VERSION};
pub use taking::{Moment, Taken, take};

use crate::bug_file::{Invocation, ProgramIdentity};
use bohr_event::control::{Policy, Script};
use bohr_event::{Diagnosis, Fault};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Where an image comes from, and what has to be as it was for it to be of use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// Version of bohr that took it.
    pub writer: String,
    /// The program.
    pub program: ProgramIdentity,
    /// How it was started.
    pub invocation: Invocation,
    /// What the engine did where the program leaves it open.
    pub policy: Policy,
    /// The plan of the run, as the runtime has it.
    pub plan: Vec<u8>,
    /// Name of the strategy.
    pub strategy: String,
    /// Its seed.
    pub seed: u64,
    /// How many events had been executed.
    pub events: u64,
    /// How long that had taken.
    pub milliseconds: u64,
    /// Files that were mapped, the runtime among them, with their BLAKE3 hashes.
    pub mapped: Vec<(String, [u8; 32])>,
    /// Files that were open: size, and the time of their last change in nanoseconds.
    pub opened: Vec<(String, u64, u64)>,
    /// The machine.
    pub machine: Machine,
    /// How the memory is made.
    pub script: Script,
}

/// What programs find out about the machine before `main`, and keep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Hash of the code that the kernel maps into every process.
    pub kernel: [u8; 32],
    /// Hash of the list of what the processor can do.
    pub processor: [u8; 32],
}

/// Why an image is of no use, or cannot be taken.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// It does not begin as an image does.
    #[error("`{0}` is not an image of a run: it does not begin with `bohr-img`")]
    NotAnImage(PathBuf),
    /// It was written by another version of the format.
    #[error("the image `{path}` has format version {found}, this bohr reads version {VERSION}")]
    OtherVersion {
        /// Which.
        path: PathBuf,
        /// What the file says.
        found: u32,
    },
    /// It does not end as an image does.
    #[error("the image `{0}` is cut off, or something follows it")]
    Truncated(PathBuf),
    /// The checksum does not fit.
    #[error("the image `{0}` is damaged: its checksum does not fit its content")]
    Damaged(PathBuf),
    /// The checksum fits and the content still makes no sense.
    #[error("the image `{path}` is whole but its content makes no sense: {what}")]
    Malformed {
        /// Which.
        path: PathBuf,
        /// What.
        what: &'static str,
    },
    /// It cannot be read or written.
    #[error("the image `{path}` cannot be used")]
    File {
        /// Which.
        path: PathBuf,
        /// As the system says.
        source: std::io::Error,
    },
    /// It was taken of another program.
    #[error("the image was taken of another build of the program: {0}")]
    OtherBuild(&'static str),
    /// A library is another one.
    #[error("the image was taken with another `{0}`")]
    OtherLibrary(String),
    /// The runtime is another one.
    #[error("the image was taken with another runtime of bohr than `{0}`")]
    OtherRuntime(String),
    /// A file that had been read is another one.
    #[error("the file `{0}` was open when the image was taken, and has changed since")]
    OtherFile(String),
    /// The program was started otherwise.
    #[error("the image was taken of a run with other {0}")]
    OtherInvocation(&'static str),
    /// The kernel is another one.
    #[error("the image was taken under another kernel")]
    OtherKernel,
    /// The processor is another one.
    #[error("the image was taken on a processor that can do other things")]
    OtherProcessor,
    /// The run has ended before.
    #[error("the run ended after {events} events, before the moment of the image")]
    Ended {
        /// How many it had.
        events: u64,
    },
    /// The process cannot be looked into.
    #[error("the stopped run cannot be read: {0}")]
    Unreadable(&'static str),
}

impl Diagnosis for ImageError {
    fn fault(&self) -> Fault {
        match self {
            ImageError::Malformed { .. } => Fault::Internal,
            ImageError::Unreadable(_) => Fault::Unsupported,
            _ => Fault::Input,
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            ImageError::NotAnImage(_) => {
                "images are written by `bohr run --checkpoint-at EVENTS --checkpoint FILE`".into()
            }
            ImageError::Truncated(_) | ImageError::Damaged(_) => {
                "copy it again from where it was written, or take it again".into()
            }
            ImageError::Ended { events } => {
                format!(
                    "name a moment before that: --checkpoint-at {}",
                    (events / 2).max(1)
                )
            }
            ImageError::OtherInvocation(_) => {
                "leave arguments and input out, or give those of the image".into()
            }
            ImageError::File { .. } | ImageError::Malformed { .. } | ImageError::Unreadable(_) => {
                return None;
            }
            _ => "take a new one: `bohr run --checkpoint-at EVENTS --checkpoint FILE`".into(),
        })
    }
}
