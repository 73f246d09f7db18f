//! Lines of source files, as far as they are there.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Reads each file once.
pub struct Sources {
    /// Where relative names are looked for.
    folders: Vec<PathBuf>,
    files: HashMap<String, Option<Vec<String>>>,
}

impl Sources {
    /// Looks for sources here, and in the folders above the program.
    pub fn new(program: &Path) -> Sources {
        let above = program.ancestors().skip(1).map(Path::to_path_buf);
        Sources {
            folders: std::iter::once(PathBuf::new()).chain(above).collect(),
            files: HashMap::new(),
        }
    }

    /// The text of a line (`file:line`), without the space around it.
    pub fn text(&mut self, line: &str) -> Option<String> {
        let (file, line) = line.rsplit_once(':')?;
        let number: usize = line.parse().ok()?;
        let folders = &self.folders;
        let lines = self.files.entry(file.to_string()).or_insert_with(|| {
            let text = folders
                .iter()
                .find_map(|folder| std::fs::read_to_string(folder.join(file)).ok())?;
            Some(text.lines().map(|line| line.trim().to_string()).collect())
        });
        lines.as_ref()?.get(number.checked_sub(1)?).cloned()
    }
}
