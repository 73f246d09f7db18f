//! What is left behind: a patch of the user's sources and a regression test.

use crate::explain::source;
use crate::outcome::Failure;
use bohr_event::FailureKind;
use bohr_explore::bug_file::{Invocation, Oracle};
use bohr_explore::{ExploreError, write_whole};
use bohr_trigger::patch::{Language, PatchError, TestCase, insertions, regression_test, unified};
use bohr_trigger::{Expression, Place};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Seconds after which the regression test takes a run for stuck.
const PATIENCE: u64 = 10;

/// The files, where they were written.
pub struct Artefacts {
    pub patch: PathBuf,
    pub test: PathBuf,
    /// Where the patch is to be applied; empty for here.
    pub root: PathBuf,
}

/// What the test is about.
pub struct Case<'a> {
    pub program: &'a Path,
    pub invocation: &'a Invocation,
    pub oracle: &'a Oracle,
    pub kind: &'a FailureKind,
}

/// Writes the patch and the test into a folder, and says where; or why not.
pub fn leave(
    set: &[Expression],
    case: &Case<'_>,
    folder: &Path,
) -> Result<Option<Artefacts>, Failure> {
    let name = case.program.file_stem().unwrap_or_default();
    match write(&name.to_string_lossy(), set, case, folder)? {
        Ok(artefacts) => {
            if !artefacts.root.as_os_str().is_empty() {
                eprintln!("bohr: apply the patch in {}", artefacts.root.display());
            }
            Ok(Some(artefacts))
        }
        Err(error) => {
            eprintln!("bohr: no patch: {error}");
            Ok(None)
        }
    }
}

fn write(
    name: &str,
    set: &[Expression],
    case: &Case<'_>,
    folder: &Path,
) -> Result<Result<Artefacts, PatchError>, Failure> {
    let (root, sources) = sources(set, case.program);
    let changes = match insertions(name, set, &sources) {
        Ok(changes) => changes,
        Err(error) => return Ok(Err(error)),
    };
    let mut patch = String::new();
    let mut language = Language::C;
    for (file, insertions) in &changes {
        patch += &unified(&relative(file), &sources[file], insertions);
        language = Language::of(file).unwrap_or(language);
    }
    let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
    let test = regression_test(&TestCase {
        name,
        language,
        arguments: case.invocation.arguments.iter().map(text).collect(),
        exit_code: case.oracle.exit_code,
        patience: PATIENCE,
        perturb: matches!(
            case.kind,
            FailureKind::UseAfterFree | FailureKind::DoubleFree
        ),
    });
    let extension = match language {
        Language::Rust => "rs",
        Language::C | Language::Cpp => "sh",
    };
    let artefacts = Artefacts {
        patch: folder.join(format!("{name}.patch")),
        test: folder.join(format!("{name}.{extension}")),
        root,
    };
    for (path, text) in [(&artefacts.patch, &patch), (&artefacts.test, &test)] {
        write_whole(path, text.as_bytes()).map_err(|source| ExploreError::File {
            path: path.clone(),
            source,
        })?;
    }
    Ok(Ok(artefacts))
}

/// The files that a set names, as far as they can be read, and the folder that
/// their names are relative to.
fn sources(set: &[Expression], program: &Path) -> (PathBuf, BTreeMap<String, String>) {
    let sides = set.iter().flat_map(|expression| &expression.sides);
    let (mut root, mut sources) = (PathBuf::new(), BTreeMap::new());
    for side in sides {
        if let Place::Line { file, .. } = side.own_place()
            && let Some((folder, text)) = source::find(program, file)
        {
            sources.insert(file.clone(), text);
            root = folder;
        }
    }
    (root, sources)
}

/// A file's name for a patch: from the current folder if it lies in it, or else
/// its whole path.
fn relative(file: &str) -> String {
    let path = Path::new(file);
    let here = std::env::current_dir().unwrap_or_default();
    let short = path.strip_prefix(&here).unwrap_or(path);
    short.to_string_lossy().trim_start_matches('/').to_string()
}
