//! Real compilers for the tests: sources in, bitcode as `bohr cc` and `bohr cargo` keep it out.
#![allow(dead_code)] // each test file uses its own part of this

pub mod instrumented;

use bohr_instrument::inkwell::context::Context;
use bohr_instrument::lower::lower;
use bohr_instrument::merge::{Part, merge};
use bohr_instrument::sites::ModuleSites;
use bohr_program::Program;
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
            language: None,
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

/// The model of the program that a source file is. Its first line names the
/// compiler flags: `// flags: -O1 -g`. Only `main` can be called from outside,
/// or everything if there is none.
pub fn program(name: &str, text: &str) -> Program {
    let first = text.lines().next().unwrap_or_default();
    let (_, flags) = first.split_once("flags:").expect("flags in the first line");
    let flags: Vec<&str> = flags.split_whitespace().collect();
    program_with(name, text, &flags)
}

/// The same with the flags apart.
pub fn program_with(name: &str, text: &str, flags: &[&str]) -> Program {
    let directory = tempfile::tempdir().unwrap();
    let compiled = compile(directory.path(), name, text, flags);
    let context = Context::create();
    let has_main = text.contains("int main(");
    let merged = merge(&context, &[compiled.part()], &|name| {
        !has_main || name == "main"
    })
    .unwrap();
    let sites = ModuleSites::of(&merged.module);
    lower(&merged.module, &sites, [0; 32]).unwrap().program
}
