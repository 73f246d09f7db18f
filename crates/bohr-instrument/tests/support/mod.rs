//! Real compilers for the tests: sources in, bitcode as `bohr cc` and `bohr cargo` keep it out.
#![allow(dead_code)] // each test file uses its own part of this

pub mod instrumented;

use bohr_instrument::merge::Part;
use std::fs;
use std::path::Path;
use std::process::Command;

/// One compiled part.
pub struct Compiled {
    pub name: String,
    pub bitcode: Vec<u8>,
}

impl Compiled {
    pub fn part(&self) -> Part<'_> {
        Part {
            name: &self.name,
            bitcode: &self.bitcode,
        }
    }
}

/// Runs a command that must succeed.
pub fn run(command: &mut Command) -> Vec<u8> {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

/// Compiles `source` as the file `name` (a relative path) in `directory` and
/// gives the bitcode that a thin fat object holds.
pub fn compile(directory: &Path, name: &str, source: &str, flags: &[&str]) -> Compiled {
    let path = directory.join(name);
    fs::create_dir_all(path.parent().expect("a file has a directory")).expect("directory");
    fs::write(&path, source).expect("source");
    let output = path.with_extension("bc");
    let mut command = if name.ends_with(".rs") {
        let mut rustc = Command::new("rustc");
        rustc.args(["--emit=llvm-bc", "--crate-type=lib", "--edition=2024"]);
        rustc
    } else {
        let mut clang = Command::new(if name.ends_with(".c") {
            "clang-22"
        } else {
            "clang++-22"
        });
        clang.args(["-c", "-Xclang", "-flto=thin", "-Xclang", "-emit-llvm-bc"]);
        clang
    };
    run(command
        .args(flags)
        .arg(name)
        .arg("-o")
        .arg(&output)
        .current_dir(directory));
    Compiled {
        name: name.to_string(),
        bitcode: fs::read(&output).expect("bitcode"),
    }
}
