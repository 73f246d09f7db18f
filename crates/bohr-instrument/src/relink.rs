//! Links a program again, with instrumented objects in place of its bitcode
//! parts and everything else as its first link had it.
//!
//! Executables for control are linked at a fixed address, whatever the first link
//! did: it wants the same addresses in every run, and containers do not let anyone
//! switch address randomisation off. Those for production are linked as they were.

use crate::hooks::{POINT_SECTION, STUB_SECTION};
use crate::stubs::{StubCount, StubError, complete};
use bohr_bundle::{Bundle, BundleError, Content, Input, LinkLine, OutputKind, PartId};
use object::{Object, ObjectSection};
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The linker; part of the same LLVM as everything else here.
const LINKERS: [&str; 2] = ["ld.lld-22", "/usr/lib/llvm-22/bin/ld.lld"];

/// Objects that stand for the bitcode of a program.
pub struct Objects {
    /// All merged parts, and the tables.
    pub instrumented: Vec<Vec<u8>>,
    /// Parts that could not be merged, compiled by themselves.
    pub alone: HashMap<PartId, Vec<u8>>,
}

/// Why there is no program.
#[derive(Debug, thiserror::Error)]
pub enum RelinkError {
    /// A file could not be read or written.
    #[error("cannot {action} {}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The bundle is damaged.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// There is no lld.
    #[error("ld.lld-22 is not installed")]
    NoLinker,
    /// The linker refused.
    #[error("the instrumented program does not link: {0}")]
    Refused(String),
    /// The result is not what was asked for.
    #[error("the instrumented program has wrong hooks, which is a bug in bohr: {0}")]
    Stubs(#[from] StubError),
}

/// What the second link does otherwise than the first.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// Programs go to a fixed address.
    pub fixed: bool,
    /// What a shared library is called, so that the loader takes it for the first one.
    pub soname: Option<&'a str>,
}

/// Links into `output`, using `directory` for files that are gone afterwards.
///
/// # Errors
/// If the linker refuses, or files that the first link read have disappeared.
pub fn relink(
    bundle: &Bundle<'_>,
    objects: &Objects,
    changed: Options<'_>,
    directory: &Path,
    output: &Path,
) -> Result<StubCount, RelinkError> {
    let mut arguments = options(bundle.link(), changed, directory)?;
    arguments.extend(["-o".into(), output.into()]);
    arguments.extend(inputs(bundle, objects, directory)?);
    // Response files have quoting rules; file names of ours need none of them,
    // and thousands of parts fit on the command line.
    let said = run(&arguments)?;
    if !said.status.success() {
        let text = String::from_utf8_lossy(&said.stderr);
        let first: Vec<&str> = text.lines().take(6).collect();
        return Err(RelinkError::Refused(first.join("\n")));
    }
    complete_stubs(output)
}

fn run(arguments: &[OsString]) -> Result<std::process::Output, RelinkError> {
    for linker in LINKERS {
        match Command::new(linker).args(arguments).output() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            result => return result.map_err(at("run", Path::new(linker))),
        }
    }
    Err(RelinkError::NoLinker)
}

fn at<'path>(
    action: &'static str,
    path: &'path Path,
) -> impl FnOnce(io::Error) -> RelinkError + use<'path> {
    move |source| RelinkError::File {
        action,
        path: path.to_path_buf(),
        source,
    }
}

