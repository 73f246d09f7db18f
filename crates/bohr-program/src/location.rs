//! Where things stand in the source.

use crate::ids::{FileNumber, LocationNumber, ScopeNumber, TextNumber};
use crate::program::Program;
use cranelift_entity::packed_option::PackedOption;
use serde::{Deserialize, Serialize};

/// A source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SourceFile {
    /// As the compiler was given it.
    pub path: TextNumber,
    /// What a relative path is relative to.
    pub directory: TextNumber,
}

/// A function of the source, perhaps inlined everywhere, seen from one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Scope {
    /// Its name in the source.
    pub name: TextNumber,
    /// Its linkage name; empty where it is the name itself.
    pub linkage_name: TextNumber,
    /// The file of the code.
    pub file: PackedOption<FileNumber>,
    /// Where the function begins.
    pub line: u32,
}

/// A place in the source; line and column count from 1, 0 is "not known".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Location {
    /// The function that the code was written in, and its file.
    pub scope: ScopeNumber,
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u16,
    /// The place of the call that was replaced by the function's body.
    pub inlined_at: PackedOption<LocationNumber>,
}

impl Program {
    /// A place as `file:line`, in the function whose code it is now part of.
    #[must_use]
    pub fn line(&self, location: LocationNumber) -> String {
        let mut location = &self.locations[location];
        while let Some(outer) = location.inlined_at.expand() {
            location = &self.locations[outer];
        }
        let file = self.scopes[location.scope].file.expand();
        let file = file.map_or("?", |file| &self.texts[self.files[file].path]);
        format!("{file}:{}", location.line)
    }
}
