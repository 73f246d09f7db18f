//! Finds the members of archives that the linker took.
//!
//! The linker names members, and names need not be unique: two directories of
//! a project can each have a `list.o`. If the linker took fewer members of a
//! name than there are, those whose symbols are in the program are the ones.

use super::trace::TracedInput;
use crate::error::BuildError;
use object::read::archive::ArchiveFile;
use object::{Object, ObjectSymbol};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The bytes of the members that bear each name.
type Candidates<'bytes> = BTreeMap<String, Vec<Cow<'bytes, [u8]>>>;

/// The members that were linked, to be taken in the order of the trace.
#[derive(Debug, Default)]
pub(super) struct Members {
    /// By archive and name; the next one is last.
    waiting: BTreeMap<(PathBuf, String), Vec<Vec<u8>>>,
}

impl Members {
    /// Reads the members that the trace names from their archives, each archive once.
    pub(super) fn read(inputs: &[TracedInput], program: &[u8]) -> Result<Members, BuildError> {
        let mut names: BTreeMap<&Path, Vec<&str>> = BTreeMap::new();
        for input in inputs {
            if let Some(member) = &input.member {
                names.entry(&input.path).or_default().push(member);
            }
        }
        let mut members = Members::default();
        for (path, names) in names {
            let archive = fs::read(path).map_err(BuildError::file("read", path))?;
            for (name, mut contents) in select(path, &archive, &names, program)? {
                contents.reverse();
                let contents = contents.into_iter().map(Cow::into_owned).collect();
                members.waiting.insert((path.to_owned(), name), contents);
            }
        }
        Ok(members)
    }

    /// The next member of that name.
    pub(super) fn take(&mut self, path: &Path, name: &str) -> Result<Vec<u8>, BuildError> {
        self.waiting
            .get_mut(&(path.to_owned(), name.to_owned()))
            .and_then(Vec::pop)
            .ok_or_else(|| unreadable(path, format!("it has no member {name}")))
    }
}

/// As many members of each name as the linker took.
fn select<'bytes>(
    path: &Path,
    archive: &'bytes [u8],
    names: &[&str],
    program: &[u8],
) -> Result<Candidates<'bytes>, BuildError> {
    let mut candidates = candidates(path, archive, names)?;
    for (name, members) in &mut candidates {
        let taken = names.iter().filter(|taken| *taken == name).count();
        if members.len() > taken {
            let symbols = defined(program);
            // The sort is stable: without symbols the first ones are taken.
            members.sort_by_key(|bytes| std::cmp::Reverse(score(bytes, &symbols)));
            members.truncate(taken);
        }
    }
    Ok(candidates)
}

/// All members that bear one of the names.
fn candidates<'bytes>(
    path: &Path,
    bytes: &'bytes [u8],
    names: &[&str],
) -> Result<Candidates<'bytes>, BuildError> {
    let broken = |error: object::read::Error| unreadable(path, error.to_string());
    let wanted: HashSet<&str> = names.iter().copied().collect();
    let archive = ArchiveFile::parse(bytes).map_err(broken)?;
    let mut found = Candidates::new();
    for member in archive.members() {
        let member = member.map_err(broken)?;
        let name = String::from_utf8_lossy(member.name()).into_owned();
        // Linkers name members of thin archives by path or by file name.
        let short = name.rsplit('/').next().unwrap_or(&name);
        let Some(&known) = wanted.get(&*name).or_else(|| wanted.get(short)) else {
            continue;
        };
        let contents = if archive.is_thin() {
            let file = beside(path, &name);
            Cow::Owned(fs::read(&file).map_err(BuildError::file("read", &file))?)
        } else {
            Cow::Borrowed(member.data(bytes).map_err(broken)?)
        };
        found.entry(known.to_owned()).or_default().push(contents);
    }
    Ok(found)
}

/// Thin archives name their members' files relative to themselves.
fn beside(archive: &Path, name: &str) -> PathBuf {
    archive.parent().unwrap_or(Path::new("")).join(name)
}

fn defined(file: &[u8]) -> HashSet<Vec<u8>> {
    let Ok(file) = object::File::parse(file) else {
        return HashSet::new();
    };
    file.symbols()
        .chain(file.dynamic_symbols())
        .filter(|symbol| symbol.is_global() && !symbol.is_undefined())
        .filter_map(|symbol| symbol.name_bytes().ok().map(<[u8]>::to_vec))
        .collect()
}

/// How many of the symbols that an object defines are in the program.
fn score(object: &[u8], program: &HashSet<Vec<u8>>) -> usize {
    defined(object).intersection(program).count()
}

fn unreadable(path: &Path, reason: String) -> BuildError {
    BuildError::file("read", path)(std::io::Error::other(reason))
}
