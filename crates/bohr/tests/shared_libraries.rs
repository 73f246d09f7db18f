//! Shared libraries that were built with bohr are controlled at their accesses: a bug
//! that lies in one is found there, replayed, explained, and bound to that library.

use crate::controlled;

use controlled::{Ended, Folder, file, marker_in, read_file};
use serde_json::{Value, json};
use std::process::Command;

const TALLY: [&str; 5] = ["cc", "-g", "-O1", "-fPIC", "-shared"];
const PROGRAM: [&str; 5] = ["cc", "-g", "-O1", "-pthread", "main.c"];

/// A folder with the sources.
fn sources() -> Folder {
    let folder = Folder::empty();
    let sources = [
        "tally.c",
        "tally.h",
        "careful.c",
        "main.c",
        "loading.c",
        "tally.cpp",
        "tally.rs",
    ];
    for name in sources {
        let from = file(&format!("shared/{name}"));
        std::fs::copy(from, folder.path(name)).expect("a source of the tests");
    }
    folder
}

fn build(folder: &Folder, words: &[&[&str]]) {
    folder.bohr(&words.concat()).expect(0);
}

/// A folder with `libtally.so` and a program that is linked with it.
fn counting() -> Folder {
    let folder = sources();
    build(&folder, &[&TALLY, &["-o", "libtally.so", "tally.c"]]);
    build(&folder, &[&PROGRAM, &["-o", "program", "./libtally.so"]]);
    folder
}

fn hunted(folder: &Folder) -> Value {
    let words = ["hunt", "--json", "--", "./program"];
    folder.bohr(&words).expect(1).json()
}

fn replayed(folder: &Folder, times: u64) {
    let words = [
        "replay",
        "program.bohr",
        "--json",
        "--times",
        &times.to_string(),
    ];
    let replays = folder.bohr(&words).expect(0).json();
    assert_eq!(replays["reproduced"], json!(times), "{replays}");
    let words = ["replay", "program.bohr", "--times", "3", "--fresh"];
    folder.bohr(&words).expect(0);
}

/// The lines that an explanation names.
fn explained(folder: &Folder) -> (Vec<String>, Ended) {
    let told = folder
        .bohr(&["explain", "program.bohr", "--json"])
        .expect(0);
    let value = told.json();
    let findings = value["findings"].as_array().expect("findings").iter();
    let moments = findings.flat_map(|finding| finding["moments"].as_array().expect("moments"));
    let lines = moments.filter_map(|moment| moment["line"].as_str());
    (lines.map(str::to_string).collect(), told)
}

/// The failure is found, replayed and explained by the two lines of a library's source.
fn is_found_in(folder: &Folder, source: &str) -> Value {
    let found = hunted(folder);
    assert_eq!(found["kind"], json!("assertion"), "{found}");
    assert_eq!(found["reproduced"], json!(true), "{found}");
    replayed(folder, 100);
    let own = ["looks", "puts"].map(|marker| marker_in(&format!("shared/{source}"), marker));
    let (lines, told) = explained(folder);
    let is_own = |line: &String| own.iter().any(|own| line.ends_with(own));
    assert!(!lines.is_empty() && lines.iter().all(is_own), "{told}");
    found
}

#[test]
fn a_lost_update_within_a_library_is_found_replayed_and_explained_there() {
    let folder = counting();
    let found = is_found_in(&folder, "tally.c");
    assert_eq!(found["libraries"], json!(["libtally.so"]));
    let (_, told) = explained(&folder);
    assert!(told.text().contains("\"total\""), "{told}");
    // Its calls alone show nothing.
    let words = ["hunt", "--calls-only", "--runs", "300", "--", "./program"];
    folder.bohr(&words).expect(0);
    let words = ["check", "--times", "3", "--", "./program"];
    folder.bohr(&words).expect(0);
}

#[test]
fn every_stage_serves_a_bug_in_a_library_or_says_that_it_does_not() {
    let folder = counting();
    hunted(&folder);
    for stage in ["simplify", "reduce"] {
        folder
            .bohr(&[stage, "program.bohr", "--time", "20s"])
            .expect(0);
        replayed(&folder, 20);
    }
    let traced = folder.bohr(&["trace", "program.bohr"]).expect(0);
    let puts = marker_in("shared/tally.c", "puts");
    let writes = |line: &str| line.contains("writes total") && line.contains(&puts);
    assert!(traced.text().lines().any(writes), "{traced}");
    let refused = folder
        .bohr(&["trace", "program.bohr", "--relevant"])
        .expect(2);
    assert!(
        refused.messages().contains("more than one module"),
        "{refused}"
    );
    let recorded = folder.bohr(&["record", "-o", "it.log", "--", "./program"]);
    let left_out = "libtally.so was built with bohr, but what it does is not recorded";
    assert!(recorded.messages().contains(left_out), "{recorded}");
    let words = [
        "run",
        "--break",
        "main.c:16 -> main.c:16",
        "--",
        "./program",
    ];
    let broken = folder.bohr(&words);
    let beyond = "breakpoints are of the program's own file, not of libtally.so";
    assert!(broken.messages().contains(beyond), "{broken}");
}

