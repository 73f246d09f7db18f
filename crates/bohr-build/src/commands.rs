//! How things were built: the command lines of the compilers, kept in the cache by
//! what came out of them, so that the same can be built again from sources that
//! have changed. Whoever builds is never held up by this: what cannot be kept is
//! not kept.

use crate::cache;
use bohr_bundle::ContentHash;
use serde::{Deserialize, Serialize};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// Who compiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Compiler {
    Clang,
    Clangxx,
    Rustc,
}

/// One call of a compiler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Compilation {
    pub(crate) compiler: Compiler,
    /// Where it was called.
    pub(crate) directory: PathBuf,
    /// As the user's build gave them; of rustc with its own path first.
    pub(crate) arguments: Vec<String>,
    /// What cargo says about the package.
    pub(crate) environment: Vec<(String, String)>,
    /// What came out.
    pub(crate) output: PathBuf,
}

impl Compilation {
    /// A call from here, unless it cannot be written down.
    pub(crate) fn here(
        compiler: Compiler,
        arguments: &[OsString],
        output: &Path,
    ) -> Option<Compilation> {
        let words = arguments
            .iter()
            .map(|word| word.to_str().map(str::to_owned));
        let directory = env::current_dir().ok()?;
        let environment = env::vars_os().filter_map(|(name, value)| {
            let pair = (name.into_string().ok()?, value.into_string().ok()?);
            is_about_package(&pair.0).then_some(pair)
        });
        Some(Compilation {
            compiler,
            arguments: words.collect::<Option<_>>()?,
            environment: environment.collect(),
            output: named(&directory.join(output)),
            directory,
        })
    }

    /// Keeps it, if that is possible.
    pub(crate) fn keep(&self) -> Option<()> {
        let folder = folder()?;
        fs::create_dir_all(&folder).ok()?;
        let text = serde_json::to_vec(self).ok()?;
        let fresh = tempfile::NamedTempFile::new_in(&folder).ok()?;
        fs::write(fresh.path(), text).ok()?;
        fresh.persist(folder.join(key(&self.output))).ok().map(drop)
    }

    /// The last one that made this file.
    pub(crate) fn of(output: &Path) -> Option<Compilation> {
        let output = named(&env::current_dir().ok()?.join(output));
        read(&folder()?.join(key(&output)))
    }

    /// All that are known, the latest first.
    pub(crate) fn all() -> Vec<Compilation> {
        let entries = folder().and_then(|folder| fs::read_dir(folder).ok());
        let mut files: Vec<_> = entries
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        files.sort();
        files
            .iter()
            .rev()
            .filter_map(|(_, path)| read(path))
            .collect()
    }
}

/// What a crate may read when it is compiled; nothing that is nobody's business.
fn is_about_package(name: &str) -> bool {
    const KNOWN: [&str; 4] = [
        "CARGO_PKG_",
        "CARGO_MANIFEST_",
        "CARGO_CRATE_",
        "CARGO_BIN_",
    ];
    name == "OUT_DIR" || KNOWN.iter().any(|start| name.starts_with(start))
}

fn folder() -> Option<PathBuf> {
    Some(cache::directory().ok()?.join("commands"))
}

fn read(path: &Path) -> Option<Compilation> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// A file by the one name of its folder.
fn named(path: &Path) -> PathBuf {
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path.to_path_buf(),
    }
}

fn key(output: &Path) -> String {
    let name = output.to_string_lossy();
    format!("{:?}", ContentHash::of(name.as_bytes()))[..32].to_string()
}
