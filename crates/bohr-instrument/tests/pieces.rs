//! Code generation in pieces: however small they are, the program is the same.

mod support;

use bohr_instrument::diagnostics::Diagnostics;
use bohr_instrument::generate;
use bohr_instrument::inkwell::context::Context;
use bohr_instrument::inkwell::targets::RelocMode;
use bohr_instrument::merge::merge;
use bohr_instrument::partition::Cut;
use std::path::Path;
use std::process::Command;
use support::{Compiled, compile, run};

const AWKWARD: &str = include_str!("pieces/awkward.c");
const THROWING: &str = include_str!("pieces/throwing.cpp");

/// Compiles parts in pieces of that many instructions; tells how many there were.
fn build(directory: &Path, parts: &[Compiled], enough: u64, output: &Path) -> usize {
    let context = Context::create();
    let given: Vec<_> = parts.iter().map(Compiled::part).collect();
    let merged = merge(&context, &given, &|name| name == "main").expect("merges");
    let diagnostics = Diagnostics::collect(&context);
    let cut = Cut { enough, most: 1000 };
    let objects =
        generate::objects(merged.module, RelocMode::Static, cut, &diagnostics).expect("compiles");
    let mut linker = Command::new("clang++-22");
    linker.args(["-no-pie", "-o"]).arg(output);
    for (number, object) in objects.iter().enumerate() {
        let path = directory.join(format!("piece{number}.o"));
        std::fs::write(&path, object).expect("object");
        linker.arg(path);
    }
    run(&mut linker);
    objects.len()
}

#[track_caller]
fn is_the_same_in_pieces(name: &str, source: &str) {
    for flags in [&["-O0"][..], &["-O2", "-g"]] {
        let directory = tempfile::tempdir().expect("directory");
        let parts = [compile(directory.path(), name, source, flags)];
        let (whole, pieces) = (
            directory.path().join("whole"),
            directory.path().join("pieces"),
        );
        assert_eq!(build(directory.path(), &parts, u64::MAX, &whole), 1);
        let count = build(directory.path(), &parts, 1, &pieces);
        assert!(count > 4, "{count} pieces");
        let expected = run(&mut Command::new(whole));
        assert!(!expected.is_empty());
        let found = run(&mut Command::new(pieces));
        assert_eq!(
            String::from_utf8_lossy(&found),
            String::from_utf8_lossy(&expected)
        );
    }
}

#[test]
fn aliases_assembly_constructors_and_places_stay_what_they_are() {
    is_the_same_in_pieces("awkward.c", AWKWARD);
}

#[test]
fn exceptions_and_virtual_tables_cross_pieces() {
    is_the_same_in_pieces("throwing.cpp", THROWING);
}

#[test]
fn cuts_depend_on_the_program_alone() {
    let directory = tempfile::tempdir().expect("directory");
    let parts = [compile(directory.path(), "awkward.c", AWKWARD, &["-O1"])];
    let outputs = ["one", "two"].map(|name| {
        let path = directory.path().join(name);
        build(directory.path(), &parts, 20, &path);
        std::fs::read(path).expect("program")
    });
    assert!(
        outputs[0] == outputs[1],
        "two builds of the same pieces differ"
    );
}
