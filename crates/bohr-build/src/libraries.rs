//! The shared libraries that a program loads, and profiles in the place of those that
//! were built with bohr.
//!
//! Which files those are, the loader itself says (`ld.so --list`). A profile has the name
//! by which its library is asked for as its own (`DT_SONAME`), and is loaded before the
//! program's libraries are (`LD_PRELOAD`): the loader then has a library of that name and
//! looks for no other. That holds whatever `DT_RPATH`, `DT_RUNPATH`, `LD_LIBRARY_PATH` and
//! the system's settings say. Whether it holds for this program, the loader is asked once
//! more.

mod loader;

use crate::cache::{Cache, Profile, ProfilePaths};
use crate::error::BuildError;
use crate::link::dynamic::soname;
use bohr_bundle::{Bundle, BundleError, is_system};
use loader::Loader;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Variables with their values, of the process that is to be.
pub type Environment = [(Vec<u8>, Vec<u8>)];

/// A library of which there is a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibraryProfile {
    /// The name by which it is asked for.
    pub name: String,
    /// The library itself.
    pub path: PathBuf,
    /// What is loaded in its place.
    pub profile: ProfilePaths,
}

/// What is loaded into a program's profile instead of what the program would load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Substitution {
    /// The libraries that have a profile, in the order in which the loader comes to them.
    pub libraries: Vec<LibraryProfile>,
    /// What has to be loaded first, in that order: their profiles, and libraries that the
    /// program finds beside itself and its profile would not.
    pub preload: Vec<PathBuf>,
    /// Libraries that were built with bohr and stay as they are, with the reason.
    pub left: Vec<(PathBuf, String)>,
}

/// Whether a bundle travels with a file, whole or not.
#[must_use]
pub fn carries_bundle(path: &Path) -> bool {
    fs::read(path).is_ok_and(|bytes| {
        !matches!(
            Bundle::in_program(&bytes),
            Err(BundleError::Missing | BundleError::NotElf(_))
        )
    })
}

/// The libraries that a program loads in this environment and that were built with bohr.
#[must_use]
pub fn built_with_bohr(program: &Path, environment: &Environment) -> Vec<PathBuf> {
    let own = own_libraries(&Loader::of(environment), program).into_iter();
    let paths = own.map(|(_, path)| path);
    paths.filter(|path| carries_bundle(path)).collect()
}

impl Cache {
    /// The profile of a library that a program loads itself, from this file.
    ///
    /// # Errors
    /// If there is none.
    pub fn late_library(
        &self,
        path: &Path,
        profile: Profile,
    ) -> Result<LibraryProfile, BuildError> {
        let bytes = fs::read(path).map_err(BuildError::file("read", path))?;
        let file = || path.file_name().unwrap_or_default().to_string_lossy();
        let name = soname(&bytes).unwrap_or_else(|| file().into_owned());
        let profile = self.library_profile(path, &name, profile)?;
        let path = canonical(path);
        Ok(LibraryProfile {
            name,
            path,
            profile,
        })
    }

    /// Profiles of the libraries that `program` loads in this environment, for its own
    /// profile, `executable`.
    ///
    /// # Errors
    /// If the user does not want to wait for them.
    pub fn substitution(
        &self,
        program: &Path,
        executable: &Path,
        profile: Profile,
        environment: &Environment,
    ) -> Result<Substitution, BuildError> {
        let loader = Loader::of(environment);
        let own = own_libraries(&loader, program);
        if own.is_empty() {
            return Ok(Substitution::default());
        }
        let mut choice = Choice {
            names: names(&loader, executable),
            own,
            stand_ins: HashMap::new(),
            beside: HashSet::new(),
            left: Vec::new(),
        };
        choice.make_profiles(self, profile)?;
        while choice.needs_change(&loader, executable) {}
        Ok(choice.settled())
    }
}

/// Which libraries have a profile loaded in their place, until the loader agrees.
struct Choice {
    /// What the program loads beside the system's libraries, by name, in order.
    own: Vec<(String, PathBuf)>,
    /// The names by which its profile asks for files.
    names: HashMap<PathBuf, String>,
    /// What takes the place of which file.
    stand_ins: HashMap<PathBuf, LibraryProfile>,
    /// Files that are loaded first as they are.
    beside: HashSet<PathBuf>,
    left: Vec<(PathBuf, String)>,
}

