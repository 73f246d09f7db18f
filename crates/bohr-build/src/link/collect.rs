//! Turns what the linker took in into a bundle.

use super::archive::Members;
use super::arguments::Request;
use super::dynamic;
use super::object_file::evaluate;
use super::origin::origin;
use super::trace::TracedInput;
use crate::error::BuildError;
use bohr_bundle::{BundleBuilder, Content, Input, Origin};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The bundle of a program that was linked from these inputs.
pub(super) fn bundle(
    request: Request,
    linker: &Path,
    inputs: &[TracedInput],
    program: &[u8],
) -> Result<Vec<u8>, BuildError> {
    let mut link = request.link;
    link.linker = linker.to_string_lossy().into_owned();
    let mut collector = Collector {
        builder: BundleBuilder::new(link),
        needed: dynamic::needed(program),
        archives: BTreeMap::new(),
        libraries: BTreeSet::new(),
    };
    for tool in dynamic::tools(program) {
        collector.builder.add_tool(tool);
    }
    let mut members = Members::read(inputs, program)?;
    for input in inputs {
        match &input.member {
            Some(name) => {
                let bytes = members.take(&input.path, name)?;
                collector.take_member(&input.path, name, &bytes);
            }
            None => collector.take_file(&input.path)?,
        }
    }
    Ok(collector.finish())
}

struct Collector {
    builder: BundleBuilder,
    needed: Vec<String>,
    /// Archives seen, and whether a member of theirs had bitcode.
    archives: BTreeMap<PathBuf, bool>,
    libraries: BTreeSet<PathBuf>,
}

impl Collector {
    fn take_file(&mut self, path: &Path) -> Result<(), BuildError> {
        // GNU ld names archives and libraries as often as it looks at them.
        if self.libraries.contains(path) || self.archives.contains_key(path) {
            return Ok(());
        }
        let bytes = fs::read(path).map_err(BuildError::file("read", path))?;
        match kind_of(&bytes) {
            FileKind::Archive => {
                self.archives.insert(path.to_owned(), false);
            }
            FileKind::SharedLibrary => self.take_library(path, &bytes),
            FileKind::Object => {
                self.take_object(path, None, &bytes);
            }
            // What a linker script names has its own lines in the trace.
            FileKind::Script => {}
        }
        Ok(())
    }

    fn take_member(&mut self, path: &Path, name: &str, bytes: &[u8]) {
        let has_bitcode = self.take_object(path, Some(name), bytes);
        *self.archives.entry(path.to_owned()).or_default() |= has_bitcode;
    }

    /// Whether the object has bitcode.
    fn take_object(&mut self, path: &Path, member: Option<&str>, bytes: &[u8]) -> bool {
        let mut has_bitcode = false;
        for part in evaluate(path, member, bytes) {
            let origin = origin_of_source(origin(path, member), part.source);
            has_bitcode |= part.content == Content::Bitcode;
            let id = self
                .builder
                .add(part.content, origin, part.language, &part.bytes);
            self.input(Input::Part(id));
        }
        has_bitcode
    }

    fn take_library(&mut self, path: &Path, bytes: &[u8]) {
        self.libraries.insert(path.to_owned());
        let soname = dynamic::soname(bytes);
        // Without a name of its own, a library is asked for as it was named.
        let file_name = path.file_name().map(|name| name.to_string_lossy());
        let named = path.to_string_lossy();
        let names = [soname.as_deref(), file_name.as_deref(), Some(&*named)];
        let asked_for = |name: &String| names.contains(&Some(name.as_str()));
        let needed = self.needed.iter().any(asked_for);
        self.input(Input::SharedLibrary {
            path: absolute(path),
            soname,
            needed,
        });
    }

    fn input(&mut self, input: Input) {
        self.builder.link_mut().inputs.push(input);
    }

    /// Archives without bitcode can serve a second link again.
    fn finish(mut self) -> Vec<u8> {
        for (path, bitcode) in std::mem::take(&mut self.archives) {
            if !bitcode {
                self.input(Input::Archive {
                    path: absolute(&path),
                });
            }
        }
        self.builder.finish()
    }
}

/// One of the objects that were linked into one.
fn origin_of_source(origin: Origin, source: Option<String>) -> Origin {
    match (origin.member, source) {
        (Some(member), Some(source)) => Origin::member(origin.path, format!("{member}({source})")),
        (member, source) => Origin {
            path: origin.path,
            member: member.or(source),
        },
    }
}

enum FileKind {
    Archive,
    SharedLibrary,
    Object,
    Script,
}

fn kind_of(bytes: &[u8]) -> FileKind {
    const TYPE_OFFSET: usize = 16;
    const SHARED_LIBRARY: u8 = 3;
    if bytes.starts_with(b"!<arch>\n") || bytes.starts_with(b"!<thin>\n") {
        FileKind::Archive
    } else if bytes.starts_with(b"\x7fELF") {
        match bytes.get(TYPE_OFFSET) {
            Some(&SHARED_LIBRARY) => FileKind::SharedLibrary,
            _ => FileKind::Object,
        }
    } else if bytes.starts_with(b"BC") || bytes.starts_with(&[0xde, 0xc0, 0x17, 0x0b]) {
        FileKind::Object
    } else {
        FileKind::Script
    }
}

fn absolute(path: &Path) -> String {
    std::path::absolute(path)
        .unwrap_or_else(|_| path.to_owned())
        .to_string_lossy()
        .into_owned()
}
