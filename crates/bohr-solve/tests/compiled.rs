//! Programs for the tests, through the real compiler.
#![allow(dead_code)] // each test file uses its own part of this

use bohr_instrument::inkwell::context::Context;
use bohr_instrument::lower::lower;
use bohr_instrument::merge::{Part, merge};
use bohr_instrument::sites::ModuleSites;
use bohr_program::Program;
use std::path::Path;
use std::process::Command;

/// Compiles C with clang, as `bohr cc` does, and gives the model and the folder with
/// the native program in it.
pub fn compile(source: &str, level: &str) -> (Program, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("main.c"), source).unwrap();
    let clang = |words: &[&str]| {
        let mut command = Command::new("clang-22");
        command
            .args([level, "-g", "-pthread", "main.c"])
            .args(words);
        let output = command.current_dir(folder.path()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
    };
    clang(&[
        "-c",
        "-Xclang",
        "-flto=thin",
        "-Xclang",
        "-emit-llvm-bc",
        "-o",
        "main.bc",
    ]);
    clang(&["-o", "program"]);
    let bitcode = std::fs::read(folder.path().join("main.bc")).unwrap();
    let context = Context::create();
    let part = Part {
        name: "main.o",
        bitcode: &bitcode,
        language: None,
    };
    let merged = merge(&context, &[part], &|name| name == "main").unwrap();
    let sites = ModuleSites::of(&merged.module);
    let program = lower(&merged.module, &sites, [0; 32]).unwrap().program;
    (program, folder)
}

/// The source of an exhibit of the museum.
pub fn exhibit(name: &str) -> String {
    let museum = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../museum");
    std::fs::read_to_string(museum.join(name).join("main.c")).unwrap()
}
