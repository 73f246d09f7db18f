//! What can be wrong with a core file.

use bohr_event::{Diagnosis, Fault};
use std::path::PathBuf;

/// Why a core cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum DumpError {
    /// It is packed, and that cannot be undone.
    #[error("the core is packed, and cannot be unpacked")]
    Packing(#[source] std::io::Error),
    /// It would take more memory than allowed.
    #[error("the core is larger than {most} bytes")]
    TooLarge {
        /// The limit.
        most: u64,
    },
    /// No ELF file, or a damaged one.
    #[error("this is no core file: {0}")]
    NotElf(#[from] object::Error),
    /// An ELF file of another kind.
    #[error(
        "this is {found}, not a core file; `bohr core` takes the core, `--program` the program"
    )]
    NotCore {
        /// In words.
        found: &'static str,
    },
    /// Of another machine.
    #[error("the core is of another machine (number {0}); bohr reads those of x86-64")]
    OtherMachine(u16),
    /// Nothing tells what the threads were doing.
    #[error("the core has no thread in it: it was cut off before its notes, or they were removed")]
    NoThread,
    /// There is nothing left to hide.
    #[error("the core has been made anonymous before")]
    Anonymous,
    /// The program that was given is not the one that left the core.
    #[error(
        "{program} is another build than the one that left the core: build id {found}, expected {expected}"
    )]
    OtherBuild {
        /// What was given.
        program: PathBuf,
        /// Its build id.
        found: String,
        /// What the core says.
        expected: String,
    },
}

impl Diagnosis for DumpError {
    fn fault(&self) -> Fault {
        match self {
            DumpError::OtherMachine(_) | DumpError::TooLarge { .. } => Fault::Unsupported,
            _ => Fault::Input,
        }
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            DumpError::Packing(_) => "copy the file again from where it was made",
            DumpError::NotElf(_) | DumpError::NotCore { .. } => {
                "give the core file first: bohr core CORE --program PROGRAM"
            }
            DumpError::NoThread => {
                "leave cores whole: ulimit -c unlimited, and room on the disk that they go to"
            }
            DumpError::OtherBuild { .. } => {
                "give the very build that was running: bohr core CORE --program PROGRAM"
            }
            DumpError::Anonymous => "use it as it is",
            DumpError::TooLarge { .. } | DumpError::OtherMachine(_) => return None,
        };
        Some(String::from(help))
    }
}
