//! Names of places in a program that stay the same in every profile, in every
//! rebuild of the same sources and whatever the link order.

use alloc::string::String;
use core::fmt;
use serde::{Deserialize, Serialize};

/// A function, named by what its author wrote and not by where a linker put it.
///
/// The value is the first 64 bits of a hash over the linkage name before any
/// renaming; for functions with local linkage the file name of their source
/// joins in, for those of a shared library its name, and where two functions still collide, a hash of their bodies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FunctionId(pub u64);

impl fmt::Display for FunctionId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:016x}", self.0)
    }
}

impl fmt::Debug for FunctionId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "fn:{self}")
    }
}

/// One load, store, atomic operation, fence, memory intrinsic or call that can
/// synchronise: the `index`-th such instruction of its function, in layout
/// order. Every one has an id, whether a profile hooks it or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SiteId {
    /// The function that holds the instruction.
    pub function: FunctionId,
    /// Its number among the sites of that function.
    pub index: u32,
}

impl fmt::Display for SiteId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}#{}", self.function, self.index)
    }
}

/// Where in the program an event happened, as exactly as the way in which the
/// program is controlled allows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Place {
    /// A site of a program that was built with bohr.
    Site(SiteId),
    /// The return address of an interposed call in code that was not: the
    /// file name of the loaded object and the offset from its load address.
    Code {
        /// File name without directories, so that a copy elsewhere is the same place.
        object: String,
        /// Offset of the return address from the load address.
        offset: u64,
    },
    /// Native code by the function that holds it, which no other function in
    /// the program and no linker can move. Signatures name code this way.
    Within {
        /// The function.
        function: FunctionId,
        /// Offset of the code from the function's beginning.
        offset: u64,
    },
}

impl Place {
    /// The function that holds the place, where its name lasts.
    #[must_use]
    pub fn function(&self) -> Option<FunctionId> {
        match self {
            Place::Site(site) => Some(site.function),
            Place::Within { function, .. } => Some(*function),
            Place::Code { .. } => None,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Site(site) => site.fmt(out),
            Place::Code { object, offset } => write!(out, "{object}+{offset:#x}"),
            Place::Within { function, offset } => write!(out, "{function}+{offset:#x}"),
        }
    }
}
