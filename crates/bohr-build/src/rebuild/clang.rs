//! C and C++: clang reads the changed texts under the names of the files
//! (`-ivfsoverlay`), whoever includes them. Objects that a changed file went into
//! are compiled again and take the place of the old ones in the link.

use super::{Changes, Making, RebuildError, compile, for_production, write};
use crate::commands::{Compilation, Compiler};
use crate::compile::{inputs, is_source};
use crate::toolchain;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Options that would write lists of dependencies into the user's folders; those
/// of the second list with the next argument.
const LISTS: [&str; 4] = ["-MD", "-MMD", "-MP", "-MG"];
const LISTS_WITH_VALUE: [&str; 4] = ["-MF", "-MT", "-MQ", "-MJ"];

pub(super) fn rebuild(
    link: &Compilation,
    changes: Changes<'_>,
    folder: &Path,
) -> Result<PathBuf, RebuildError> {
    let overlay = Overlay::write(changes, folder)?;
    let objects = overlay.objects(link)?;
    let replaced = |word: &String| {
        let path = link.directory.join(word);
        let known = objects.iter().find(|(old, _)| *old == path);
        known.map_or_else(|| word.clone(), |(_, new)| new.display().to_string())
    };
    let words: Vec<String> = link.arguments.iter().map(replaced).collect();
    let named = |(_, new): &&(PathBuf, PathBuf)| words.iter().any(|word| Path::new(word) == new);
    // What came out of an archive is found before the archive is looked at.
    let unnamed = objects.iter().filter(|object| !named(object));
    let unnamed: Vec<String> = unnamed.map(|(_, new)| new.display().to_string()).collect();
    let program = folder.join("program");
    overlay.compile(link, &[unnamed, words].concat(), &program)?;
    Ok(program)
}

struct Overlay<'a> {
    changes: Changes<'a>,
    folder: &'a Path,
    /// The file that says which text stands for which file.
    map: PathBuf,
}

impl<'a> Overlay<'a> {
    fn write(changes: Changes<'a>, folder: &'a Path) -> Result<Overlay<'a>, RebuildError> {
        let mut roots = Vec::new();
        for (number, (path, text)) in changes.texts.iter().enumerate() {
            let copy = folder.join(format!("changed/{number}"));
            write(&copy, text)?;
            roots.push(serde_json::json!({
                "type": "file",
                "name": path,
                "external-contents": copy,
            }));
        }
        for (name, text) in changes.headers {
            write(&folder.join("include").join(name), text)?;
        }
        let map = folder.join("overlay.json");
        let whole = serde_json::json!({
            "version": 0,
            "case-sensitive": true,
            "use-external-names": false,
            "roots": roots,
        });
        write(&map, &whole.to_string())?;
        Ok(Overlay {
            changes,
            folder,
            map,
        })
    }

    /// Objects that changed files may have gone into, compiled again: the old ones
    /// and the new ones.
    fn objects(&self, link: &Compilation) -> Result<Vec<(PathBuf, PathBuf)>, RebuildError> {
        let mut objects = Vec::new();
        for path in self.outdated(link)? {
            let Some(compilation) = Compilation::of(&path) else {
                continue;
            };
            let object = self.folder.join(format!("{}.o", objects.len()));
            self.compile(&compilation, &compilation.arguments, &object)?;
            objects.push((path, object));
        }
        Ok(objects)
    }

    /// The objects to compile again. A header may have gone into any object of the
    /// link, a source went into one, which may lie in an archive.
    fn outdated(&self, link: &Compilation) -> Result<Vec<PathBuf>, RebuildError> {
        let own = inputs(&link.arguments).map(|word| link.directory.join(word));
        let own: Vec<PathBuf> = own.collect();
        let mut outdated = Vec::new();
        for (changed, _) in self.changes.texts {
            let is_it = |path: &PathBuf| same_file(path, changed);
            if own.iter().any(is_it) {
                continue;
            }
            if !is_source(changed) {
                let objects = own.iter().filter(|path| Compilation::of(path).is_some());
                outdated.extend(objects.cloned());
                continue;
            }
            let compiles = |one: &Compilation| {
                let object = one.arguments.iter().any(|word| word == "-c");
                object && inputs(&one.arguments).any(|word| is_it(&one.directory.join(word)))
            };
            let named = own.iter().filter_map(|path| Compilation::of(path));
            let found = named.chain(Compilation::all()).find(compiles);
            let found = found.ok_or_else(|| RebuildError::Elsewhere(changed.clone()))?;
            outdated.push(found.output);
        }
        outdated.sort();
        outdated.dedup();
        Ok(outdated)
    }

    /// Does again what a compilation did, with other arguments and another output.
    fn compile(
        &self,
        compilation: &Compilation,
        arguments: &[String],
        output: &Path,
    ) -> Result<(), RebuildError> {
        let mut command = self.compiler(compilation.compiler == Compiler::Clangxx)?;
        command
            .current_dir(&compilation.directory)
            .args(["-w", "-ivfsoverlay"])
            .arg(&self.map)
            .args(self.changes.options)
            .arg("-I")
            .arg(self.folder.join("include"))
            .args(without_outputs(arguments))
            .arg("-o")
            .arg(output);
        compile(&mut command)
    }

    fn compiler(&self, is_cxx: bool) -> Result<Command, RebuildError> {
        match (self.changes.making, is_cxx) {
            (Making::Production, true) => for_production("bohr-c++"),
            (Making::Production, false) => for_production("bohr-cc"),
            (Making::Plain, _) => {
                let clang = toolchain::clang(is_cxx);
                let clang = clang.map_err(|error| RebuildError::Compiler(error.to_string()))?;
                Ok(Command::new(clang))
            }
        }
    }
}

fn same_file(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
    }
}

fn without_outputs(arguments: &[String]) -> Vec<&String> {
    let mut kept = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let text = word.as_str();
        if text == "-o" || LISTS_WITH_VALUE.contains(&text) {
            words.next();
        } else if !LISTS.contains(&text) && !text.starts_with("-Wp,-M") {
            kept.push(word);
        }
    }
    kept
}
