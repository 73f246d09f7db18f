//! The profile cache: each profile of each program is made once, on first use.
//!
//! ```text
//! $BOHR_CACHE, or $XDG_CACHE_HOME/bohr, or ~/.cache/bohr
//!   profiles/KEY/model          the program model
//!   profiles/KEY/sharing        which accesses may be shared, for `bohr inspect`
//!   profiles/KEY/program        the instrumented program or shared library
//!   profiles/KEY/libNAME.so     the same under the library's name, of one that is to be loaded
//!   profiles/KEY/report.json    what was instrumented, what was not, and why
//!   profiles/KEY/used           its age is how long the profile was not used
//!   locks/KEY                   held by the process that makes the profile
//!   commands/KEY                how a file was built, by its path
//!   links-*/                    bohr under the names of other tools
//! ```
//!
//! The key is a hash over the bundle, the profile and the program that makes
//! it. The work is done by `bohr-lower` in a process of its own, so that a
//! crash in LLVM is an error message and not the end of a hunt:
//!
//! ```text
//! bohr-lower PROGRAM DIRECTORY --profile NAME [--asked-for NAME]
//! ```
//!
//! writes the three files into the directory and ends with 0, or says on
//! standard error what is wrong and ends with the exit code of a
//! [`Fault`](bohr_event::Fault).

mod lower;
mod prune;

use crate::error::BuildError;
use bohr_bundle::{Bundle, BundleHash, ContentHash};
use std::env;
use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::AtomicBool;

/// Which set of hooks a profile has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Profile {
    /// Hooks before every access that may be shared, and gates.
    Control,
    /// Threads that write down the way they go.
    Path,
    /// Threads that write down in which order they come by what may be shared.
    Order,
    /// The same hooks, and one at every point of the control flow.
    Alignment,
    /// No hooks: what users are given, with what makes its cores readable.
    Production,
    /// The same, with a counter of the blocks that each thread begins.
    CountedProduction,
}

impl fmt::Display for Profile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Profile::Control => "control",
            Profile::Path => "path",
            Profile::Order => "order",
            Profile::Alignment => "alignment",
            Profile::Production => "production",
            Profile::CountedProduction => "production-count",
        })
    }
}

impl FromStr for Profile {
    type Err = String;

    fn from_str(text: &str) -> Result<Profile, String> {
        match text {
            "control" => Ok(Profile::Control),
            "path" => Ok(Profile::Path),
            "order" => Ok(Profile::Order),
            "alignment" => Ok(Profile::Alignment),
            "production" => Ok(Profile::Production),
            "production-count" => Ok(Profile::CountedProduction),
            _ => Err(format!(
                "there is no profile {text}; there are: control, path, order, alignment, production, \
                 production-count"
            )),
        }
    }
}

/// Where the files of a profile are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfilePaths {
    /// The identity of the program.
    pub bundle: BundleHash,
    /// The program model.
    pub model: PathBuf,
    /// The instrumented program or shared library.
    pub executable: PathBuf,
    /// What was instrumented, as JSON.
    pub report: PathBuf,
}

impl ProfilePaths {
    fn in_directory(bundle: BundleHash, directory: &Path, wanted: &Wanted<'_>) -> ProfilePaths {
        ProfilePaths {
            bundle,
            model: directory.join("model"),
            executable: directory.join(wanted.file_name().unwrap_or(PROGRAM.as_ref())),
            report: directory.join("report.json"),
        }
    }
}

/// The name of a profile's program in its directory.
const PROGRAM: &str = "program";

/// What is asked of the cache.
struct Wanted<'a> {
    program: &'a Path,
    profile: Profile,
    /// The name by which the loader is asked for a library.
    asked_for: Option<&'a str>,
}

impl Wanted<'_> {
    /// What people and places are to know a library by: its file's name.
    fn file_name(&self) -> Option<&OsStr> {
        Path::new(self.asked_for?).file_name()
    }

    /// What the profile's files are kept under.
    fn key(&self, bundle: BundleHash, maker: &lower::Maker) -> String {
        let profile = self.profile;
        let text = format!(
            "{bundle} {profile} {} {} {}",
            env!("CARGO_PKG_VERSION"),
            maker.identity(),
            self.asked_for.unwrap_or_default()
        );
        let hash = format!("{:?}", ContentHash::of(text.as_bytes()));
        format!("{}-{profile}", &hash[..32])
    }
}

/// The cache of one user.
#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
    interrupted: &'static AtomicBool,
}

/// What a cache looks at that nobody can interrupt.
static NEVER: AtomicBool = AtomicBool::new(false);

