//! Finds the files that were loaded, and the debug information that belongs to them.

use bohr_dump::{Available, loaded::DebugLink};
use std::path::{Path, PathBuf};

/// Where distributions put separate debug files, by build id.
const DEBUG_FILES: &str = "/usr/lib/debug/.build-id";

/// Files that were loaded.
#[derive(Default)]
pub struct Files {
    found: Vec<Found>,
    missing: Vec<String>,
}

struct Found {
    /// The path at which it was mapped.
    path: String,
    place: PathBuf,
    bytes: Vec<u8>,
    debug: Option<Vec<u8>>,
}

impl Found {
    fn available(&self) -> Available<'_> {
        Available {
            path: &self.path,
            found: &self.place,
            bytes: &self.bytes,
            debug: self.debug.as_deref(),
        }
    }
}

impl Files {
    /// Looks where the file was when it was mapped.
    pub fn look_for(&mut self, path: &str) {
        match std::fs::read(path) {
            Ok(bytes) => self.add(path, Path::new(path), bytes),
            Err(_) => self.missing.push(String::from(path)),
        }
    }

    /// The file that was mapped at `path` is this one.
    pub fn add(&mut self, path: &str, place: &Path, bytes: Vec<u8>) {
        let debug = separate(&bytes, place);
        self.found.push(Found {
            path: String::from(path),
            place: place.to_path_buf(),
            bytes,
            debug,
        });
    }

    /// All that were found.
    pub fn available(&self) -> Vec<Available<'_>> {
        self.found.iter().map(Found::available).collect()
    }

    /// Those that were not.
    pub fn missing(&self) -> &[String] {
        &self.missing
    }
}

/// The separate debug file of an object that has none of its own.
fn separate(bytes: &[u8], place: &Path) -> Option<Vec<u8>> {
    let link = DebugLink::of(bytes)?;
    let by_id = link.build_id.as_ref().and_then(|id| {
        let (folder, rest) = id.split_at_checked(2)?;
        Some(PathBuf::from(format!(
            "{DEBUG_FILES}/{folder}/{rest}.debug"
        )))
    });
    let by_name = link.name.iter().flat_map(|name| {
        let folder = place.parent().unwrap_or(Path::new("."));
        [folder.join(name), folder.join(".debug").join(name)]
    });
    let mut places = by_id.into_iter().chain(by_name);
    places.find_map(|place| std::fs::read(place).ok())
}
