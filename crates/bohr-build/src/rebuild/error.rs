//! Why a program cannot be built again.

use std::path::{Path, PathBuf};

/// See the module.
#[derive(Debug, thiserror::Error)]
pub enum RebuildError {
    /// Nobody has written down how it was built.
    #[error("how {} was built is not known here: it was built elsewhere, or copied since", .0.display())]
    Unknown(PathBuf),
    /// The file belongs to something that is not built again.
    #[error("{} is none of the files that the build of the program compiles", .0.display())]
    Elsewhere(PathBuf),
    /// The compiler says no.
    #[error("it does not build: {0}")]
    Compiler(String),
    /// A file could not be read or written.
    #[error("cannot use {}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

impl RebuildError {
    pub(super) fn file(path: &Path) -> impl FnOnce(std::io::Error) -> RebuildError {
        let path = path.to_path_buf();
        move |source| RebuildError::File { path, source }
    }
}
