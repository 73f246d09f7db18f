//! The analysis of sharing against what threads really do: every access of a
//! native run that met another thread's has to be at a site that the analysis
//! calls shared.
//!
//! The programs of `tests/sharing` and the repaired exhibits of the museum in C
//! and C++ run with clang's load and store callbacks
//! (`-fsanitize-coverage=edge,trace-loads,trace-stores`), which
//! `tests/observed/observer.c` records. Calls such as `memcpy` are not reported,
//! and neither are atomic read-modify-writes.

mod support;

use bohr_program::{Program, Sharing, Verdict};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// A place in the source: file name, line and column.
type Place = (String, u32, u32);

/// Seconds after which a run says nothing.
const PATIENCE: &str = "5";

/// Where accesses of a native run met another thread's; `None` if the run did
/// not end, or made more accesses than are recorded.
fn observed(name: &str, text: &str, flags: &[&str], words: &[String]) -> Option<BTreeSet<Place>> {
    let folder = tempfile::tempdir().unwrap();
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    std::fs::write(folder.path().join(name), text).unwrap();
    let clang = |words: &[&str]| {
        let is_observer = words.contains(&"-O1");
        let mut command = Command::new(match name.ends_with(".cpp") && !is_observer {
            true => "clang++-22",
            false => "clang-22",
        });
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
    clang(&[
        "program.o",
        "observer.o",
        "-no-pie",
        "-pthread",
        "-o",
        "program",
    ]);
    let program = folder.path().join("program");
    let mut run = Command::new("timeout");
    let run = run.arg(PATIENCE).arg(&program).args(words).output();
    let run = run.unwrap();
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    if !said.contains("observed") || said.contains("full") {
        return None;
    }
    let addresses = said
        .lines()
        .filter_map(|line| line.strip_prefix("conflict 0x"));
    Some(places(&program, addresses))
}

/// The places of the calls that return to these addresses.
fn places<'a>(program: &Path, addresses: impl Iterator<Item = &'a str>) -> BTreeSet<Place> {
    let addresses: BTreeSet<u64> = addresses
        .map(|address| u64::from_str_radix(address, 16).unwrap() - 1)
        .collect();
    if addresses.is_empty() {
        return BTreeSet::new();
    }
    let mut symbolizer = Command::new("llvm-symbolizer-22");
    symbolizer.args(["--output-style=LLVM", "--no-inlines", "--obj"]);
    symbolizer.arg(program);
    symbolizer.args(addresses.iter().map(|address| format!("{address:#x}")));
    let said = String::from_utf8(support::run(&mut symbolizer)).unwrap();
    let found = said.split("\n\n").filter_map(|one| one.lines().nth(1));
    found.map(place).collect()
}

/// `path:line:column`.
fn place(text: &str) -> Place {
    let mut words = text.rsplitn(3, ':');
    let mut number = || words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
    let (column, line) = (number(), number());
    (file_name(words.next().unwrap_or_default()), line, column)
}

fn file_name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or_default().to_owned()
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
        .map(|location| {
            let file = program.scopes[location.scope].file.expand();
            let file = file.map_or("", |file| &program.texts[program.files[file].path]);
            (file_name(file), location.line, u32::from(location.column))
        })
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
    let met = observed(name, &text, &flags, &[]).expect("it ends");
    let shared = expected(&support::program(name, &text));
    expect_shared(name, &met, &shared);
    assert!(
        met.len() >= at_least,
        "{name}: only {met:?} met another thread's"
    );
}

fn expect_shared(name: &str, met: &BTreeSet<Place>, shared: &BTreeSet<Place>) {
    let missed: Vec<&Place> = met.difference(shared).collect();
    assert!(
        missed.is_empty(),
        "{name}: shared in a run, private by analysis: {missed:?}"
    );
}

/// The arguments of a small run, as the manifest of an exhibit tells them.
fn small(manifest: &str) -> Vec<String> {
    let line = manifest.lines().find(|line| line.starts_with("small"));
    let numbers = line.and_then(|line| line.split_once('[')).unwrap().1;
    let numbers = numbers.trim_end_matches(']').split(',');
    numbers.map(|number| number.trim().to_owned()).collect()
}

/// Checks the repaired exhibits whose source has this name.
fn check_museum(source: &str, standard: &str, at_least: usize) {
    let museum = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../museum");
    let flags = ["-O0", "-g", "-w", "-pthread", "-DFIXED", standard];
    let (mut programs, mut places) = (0, 0);
    for exhibit in std::fs::read_dir(museum).unwrap() {
        let exhibit = exhibit.unwrap().path();
        let Ok(text) = std::fs::read_to_string(exhibit.join(source)) else {
            continue;
        };
        let manifest = std::fs::read_to_string(exhibit.join("exhibit.toml")).unwrap();
        if let Some(met) = observed(source, &text, &flags, &small(&manifest)) {
            let shared = expected(&support::program_with(source, &text, &flags));
            expect_shared(&exhibit.display().to_string(), &met, &shared);
            programs += 1;
            places += met.len();
        }
    }
    assert!(
        programs >= at_least && places > 5 * at_least,
        "{places} places in {programs} programs met another thread's"
    );
}

#[test]
fn what_meets_in_the_museum_is_shared() {
    check_museum("main.c", "-std=gnu17", 15);
}

#[test]
fn what_meets_in_the_museum_of_cpp_is_shared() {
    check_museum("main.cpp", "-std=c++20", 5);
}

#[test]
fn what_meets_is_shared() {
    check("stack.c", 2);
    check("heap.c", 3);
    check("globals.c", 2);
    check("variadic.c", 2);
    check("integers.c", 2);
}
