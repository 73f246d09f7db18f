//! How far rustc was asked to optimise, for the linker step, which sees only
//! objects. A program's own crate is linked by the rustc that compiled it, so
//! the environment tells. Libraries are linked later, by another: a small file
//! beside each tells.

use crate::error::BuildError;
use bohr_bundle::Level;
use std::fs;
use std::path::{Path, PathBuf};

/// The environment variable that carries the level of a program's own crate.
pub(super) const VARIABLE: &str = "BOHR_RUST_LEVEL";

/// Writes down the level of a library that is about to be made.
pub(super) fn write(library: &Path, level: Level) -> Result<(), BuildError> {
    let path = beside(library);
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).map_err(BuildError::file("make", directory))?;
    }
    fs::write(&path, level.digit()).map_err(BuildError::file("write", &path))
}

/// The level of a library, if it was made by way of bohr.
pub(crate) fn of_library(library: &Path) -> Option<Level> {
    Level::of_option(fs::read_to_string(beside(library)).ok()?.trim())
}

/// The level of the crate that is being linked.
pub(crate) fn of_own_crate() -> Option<Level> {
    Level::of_option(&std::env::var(VARIABLE).ok()?)
}

fn beside(library: &Path) -> PathBuf {
    library.with_extension("bohr-level")
}
