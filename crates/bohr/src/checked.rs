//! A program with a check before one of its lines, built again by the commands that
//! built it: it ends where a condition holds there, which is an expression in the
//! program's own language. A run that goes wrong without a failure becomes one that
//! fails.

mod check;

use crate::outcome::Failure;
use bohr_build::{Changes, Making, RebuildError, copy_program, rebuild};
use bohr_event::{Diagnosis, Fault};
use bohr_explore::ExploreError;
use bohr_program::Program;
use check::{Language, with_check};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Where a check is, and of what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At {
    /// The end of the file's path.
    file: PathBuf,
    /// Counted from 1.
    line: usize,
    /// What has to hold there, in the program's own language.
    condition: Option<String>,
}

impl FromStr for At {
    type Err = String;

    fn from_str(text: &str) -> Result<At, String> {
        let (place, condition) = match text.split_once(" if ") {
            Some((place, condition)) => (place, Some(condition)),
            None => (text, None),
        };
        At::of(place, condition).ok_or_else(|| {
            String::from(
                "expected FILE:LINE, or FILE:LINE if CONDITION, as in 'sum.c:42 if total != 200'",
            )
        })
    }
}

impl std::fmt::Display for At {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}:{}", self.file.display(), self.line)?;
        match &self.condition {
            Some(condition) => write!(out, " if {condition}"),
            None => Ok(()),
        }
    }
}

impl At {
    fn of(place: &str, condition: Option<&str>) -> Option<At> {
        let (file, line) = place.trim().rsplit_once(':')?;
        let line = line.parse().ok().filter(|line| *line > 0)?;
        let condition = condition.map(|condition| condition.trim().to_string());
        let is_whole = !file.is_empty() && condition.as_ref().is_none_or(|text| !text.is_empty());
        is_whole.then(|| At {
            file: PathBuf::from(file),
            line,
            condition,
        })
    }

    /// A condition and its place, as in `total != 200@sum.c:42`.
    ///
    /// # Errors
    /// If it is none.
    pub fn of_condition(text: &str) -> Result<At, String> {
        let parts = text.rsplit_once('@');
        let at = parts.and_then(|(condition, place)| At::of(place, Some(condition)));
        at.ok_or_else(|| {
            String::from("expected CONDITION@FILE:LINE, as in 'total != 200@sum.c:42'")
        })
    }

    /// Whether a place, as in `src/sum.c:42`, is the line.
    pub fn is_line(&self, place: &str) -> bool {
        let told = place.rsplit_once(':');
        told.is_some_and(|(file, line)| {
            line == self.line.to_string() && Path::new(file).file_name() == self.file.file_name()
        })
    }

    /// The line with its file.
    pub fn place(&self) -> String {
        format!("{}:{}", self.file.display(), self.line)
    }

    /// Counted from 1.
    pub fn line(&self) -> usize {
        self.line
    }
}

/// A program with a check.
#[derive(Clone, Debug)]
pub struct Checked {
    /// Where it is.
    pub program: PathBuf,
    /// The source file that has the check.
    pub source: PathBuf,
    /// So many columns further stands what was on the line.
    pub columns: usize,
}

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// No source of the program has that name.
    #[error("the program has no source file {}", file.display())]
    NoFile {
        /// The name.
        file: PathBuf,
        /// Those that it has.
        known: Vec<String>,
    },
    /// Several have it.
    #[error("several source files are called {}", .0.display())]
    Ambiguous(PathBuf, Vec<String>),
    /// The file does not go that far.
    #[error("{} has no line {line} with code on it", file.display())]
    NoLine {
        /// Which.
        file: PathBuf,
        /// What was asked for.
        line: usize,
    },
    /// The program with the check cannot be made.
    #[error("the program cannot be built with a check at {at}")]
    Unbuilt {
        /// Where.
        at: String,
        /// Why.
        source: RebuildError,
    },
    /// There is no place to build it in.
    #[error("the program with a check has nowhere to be built")]
    Nowhere(#[source] std::io::Error),
}

impl Diagnosis for CheckError {
    fn fault(&self) -> Fault {
        Fault::Input
    }

