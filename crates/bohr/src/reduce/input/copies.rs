//! Where a file lies that is made smaller: beside the result, under two names by turns.
//! The bug file on disk names the one, the next candidate is the other, so that
//! whenever bohr is killed what the bug file names is what it was saved with. The file
//! that the user has named is neither of them.

use super::super::error::ReduceError;
use crate::outcome::Failure;
use bohr_explore::{ExploreError, write_whole};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Extensions of the two, and one in case the user's file has one of these names. As
/// long as each other: a program sees how long its arguments are.
const NAMES: [&str; 3] = ["input", "spare", "other"];

/// See the module.
#[derive(Clone, Debug)]
pub struct Copies {
    /// The name that the smallest has in the end, and the other one.
    paths: [PathBuf; 2],
    /// Which of them the bug file names, if it names one.
    kept: Option<usize>,
}

impl Copies {
    /// Beside a result, but never in the place of `source`.
    pub fn beside(output: &Path, source: &Path) -> Copies {
        let is_source = |path: &PathBuf| match (path.canonicalize(), source.canonicalize()) {
            (Ok(path), Ok(source)) => path == source,
            _ => path == source,
        };
        let mut paths = Copies::names(output).filter(|path| !is_source(path));
        let mut next = || paths.next().unwrap_or_default();
        Copies {
            paths: [next(), next()],
            kept: None,
        }
    }

    /// All names that a copy beside a result can have.
    pub fn names(output: &Path) -> impl Iterator<Item = PathBuf> {
        NAMES.iter().map(move |name| output.with_extension(name))
    }

    /// What the next candidate is called.
    pub fn candidate(&self) -> &Path {
        &self.paths[self.next()]
    }

    /// The candidate is what the bug file names from now on.
    pub fn keep(&mut self) {
        self.kept = Some(self.next());
    }

    /// The file that the bug file names, if it names one.
    pub fn kept(&self) -> Option<&Path> {
        self.kept.map(|kept| &*self.paths[kept])
    }

    /// Whether the smallest has to be called otherwise before all is done.
    pub fn is_under_other_name(&self) -> bool {
        self.kept == Some(1)
    }

    /// Takes away what no bug file names.
    pub fn clean(&self) {
        // Where none was written, there is none.
        let _ = std::fs::remove_file(self.candidate());
    }

    /// Puts the next candidate in its place.
    pub fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        let path = self.candidate();
        write_whole(path, bytes).map_err(|source| {
            let path = path.to_path_buf();
            ExploreError::File { path, source }.into()
        })
    }

    fn next(&self) -> usize {
        match self.kept {
            Some(1) => 0,
            _ => 1,
        }
    }
}

/// Whether an argument names a copy beside a result.
pub fn is_copy(argument: &OsStr, output: &Path) -> bool {
    Copies::names(output).any(|path| path.as_os_str() == argument)
}

/// What a file that is to be made smaller has in it.
pub fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|source| {
        let path = path.to_path_buf();
        ExploreError::File { path, source }.into()
    })
}

/// The same if no argument names it.
pub fn not_named(path: &Path) -> Failure {
    let path = path.to_path_buf();
    ReduceError::NotNamed { path }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_bug_file_names_is_not_written_to() {
        let mut copies = Copies::beside(Path::new("out/small.bohr"), Path::new("chat"));
        assert_eq!(copies.candidate(), Path::new("out/small.spare"));
        copies.keep();
        assert!(copies.is_under_other_name());
        assert_eq!(copies.candidate(), Path::new("out/small.input"));
        copies.keep();
        assert!(!copies.is_under_other_name());
        assert_eq!(copies.candidate(), Path::new("out/small.spare"));
    }

    #[test]
    fn the_users_file_is_not_written_to() {
        let mut copies = Copies::beside(Path::new("a.bohr"), Path::new("a.input"));
        let mut names = Vec::new();
        for _ in 0..4 {
            names.push(copies.candidate().to_path_buf());
            copies.keep();
        }
        assert!(!names.contains(&PathBuf::from("a.input")), "{names:?}");
        assert!(is_copy(OsStr::new("a.other"), Path::new("a.bohr")));
        assert!(!is_copy(OsStr::new("a.bohr"), Path::new("a.bohr")));
    }
}
