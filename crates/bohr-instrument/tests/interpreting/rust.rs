//! Rust programs together with the bitcode of their standard library, which
//! the toolchain ships inside its archives.

use object::read::archive::ArchiveFile;
use object::{Object, ObjectSection};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program, native and as bitcode.
pub struct Built {
    pub executable: PathBuf,
    pub bitcode: Vec<u8>,
}

/// Builds a program; its own code only, without the standard library's.
pub fn build(directory: &Path, source: &str, level: &str) -> Built {
    let executable = directory.join("native");
    let bitcode = directory.join("program.bc");
    let mut command = Command::new("rustc");
    command
        .args(["--edition=2024", "-Ccodegen-units=1", source])
        .arg(format!("-Copt-level={level}"))
        .arg(format!("--emit=link={}", executable.display()))
        .arg(format!("--emit=llvm-bc={}", bitcode.display()));
    let result = command.output().expect("rustc runs");
    let said = String::from_utf8_lossy(&result.stderr);
    assert!(result.status.success(), "{command:?}: {said}");
    Built {
        executable,
        bitcode: std::fs::read(bitcode).expect("rustc wrote it"),
    }
}

/// What no program is made of, what is only there to be called by name, and
/// the other way to panic.
const LEFT_OUT: &[&str] = &[
    "test",
    "getopts",
    "proc_macro",
    "compiler_builtins",
    "panic_abort",
];

/// The bitcode of the standard library.
pub fn standard_library() -> Vec<Vec<u8>> {
    let output = Command::new("rustc")
        .args(["--print", "target-libdir"])
        .output();
    let output = output.expect("rustc runs").stdout;
    let directory = String::from_utf8(output).expect("a path");
    let mut bitcode = Vec::new();
    for entry in std::fs::read_dir(directory.trim()).expect("the toolchain's libraries") {
        let path = entry.expect("a library").path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let part = |name: &str| Some(name.strip_prefix("lib")?.rsplit_once('-')?.0.to_string());
        let wanted = part(&name).is_some_and(|name| !LEFT_OUT.contains(&&*name));
        if name.ends_with(".rlib") && wanted {
            bitcode.extend(bitcode_of(&path));
        }
    }
    assert!(bitcode.len() > 5, "std, core, alloc and what they use");
    bitcode
}

fn bitcode_of(archive: &Path) -> Vec<Vec<u8>> {
    let bytes = std::fs::read(archive).expect("a library");
    let archive = ArchiveFile::parse(&*bytes).expect("an archive");
    let section = |member: &[u8]| {
        let object = object::File::parse(member).ok()?;
        Some(object.section_by_name(".llvmbc")?.data().ok()?.to_vec())
    };
    archive
        .members()
        .filter_map(|member| section(member.ok()?.data(&*bytes).ok()?))
        .collect()
}
