//! Which build of a program, and of its libraries, a bug was found in.

use serde::{Deserialize, Serialize};

/// How the program was controlled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ControlMode {
    /// At memory accesses: the program was built with bohr.
    Accesses {
        /// Hash of the bundle that the control profile was made from.
        bundle: [u8; 32],
        /// Hash of the control profile itself, which fixes the set of hooked sites.
        profile: [u8; 32],
    },
    /// At the calls of an unmodified program.
    Calls,
}

/// Which program, to the bit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramIdentity {
    /// Where it was.
    pub path: Vec<u8>,
    /// BLAKE3 hash of the file.
    pub hash: [u8; 32],
    /// Its size in bytes.
    pub size: u64,
    /// How it was controlled.
    pub mode: ControlMode,
    /// Its shared libraries that were controlled at their accesses, in the order in
    /// which they are loaded.
    pub libraries: Vec<LibraryIdentity>,
}

/// Which shared library, to the bit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LibraryIdentity {
    /// The name by which the program asks for it.
    pub name: String,
    /// Where it was.
    pub path: Vec<u8>,
    /// Hash of the bundle that its control profile was made from.
    pub bundle: [u8; 32],
    /// Hash of the control profile itself, which fixes the set of hooked sites.
    pub profile: [u8; 32],
    /// Whether the program loads it itself, while it runs.
    pub loaded_late: bool,
}
