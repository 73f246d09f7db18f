//! Whose fault a failure of bohr itself is. Every error of every crate says so,
//! because it decides what the user should do next.

use alloc::string::String;
use core::error::Error;
use core::fmt;

/// The three kinds of failure, each with its exit code. (Exit code 1 is kept
/// for what bohr finds in the program under test.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The user can repair it: a wrong argument, a missing or damaged file.
    Input,
    /// What was asked for is sound, but bohr does not do it.
    Unsupported,
    /// A bug in bohr.
    Internal,
}

impl Fault {
    /// What the process ends with.
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        match self {
            Fault::Input => 2,
            Fault::Unsupported => 3,
            Fault::Internal => 4,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Fault::Input => "error",
            Fault::Unsupported => "not supported",
            Fault::Internal => "bug in bohr",
        })
    }
}

/// An error that knows whose fault it is and what to try next.
///
/// ```
/// use bohr_event::{Diagnosis, Fault};
///
/// #[derive(Debug)]
/// struct NoSuchFile;
///
/// impl std::fmt::Display for NoSuchFile {
///     fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
///         out.write_str("no such file")
///     }
/// }
/// impl std::error::Error for NoSuchFile {}
/// impl Diagnosis for NoSuchFile {
///     fn fault(&self) -> Fault {
///         Fault::Input
///     }
/// }
/// assert_eq!(NoSuchFile.fault().exit_code(), 2);
/// assert_eq!(NoSuchFile.help(), None);
/// ```
pub trait Diagnosis: Error {
    /// Whose fault it is.
    fn fault(&self) -> Fault;

    /// The next command to try, or what to repair.
    fn help(&self) -> Option<String> {
        None
    }
}
