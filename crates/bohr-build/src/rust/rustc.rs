//! `bohr-rustc`: what cargo runs in place of rustc.
//!
//! Libraries keep their bitcode (`-C embed-bitcode=yes`). Programs are compiled
//! with `-C save-temps`, the one stable option that writes the bitcode of each
//! codegen unit without changing how the crate is cut into units (asking for
//! `--emit=llvm-bc` makes one unit of it), also for units that an incremental
//! build takes over. The files in between go to a directory of their own, which
//! is removed afterwards.
//!
//! cargo must not take a program that was built without bohr for one that was.
//! It keeps apart what different compilers made, and knows them by what
//! `rustc -vV` says, so bohr adds a line to that.

use super::level;
use super::unit::{Treatment, Unit};
use super::{USER_LINKER, USER_WRAPPER};
use crate::commands::{Compilation, Compiler};
use crate::error::BuildError;
use crate::link::origin::SCRATCH;
use crate::link::{REAL_LINKER, production};
use crate::links::PrivateLinks;
use crate::process;
use crate::toolchain::LLVM_MAJOR;
use bohr_bundle::FormatVersion;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// Runs or becomes rustc.
pub(crate) fn rustc(arguments: &[OsString]) -> Result<ExitCode, BuildError> {
    let unit = Unit::read(arguments);
    if arguments.iter().any(|word| word == "-vV") {
        return describe_version(command(arguments));
    }
    if let Some(library) = unit.rust_library() {
        level::write(&library, unit.level)?;
    }
    match unit.treatment() {
        Treatment::Leave => Err(process::replace(command(arguments))),
        Treatment::Embed => {
            keep_command(unit.rust_library(), arguments);
            Err(process::replace(command(&with_bitcode(arguments))))
        }
        Treatment::Link => {
            keep_command(unit.program(), arguments);
            compile_program(&unit, &with_bitcode(arguments))
        }
    }
}

/// `arguments` begins with the path of rustc, or of a wrapper for workspace members.
fn command(arguments: &[OsString]) -> Command {
    let users = env::var_os(USER_WRAPPER);
    let mut words = users.iter().chain(arguments);
    let mut command = Command::new(
        words
            .next()
            .map_or(OsStr::new("rustc"), OsString::as_os_str),
    );
    command.args(words);
    command
}

/// cargo says `-C embed-bitcode=no` wherever it needs none itself.
fn with_bitcode(arguments: &[OsString]) -> Vec<OsString> {
    let replace = |word: &OsString| match word.to_str() {
        Some("embed-bitcode=no") => "embed-bitcode=yes".into(),
        Some("-Cembed-bitcode=no") => "-Cembed-bitcode=yes".into(),
        _ => word.clone(),
    };
    arguments.iter().map(replace).collect()
}

fn describe_version(mut command: Command) -> Result<ExitCode, BuildError> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|source| process::not_started(&command, source))?;
    let mut text = output.stdout;
    check_llvm(command.get_program(), &String::from_utf8_lossy(&text))?;
    let own = format!(
        "bohr: {}, bundles of format {}{}\n",
        env!("CARGO_PKG_VERSION"),
        FormatVersion::CURRENT,
        production::wanted().map_or_else(String::new, |profile| format!(", for {profile}"))
    );
    text.extend_from_slice(own.as_bytes());
    // cargo reports an answer that did not arrive.
    let _ = std::io::stdout().write_all(&text);
    Ok(process::exit_code(output.status))
}

fn check_llvm(program: &OsStr, version: &str) -> Result<(), BuildError> {
    let found = version
        .lines()
        .find_map(|line| line.strip_prefix("LLVM version: "))
        .unwrap_or("(unknown)");
    if found.split('.').next() == Some(&LLVM_MAJOR.to_string()) {
        return Ok(());
    }
    Err(BuildError::OtherLlvm {
        program: program.to_string_lossy().into_owned(),
        expected: LLVM_MAJOR,
        found: found.to_owned(),
    })
}

fn compile_program(unit: &Unit, arguments: &[OsString]) -> Result<ExitCode, BuildError> {
    let scratch = Scratch::open(unit)?;
    let mut command = command(&scratch.redirect(arguments));
    command.env(level::VARIABLE, unit.level.digit());
    add_linker(&mut command, unit)?;
    command.args(["-C", "save-temps=yes"]);
    if scratch.superfluous.is_some() {
        command.args(["--crate-type", "rlib"]);
    }
    let status = process::run(command)?;
    scratch.close()?;
    Ok(process::exit_code(status))
}

