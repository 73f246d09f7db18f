//! `bohr cc` and `bohr c++`: clang with the user's own arguments, asked for fat
//! objects behind the driver's back, and with bohr's linker step in the way.
//!
//! Everything that clang does it does itself; this process becomes clang. The
//! flags are bracketed so that clang does not complain where they are of no use
//! (compiling only, linking only).

mod arguments;

pub(crate) use arguments::{inputs, is_source};

use crate::commands::{Compilation, Compiler};
use crate::error::BuildError;
use crate::link::{REAL_LINKER, production};
use crate::links::PrivateLinks;
use crate::tool::Tool;
use crate::{process, response, toolchain};
use arguments::Request;
use bohr_bundle::Level;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// The front end's pipeline of a thin fat object is the ordinary one with the
/// bitcode taken out in the middle, so the native code stays as it was. Asked
/// for through the driver, the linker would be told to optimise again.
const FAT_OBJECT: [&str; 4] = ["-Xclang", "-flto=thin", "-Xclang", "-ffat-lto-objects"];

/// Both halves of the pipeline of a fat object have a place for sanitizers; LLVM
/// warns where it leaves out the second, and a warning can be an error.
const NOT_TWICE: &str = "-Wno-backend-plugin";

/// Every function carries the level that it was compiled at, for the half of
/// the pipeline that comes after the bitcode was taken out. An attribute that
/// LLVM does not know changes nothing.
fn level_attribute(level: Level) -> [String; 4] {
    let attribute = format!("bohr-level={}", level.digit());
    let front_end = || "-Xclang".to_owned();
    [
        front_end(),
        "-default-function-attr".into(),
        front_end(),
        attribute,
    ]
}

/// Becomes clang or clang++.
pub(crate) fn run(tool: Tool, arguments: &[OsString]) -> Result<ExitCode, BuildError> {
    let clang = toolchain::clang(tool == Tool::Cxx)?;
    let (arguments, for_production) = production::option(arguments);
    let expanded = response::expand(&arguments);
    let request = Request::read(&expanded);
    if request.link_step {
        keep_command(tool, &expanded);
    }
    let mut command = Command::new(clang);
    if let Some(value) = for_production {
        command.env(production::VARIABLE, value);
    }
    let linker = linker_of(&request);
    let quiet = request.fat_objects || linker.is_some();
    command.args(quiet.then_some("--start-no-unused-arguments"));
    if request.fat_objects {
        command.args(FAT_OBJECT);
        command.args(level_attribute(request.level));
        command.args(request.sanitizers.then_some(NOT_TWICE));
    }
    if let Some(linker) = linker {
        let step = PrivateLinks::open()?.path("bohr-ld");
        let mut option = OsString::from("--ld-path=");
        option.push(step);
        command.arg(option).env(REAL_LINKER, linker);
    }
    command.args(quiet.then_some("--end-no-unused-arguments"));
    command.args(without_linker_path(&arguments, &request));
    Err(process::replace(command))
}

/// Writes down what is compiled or linked how.
fn keep_command(tool: Tool, arguments: &[OsString]) {
    let compiler = match tool {
        Tool::Cxx => Compiler::Clangxx,
        _ => Compiler::Clang,
    };
    for output in arguments::outputs(arguments) {
        if let Some(compilation) = Compilation::here(compiler, arguments, &output) {
            let _ = compilation.keep();
        }
    }
}

/// The linker that clang would run. If there is none, clang says so best.
fn linker_of(request: &Request) -> Option<PathBuf> {
    if !request.link_step {
        return None;
    }
    let mut directories = request.prefixes.clone();
    directories.push(toolchain::clang_programs());
    toolchain::linker(request.linker.as_deref(), &directories).ok()
}

/// A linker path of the user's would win over bohr's; the linker step runs it.
fn without_linker_path(arguments: &[OsString], request: &Request) -> Vec<OsString> {
    let overrides = |argument: &OsString| {
        request.link_step
            && argument
                .to_str()
                .is_some_and(|text| text.starts_with("--ld-path="))
    };
    let kept = arguments.iter().filter(|argument| !overrides(argument));
    kept.cloned().collect()
}