impl Choice {
    fn make_profiles(&mut self, cache: &Cache, profile: Profile) -> Result<(), BuildError> {
        let ours = self.own.iter().filter(|(_, path)| carries_bundle(path));
        for (name, path) in ours {
            let name = self.names.get(&canonical(path)).unwrap_or(name).clone();
            let file = Path::new(&name).file_name();
            let mut others = self.stand_ins.values();
            if others.any(|one| Path::new(&one.name).file_name() == file) {
                let reason = "another library of that file name is controlled";
                self.left.push((path.clone(), reason.to_string()));
                continue;
            }
            let reason = match cache.library_profile(path, &name, profile) {
                Ok(made) if separates(&made.executable) => {
                    "LD_PRELOAD can hold no path like that of bohr's cache".to_string()
                }
                Ok(profile) => {
                    let key = path.clone();
                    let path = canonical(path);
                    let one = LibraryProfile {
                        name,
                        path,
                        profile,
                    };
                    self.stand_ins.insert(key, one);
                    continue;
                }
                Err(BuildError::Interrupted) => return Err(BuildError::Interrupted),
                Err(error) => error.to_string(),
            };
            self.left.push((path.clone(), reason));
        }
        Ok(())
    }

    /// What is loaded first.
    fn preload(&self) -> Vec<PathBuf> {
        let first = self.own.iter().filter_map(|(_, path)| {
            let profile = self.stand_ins.get(path);
            let profile = profile.map(|one| one.profile.executable.clone());
            profile.or_else(|| self.beside.get(path).cloned())
        });
        first.collect()
    }

    /// Whether the loader makes something else of it; that is changed then, and cannot
    /// be changed again.
    fn needs_change(&mut self, loader: &Loader<'_>, executable: &Path) -> bool {
        let listed = loader.list(executable, &self.preload()).into_iter();
        let found = listed.filter_map(|one| Some(canonical(&one.path?)));
        let found: HashSet<PathBuf> = found.collect();
        let is_found = |path: &PathBuf| found.contains(&canonical(path));
        let doubled = self.stand_ins.keys().find(|path| is_found(path));
        if let Some(path) = doubled.cloned() {
            self.stand_ins.remove(&path);
            let reason = "the loader is asked for it by several names";
            self.left.push((path, reason.to_string()));
            return true;
        }
        let is_missing = |path: &&PathBuf| {
            let loaded = self.stand_ins.contains_key(*path) || self.beside.contains(*path);
            !loaded && !is_found(path) && !separates(path)
        };
        let mut paths = self.own.iter().map(|(_, path)| path);
        let missing = paths.find(is_missing).cloned();
        missing.is_some_and(|path| self.beside.insert(path))
    }

    fn settled(mut self) -> Substitution {
        let preload = self.preload();
        let libraries = self.own.iter();
        let libraries = libraries.filter_map(|(_, path)| self.stand_ins.remove(path));
        Substitution {
            libraries: libraries.collect(),
            preload,
            left: self.left,
        }
    }
}

/// What a program loads beside the system's libraries: names and files.
fn own_libraries(loader: &Loader<'_>, program: &Path) -> Vec<(String, PathBuf)> {
    let listed = loader.list(program, &[]).into_iter();
    let found = listed.filter_map(|one| Some((one.asked_for, one.path?)));
    found.filter(|(_, path)| !is_system(path)).collect()
}

/// By which names a program asks for which files.
fn names(loader: &Loader<'_>, program: &Path) -> HashMap<PathBuf, String> {
    let own = own_libraries(loader, program).into_iter();
    own.map(|(name, path)| (canonical(&path), name)).collect()
}

fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

/// Whether the loader takes a path in a list for several.
fn separates(path: &Path) -> bool {
    let bytes = path.as_os_str().as_bytes();
    bytes.contains(&b':') || bytes.contains(&b' ')
}
