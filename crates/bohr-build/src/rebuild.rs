//! Builds a program again from sources that have changed, with the commands that
//! built it: how bohr finds out what a patch does before anybody applies it. The
//! user's files stay as they are, and so does what was built.

mod clang;
mod error;
mod rust;

pub use error::RebuildError;

use crate::commands::{Compilation, Compiler};
use crate::link::production;
use crate::links::PrivateLinks;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Sources in place of those that are there.
#[derive(Clone, Copy, Debug)]
pub struct Changes<'a> {
    /// The whole texts of files, by their paths.
    pub texts: &'a [(PathBuf, String)],
    /// Headers that C and C++ find besides: names and texts.
    pub headers: &'a [(&'a str, &'a str)],
    /// What C and C++ are compiled with besides.
    pub options: &'a [&'a str],
    /// A library for Rust.
    pub library: Option<Library<'a>>,
    /// As what it is built.
    pub making: Making,
}

/// As what a program is built again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Making {
    /// As the compilers make it, without anything of bohr.
    Plain,
    /// For production, with its bundle.
    Production,
}

/// A crate without dependencies.
#[derive(Clone, Copy, Debug)]
pub struct Library<'a> {
    /// Its name.
    pub name: &'a str,
    /// Names and texts of its files; the first is its root.
    pub files: &'a [(&'a str, &'a str)],
    /// The feature that is on.
    pub feature: &'a str,
}

/// Builds a program with changes, in a folder of one's own; where it is then.
///
/// # Errors
/// If it is not known how the program was built, or if it does not build so.
pub fn rebuild(
    program: &Path,
    changes: Changes<'_>,
    folder: &Path,
) -> Result<PathBuf, RebuildError> {
    let compilation = of_program(program)?;
    match compilation.compiler {
        Compiler::Clang | Compiler::Clangxx => clang::rebuild(&compilation, changes, folder),
        Compiler::Rustc => rust::rebuild(&compilation, changes, folder),
    }
}

/// The command that made a program, or a file of which the program is a copy.
fn of_program(program: &Path) -> Result<Compilation, RebuildError> {
    if let Some(known) = Compilation::of(program) {
        return Ok(known);
    }
    let unknown = || RebuildError::Unknown(program.to_path_buf());
    let bytes = fs::read(program).map_err(|_| unknown())?;
    let is_copy = |one: &Compilation| {
        let length = fs::metadata(&one.output).map(|data| data.len());
        length.is_ok_and(|length| length == bytes.len() as u64)
            && fs::read(&one.output).is_ok_and(|other| other == bytes)
    };
    let mut all = Compilation::all().into_iter();
    all.find(is_copy).ok_or_else(unknown)
}

/// The compiler that bohr puts before another, asked for a production build.
fn for_production(compiler: &str) -> Result<Command, RebuildError> {
    let links = PrivateLinks::open();
    let links = links.map_err(|error| RebuildError::Compiler(error.to_string()))?;
    let mut command = Command::new(links.path(compiler));
    command.env(production::VARIABLE, "1");
    Ok(command)
}

/// Runs a compiler; what it says is only of interest if it fails.
fn compile(command: &mut Command) -> Result<(), RebuildError> {
    let output = command.output().map_err(|source| RebuildError::File {
        path: PathBuf::from(command.get_program()),
        source,
    })?;
    match output.status.success() {
        true => Ok(()),
        false => Err(RebuildError::Compiler(first_error(&output.stderr))),
    }
}

fn first_error(said: &[u8]) -> String {
    let said = String::from_utf8_lossy(said);
    let error = said.lines().find(|line| line.contains("error"));
    error
        .or(said.lines().next())
        .unwrap_or_default()
        .to_string()
}

fn write(path: &Path, text: &str) -> Result<(), RebuildError> {
    let folder = path.parent().unwrap_or(path);
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(path, text));
    written.map_err(RebuildError::file(path))
}
