//! The names under which bohr stands in for the tools of a build.

use crate::error::BuildError;
use crate::{compile, link, rust};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

/// A tool that bohr stands in for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tool {
    /// `bohr cc`, `bohr-cc`.
    Cc,
    /// `bohr c++`, `bohr-c++`.
    Cxx,
    /// `bohr ld`, `bohr-ld`, and `ld*` in the directory that linker drivers are pointed to.
    Ld,
    /// `bohr cargo`, `bohr-cargo`.
    Cargo,
    /// `bohr-rustc`: what cargo runs in place of rustc.
    Rustc,
    /// `bohr-linker`: what rustc runs in place of the linker driver.
    RustLinker,
}

impl Tool {
    /// The names that users meet.
    pub(crate) const PUBLIC: [&'static str; 4] = ["bohr-cc", "bohr-c++", "bohr-ld", "bohr-cargo"];
    /// The names that cargo and rustc meet.
    pub(crate) const PRIVATE: [&'static str; 2] = ["bohr-rustc", "bohr-linker"];
    /// The names that a linker driver looks for.
    pub(crate) const LINKERS: [&'static str; 6] =
        ["ld", "ld.bfd", "ld.gold", "ld.lld", "ld.mold", "ld.lld-22"];

    /// Which tool a command line asks for, and the arguments that are the tool's.
    #[must_use]
    pub fn recognise(words: &[OsString]) -> Option<(Tool, &[OsString])> {
        let name = Path::new(words.first()?).file_name()?.to_str()?;
        if let Some(tool) = Tool::by_program_name(name) {
            return Some((tool, &words[1..]));
        }
        let tool = Tool::by_command(words.get(1)?)?;
        Some((tool, &words[2..]))
    }

    fn by_program_name(name: &str) -> Option<Tool> {
        match name {
            "bohr-cc" => Some(Tool::Cc),
            "bohr-c++" => Some(Tool::Cxx),
            "bohr-cargo" => Some(Tool::Cargo),
            "bohr-rustc" => Some(Tool::Rustc),
            "bohr-linker" => Some(Tool::RustLinker),
            "bohr-ld" => Some(Tool::Ld),
            _ => Tool::LINKERS.contains(&name).then_some(Tool::Ld),
        }
    }

    fn by_command(word: &OsStr) -> Option<Tool> {
        match word.to_str()? {
            "cc" => Some(Tool::Cc),
            "c++" | "cxx" => Some(Tool::Cxx),
            "ld" => Some(Tool::Ld),
            "cargo" => Some(Tool::Cargo),
            _ => None,
        }
    }

    /// Does the tool's work. Does not return where the tool can take over this process.
    pub fn run(self, arguments: &[OsString]) -> Result<ExitCode, BuildError> {
        match self {
            Tool::Cc | Tool::Cxx => compile::run(self, arguments),
            Tool::Ld => link::run(arguments),
            Tool::Cargo => rust::cargo(arguments),
            Tool::Rustc => rust::rustc(arguments),
            Tool::RustLinker => rust::linker(arguments),
        }
    }
}
