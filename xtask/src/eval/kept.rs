//! What has been measured, kept in a file per exhibit. A result is taken over
//! only if it was measured with the same settings, the same bohr, the same
//! source and on the same machine.

use super::measure::Measured;
use super::settings::{Settings, every_folder};
use crate::shell;
use bohr_museum::Exhibit;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What a result depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Key {
    settings: String,
    machine: String,
    bohr: String,
    sources: String,
}

#[derive(Serialize, Deserialize)]
struct Kept {
    key: Key,
    measured: Measured,
}

/// Where results lie.
pub struct Shelf {
    folder: PathBuf,
    resumes: bool,
    /// Whether evaluations of a few exhibits make one page.
    adds_up: bool,
    settings: String,
    bohr: String,
}

/// What takes part in a measurement, beside `bohr` itself.
const PARTS: [&str; 5] = [
    "bohr",
    "bohr-lower",
    "libbohr_runtime.so",
    "libbohr_native.so",
    "libbohr_recorder.so",
];

/// What the bohr at this path is made of, in a word.
pub fn fingerprint_of_bohr(bohr: &Path) -> String {
    let parts = PARTS.map(|part| bohr.with_file_name(part));
    bohr_museum::fingerprint_of_files(&parts)
}

impl Shelf {
    pub fn new(bohr: &Path, settings: &Settings) -> Result<Shelf, String> {
        let folder = shell::root().join("eval/results").join(settings.stem());
        std::fs::create_dir_all(&folder)
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Shelf {
            folder,
            resumes: settings.resumes,
            adds_up: settings.adds_up(),
            settings: settings.key(),
            bohr: fingerprint_of_bohr(bohr),
        })
    }

    fn key(&self, exhibit: &Exhibit) -> Key {
        Key {
            settings: self.settings.clone(),
            machine: bohr_museum::machine_facts(),
            bohr: self.bohr.clone(),
            sources: bohr_museum::fingerprint(exhibit),
        }
    }

    fn file(&self, exhibit: &Exhibit) -> PathBuf {
        self.folder
            .join(&exhibit.manifest.name)
            .with_extension("json")
    }

    /// Where the bug of an exhibit lies that later parts work on.
    pub fn bug(&self, exhibit: &Exhibit) -> PathBuf {
        self.file(exhibit).with_extension("bohr")
    }

    /// What there is of an exhibit, whoever asks for it.
    fn found(&self, exhibit: &Exhibit) -> Option<Measured> {
        let text = std::fs::read(self.file(exhibit)).ok()?;
        let kept: Kept = serde_json::from_slice(&text).ok()?;
        let mut measured = kept.measured;
        // The manifest may have been corrected since.
        measured.describe(exhibit);
        (kept.key == self.key(exhibit)).then_some(measured)
    }

    /// What an evaluation goes on from.
    pub fn take(&self, exhibit: &Exhibit) -> Measured {
        let bug = self.bug(exhibit);
        let kept = self.found(exhibit).filter(|measured| {
            let is_whole = !measured.is_found() || bug.exists();
            self.resumes && is_whole
        });
        kept.unwrap_or_else(|| {
            // What lies there belongs to another measurement; it may not be there at all.
            let _ = std::fs::remove_file(&bug);
            Measured::of(exhibit)
        })
    }

    /// Whole or as it was: whoever interrupts the writing loses nothing.
    pub fn keep(&self, exhibit: &Exhibit, measured: &Measured) -> Result<(), String> {
        let kept = Kept {
            key: self.key(exhibit),
            measured: measured.clone(),
        };
        let path = self.file(exhibit);
        let told = |error: std::io::Error| format!("{}: {error}", path.display());
        let text = serde_json::to_vec_pretty(&kept).map_err(|error| told(error.into()))?;
        let fresh = path.with_extension("new");
        std::fs::write(&fresh, text).map_err(told)?;
        std::fs::rename(&fresh, &path).map_err(told)
    }

    /// Everything that stands on one page: of a full evaluation all that was
    /// ever measured like this, of a quick one its own exhibits.
    pub fn all(&self, settings: &Settings) -> Result<Vec<Measured>, String> {
        let folders = match self.adds_up {
            true => every_folder()?,
            false => settings.exhibits()?,
        };
        let found = folders.iter().filter_map(|(name, exhibit)| match exhibit {
            Ok(exhibit) => self.found(exhibit),
            Err(error) => Some(Measured::damaged(name, error)),
        });
        Ok(found.collect())
    }
}
