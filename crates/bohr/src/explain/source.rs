//! Lines of source files, as far as they are there.

use bohr_explore::{Spot, is_library};
use bohr_page::SourceText;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Where the names of sources may be relative to: here, and the folders above the
/// program.
fn folders(program: &Path) -> Vec<PathBuf> {
    let above = program.ancestors().skip(1).map(Path::to_path_buf);
    std::iter::once(PathBuf::new()).chain(above).collect()
}

/// The folder that a name is relative to, and the text of the file.
fn read(folders: &[PathBuf], file: &str) -> Option<(PathBuf, String)> {
    folders.iter().find_map(|folder| {
        let text = std::fs::read_to_string(folder.join(file)).ok()?;
        Some((folder.clone(), text))
    })
}

/// A source of a program, and the folder that its name is relative to; the folders
/// in which the program was compiled are looked into last.
pub fn find(program: &Path, compiled_in: &[PathBuf], file: &str) -> Option<(PathBuf, String)> {
    read(&[&folders(program), compiled_in].concat(), file)
}

/// A source file as it is now.
struct Source {
    lines: Vec<String>,
    /// Changed after the program was built.
    is_newer: bool,
}

/// Reads each file once.
pub struct Sources {
    /// Where relative names are looked for.
    folders: Vec<PathBuf>,
    /// When the program was built.
    built: Option<SystemTime>,
    files: HashMap<String, Option<Source>>,
}

impl Sources {
    /// Those of a program.
    pub fn new(program: &Path) -> Sources {
        Sources {
            folders: folders(program),
            built: changed(program),
            files: HashMap::new(),
        }
    }

    /// The text of a line (`file:line`), without the space around it.
    pub fn text(&mut self, line: &str) -> Option<String> {
        let (file, line) = line.rsplit_once(':')?;
        let number: usize = line.parse().ok()?;
        let text = self.file(file)?.lines.get(number.checked_sub(1)?)?;
        Some(text.trim().to_string())
    }

    /// The files that were asked for and are not there, those of libraries apart.
    pub fn missing(&self) -> Vec<&str> {
        let of_library = |file: &str| {
            let line = Some(file.to_string());
            is_library(&Spot {
                function: None,
                line,
            })
        };
        let absent = self.files.iter().filter(|(_, source)| source.is_none());
        let mut names: Vec<&str> = absent
            .map(|(file, _)| file.as_str())
            .filter(|file| !of_library(file))
            .collect();
        names.sort_unstable();
        names
    }

    /// The files that were asked for and are not as they were when the program was built.
    pub fn newer(&self) -> Vec<&str> {
        let there = self.files.iter();
        let newer = there.filter(|(_, source)| source.as_ref().is_some_and(|it| it.is_newer));
        let mut names: Vec<&str> = newer.map(|(file, _)| file.as_str()).collect();
        names.sort_unstable();
        names
    }

    /// The text of a file.
    pub fn whole(&mut self, file: &str) -> Option<SourceText> {
        let source = self.file(file)?;
        Some(SourceText {
            text: source.lines.join("\n"),
            is_newer: source.is_newer,
        })
    }

    fn file(&mut self, file: &str) -> Option<&Source> {
        let (folders, built) = (&self.folders, self.built);
        let source = self.files.entry(file.to_string()).or_insert_with(|| {
            let (folder, text) = read(folders, file)?;
            Some(Source {
                lines: text.lines().map(str::to_string).collect(),
                is_newer: built.is_some_and(|built| changed(&folder.join(file)) > Some(built)),
            })
        });
        source.as_ref()
    }
}

/// When a file was changed, as far as that is known.
fn changed(file: &Path) -> Option<SystemTime> {
    file.metadata().and_then(|about| about.modified()).ok()
}
