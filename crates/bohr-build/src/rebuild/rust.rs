//! Rust: the package is copied and changed, the library compiled, and rustc called
//! again as cargo had called it for the program. What the program depends on is
//! taken as it was built.

use super::{Changes, Library, Making, RebuildError, compile, for_production, write};
use crate::commands::Compilation;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders of a package that no source lies in.
const NOT_SOURCES: [&str; 2] = ["target", ".git"];

pub(super) fn rebuild(
    call: &Compilation,
    changes: Changes<'_>,
    folder: &Path,
) -> Result<PathBuf, RebuildError> {
    let is_manifest = |(name, _): &&(String, String)| name == "CARGO_MANIFEST_DIR";
    let package = call.environment.iter().find(is_manifest);
    let package = package.map_or(call.directory.clone(), |(_, value)| PathBuf::from(value));
    let copy = folder.join("package");
    copy_sources(&package, &copy)?;
    for (path, text) in changes.texts {
        let inside = path.strip_prefix(&package);
        let inside = inside.map_err(|_| RebuildError::Elsewhere(path.clone()))?;
        write(&copy.join(inside), text)?;
    }
    let rustc = call.arguments.first().map_or("rustc", String::as_str);
    let out = folder.join("out");
    let mut command = match changes.making {
        Making::Plain => Command::new(rustc),
        Making::Production => {
            let mut command = for_production("bohr-rustc")?;
            command.arg(rustc);
            command
        }
    };
    command
        .current_dir(&call.directory)
        .envs(call.environment.iter().map(|(name, value)| (name, value)))
        .env("CARGO_MANIFEST_DIR", &copy)
        .args(adapted(call, &package, &copy))
        .args(["--cap-lints", "allow", "--emit", "link", "--out-dir"])
        .arg(&out);
    if let Some(library) = changes.library {
        command.arg("--extern");
        command.arg(compile_library(rustc, library, folder)?);
    }
    compile(&mut command)?;
    let mut files = fs::read_dir(&out)
        .map_err(RebuildError::file(&out))?
        .flatten();
    let program = files.find(|entry| entry.path().extension().is_none());
    let program = program.ok_or(RebuildError::Elsewhere(package))?;
    Ok(program.path())
}

/// The library, as an argument of `--extern`.
fn compile_library(
    rustc: &str,
    library: Library<'_>,
    folder: &Path,
) -> Result<OsString, RebuildError> {
    let sources = folder.join("library");
    for (name, text) in library.files {
        write(&sources.join(name), text)?;
    }
    let root = library.files.first().map_or("lib.rs", |(name, _)| name);
    let file = folder.join(format!("lib{}.rlib", library.name));
    let mut command = Command::new(rustc);
    command
        .args([
            "--crate-type",
            "rlib",
            "--edition",
            "2024",
            "-O",
            "--cap-lints",
            "allow",
        ])
        .args(["--crate-name", library.name])
        .args(["--cfg", &format!("feature=\"{}\"", library.feature)])
        .arg(sources.join(root))
        .arg("-o")
        .arg(&file);
    compile(&mut command)?;
    let mut option = OsString::from(format!("{}=", library.name));
    option.push(file);
    Ok(option)
}

/// Cargo's arguments without those about outputs and messages; sources of the
/// package are those of its copy.
fn adapted(call: &Compilation, package: &Path, copy: &Path) -> Vec<OsString> {
    const WITH_VALUE: [&str; 3] = ["--emit", "--out-dir", "--cap-lints"];
    const JOINED: [&str; 6] = [
        "--emit=",
        "--out-dir=",
        "--error-format",
        "--json",
        "--diagnostic-width",
        "--cap-lints=",
    ];
    let mut adapted = Vec::new();
    let mut words = call.arguments.iter().skip(1).peekable();
    while let Some(word) = words.next() {
        let next = words.peek().copied();
        let incremental = word == "-C" && next.is_some_and(|next| next.starts_with("incremental="));
        if incremental || WITH_VALUE.contains(&word.as_str()) {
            words.next();
        } else if !JOINED.iter().any(|start| word.starts_with(start)) {
            adapted.push(moved(word, call, package, copy));
        }
    }
    adapted
}

fn moved(word: &str, call: &Compilation, package: &Path, copy: &Path) -> OsString {
    let path = call.directory.join(word);
    let is_source = !word.starts_with('-') && path.extension() == Some(OsStr::new("rs"));
    match path.strip_prefix(package) {
        Ok(inside) if is_source => copy.join(inside).into(),
        _ => word.into(),
    }
}

fn copy_sources(from: &Path, to: &Path) -> Result<(), RebuildError> {
    fs::create_dir_all(to).map_err(RebuildError::file(to))?;
    let entries = fs::read_dir(from).map_err(RebuildError::file(from))?;
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let target = to.join(&name);
        let kind = entry.file_type().map_err(RebuildError::file(&path))?;
        let is_source = !NOT_SOURCES.iter().any(|folder| name == *folder);
        if kind.is_dir() && is_source {
            copy_sources(&path, &target)?;
        } else if kind.is_file() {
            fs::copy(&path, &target).map_err(RebuildError::file(&path))?;
        }
    }
    Ok(())
}
