//! An exhibit as it lies on disk: its folder, its manifest, its source.

use crate::{Error, Manifest, Site, Source};
use std::fs;
use std::path::{Path, PathBuf};

/// A folder of the museum.
#[derive(Clone, Debug)]
pub struct Exhibit {
    /// Its path.
    pub folder: PathBuf,
    /// What the exhibit says about itself.
    pub manifest: Manifest,
    /// The program.
    pub source: Source,
}

/// A folder of the museum by name: its exhibit, or what is wrong with it.
pub type Folder = (String, Result<Exhibit, Error>);

/// The root of the project.
#[must_use]
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.ancestors().nth(2);
    root.expect("the crate lies two folders below the root")
        .to_path_buf()
}

/// The folder of all exhibits.
#[must_use]
pub fn museum() -> PathBuf {
    root().join("museum")
}

/// Every exhibit, by name.
///
/// # Errors
/// If a folder cannot be read or a manifest has not the right form.
pub fn all() -> Result<Vec<Exhibit>, Error> {
    let each = each()?;
    each.into_iter().map(|(_, exhibit)| exhibit).collect()
}

/// Every folder of the museum by name, with its exhibit or with what is wrong with
/// it: one that is damaged is no reason to leave out the others.
///
/// # Errors
/// If there is no museum.
pub fn each() -> Result<Vec<Folder>, Error> {
    each_in(&museum())
}

fn each_in(museum: &Path) -> Result<Vec<Folder>, Error> {
    let entries = fs::read_dir(museum).map_err(|cause| Error::File {
        path: museum.to_path_buf(),
        cause,
    })?;
    let mut folders: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    let named = |folder: &PathBuf| {
        let name = folder.file_name().unwrap_or_default();
        (name.to_string_lossy().into_owned(), open(folder))
    };
    Ok(folders.iter().map(named).collect())
}

/// The exhibit with this name.
///
/// # Errors
/// If there is none, or its manifest has not the right form.
pub fn named(name: &str) -> Result<Exhibit, Error> {
    let folder = museum().join(name);
    if name.is_empty() || !folder.is_dir() {
        return Err(Error::Unknown {
            name: name.to_string(),
        });
    }
    open(&folder)
}

fn open(folder: &Path) -> Result<Exhibit, Error> {
    let path = folder.join("exhibit.toml");
    let manifest: Manifest = toml::from_str(&read(&path)?).map_err(|cause| Error::Form {
        path,
        cause: Box::new(cause),
    })?;
    let language = manifest.language;
    let source = Source::new(read(&folder.join(language.source()))?, language);
    Ok(Exhibit {
        folder: folder.to_path_buf(),
        manifest,
        source,
    })
}

pub(crate) fn read(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(|cause| Error::File {
        path: path.to_path_buf(),
        cause,
    })
}

impl Exhibit {
    /// The path of the manifest.
    #[must_use]
    pub fn manifest_path(&self) -> PathBuf {
        self.folder.join("exhibit.toml")
    }

    /// The path of the program's source.
    #[must_use]
    pub fn source_path(&self) -> PathBuf {
        self.folder.join(self.manifest.language.source())
    }

    /// What the manifest and the source disagree about; nothing if all is well.
    #[must_use]
    pub fn disagreements(&self) -> Vec<String> {
        let manifest = &self.manifest;
        let mut found = Vec::new();
        if self.folder.file_name() != Some(manifest.name.as_ref()) {
            found.push(format!("the folder is not called {}", manifest.name));
        }
        if !self
            .source
            .text()
            .contains(manifest.language.fixed_switch())
        {
            let switch = manifest.language.fixed_switch();
            found.push(format!("the source has no fixed twin ({switch})"));
        }
        if manifest.mirrors.is_empty() && manifest.history.is_none() {
            found.push("neither mirrors a paper's subject nor tells its history".to_string());
        }
        found.extend(self.unmarked());
        found.extend(self.crooked_arguments());
        found
    }

    /// Markers and functions that the manifest names and the source lacks.
    fn unmarked(&self) -> Vec<String> {
        let sites = &self.manifest.failure.sites;
        let markers = sites.iter().map(|site| &site.marker);
        let bad_markers = markers
            .chain(self.manifest.culprit.sites.iter().flat_map(|site| &site.0))
            .filter_map(|marker| self.source.line_of(marker).err())
            .map(|error| error.to_string());
        let strays = sites.iter().filter(|site| self.strays(site)).map(|site| {
            let Site { function, marker } = site;
            format!("the marker {marker} is not in the function {function}")
        });
        bad_markers.chain(strays).collect()
    }

    /// Whether the site's marker lies in another function than the site's.
    fn strays(&self, site: &Site) -> bool {
        let last_part = site.function.rsplit("::").next();
        let line = self.source.line_of(&site.marker);
        line.is_ok_and(|line| self.source.function_at(line) != last_part)
    }

    fn crooked_arguments(&self) -> Vec<String> {
        let arguments = &self.manifest.arguments;
        let recorded = arguments.recorded().arguments;
        let sizes = [
            &arguments.small,
            &arguments.default,
            &arguments.large,
            &recorded,
        ];
        let crooked = sizes
            .iter()
            .any(|size| size.len() != arguments.meaning.len());
        crooked
            .then(|| "small, default, large and recorded need one number per meaning".to_string())
            .into_iter()
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Papers;

    #[test]
    fn manifests_agree_with_sources() {
        for exhibit in all().unwrap() {
            assert_eq!(
                exhibit.disagreements(),
                Vec::<String>::new(),
                "{}",
                exhibit.manifest.name
            );
        }
    }

    #[test]
    fn mirrors_name_rows_of_the_papers() {
        let papers = Papers::load().unwrap();
        for exhibit in all().unwrap() {
            for mirror in &exhibit.manifest.mirrors {
                assert!(
                    papers
                        .row(&mirror.paper, &mirror.table, &mirror.row)
                        .is_some(),
                    "{} mirrors {mirror:?}, which is not in eval/papers.toml",
                    exhibit.manifest.name
                );
            }
        }
    }

    #[test]
    fn a_damaged_exhibit_leaves_the_others() {
        let museum = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            let folder = museum.path().join(name);
            fs::create_dir(&folder).unwrap();
            folder
        };
        let account = named("account").unwrap();
        let manifest = account.manifest_path();
        let whole = folder("whole");
        fs::copy(&manifest, whole.join("exhibit.toml")).unwrap();
        fs::copy(account.source_path(), whole.join("main.c")).unwrap();
        fs::copy(&manifest, folder("sourceless").join("exhibit.toml")).unwrap();
        fs::write(folder("damaged").join("exhibit.toml"), "name = ").unwrap();
        folder("empty");
        let each = each_in(museum.path()).unwrap();
        let told: Vec<(&str, bool)> = { each.iter() }
            .map(|(name, exhibit)| (&name[..], exhibit.is_ok()))
            .collect();
        let expected = [
            ("damaged", false),
            ("empty", false),
            ("sourceless", false),
            ("whole", true),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn a_bad_manifest_is_told() {
        let mut exhibit = named("account").unwrap();
        exhibit.manifest.name = "savings".to_string();
        exhibit.manifest.mirrors.clear();
        exhibit.manifest.arguments.small.clear();
        exhibit.manifest.culprit.sites[0].0 = vec!["nowhere".to_string()];
        exhibit.manifest.failure.sites[0].function = "cashier".to_string();
        assert_eq!(exhibit.disagreements().len(), 5);
    }
}