fn options(
    link: &LinkLine,
    Options { fixed, soname }: Options<'_>,
    directory: &Path,
) -> Result<Vec<OsString>, RelinkError> {
    let options = &link.options;
    let mut arguments: Vec<OsString> = Vec::new();
    let mut add = |text: &str| arguments.push(text.into());
    match (link.output, options.fixed) {
        (OutputKind::SharedLibrary, _) => add("-shared"),
        // Its start files relocate the program themselves and work no other way.
        (OutputKind::PositionIndependent, true) => {
            ["-static", "-pie"].into_iter().for_each(&mut add)
        }
        (_, true) => add("-static"),
        (OutputKind::PositionIndependent, false) if !fixed => add("-pie"),
        (OutputKind::Executable, false) if !fixed => add("-no-pie"),
        // The runtime is found even by a program without a library that asks for it.
        _ => [
            "-no-pie",
            "--export-dynamic-symbol=__bohr_*",
            "-z",
            "dynamic-undefined-weak",
        ]
        .into_iter()
        .for_each(&mut add),
    }
    for (option, value) in [
        ("--entry", options.entry.as_deref()),
        ("-soname", soname),
        ("--dynamic-linker", options.dynamic_linker.as_deref()),
    ] {
        if let Some(value) = value {
            add(&format!("{option}={value}"));
        }
    }
    if options.export_dynamic {
        add("--export-dynamic");
    }
    for (option, values) in [
        ("-rpath", &options.rpath),
        ("--export-dynamic-symbol", &options.exported),
        ("--undefined", &options.undefined),
        ("--wrap", &options.wrap),
        ("--defsym", &options.defsym),
        ("-L", &options.search),
    ] {
        values.iter().for_each(|value| add(&joined(option, value)));
    }
    options.kept.iter().for_each(|option| add(option));
    for (number, script) in options.scripts.iter().enumerate() {
        let path = directory.join(format!("script{number}"));
        fs::write(&path, &script.text).map_err(at("write", &path))?;
        arguments.push(format!("{}={}", script.kind.option(), path.display()).into());
    }
    Ok(arguments)
}

fn joined(option: &str, value: &str) -> String {
    let equals = if option == "-L" { "" } else { "=" };
    format!("{option}{equals}{value}")
}

/// The inputs in their order; the instrumented objects come where the first
/// bitcode was.
fn inputs(
    bundle: &Bundle<'_>,
    objects: &Objects,
    directory: &Path,
) -> Result<Vec<OsString>, RelinkError> {
    let mut arguments = Vec::new();
    let mut instrumented = Some(&objects.instrumented);
    let write = |name: String, bytes: &[u8]| {
        let path = directory.join(name);
        fs::write(&path, bytes).map_err(at("write", &path))?;
        Ok::<OsString, RelinkError>(path.into())
    };
    for input in &bundle.link().inputs {
        match input {
            Input::Part(id) => {
                let native = bundle
                    .part(*id)
                    .is_some_and(|part| part.content != Content::Bitcode);
                if native {
                    arguments.push(write(format!("part{}.o", id.0), &bundle.contents(*id)?)?);
                } else if let Some(alone) = objects.alone.get(id) {
                    arguments.push(write(format!("part{}.o", id.0), alone)?);
                } else if let Some(instrumented) = instrumented.take() {
                    for (number, object) in instrumented.iter().enumerate() {
                        arguments.push(write(format!("bohr{number}.o"), object)?);
                    }
                }
            }
            Input::Archive { path } => arguments.push(path.into()),
            Input::SharedLibrary {
                path,
                soname,
                needed,
            } => {
                if *needed || bundle.link().output == OutputKind::SharedLibrary {
                    arguments.push(library(path, soname.as_deref()));
                }
            }
        }
    }
    Ok(arguments)
}

/// Where the library was, or wherever its name is found now.
fn library(path: &str, soname: Option<&str>) -> OsString {
    match soname {
        Some(soname) if !Path::new(path).exists() => format!("-l:{soname}").into(),
        _ => path.into(),
    }
}

/// Checks and completes the stubs of a linked program in place.
///
/// # Errors
/// If the file cannot be read as a program, or holds something that is no stub.
pub fn complete_stubs(program: &Path) -> Result<StubCount, RelinkError> {
    let mut bytes = fs::read(program).map_err(at("read", program))?;
    let mut all = StubCount::default();
    for name in [STUB_SECTION, POINT_SECTION] {
        let unreadable = |error: object::Error| RelinkError::Refused(error.to_string());
        let range = object::File::parse(&bytes[..])
            .map_err(unreadable)?
            .section_by_name(name)
            .and_then(|section| section.file_range());
        if let Some((start, length)) = range {
            let (start, length) = (start as usize, length as usize);
            let count = complete(&mut bytes[start..start + length])?;
            all.stubs += count.stubs;
            all.on_stack += count.on_stack;
        }
    }
    if all != StubCount::default() {
        fs::write(program, bytes).map_err(at("write", program))?;
    }
    Ok(all)
}
