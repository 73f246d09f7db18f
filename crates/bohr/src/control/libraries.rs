//! The shared libraries of a program that are controlled at their accesses.

use super::model;
use crate::outcome::Failure;
use bohr_build::{Cache, Environment, Profile};
use bohr_explore::{ExploreError, LibraryStart, Target};
use bohr_program::Program;
use std::path::Path;
use std::sync::Arc;

/// Adds the libraries that a program loads and that were built with bohr; gives their
/// models, in the same order. Says on standard error which of them stay as they are.
pub fn add(
    cache: &Cache,
    program: &Path,
    target: Target,
    environment: &Environment,
) -> Result<(Target, Vec<Arc<Program>>), Failure> {
    let executable = target.executable.clone();
    let made = cache.substitution(program, &executable, Profile::Control, environment)?;
    for (path, reason) in &made.left {
        eprintln!(
            "bohr: note: {} is controlled at its calls alone: {reason}",
            path.display()
        );
    }
    let models: Result<Vec<_>, Failure> = { made.libraries.iter() }
        .map(|library| model::load(&library.profile.model))
        .collect();
    let starts = made.libraries.into_iter().map(|library| LibraryStart {
        name: library.name,
        path: library.path,
        profile: library.profile.executable,
        bundle: library.profile.bundle.0,
    });
    let starts: Vec<LibraryStart> = starts.collect();
    let target = target
        .with_libraries(&starts, made.preload)
        .map_err(ExploreError::from)?;
    Ok((target, models?))
}
