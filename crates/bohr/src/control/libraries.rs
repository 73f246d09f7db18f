//! The shared libraries of a program that are controlled at their accesses.

use super::{interruption, model};
use crate::outcome::Failure;
use bohr_build::{Cache, Environment, LibraryProfile, Profile, built_with_bohr, carries_bundle};
use bohr_bundle::is_system;
use bohr_event::control::{Detailing, Job, LoadedObject, Output};
use bohr_explore::bug_file::Bug;
use bohr_explore::{ExploreError, LibraryStart, Subject, Target, Voice};
use bohr_program::Program;
use bohr_schedule::{Plan, Rule};
use object::{Object, ObjectSymbol};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A target with its libraries, and the models of these.
pub type WithLibraries = (Target, Vec<Arc<Program>>);

/// Adds the libraries that a program loads and that were built with bohr; gives their
/// models, in the same order. Says on standard error which of them stay as they are.
pub fn add(
    cache: &Cache,
    program: &Path,
    target: Target,
    environment: &Environment,
) -> Result<WithLibraries, Failure> {
    let executable = target.executable.clone();
    let made = cache.substitution(program, &executable, Profile::Control, environment)?;
    for (path, reason) in &made.left {
        note_left(path, reason);
    }
    join(target, made.libraries, made.preload, false)
}

/// Adds libraries that the program loads itself.
fn add_late(cache: &Cache, target: Target, paths: &[PathBuf]) -> Result<WithLibraries, Failure> {
    let mut made = Vec::new();
    for path in paths {
        match cache.late_library(path, Profile::Control) {
            Ok(library) => made.push(library),
            Err(error) => note_left(path, &error.to_string()),
        }
    }
    let preload = target.preload.clone();
    join(target, made, preload, true)
}

fn note_left(path: &Path, reason: &str) {
    eprintln!(
        "bohr: note: {} is controlled at its calls alone: {reason}",
        path.display()
    );
}

fn join(
    target: Target,
    libraries: Vec<LibraryProfile>,
    preload: Vec<PathBuf>,
    loaded_late: bool,
) -> Result<WithLibraries, Failure> {
    let models: Result<Vec<_>, Failure> = { libraries.iter() }
        .map(|library| model::load(&library.profile.model))
        .collect();
    let starts = libraries.into_iter().map(|library| LibraryStart {
        name: library.name,
        path: library.path,
        profile: library.profile.executable,
        bundle: library.profile.bundle.0,
        loaded_late,
    });
    let starts: Vec<LibraryStart> = starts.collect();
    let target = target
        .with_libraries(&starts, preload)
        .map_err(ExploreError::from)?;
    Ok((target, models?))
}

/// The subject with the libraries that it loads itself in a first run.
pub fn with_late_ones(mut subject: Subject) -> Result<Subject, Failure> {
    if !loads_libraries(&subject.target) {
        return Ok(subject);
    }
    let paths = loaded_in_a_run(&subject)?;
    if !paths.is_empty() {
        let cache = Cache::open()?.interrupted_by(interruption());
        let (target, models) = add_late(&cache, subject.target.clone(), &paths)?;
        subject.target = target;
        subject.models.extend(models);
    }
    Ok(subject)
}

/// The same with those that a bug's program loaded, as far as they are there.
pub fn with_late_ones_of(bug: &Bug, mut subject: Subject) -> Result<Subject, Failure> {
    let late = bug.program.libraries.iter().filter(|one| one.loaded_late);
    let paths = late.map(|one| PathBuf::from(OsStr::from_bytes(&one.path)));
    let paths: Vec<PathBuf> = paths.filter(|path| carries_bundle(path)).collect();
    if !paths.is_empty() {
        let cache = Cache::open()?.interrupted_by(interruption());
        let (target, models) = add_late(&cache, subject.target.clone(), &paths)?;
        subject.target = target;
        subject.models.extend(models);
    }
    Ok(subject)
}

/// Whether code that is the user's asks the loader for libraries.
fn loads_libraries(target: &Target) -> bool {
    let files = [&target.executable].into_iter().chain(&target.preload);
    files.into_iter().any(|path| {
        let bytes = std::fs::read(path).unwrap_or_default();
        let Ok(file) = object::File::parse(&*bytes) else {
            return false;
        };
        let mut wanted = file
            .dynamic_symbols()
            .filter(|symbol| symbol.is_undefined());
        wanted.any(|symbol| symbol.name() == Ok("dlopen"))
    })
}

/// What was built with bohr, and was loaded when a run in which threads come one after
/// the other ended.
fn loaded_in_a_run(subject: &Subject) -> Result<Vec<PathBuf>, Failure> {
    let go_on = || !interruption().load(Ordering::Relaxed);
    let mut server = subject.serve(Voice::Muted, &go_on)?;
    let before = server.ready().objects.clone();
    let job = Job {
        details: Detailing::Always,
        output: Output::Discard,
        ..subject.job(&Plan::new(Rule::Sequential))
    };
    let report = subject.run_once(&mut server, job, &go_on)?;
    let after = report.detail.as_ref().map(|detail| &detail.objects[..]);
    let after = after.unwrap_or_default().iter();
    let new = after.filter(|object| !before.contains(object));
    let paths = new.filter_map(|object| match object {
        LoadedObject::Code { path, .. } => Some(PathBuf::from(path)),
        LoadedObject::Sites { .. } => None,
    });
    let ours = |path: &PathBuf| !is_system(path) && carries_bundle(path);
    Ok(paths.filter(ours).collect())
}

/// The names of the libraries that are controlled at their accesses.
pub fn names(target: &Target) -> Vec<String> {
    let libraries = target.identity.libraries.iter();
    libraries
        .map(|one| file_name(&one.name).to_string())
        .collect()
}

/// Says that something is not done in the shared libraries that are controlled.
pub fn note_beyond(target: &Target, what: &str) {
    let names = names(target);
    if !names.is_empty() {
        eprintln!(
            "bohr: note: {what} are of the program's own file, not of {}",
            names.join(", ")
        );
    }
}

/// Says that a program's libraries are left out of something that takes one model.
pub fn note_left_out(program: &Path, environment: &Environment, what: &str) {
    for path in built_with_bohr(program, environment) {
        eprintln!(
            "bohr: note: {} was built with bohr, but {what}; link it statically to have it in",
            path.display()
        );
    }
}

/// The name of a library without its folder.
pub fn file_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}
