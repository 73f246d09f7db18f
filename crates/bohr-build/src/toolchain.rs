//! Finds the compilers and linkers. The name says the version (`clang-22`), so
//! that no program has to be started to learn it: configure scripts come here
//! thousands of times.

use crate::error::BuildError;
use std::env;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The LLVM whose bitcode bohr reads.
pub(crate) const LLVM_MAJOR: u32 = 22;

/// Where Debian's packages put the programs without a version in their names.
const LLVM_PROGRAMS: &str = "/usr/lib/llvm-22/bin";

/// The environment variable for an LLVM at another place: the directory of its programs.
const LLVM_PLACE: &str = "BOHR_LLVM";

/// The C or C++ compiler. Asks for the linker too, since profiles need it.
pub(crate) fn clang(cxx: bool) -> Result<PathBuf, BuildError> {
    lld()?;
    let name = if cxx { "clang++-22" } else { "clang-22" };
    let plain = if cxx { "clang++" } else { "clang" };
    llvm_program(name, plain).ok_or(BuildError::MissingProgram {
        program: name.into(),
        package: "clang-22",
    })
}

/// LLVM's linker.
pub(crate) fn lld() -> Result<PathBuf, BuildError> {
    llvm_program("ld.lld-22", "ld.lld").ok_or(BuildError::MissingProgram {
        program: "ld.lld-22".into(),
        package: "lld-22",
    })
}

fn llvm_program(versioned: &str, plain: &str) -> Option<PathBuf> {
    match env::var_os(LLVM_PLACE).map(PathBuf::from) {
        Some(place) => executable(place.join(plain)).filter(|_| is_right_version(&place)),
        None => on_path(versioned).or_else(|| executable(Path::new(LLVM_PROGRAMS).join(plain))),
    }
}

/// The compiler's own headers lie in a directory named after the major version.
fn is_right_version(programs: &Path) -> bool {
    let headers = format!("../lib/clang/{LLVM_MAJOR}");
    programs.join(headers).is_dir()
}

/// Where clang looks for programs before it looks on the path.
pub(crate) fn clang_programs() -> PathBuf {
    env::var_os(LLVM_PLACE).map_or_else(|| LLVM_PROGRAMS.into(), PathBuf::from)
}

/// A linker by the name that a user gives (`lld`, `gold`, a path), looked for
/// where a compiler driver looks: in its own and the `-B` directories, on the path.
pub(crate) fn linker(name: Option<&str>, prefixes: &[PathBuf]) -> Result<PathBuf, BuildError> {
    let program = match name {
        Some(path) if path.contains('/') => return Ok(path.into()),
        Some(name) if name != "ld" => format!("ld.{name}"),
        _ => "ld".into(),
    };
    prefixes
        .iter()
        .find_map(|prefix| executable(prefix.join(&program)))
        .or_else(|| on_path(&program))
        .map_or_else(|| lld_in_place_of(&program), Ok)
}

/// A machine without binutils can still link, unless another linker was named.
fn lld_in_place_of(program: &str) -> Result<PathBuf, BuildError> {
    if program == "ld" {
        return lld();
    }
    Err(BuildError::MissingProgram {
        program: program.into(),
        package: "binutils, lld or mold",
    })
}

/// Looks a program up on `PATH`, passing over the names that are bohr itself.
pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    let own = env::current_exe().ok();
    env::split_paths(&env::var_os("PATH")?)
        .filter_map(|directory| executable(directory.join(program)))
        .find(|found| found.canonicalize().ok() != own)
}

fn executable(path: PathBuf) -> Option<PathBuf> {
    let data = path.metadata().ok()?;
    (data.is_file() && data.permissions().mode() & 0o111 != 0).then_some(path)
}
