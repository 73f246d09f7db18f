//! Levels of optimisation: profiles go as far as the user's compiler went.

mod support;

use bohr_bundle::Language;
use bohr_instrument::diagnostics::Diagnostics;
use bohr_instrument::generate;
use bohr_instrument::inkwell::context::Context;
use bohr_instrument::inkwell::targets::RelocMode;
use bohr_instrument::level::{self, Level};
use bohr_instrument::merge::{Part, merge};
use bohr_instrument::partition::Cut;
use std::process::Command;
use support::{Compiled, compile, run};

fn levels(parts: &[&Compiled]) -> Vec<(String, Level)> {
    let context = Context::create();
    let given: Vec<_> = parts.iter().map(|part| part.part()).collect();
    let merged = merge(&context, &given, &|_| true).expect("merges");
    let functions = merged.module.get_functions();
    functions
        .filter(|function| function.get_first_basic_block().is_some())
        .map(|function| {
            let name = function.get_name().to_string_lossy().into_owned();
            (name, level::of(function))
        })
        .collect()
}

#[test]
fn rust_tells_whether_it_was_optimised() {
    let source = "#[unsafe(no_mangle)] pub fn total(list: &[u32]) -> u32 { list.iter().sum() }";
    for (flag, expected) in [
        ("-Copt-level=0", Level::None),
        ("-Copt-level=1", Level::Aggressive),
        ("-Copt-level=s", Level::Aggressive),
        ("-Copt-level=3", Level::Aggressive),
    ] {
        let directory = tempfile::tempdir().expect("directory");
        let part = compile(directory.path(), "lib.rs", source, &[flag]);
        let found = levels(&[&part]);
        assert!(!found.is_empty());
        assert!(
            found.iter().all(|(_, level)| *level == expected),
            "{flag}: {found:?}"
        );
    }
}

#[test]
fn what_the_build_saw_of_rust_comes_first() {
    let source = "#[unsafe(no_mangle)] pub fn total(list: &[u32]) -> u32 { list.iter().sum() }";
    let directory = tempfile::tempdir().expect("directory");
    let part = compile(directory.path(), "lib.rs", source, &["-Copt-level=1"]);
    for level in [Level::None, Level::Less, Level::Default] {
        let level_seen = Some(Language::Rust { level: Some(level) });
        let part = Part {
            language: level_seen,
            ..part.part()
        };
        let context = Context::create();
        let merged = merge(&context, &[part], &|_| true).expect("merges");
        let total = merged.module.get_function("total").expect("it is kept");
        assert_eq!(level::of(total), level);
    }
}

#[test]
fn parts_of_different_levels_keep_theirs() {
    let directory = tempfile::tempdir().expect("directory");
    let part = |name: &str, flags: &[&str]| {
        let stem = name.trim_end_matches(".c");
        let source = format!("int {stem}(int *p) {{ return *p; }}");
        compile(directory.path(), name, &source, flags)
    };
    let attribute = |digit| format!("bohr-level={digit}");
    let one = attribute("1");
    let three = attribute("3");
    let parts = [
        part("zero.c", &["-O0"]),
        part(
            "one.c",
            &["-O1", "-Xclang", "-default-function-attr", "-Xclang", &one],
        ),
        part("two.c", &["-O2"]),
        part(
            "three.c",
            &[
                "-O3",
                "-Xclang",
                "-default-function-attr",
                "-Xclang",
                &three,
            ],
        ),
    ];
    let expected = [
        ("zero", Level::None),
        ("one", Level::Less),
        ("two", Level::Default),
        ("three", Level::Aggressive),
    ];
    let expected: Vec<_> = expected
        .map(|(name, level)| (name.to_string(), level))
        .into();
    assert_eq!(levels(&parts.iter().collect::<Vec<_>>()), expected);
}

/// The disassembly of a program made of one part.
fn disassembly(flags: &[&str]) -> String {
    const SOURCE: &str = "int values[4096];
        int total(void) { int sum = 0; for (int i = 0; i < 4096; i++) sum += values[i]; return sum; }";
    let directory = tempfile::tempdir().expect("directory");
    let part = compile(directory.path(), "total.c", SOURCE, flags);
    let context = Context::create();
    let merged = merge(&context, &[part.part()], &|_| true).expect("merges");
    let diagnostics = Diagnostics::collect(&context);
    let cut = Cut::default();
    let objects =
        generate::objects(merged.module, RelocMode::Static, cut, &diagnostics).expect("compiles");
    let path = directory.path().join("total.o");
    std::fs::write(&path, &objects[0]).expect("object");
    let text = run(Command::new("llvm-objdump-22").arg("-d").arg(path));
    String::from_utf8_lossy(&text).into_owned()
}

#[test]
fn machine_code_is_of_the_users_level() {
    let one = [
        "-O1",
        "-Xclang",
        "-default-function-attr",
        "-Xclang",
        "bohr-level=1",
    ];
    assert!(disassembly(&["-O2"]).contains("paddd"), "-O2 adds vectors");
    let less = disassembly(&one);
    assert!(!less.contains("paddd") && !less.contains("rbp"), "{less}");
    // Variables live on the stack, behind a frame pointer.
    let none = disassembly(&["-O0"]);
    assert!(!none.contains("paddd") && none.contains("(%rbp)"), "{none}");
}

/// A function that cannot be reached must not take its neighbour's place in the
/// tables of the unwinder.
#[test]
fn exceptions_find_the_neighbours_of_empty_functions() {
    const SOURCE: &str = "#include <cstdio>
        void never() __attribute__((noinline)); void never() { __builtin_unreachable(); }
        void thrower() __attribute__((noinline)); void thrower() { throw 42; }
        void never_too() __attribute__((noinline)); void never_too() { __builtin_unreachable(); }
        int main(int count, char **) {
            if (count > 5) never(); if (count > 6) never_too();
            try { thrower(); } catch (int number) { return number; } }";
    for flags in [&["-O0"][..], &["-O2"]] {
        let directory = tempfile::tempdir().expect("directory");
        let part = compile(directory.path(), "neighbours.cpp", SOURCE, flags);
        let context = Context::create();
        let merged = merge(&context, &[part.part()], &|_| true).expect("merges");
        let diagnostics = Diagnostics::collect(&context);
        let objects = generate::objects(
            merged.module,
            RelocMode::Static,
            Cut::default(),
            &diagnostics,
        )
        .expect("compiles");
        let (object, program) = (directory.path().join("it.o"), directory.path().join("it"));
        std::fs::write(&object, &objects[0]).expect("object");
        let mut linker = Command::new("clang++-22");
        run(linker
            .args(["-no-pie", "-fuse-ld=lld", "-o"])
            .arg(&program)
            .arg(&object));
        let status = Command::new(program).status().expect("runs");
        assert_eq!(status.code(), Some(42), "{flags:?}");
    }
}
