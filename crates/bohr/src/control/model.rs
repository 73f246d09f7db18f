//! The program model that belongs to a control profile.

use crate::outcome::Failure;
use bohr_event::{Diagnosis, Fault};
use bohr_program::{Program, ReadError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why there is no model.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// Its file cannot be read.
    #[error("the program model `{path}` cannot be read")]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// As the system says.
        source: std::io::Error,
    },
    /// Its content is not what it should be.
    #[error("the program model `{path}` cannot be used")]
    Refused {
        /// Which.
        path: PathBuf,
        /// Why.
        source: ReadError,
    },
}

impl Diagnosis for ModelError {
    fn fault(&self) -> Fault {
        Fault::Internal
    }

    fn help(&self) -> Option<String> {
        let (ModelError::Unreadable { path, .. } | ModelError::Refused { path, .. }) = self;
        let folder = path.parent()?.display();
        Some(format!(
            "remove {folder} and run the command again: bohr makes it anew"
        ))
    }
}

/// The model at `path`.
pub fn load(path: &Path) -> Result<Arc<Program>, Failure> {
    let bytes = std::fs::read(path).map_err(|source| ModelError::Unreadable {
        path: path.to_path_buf(),
        source,
    })?;
    let model = Program::from_bytes(&bytes).map_err(|source| ModelError::Refused {
        path: path.to_path_buf(),
        source,
    })?;
    Ok(Arc::new(model))
}
