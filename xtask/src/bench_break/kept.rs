//! Figures of exhibits, kept until bohr, the exhibit or the machine is another one.

use crate::eval::fingerprint_of_bohr;
use crate::shell;
use bohr_museum::Exhibit;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// What became of an exhibit.
#[derive(Clone, Serialize, Deserialize)]
pub enum Broken {
    /// What `bohr break from --json` printed.
    Figures(Value),
    /// It could not be done, for this reason.
    Failed(String),
}

#[derive(Serialize, Deserialize)]
struct Kept {
    key: [String; 3],
    broken: Broken,
}

/// Where they lie.
pub struct Shelf {
    folder: PathBuf,
    bohr: String,
    fresh: bool,
}

impl Shelf {
    /// Of the bohr at this path; nothing is taken from a fresh one.
    pub fn new(bohr: &Path, fresh: bool) -> Result<Shelf, String> {
        let folder = shell::built("bench-break").join("kept");
        std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        Ok(Shelf {
            folder,
            bohr: fingerprint_of_bohr(bohr),
            fresh,
        })
    }

    fn key(&self, exhibit: &Exhibit) -> [String; 3] {
        let sources = bohr_museum::fingerprint(exhibit);
        [self.bohr.clone(), bohr_museum::machine_facts(), sources]
    }

    fn file(&self, exhibit: &Exhibit) -> PathBuf {
        let name = &exhibit.manifest.name;
        self.folder.join(name).with_extension("json")
    }

    /// What is known of an exhibit.
    pub fn take(&self, exhibit: &Exhibit) -> Option<Broken> {
        let text = std::fs::read(self.file(exhibit)).ok()?;
        let kept: Kept = serde_json::from_slice(&text).ok()?;
        let same = !self.fresh && kept.key == self.key(exhibit);
        same.then_some(kept.broken)
    }

    /// Keeps it.
    pub fn keep(&self, exhibit: &Exhibit, broken: &Broken) -> Result<(), String> {
        let kept = Kept {
            key: self.key(exhibit),
            broken: broken.clone(),
        };
        let text = serde_json::to_vec_pretty(&kept).map_err(|error| error.to_string())?;
        std::fs::write(self.file(exhibit), text).map_err(|error| error.to_string())
    }
}
