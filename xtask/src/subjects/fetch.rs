//! Gets sources: Debian's through a private apt configuration, crates through
//! cargo. What was fetched once is not fetched again.

use super::directory;
use crate::{install, shell};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Unpacks Debian source packages into fresh folders named after them.
pub fn unpack(sources: &[&str], target: &Path) -> Result<(), String> {
    install::needed(&[("dpkg-dev", "/usr/bin/dpkg-source")])?;
    if target.exists() {
        fs::remove_dir_all(target).map_err(|error| format!("{}: {error}", target.display()))?;
    }
    make(target)?;
    for source in sources {
        let description = description(source)?;
        let mut command = Command::new("dpkg-source");
        command
            .args(["--no-check", "-q", "-x"])
            .arg(description)
            .arg(source)
            .current_dir(target);
        shell::run_quietly(&mut command, &target.join(format!("{source}.unpack.log")))?;
    }
    Ok(())
}

/// The description (`.dsc`) of a source package, downloaded if need be.
fn description(source: &str) -> Result<PathBuf, String> {
    let folder = directory().join("debian").join(source);
    if let Some(found) = find_description(&folder) {
        return Ok(found);
    }
    make(&folder)?;
    let apt = PrivateApt::open()?;
    let mut command = apt.command();
    command
        .args(["source", "-qq", "--download-only", source])
        .current_dir(&folder);
    shell::run_quietly(&mut command, &folder.join("fetch.log"))?;
    find_description(&folder).ok_or_else(|| format!("apt-get brought no description of {source}"))
}

fn find_description(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?.flatten();
    entries
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|extension| extension == "dsc"))
}

/// apt with the machine's own package sources turned into source entries.
struct PrivateApt {
    directory: PathBuf,
}

impl PrivateApt {
    fn open() -> Result<PrivateApt, String> {
        let apt = PrivateApt {
            directory: directory().join("apt"),
        };
        if !apt.directory.join("ready").exists() {
            for folder in ["parts", "lists/partial", "cache/archives/partial"] {
                make(&apt.directory.join(folder))?;
            }
            apt.copy_sources()?;
            let log = apt.directory.join("update.log");
            shell::run_quietly(apt.command().args(["update", "-qq"]), &log)?;
            write(&apt.directory.join("ready"), "")?;
        }
        Ok(apt)
    }

    fn command(&self) -> Command {
        let mut command = Command::new("apt-get");
        let place = |option: &str, folder: &str| {
            format!("-oDir::{option}={}", self.directory.join(folder).display())
        };
        command.args([
            "-oDir::Etc::SourceList=/dev/null".to_owned(),
            place("Etc::SourceParts", "parts"),
            place("State::Lists", "lists"),
            place("Cache", "cache"),
        ]);
        command
    }

    fn copy_sources(&self) -> Result<(), String> {
        let own = fs::read_dir("/etc/apt/sources.list.d")
            .into_iter()
            .flatten()
            .flatten();
        let files = own
            .map(|entry| entry.path())
            .chain([PathBuf::from("/etc/apt/sources.list")]);
        for file in files {
            let wanted = file
                .extension()
                .is_some_and(|kind| kind == "sources" || kind == "list");
            if let Some(text) = fs::read_to_string(&file).ok().filter(|_| wanted) {
                let name = file.file_name().unwrap_or_default();
                write(
                    &self.directory.join("parts").join(name),
                    &as_source_entries(&text),
                )?;
            }
        }
        Ok(())
    }
}

/// Entries for binary packages, in either of apt's formats, as entries for sources.
fn as_source_entries(text: &str) -> String {
    let line = |line: &str| {
        if let Some(rest) = line.strip_prefix("deb ") {
            format!("deb-src {rest}\n")
        } else if line.starts_with("Types:") {
            "Types: deb-src\n".to_owned()
        } else {
            format!("{line}\n")
        }
    };
    text.lines().map(line).collect()
}

/// A fresh copy of a crate's published sources.
pub fn krate(name: &str, version: &str) -> Result<PathBuf, String> {
    let folder = directory().join(name);
    let manifest = folder.join("fetch/Cargo.toml");
    make(&folder.join("fetch/src"))?;
    write(&folder.join("fetch/src/lib.rs"), "")?;
    let text = format!(
        "[workspace]\n[package]\nname = \"fetch\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
         [dependencies]\n{name} = \"={version}\"\n"
    );
    write(&manifest, &text)?;
    let mut vendor = shell::cargo();
    vendor
        .args(["vendor", "--quiet", "--versioned-dirs", "--manifest-path"])
        .arg(&manifest)
        .arg(folder.join("vendor"));
    shell::run_quietly(&mut vendor, &folder.join("fetch.log"))?;
    let sources = folder.join("vendor").join(format!("{name}-{version}"));
    // A crate below a workspace that does not list it must be a workspace itself.
    let own = sources.join("Cargo.toml");
    let text = fs::read_to_string(&own).map_err(|error| format!("{}: {error}", own.display()))?;
    if !text.contains("[workspace]") {
        write(&own, &format!("{text}\n[workspace]\n"))?;
    }
    Ok(sources)
}

fn make(folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_formats_of_apt_become_source_entries() {
        assert_eq!(
            as_source_entries("# mirror\ndeb http://one.test stable main"),
            "# mirror\ndeb-src http://one.test stable main\n"
        );
        assert_eq!(
            as_source_entries("Types: deb\nURIs: http://one.test"),
            "Types: deb-src\nURIs: http://one.test\n"
        );
    }
}
