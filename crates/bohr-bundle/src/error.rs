//! Why a bundle cannot be read or attached.

use crate::format::FormatVersion;
use bohr_event::{Diagnosis, Fault};
use thiserror::Error;

/// Everything that can be wrong with a bundle or with the file that should
/// carry one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BundleError {
    /// The file is not ELF, or its headers contradict each other.
    #[error("not a 64-bit x86-64 ELF file: {0}")]
    NotElf(String),
    /// There is no bundle in the file.
    #[error(
        "the program carries no bundle: it was not built with bohr, or the bundle was stripped"
    )]
    Missing,
    /// Fewer bytes than the format needs at this place.
    #[error("the bundle is cut short: {what} needs {expected} bytes, {found} are there")]
    Truncated {
        /// What was being read.
        what: &'static str,
        /// Bytes needed.
        expected: u64,
        /// Bytes found.
        found: u64,
    },
    /// The first bytes are not a bundle's.
    #[error("not a bundle: it begins with {found:02x?}")]
    Foreign {
        /// The bytes in place of the magic.
        found: [u8; 8],
    },
    /// Written by an older bohr in a format that is no longer read.
    #[error(
        "the bundle has format {found}, this bohr reads {}",
        FormatVersion::CURRENT
    )]
    TooOld {
        /// The version in the header.
        found: FormatVersion,
    },
    /// Written by a newer bohr.
    #[error(
        "the bundle has format {found}, this bohr reads up to {}",
        FormatVersion::CURRENT
    )]
    TooNew {
        /// The version in the header.
        found: FormatVersion,
    },
    /// The bytes are not those that were written.
    #[error("the bundle is damaged: {0}")]
    Damaged(String),
    /// The ELF file has more sections than fit the ordinary header.
    #[error("the output has {sections} sections, more than a bundle can be added to")]
    TooManySections {
        /// How many.
        sections: u64,
    },
}

impl Diagnosis for BundleError {
    fn fault(&self) -> Fault {
        match self {
            BundleError::TooNew { .. } | BundleError::TooManySections { .. } => Fault::Unsupported,
            _ => Fault::Input,
        }
    }

    fn help(&self) -> Option<String> {
        let text = match self {
            BundleError::TooManySections { .. } => return None,
            BundleError::TooNew { .. } => "use the bohr that built the program, or build it again",
            BundleError::NotElf(_) => {
                "name the program itself, not a script that starts it; only Linux on x86-64 is supported"
            }
            _ => {
                "build it with `bohr cc`, `bohr c++` or `bohr cargo`; GNU strip keeps the bundle, \
                 llvm-strip removes it"
            }
        };
        Some(text.to_owned())
    }
}
