//! Rust: packages whose files have changed are copied and changed, the library compiled,
//! and rustc called again as cargo had called it: for the program, and for those crates
//! on the way to it that a change concerns, those first that others depend on. What
//! else the program depends on is taken as it was built.

use super::{Changes, Library, Making, RebuildError, compile, for_production, write};
use crate::commands::Compilation;
use std::collections::HashMap;
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
    let library = changes.library;
    let library = library.map(|library| compile_library(rustc(call), library, folder));
    let mut build = Build {
        changes,
        folder,
        library: library.transpose()?,
        known: HashMap::new(),
        used: vec![false; changes.texts.len()],
    };
    let program = build.again(call, "program")?;
    let unused = build.used.iter().position(|used| !used);
    match (unused, program) {
        (Some(unused), _) => Err(RebuildError::Elsewhere(changes.texts[unused].0.clone())),
        (None, Some(program)) => Ok(program),
        // Nothing has changed.
        (None, None) => build.compile(call, &[], "program"),
    }
}

fn rustc(call: &Compilation) -> &str {
    call.arguments.first().map_or("rustc", String::as_str)
}

struct Build<'a> {
    changes: Changes<'a>,
    folder: &'a Path,
    /// The library, as an argument of `--extern`.
    library: Option<OsString>,
    /// By the library that cargo made of a crate: the one in its place, if it needs one.
    known: HashMap<PathBuf, Option<PathBuf>>,
    /// Which of the changed texts have gone into a crate.
    used: Vec<bool>,
}

impl Build<'_> {
    /// Compiles a crate again if it, or one that it depends on, has changed.
    fn again(&mut self, call: &Compilation, out: &str) -> Result<Option<PathBuf>, RebuildError> {
        let mut replaced = Vec::new();
        for old in dependencies(call) {
            if let Some(new) = self.library(&old)? {
                replaced.push((old, new));
            }
        }
        let own = self.texts(call);
        for &text in &own {
            self.used[text] = true;
        }
        match own.is_empty() && replaced.is_empty() {
            true => Ok(None),
            false => self.compile(call, &replaced, out).map(Some),
        }
    }

    /// What takes the place of a library that cargo has made.
    fn library(&mut self, old: &Path) -> Result<Option<PathBuf>, RebuildError> {
        let old = old.with_extension("rlib");
        if let Some(known) = self.known.get(&old) {
            return Ok(known.clone());
        }
        let new = match Compilation::of(&old) {
            Some(call) => self.again(&call, "libraries")?,
            None => None,
        };
        self.known.insert(old, new.clone());
        Ok(new)
    }

    /// The changed texts that go into a crate.
    fn texts(&self, call: &Compilation) -> Vec<usize> {
        let sources = sources(call);
        let texts = self.changes.texts.iter().enumerate();
        let own = texts.filter(|(_, (path, _))| sources.contains(&straight(path)));
        own.map(|(number, _)| number).collect()
    }

    /// Calls rustc as cargo did, with these libraries in place of those.
    fn compile(
        &self,
        call: &Compilation,
        replaced: &[(PathBuf, PathBuf)],
        out: &str,
    ) -> Result<PathBuf, RebuildError> {
        let out = self.folder.join(out);
        let source = Source::of(call, self.folder);
        let mut command = self.command(rustc(call))?;
        command
            .current_dir(&call.directory)
            .envs(call.environment.iter().map(|(name, value)| (name, value)))
            .args([
                "-L".into(),
                joined("dependency=", &self.folder.join("libraries")),
            ]);
        let texts = self.texts(call);
        if texts.is_empty() {
            command.args(adapted(call, replaced, None));
        } else {
            source.copy()?;
            for (path, text) in texts.iter().map(|&number| &self.changes.texts[number]) {
                write(&source.copied(&straight(path)), text)?;
            }
            command
                .env("CARGO_MANIFEST_DIR", source.copied(&source.package))
                .args(adapted(call, replaced, Some(&source)))
                .args(["--remap-path-prefix".into(), source.renamed()]);
        }
        command
            .args(["--cap-lints", "allow", "--emit", "link", "--out-dir"])
            .arg(&out);
        if let Some(library) = &self.library {
            command.arg("--extern").arg(library);
        }
        compile(&mut command)?;
        let stem = call.output.file_name().unwrap_or_default();
        Ok(out.join(stem))
    }

    fn command(&self, rustc: &str) -> Result<Command, RebuildError> {
        Ok(match self.changes.making {
            Making::Plain => Command::new(rustc),
            Making::Production => {
                let mut command = for_production("bohr-rustc")?;
                command.arg(rustc);
                command
            }
        })
    }
}