#[test]
fn a_bug_file_is_bound_to_the_libraries_that_it_was_found_with() {
    let folder = counting();
    hunted(&folder);
    let refused = |needle: &str| {
        let told = folder.bohr(&["replay", "program.bohr"]).expect(2);
        let found = told.messages().contains("libtally.so") && told.messages().contains(needle);
        assert!(found, "{told}");
    };
    let changed = read_file("shared/tally.c").replace("int seen = total;", "int seen = 0 + total;");
    std::fs::write(folder.path("other.c"), changed + "int more;\n").expect("a source");
    build(&folder, &[&TALLY, &["-o", "libtally.so", "other.c"]]);
    refused("bundle of its library");
    std::fs::rename(folder.path("libtally.so"), folder.path("gone.so")).expect("a rename");
    refused("is not there any more");
    // The same sources give the same library again.
    build(&folder, &[&TALLY, &["-o", "libtally.so", "tally.c"]]);
    replayed(&folder, 10);
}

#[test]
fn functions_of_one_name_in_several_libraries_are_told_apart() {
    let folder = sources();
    build(&folder, &[&TALLY, &["-o", "libtally.so", "tally.c"]]);
    build(&folder, &[&TALLY, &["-o", "libcareful.so", "careful.c"]]);
    let libraries = ["-DCAREFUL", "-o", "program", "-L.", "-lcareful", "-ltally"];
    build(&folder, &[&PROGRAM, &libraries, &["-Wl,-rpath,$ORIGIN"]]);
    let found = is_found_in(&folder, "tally.c");
    assert_eq!(found["libraries"], json!(["libcareful.so", "libtally.so"]));
}

#[test]
fn libraries_of_cpp_are_controlled() {
    let folder = sources();
    let library = ["-g", "-O1", "-fPIC", "-shared", "-Wl,-soname,libtally.so.1"];
    let words = ["-o", "libtally.so.1", "tally.cpp"];
    build(&folder, &[&["c++"], &library, &words]);
    let search = [
        "-o",
        "program",
        "-l:libtally.so.1",
        "-L.",
        "-Wl,-rpath,$ORIGIN",
    ];
    build(&folder, &[&PROGRAM, &search]);
    let found = is_found_in(&folder, "tally.cpp");
    assert_eq!(found["libraries"], json!(["libtally.so.1"]));
}

#[test]
fn libraries_of_rust_are_controlled() {
    let folder = sources();
    let manifest = "[package]\nname = \"tally\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
                    [lib]\npath = \"tally.rs\"\ncrate-type = [\"cdylib\"]\n\n[workspace]\n";
    std::fs::write(folder.path("Cargo.toml"), manifest).expect("a manifest");
    let cargo = ["cargo", "build", "--quiet", "--offline"];
    build(&folder, &[&cargo]);
    let search = ["-o", "program", "-Ltarget/debug", "-ltally"];
    let rpath = "-Wl,-rpath,$ORIGIN/target/debug";
    build(&folder, &[&PROGRAM, &search, &[rpath]]);
    let found = is_found_in(&folder, "tally.rs");
    assert_eq!(found["libraries"], json!(["libtally.so"]));
}

#[test]
fn a_library_that_the_program_loads_itself_is_controlled() {
    let folder = sources();
    build(&folder, &[&TALLY, &["-o", "libtally.so", "tally.c"]]);
    let program = ["cc", "-g", "-O1", "-pthread", "-o", "program", "loading.c"];
    build(&folder, &[&program]);
    let found = is_found_in(&folder, "tally.c");
    assert_eq!(found["libraries"], json!(["libtally.so"]));
    std::fs::remove_file(folder.path("libtally.so")).expect("the library");
    let told = folder.bohr(&["replay", "program.bohr"]).expect(2);
    assert!(
        told.messages().contains("its library libtally.so"),
        "{told}"
    );
}

#[test]
fn a_library_of_a_program_that_was_not_built_with_bohr_is_controlled() {
    let folder = sources();
    build(&folder, &[&TALLY, &["-o", "libtally.so", "tally.c"]]);
    let words = ["-o", "program", "./libtally.so"];
    plain(&folder, &[&PROGRAM[1..], &words].concat());
    let told = folder.bohr(&["hunt", "--", "./program"]).expect(1);
    let said = "was not built with bohr, its shared libraries libtally.so were";
    assert!(told.messages().contains(said), "{told}");
    replayed(&folder, 20);
}

#[test]
fn a_library_beside_the_program_that_was_not_built_with_bohr_is_found() {
    let folder = sources();
    plain(
        &folder,
        &["-g", "-fPIC", "-shared", "-o", "libtally.so", "tally.c"],
    );
    let search = ["-o", "program", "-L.", "-ltally", "-Wl,-rpath,$ORIGIN"];
    build(&folder, &[&PROGRAM, &search]);
    let words = ["run", "--strategy", "sequential", "--", "./program"];
    let told = folder.bohr(&words).expect(0);
    assert!(!told.messages().contains("libtally"), "{told}");
}

/// Compiles with clang as it is.
fn plain(folder: &Folder, words: &[&str]) {
    let mut compiler = Command::new("clang-22");
    let status = compiler.args(words).current_dir(folder.path("")).status();
    assert!(status.is_ok_and(|status| status.success()), "{words:?}");
}
