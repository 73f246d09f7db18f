//! Which bohr the figures are of.

use super::kept::fingerprint_of_bohr;
use crate::shell;
use serde::Serialize;
use std::path::Path;
use std::process::Command;

/// Told beside every figure.
#[derive(Clone, Debug, Serialize)]
pub struct Source {
    /// What `bohr --version` says.
    pub version: String,
    /// A hash of everything that takes part.
    pub bytes: String,
    /// The commit that it was built from; nothing if it was built by somebody else.
    pub commit: Option<String>,
}

impl Source {
    pub fn of(bohr: &Path) -> Source {
        let version = shell::output(Command::new(bohr).arg("--version"));
        let built_here = std::env::var_os("BOHR").is_none();
        let mut git = Command::new("git");
        git.current_dir(shell::root());
        git.args(["describe", "--always", "--abbrev=12", "--dirty"]);
        let commit = built_here.then(|| shell::output(&mut git).ok()).flatten();
        let line = |text: String| text.trim().to_string();
        Source {
            version: version.map_or("bohr of an unknown version".to_string(), line),
            bytes: fingerprint_of_bohr(bohr),
            commit: commit.map(line),
        }
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Source { version, bytes, .. } = self;
        match &self.commit {
            Some(commit) => write!(out, "{version} (commit {commit}, bytes {bytes})"),
            None => write!(out, "{version} (bytes {bytes})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bohr_is_told_by_version_and_bytes() {
        let source = Source::of(Path::new("/bin/true"));
        assert_eq!(source.bytes.len(), 16);
        assert!(source.version.contains("true"), "{source}");
        assert!(source.to_string().contains(&source.bytes));
    }
}