/// Writes down how a crate is compiled, by what comes out.
fn keep_command(output: Option<PathBuf>, arguments: &[OsString]) {
    let call = output.and_then(|output| Compilation::here(Compiler::Rustc, arguments, &output));
    let _ = call.and_then(|call| call.keep());
}

/// Puts bohr between rustc and the user's linker. A later option wins.
fn add_linker(command: &mut Command, unit: &Unit) -> Result<(), BuildError> {
    let links = PrivateLinks::open()?;
    let mut option = OsString::from("linker=");
    if unit.links_without_driver() {
        let linker = unit.linker.as_deref().unwrap_or("rust-lld");
        if unit.linker_flavor.is_none() {
            let flavor = if linker.contains("lld") {
                "ld.lld"
            } else {
                "ld"
            };
            command.args(["-C", &format!("linker-flavor={flavor}")]);
        }
        command.env(REAL_LINKER, linker);
        option.push(links.path("bohr-ld"));
    } else {
        command.env(USER_LINKER, unit.linker.as_deref().unwrap_or("cc"));
        option.push(links.path("bohr-linker"));
    }
    command.arg("-C").arg(option);
    Ok(())
}

/// Where rustc writes while it compiles a program.
struct Scratch {
    /// `--out-dir` of the user, and the directory in its place.
    directories: Option<(PathBuf, PathBuf)>,
    /// The name of a file that only bohr has asked for.
    superfluous: Option<OsString>,
}

impl Scratch {
    /// Makes a directory beside the results, so that moving them is a renaming.
    fn open(unit: &Unit) -> Result<Scratch, BuildError> {
        let in_place = Scratch {
            directories: None,
            superfluous: None,
        };
        let Some(output) = &unit.output_directory else {
            return Ok(in_place);
        };
        if unit.keeps_temporaries || unit.bound_to_directory {
            return Ok(in_place);
        }
        // The same name in every build: what an interrupted one left goes first.
        let inner = output.join(format!("{SCRATCH}{}", unit.file_stem()));
        if inner.exists() {
            fs::remove_dir_all(&inner).map_err(BuildError::file("remove", &inner))?;
        }
        fs::create_dir_all(&inner).map_err(BuildError::file("make", &inner))?;
        Ok(Scratch {
            directories: Some((output.clone(), inner)),
            superfluous: unit
                .wants_rust_library()
                .then(|| format!("lib{}.rlib", unit.file_stem()).into()),
        })
    }

    fn redirect(&self, arguments: &[OsString]) -> Vec<OsString> {
        let Some((_, inner)) = &self.directories else {
            return arguments.to_vec();
        };
        let mut redirected = arguments.to_vec();
        for at in 0..redirected.len() {
            if redirected[at] == "--out-dir" && at + 1 < redirected.len() {
                redirected[at + 1] = inner.clone().into();
            } else if redirected[at].to_string_lossy().starts_with("--out-dir=") {
                redirected[at] = format!("--out-dir={}", inner.display()).into();
            }
        }
        redirected
    }

    /// Moves the results to where they belong and removes the rest.
    fn close(self) -> Result<(), BuildError> {
        let Some((output, inner)) = self.directories else {
            return Ok(());
        };
        let entries = fs::read_dir(&inner).map_err(BuildError::file("read", &inner))?;
        for entry in entries.flatten() {
            let path = entry.path();
            let superfluous = path.file_name() == self.superfluous.as_deref();
            if path.is_file() && !is_intermediate(&path) && !superfluous {
                place(&path, &output, &inner)?;
            }
        }
        fs::remove_dir_all(&inner).map_err(BuildError::file("remove", &inner))
    }
}

fn is_intermediate(path: &Path) -> bool {
    path.to_string_lossy().contains(".rcgu.")
}

/// Lists of dependencies name the file that they belong to.
fn place(path: &Path, output: &Path, inner: &Path) -> Result<(), BuildError> {
    if path.extension() == Some(OsStr::new("d")) {
        let text = fs::read_to_string(path).map_err(BuildError::file("read", path))?;
        let text = text.replace(&*inner.to_string_lossy(), &output.to_string_lossy());
        fs::write(path, text).map_err(BuildError::file("write", path))?;
    }
    let target = output.join(path.file_name().unwrap_or_default());
    fs::rename(path, &target).map_err(BuildError::file("write", &target))
}