impl Cache {
    /// The cache at the user's place for caches.
    pub fn open() -> Result<Cache, BuildError> {
        Ok(Cache::at(directory()?))
    }

    /// A cache in a directory.
    #[must_use]
    pub fn at(root: PathBuf) -> Cache {
        Cache {
            root,
            interrupted: &NEVER,
        }
    }

    /// The same cache, which gives up making a profile once that is set.
    #[must_use]
    pub fn interrupted_by(self, interrupted: &'static AtomicBool) -> Cache {
        Cache {
            interrupted,
            ..self
        }
    }

    /// The profile of a program, made if it is not there yet. Safe to call from
    /// many processes at once: one makes it, the others wait.
    pub fn profile(&self, program: &Path, profile: Profile) -> Result<ProfilePaths, BuildError> {
        self.provide(&Wanted {
            program,
            profile,
            asked_for: None,
        })
    }

    /// The profile of a shared library, for the loader to take when it is asked for the
    /// library by this name.
    pub fn library_profile(
        &self,
        library: &Path,
        asked_for: &str,
        profile: Profile,
    ) -> Result<ProfilePaths, BuildError> {
        self.provide(&Wanted {
            program: library,
            profile,
            asked_for: Some(asked_for),
        })
    }

    fn provide(&self, wanted: &Wanted<'_>) -> Result<ProfilePaths, BuildError> {
        let program = wanted.program;
        let bytes = fs::read(program).map_err(BuildError::file("read", program))?;
        let bundle = Bundle::in_program(&bytes).map_err(BuildError::bundle(program))?;
        let maker = lower::Maker::find()?;
        let key = wanted.key(bundle.hash(), &maker);
        let directory = self.root.join("profiles").join(&key);
        let paths = ProfilePaths::in_directory(bundle.hash(), &directory, wanted);
        if !directory.exists() {
            let _lock = self.lock(&key)?;
            if !directory.exists() {
                self.make(&maker, wanted, &directory)?;
            }
        }
        prune::touch(&directory);
        Ok(paths)
    }

    /// A directory appears under its name only when it is complete.
    fn make(
        &self,
        maker: &lower::Maker,
        wanted: &Wanted<'_>,
        directory: &Path,
    ) -> Result<(), BuildError> {
        let profiles = self.root.join("profiles");
        fs::create_dir_all(&profiles).map_err(BuildError::file("make", &profiles))?;
        let fresh = tempfile::Builder::new()
            .prefix(".new-")
            .tempdir_in(&profiles)
            .map_err(BuildError::file("make", &profiles))?;
        maker.make(wanted, fresh.path(), self.interrupted)?;
        if let Some(name) = wanted.file_name().filter(|name| *name != PROGRAM) {
            let link = fresh.path().join(name);
            symlink(PROGRAM, &link).map_err(BuildError::file("make", &link))?;
        }
        fs::rename(fresh.path(), directory).map_err(BuildError::file("make", directory))?;
        // Renamed away: there is nothing left to remove.
        let _ = fresh.keep();
        prune::prune(&profiles, directory);
        Ok(())
    }

    fn lock(&self, key: &str) -> Result<File, BuildError> {
        let locks = self.root.join("locks");
        fs::create_dir_all(&locks).map_err(BuildError::file("make", &locks))?;
        let path = locks.join(key);
        let file = File::create(&path).map_err(BuildError::file("make", &path))?;
        file.lock().map_err(BuildError::file("lock", &path))?;
        Ok(file)
    }
}

/// The user's place for bohr's cache.
pub(crate) fn directory() -> Result<PathBuf, BuildError> {
    let place = |variable: &str| env::var_os(variable).filter(|value| !value.is_empty());
    place("BOHR_CACHE")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(place("XDG_CACHE_HOME")?).join("bohr")))
        .or_else(|| Some(PathBuf::from(place("HOME")?).join(".cache/bohr")))
        .ok_or(BuildError::NoCache)
}

/// Copies a program, permissions included; whoever looks meanwhile sees the old
/// file or the new one.
pub fn copy_program(from: &Path, to: &Path) -> Result<(), BuildError> {
    let directory = to.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    let fresh = tempfile::Builder::new()
        .prefix(".bohr-")
        .tempfile_in(directory)
        .map_err(BuildError::file("write", to))?;
    fs::copy(from, fresh.path()).map_err(BuildError::file("copy", from))?;
    fresh
        .persist(to)
        .map(drop)
        .map_err(|error| BuildError::file("write", to)(error.error))
}
