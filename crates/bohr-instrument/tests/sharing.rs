//! Which accesses may be shared, on real programs: at the end of a line,
//! `//~` and what is expected of the accesses on it.
//!
//! Each file in `tests/sharing` names its compiler flags in the first line.
//! `BOHR_BLESS=1` rewrites the expectations; read the difference before you
//! believe it.

mod support;

use bohr_program::{Program, Sharing, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What is said about the accesses of each line. Inlined code counts for the
/// line it was written on.
fn verdicts(program: &Program) -> BTreeMap<u32, BTreeSet<String>> {
    let sharing = Sharing::of(program);
    let mut lines: BTreeMap<u32, BTreeSet<String>> = BTreeMap::new();
    for (number, verdict) in sharing.iter() {
        let site = &program.sites[number];
        let Some(location) = program.instruction_of(site).location.expand() else {
            continue;
        };
        let word = match verdict {
            Verdict::Synchronises => continue,
            Verdict::Shared => "shared".to_owned(),
            Verdict::Private(reason) => format!("{reason:?}"),
        };
        lines
            .entry(program.locations[location].line)
            .or_default()
            .insert(word);
    }
    lines
}

/// The source with what was found at the end of every line that expects
/// something or has shared accesses.
fn annotated(text: &str, found: &BTreeMap<u32, BTreeSet<String>>) -> String {
    let mut result = String::new();
    for (number, line) in (1u32..).zip(text.lines()) {
        let code = line.split("//~").next().unwrap_or_default();
        match found.get(&number) {
            Some(words) if line.contains("//~") || words.contains("shared") => {
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                result += &format!("{} //~ {}\n", code.trim_end(), words.join(" "));
            }
            None if line.contains("//~") => result += &format!("{} //~ nothing\n", code.trim_end()),
            _ => result += &format!("{line}\n"),
        }
    }
    result
}

fn check(name: &str) {
    check_as(name, &support::program);
}

fn check_as(name: &str, model: &dyn Fn(&str, &str) -> Program) {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/sharing")
        .join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    let found = annotated(&text, &verdicts(&model(name, &text)));
    assert!(found.contains("//~"), "{name} expects nothing");
    if std::env::var_os("BOHR_BLESS").is_some() {
        std::fs::write(&path, &found).unwrap();
    } else {
        assert_eq!(text, found, "{name}: BOHR_BLESS=1 writes what was found");
    }
}

macro_rules! programs {
    ($($test:ident: $file:literal,)*) => { $(#[test] fn $test() { check($file); })* };
}

programs! {
    stack_objects: "stack.c",
    heap_objects: "heap.c",
    global_variables: "globals.c",
    indirect_calls: "indirect.c",
    variable_arguments: "variadic.c",
    one_thread_only: "single.c",
    cpp_threads: "threads.cpp",
    pointers_as_integers: "integers.c",
    threads_from_unnamed_calls: "starts.c",
}

/// The model of a shared library: everything that is not static is exported.
fn library(name: &str, text: &str) -> Program {
    let mut program = support::program(name, text);
    program.library = true;
    program.foreign_code = true;
    program
}

#[test]
fn what_a_library_exports_meets_foreign_code() {
    check_as("library.c", &library);
}
