//! The names under which bohr is started: symbolic links to the one program.
//!
//! Build systems that want one path get theirs from `bohr setup`. The links
//! that clang, rustc and cargo are pointed to are bohr's own affair and lie in
//! the cache; they are made when they are missing.

use crate::cache;
use crate::error::BuildError;
use crate::link::origin::LINKERS;
use crate::tool::Tool;
use std::env;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Makes `bohr-cc`, `bohr-c++`, `bohr-ld` and `bohr-cargo` in a directory.
pub fn install_links(directory: &Path) -> Result<Vec<PathBuf>, BuildError> {
    let target = own_program()?;
    Tool::PUBLIC
        .iter()
        .map(|name| link(&target, directory, name))
        .collect()
}

/// The directory of the links that tools are pointed to.
pub(crate) struct PrivateLinks {
    directory: PathBuf,
}

impl PrivateLinks {
    /// Finds the directory that belongs to this very program, or makes it.
    pub(crate) fn open() -> Result<PrivateLinks, BuildError> {
        let target = own_program()?;
        let hash = bohr_bundle::ContentHash::of(target.as_os_str().as_bytes());
        let name = u64::from_le_bytes(*hash.0.first_chunk().expect("a hash has 32 bytes"));
        let directory = cache::directory()?.join(format!("links-{name:016x}"));
        let links = PrivateLinks { directory };
        if !links.complete(&target) {
            links.make(&target)?;
        }
        Ok(links)
    }

    /// The link of that name.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// The directory in which linker drivers find bohr under the linkers' names.
    pub(crate) fn linkers(&self) -> PathBuf {
        self.directory.join(LINKERS)
    }

    fn make(&self, target: &Path) -> Result<(), BuildError> {
        for name in Tool::PUBLIC.iter().chain(&Tool::PRIVATE) {
            link(target, &self.directory, name)?;
        }
        for name in Tool::LINKERS.iter().rev() {
            link(target, &self.linkers(), name)?;
        }
        Ok(())
    }

    /// Whether the link that is made last is there.
    fn complete(&self, target: &Path) -> bool {
        let last = self.linkers().join(Tool::LINKERS[0]);
        fs::read_link(last).is_ok_and(|found| found == target)
    }
}

fn own_program() -> Result<PathBuf, BuildError> {
    env::current_exe().map_err(BuildError::file("find", Path::new("/proc/self/exe")))
}

/// Makes or replaces one link; whoever looks meanwhile sees the old or the new.
fn link(target: &Path, directory: &Path, name: &str) -> Result<PathBuf, BuildError> {
    fs::create_dir_all(directory).map_err(BuildError::file("make", directory))?;
    let path = directory.join(name);
    let fresh = directory.join(format!(".{name}.{}", std::process::id()));
    match fs::remove_file(&fresh) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(BuildError::file("replace", &fresh)(error));
        }
        _ => {}
    }
    symlink(target, &fresh).map_err(BuildError::file("make", &fresh))?;
    fs::rename(&fresh, &path).map_err(BuildError::file("replace", &path))?;
    Ok(path)
}
