//! Why bytes are not a trace, or no longer one.

use crate::Sequence;
use crate::format::FormatVersion;
use alloc::string::String;
use bohr_event::{Diagnosis, Fault};

/// What is wrong with a trace file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// It does not begin as a trace does.
    #[error("not a trace: the file does not begin with \"bohr-trc\"")]
    Foreign,
    /// Written by an older bohr than this one reads.
    #[error("the trace has format {0}, too old for this bohr, which reads {current}", current = FormatVersion::CURRENT)]
    TooOld(FormatVersion),
    /// Written by a newer bohr than this one.
    #[error("the trace has format {0}, too new for this bohr, which reads {current}", current = FormatVersion::CURRENT)]
    TooNew(FormatVersion),
    /// The structure of the file is broken.
    #[error("the trace is damaged at byte {offset}: expected {expected}")]
    Damaged {
        /// Where.
        offset: u64,
        /// What should be there.
        expected: &'static str,
    },
    /// The content of one block is broken; others may be sound.
    #[error("the trace is damaged from event {first} on: expected {expected}")]
    DamagedBlock {
        /// First event that cannot be read.
        first: Sequence,
        /// What should be there.
        expected: &'static str,
    },
}

impl Diagnosis for TraceError {
    fn fault(&self) -> Fault {
        Fault::Input
    }

    fn help(&self) -> Option<String> {
        Some(String::from(match self {
            TraceError::Foreign => {
                "give a file that `bohr` recorded, or a bug file: bohr trace BUG"
            }
            TraceError::TooOld(_) => "record the run again with this bohr: bohr replay BUG",
            TraceError::TooNew(_) => "read it with the bohr that wrote it, or a newer one",
            TraceError::Damaged { .. } | TraceError::DamagedBlock { .. } => {
                "copy the file again from where it was made, or record the run again: bohr replay BUG"
            }
        }))
    }
}