fn joined(start: &str, path: &Path) -> OsString {
    let mut option = OsString::from(start);
    option.push(path);
    option
}

/// The crates that a call names: where cargo had put their libraries, or what others
/// have to know of them.
fn dependencies(call: &Compilation) -> Vec<PathBuf> {
    let words = call.arguments.iter().zip(call.arguments.iter().skip(1));
    let named = words.filter(|(option, _)| *option == "--extern");
    let paths = named.filter_map(|(_, value)| Some(value.split_once('=')?.1));
    paths.map(|path| call.directory.join(path)).collect()
}

/// The files that went into a crate, as rustc has listed them.
fn sources(call: &Compilation) -> Vec<PathBuf> {
    let name = call.output.file_stem().unwrap_or_default();
    let name = name.to_string_lossy();
    let is_library = call.output.extension() == Some(OsStr::new("rlib"));
    let name = name
        .strip_prefix("lib")
        .filter(|_| is_library)
        .unwrap_or(&name);
    let list = call.output.with_file_name(format!("{name}.d"));
    let list = fs::read_to_string(list).unwrap_or_default();
    // Each file has a line of its own, too: `src/main.rs:`.
    let lines = list.lines().filter_map(|line| line.strip_suffix(':'));
    let paths = lines.map(|line| line.replace("\\ ", " "));
    paths
        .map(|path| straight(&call.directory.join(path)))
        .collect()
}

fn straight(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

/// Where the sources of a crate lie, and where their copy is.
struct Source {
    package: PathBuf,
    /// The folder that has the package and the file that the crate begins with, which
    /// may lie beside it.
    base: PathBuf,
    copy: PathBuf,
}

impl Source {
    fn of(call: &Compilation, folder: &Path) -> Source {
        let is_manifest = |(name, _): &&(String, String)| name == "CARGO_MANIFEST_DIR";
        let package = call.environment.iter().find(is_manifest);
        let package = package.map_or(call.directory.clone(), |(_, value)| PathBuf::from(value));
        let package = straight(&package);
        let begins = root(call).map(|word| straight(&call.directory.join(word)));
        let has_both = |base: &&Path| begins.as_ref().is_none_or(|root| root.starts_with(base));
        let base = package.ancestors().find(has_both).unwrap_or(&package);
        let name = call.output.file_stem().unwrap_or_default();
        Source {
            base: base.to_path_buf(),
            copy: folder.join("sources").join(name),
            package,
        }
    }

    fn copy(&self) -> Result<(), RebuildError> {
        match self.base.parent() {
            Some(_) => copy_sources(&self.base, &self.copy),
            None => Err(RebuildError::Elsewhere(self.package.clone())),
        }
    }

    fn copied(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(&self.base) {
            Ok(inside) => self.copy.join(inside),
            Err(_) => path.to_path_buf(),
        }
    }

    /// The copy goes away: in what is built, its files have their own names.
    fn renamed(&self) -> OsString {
        let mut option = self.copy.as_os_str().to_os_string();
        option.push("=");
        option.push(&self.base);
        option
    }
}

/// The file that a crate begins with.
fn root(call: &Compilation) -> Option<&String> {
    let mut words = call.arguments.iter().skip(1);
    words.find(|word| is_source(word))
}

fn is_source(word: &str) -> bool {
    !word.starts_with('-') && Path::new(word).extension() == Some(OsStr::new("rs"))
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

/// Cargo's arguments without those about outputs and messages, with these libraries in
/// place of those, and sources as their copies.
fn adapted(
    call: &Compilation,
    replaced: &[(PathBuf, PathBuf)],
    source: Option<&Source>,
) -> Vec<OsString> {
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
        } else if word == "--extern" {
            adapted.push(word.into());
            adapted.extend(words.next().map(|value| taken(value, call, replaced)));
        } else if !JOINED.iter().any(|start| word.starts_with(start)) {
            adapted.push(moved(word, call, source));
        }
    }
    adapted
}

/// A crate that a call names, with its library in place of the old one.
fn taken(value: &str, call: &Compilation, replaced: &[(PathBuf, PathBuf)]) -> OsString {
    let new = value.split_once('=').and_then(|(name, path)| {
        let path = call.directory.join(path);
        let (_, new) = replaced.iter().find(|(old, _)| *old == path)?;
        Some(joined(&format!("{name}="), new))
    });
    new.unwrap_or_else(|| value.into())
}

fn moved(word: &str, call: &Compilation, source: Option<&Source>) -> OsString {
    match source {
        Some(source) if is_source(word) => {
            source.copied(&straight(&call.directory.join(word))).into()
        }
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
