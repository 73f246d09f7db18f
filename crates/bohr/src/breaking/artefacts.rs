//! What is left behind: a patch of the user's sources and a regression test.

use crate::explain::source;
use crate::outcome::Failure;
use bohr_event::FailureKind;
use bohr_explore::bug_file::{Invocation, Oracle};
use bohr_explore::{ExploreError, write_whole};
use bohr_trigger::patch::{
    Language, PatchError, TestCase, inserted, insertions, regression_test, unified,
};
use bohr_trigger::{Expression, Place};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Seconds after which the regression test takes a run for stuck.
const PATIENCE: u64 = 10;

/// The files, where they were written.
pub struct Artefacts {
    pub patch: PathBuf,
    pub test: PathBuf,
}

/// What the test is about.
pub struct Case<'a> {
    pub program: &'a Path,
    /// Folders in which it was compiled.
    pub folders: Vec<PathBuf>,
    pub invocation: &'a Invocation,
    pub oracle: &'a Oracle,
    pub kind: &'a FailureKind,
}

/// Patch and test, not written yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// What the program is called.
    pub name: String,
    pub language: Language,
    patch: String,
    pub test: String,
    /// The patched sources, by their paths.
    pub texts: Vec<(PathBuf, String)>,
    /// A text that the patched program has in it.
    pub mark: String,
    /// Where the patch is to be applied; empty for here.
    root: PathBuf,
}

/// The patch and the test of a set; threads bring `objects` along if they are to, and
/// if their statements name them.
pub fn draft(set: &[Expression], case: &Case<'_>, objects: bool) -> Result<Draft, PatchError> {
    let stem = case.program.file_stem().unwrap_or_default();
    let name = stem.to_string_lossy().into_owned();
    let (root, set, sources) = sources(set, case);
    let changes = insertions(&name, &set, &sources, objects)?;
    let mut patch = String::new();
    let mut language = Language::C;
    let mut texts = Vec::new();
    for (file, insertions) in &changes {
        let text = &sources[file];
        patch += &unified(&relative(file, &root), text, insertions);
        language = Language::of(file).unwrap_or(language);
        texts.push((PathBuf::from(file), inserted(text, insertions)));
    }
    let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
    let test = regression_test(&TestCase {
        name: &name,
        language,
        arguments: case.invocation.arguments.iter().map(text).collect(),
        exit_code: case.oracle.exit_code,
        patience: PATIENCE,
        perturb: matches!(
            case.kind,
            FailureKind::UseAfterFree | FailureKind::DoubleFree
        ),
    });
    Ok(Draft {
        mark: format!("{name}-1"),
        name,
        language,
        patch,
        test,
        texts,
        root,
    })
}

/// What the test is called.
pub fn test_file(draft: &Draft) -> String {
    let extension = match draft.language {
        Language::Rust => "rs",
        Language::C | Language::Cpp => "sh",
    };
    format!("{}.{extension}", draft.name)
}

/// Writes the patch and the test into a folder, which is made if there is none, and
/// says where.
pub fn leave(draft: &Draft, folder: &Path) -> Result<Artefacts, Failure> {
    std::fs::create_dir_all(folder).map_err(|source| ExploreError::File {
        path: folder.to_path_buf(),
        source,
    })?;
    let artefacts = Artefacts {
        patch: folder.join(format!("{}.patch", draft.name)),
        test: folder.join(test_file(draft)),
    };
    let files = [
        (&artefacts.patch, &draft.patch),
        (&artefacts.test, &draft.test),
    ];
    for (path, text) in files {
        write_whole(path, text.as_bytes()).map_err(|source| ExploreError::File {
            path: path.clone(),
            source,
        })?;
    }
    if !draft.root.as_os_str().is_empty() {
        eprintln!("bohr: apply the patch in {}", draft.root.display());
    }
    Ok(artefacts)
}

/// The set with its files by their whole paths, since one file can have several
/// names; the texts of those that can be read; and the folder that their names are
/// relative to.
fn sources(
    set: &[Expression],
    case: &Case<'_>,
) -> (PathBuf, Vec<Expression>, BTreeMap<String, String>) {
    let here = std::env::current_dir().unwrap_or_default();
    let (mut root, mut sources) = (PathBuf::new(), BTreeMap::new());
    let mut set = set.to_vec();
    let sides = set.iter_mut().flat_map(|expression| &mut expression.sides);
    for side in sides {
        let own = side.source.as_mut().unwrap_or(&mut side.at);
        for place in std::iter::once(own).chain(&mut side.until) {
            if let Place::Line { file, .. } = place
                && let Some((folder, text)) = source::find(case.program, &case.folders, file)
            {
                if Path::new(file).is_relative() {
                    root.clone_from(&folder);
                }
                let path = here.join(folder).join(&*file);
                let path = path.canonicalize().unwrap_or(path);
                *file = path.to_string_lossy().into_owned();
                sources.insert(file.clone(), text);
            }
        }
    }
    (root, set, sources)
}

/// A file's name for a patch: from where the patch is applied if it lies there, or
/// else its whole path.
fn relative(file: &str, root: &Path) -> String {
    let path = Path::new(file);
    let here = std::env::current_dir().unwrap_or_default().join(root);
    let here = here.canonicalize().unwrap_or(here);
    let short = path.strip_prefix(&here).unwrap_or(path);
    short.to_string_lossy().trim_start_matches('/').to_string()
}
