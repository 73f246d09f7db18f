//! The analysis of sharing against what threads really do: every access of a
//! native run that met another thread's has to be at a site that the analysis
//! calls shared.
//!
//! The programs of `tests/sharing` run with clang's load and store callbacks
//! (`-fsanitize-coverage=edge,trace-loads,trace-stores`), which
//! `tests/observed/observer.c` records.

mod support;

use bohr_program::{Program, Sharing, Verdict};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// A place in the source: line and column.
type Place = (u32, u32);

/// Where accesses of a native run met another thread's.
fn observed(name: &str, text: &str, flags: &[&str]) -> BTreeSet<Place> {
    let folder = tempfile::tempdir().unwrap();
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    std::fs::write(folder.path().join(name), text).unwrap();
    let clang = |words: &[&str]| {
        let mut command = Command::new("clang-22");
        command.args(words).current_dir(folder.path());
        support::run(&mut command);
    };
    let coverage = "-fsanitize-coverage=edge,trace-loads,trace-stores";
    let compile: Vec<&str> = flags
        .iter()
        .copied()
        .chain(["-c", name, coverage])
        .collect();
    clang(&[&compile[..], &["-o", "program.o"]].concat());
    let observer = tests.join("observed/observer.c");
    clang(&["-O1", "-c", observer.to_str().unwrap(), "-o", "observer.o"]);
    let wrapped = "-Wl,--wrap=pthread_create,--wrap=free";
    clang(&[
        "program.o",
        "observer.o",
        "-no-pie",
        "-pthread",
        wrapped,
        "-o",
        "program",
    ]);
    let program = folder.path().join("program");
    let run = Command::new(&program).output().unwrap();
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(
        !said.contains("full"),
        "{name} makes more accesses than are recorded"
    );
    let addresses = said
        .lines()
        .filter_map(|line| line.strip_prefix("conflict 0x"));
    addresses.map(|address| place(&program, address)).collect()
}

/// The place of the call that returns to `address`.
fn place(program: &Path, address: &str) -> Place {
    let before = u64::from_str_radix(address, 16).unwrap() - 1;
    let mut symbolizer = Command::new("llvm-symbolizer-22");
    symbolizer.arg("--output-style=LLVM").arg("--no-inlines");
    symbolizer
        .arg("--obj")
        .arg(program)
        .arg(format!("{before:#x}"));
    let said = String::from_utf8(support::run(&mut symbolizer)).unwrap();
    let line = said.lines().nth(1).unwrap_or_default();
    let mut numbers = line.rsplit(':').map(|number| number.parse().unwrap_or(0));
    let (column, line) = (numbers.next().unwrap(), numbers.next().unwrap());
    (line, column)
}

/// Where the analysis expects shared accesses.
fn expected(program: &Program) -> BTreeSet<Place> {
    let sharing = Sharing::of(program);
    let shared = sharing
        .iter()
        .filter(|(_, verdict)| *verdict == Verdict::Shared);
    let locations = shared.filter_map(|(number, _)| {
        program
            .instruction_of(&program.sites[number])
            .location
            .expand()
    });
    locations
        .map(|number| &program.locations[number])
        .map(|location| (location.line, u32::from(location.column)))
        .collect()
}

fn check(name: &str, at_least: usize) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/sharing")
        .join(name);
    let text = std::fs::read_to_string(path)
        .unwrap()
        .replacen("-O1", "-O0", 1);
    let (_, flags) = text.lines().next().unwrap().split_once("flags:").unwrap();
    let flags: Vec<&str> = flags.split_whitespace().collect();
    let met = observed(name, &text, &flags);
    let shared = expected(&support::program(name, &text));
    let missed: Vec<&Place> = met.difference(&shared).collect();
    assert!(
        missed.is_empty(),
        "{name}: shared in a run, private by analysis: {missed:?}"
    );
    assert!(
        met.len() >= at_least,
        "{name}: only {met:?} met another thread's"
    );
}

#[test]
fn what_meets_is_shared() {
    check("stack.c", 2);
    check("heap.c", 3);
    check("globals.c", 2);
    check("variadic.c", 2);
    check("integers.c", 2);
}