    fn help(&self) -> Option<String> {
        match self {
            CheckError::NoFile { known, .. } => Some(format!("it has {}", known.join(", "))),
            CheckError::Ambiguous(_, files) => Some(format!("say which: {}", files.join(", "))),
            CheckError::NoLine { .. } => Some(String::from(
                "the line has to be one on which a statement begins",
            )),
            CheckError::Unbuilt { .. } => Some(String::from(
                "a statement has to begin on that line, and the condition is an expression of the \
                 program's own language that could stand before it; the program has to be where \
                 `bohr cc`, `bohr c++` or `bohr cargo` has put it on this machine",
            )),
            CheckError::Nowhere(_) => None,
        }
    }
}

/// Builds the program with the check; it lies beside `output`.
pub fn checked(
    at: &At,
    program: &Path,
    model: &Program,
    output: &Path,
) -> Result<Checked, Failure> {
    let source = source(model, &at.file)?;
    let text = fs::read_to_string(&source).map_err(|error| ExploreError::File {
        path: source.clone(),
        source: error,
    })?;
    let language = Language::of(&source);
    let changed = with_check(&text, at, language).ok_or_else(|| CheckError::NoLine {
        file: source.clone(),
        line: at.line,
    })?;
    let columns = changed.len() - text.len();
    let folder = tempfile::tempdir().map_err(CheckError::Nowhere)?;
    let changes = Changes {
        texts: &[(source.clone(), changed)],
        headers: &[],
        options: &[],
        library: None,
        making: Making::Production,
    };
    let unbuilt = |source| CheckError::Unbuilt {
        at: at.to_string(),
        source,
    };
    let made = rebuild(program, changes, folder.path()).map_err(unbuilt)?;
    let program = beside(output, "program");
    copy_program(&made, &program)?;
    Ok(Checked {
        program,
        source,
        columns,
    })
}

/// Where the sources of a program are, by what names them.
pub fn paths(program: &Program) -> impl Iterator<Item = (bohr_program::FileNumber, PathBuf)> {
    program.files.iter().map(|(number, source)| {
        let text = |number| Path::new(&program.texts[number]);
        (number, text(source.directory).join(text(source.path)))
    })
}

/// The source of the program whose path ends so.
fn source(program: &Program, file: &Path) -> Result<PathBuf, CheckError> {
    let paths: Vec<PathBuf> = paths(program).map(|(_, path)| path).collect();
    let named = paths.iter().filter(|path| path.ends_with(file));
    let found: BTreeSet<PathBuf> = named.filter_map(|path| path.canonicalize().ok()).collect();
    let told = |path: &PathBuf| path.display().to_string();
    let mut found: Vec<PathBuf> = found.into_iter().collect();
    match (found.pop(), found.is_empty()) {
        (Some(one), true) => Ok(one),
        (Some(one), false) => {
            found.push(one);
            let found = found.iter().map(told).collect();
            Err(CheckError::Ambiguous(file.to_path_buf(), found))
        }
        (None, _) => Err(CheckError::NoFile {
            file: file.to_path_buf(),
            known: {
                let own = paths.iter().filter(|path| !path.starts_with("/usr"));
                let own: BTreeSet<String> = own.map(told).collect();
                own.into_iter().collect()
            },
        }),
    }
}

/// `server.bohr` has `server.bohr.core` beside it.
pub fn beside(output: &Path, ending: &str) -> PathBuf {
    let mut name = output.as_os_str().to_os_string();
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_conditions_are_told_apart() {
        let at: At = "src/sum.c:42 if total != 200 && !done".parse().unwrap();
        assert_eq!(at.file, Path::new("src/sum.c"));
        assert_eq!(at.line, 42);
        assert_eq!(at.condition.as_deref(), Some("total != 200 && !done"));
        assert_eq!(at.to_string(), "src/sum.c:42 if total != 200 && !done");
        assert_eq!("sum.c:7".parse::<At>().unwrap().condition, None);
        for wrong in [
            "sum.c",
            "sum.c:",
            "sum.c:0",
            ":3",
            "sum.c:x if y",
            "sum.c:3 if  ",
        ] {
            assert!(wrong.parse::<At>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_condition_can_stand_before_its_place() {
        let at = At::of_condition("total != 200 && who == \"a@b\"@src/sum.c:42").unwrap();
        assert_eq!(
            at.to_string(),
            "src/sum.c:42 if total != 200 && who == \"a@b\""
        );
        assert!(at.is_line("/home/sum.c:42"));
        assert!(!at.is_line("sum.c:43") && !at.is_line("sums.c:42"));
        for wrong in ["sum.c:42", "@sum.c:42", "x@sum.c", "x@:3", "x@sum.c:0"] {
            assert!(At::of_condition(wrong).is_err(), "{wrong}");
        }
    }
}
