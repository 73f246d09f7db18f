//! The program model that belongs to a control profile.

use crate::outcome::Failure;
use bohr_program::Program;
use std::path::Path;
use std::sync::Arc;

/// The model at `path`.
pub fn load(path: &Path) -> Result<Vec<Arc<Program>>, Failure> {
    let _ = path;
    Ok(Vec::new())
}
