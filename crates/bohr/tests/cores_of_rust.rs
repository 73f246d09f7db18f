//! `bohr core --at` on programs in Rust: the check is put into the program's crate or
//! into one that it depends on, and cargo's commands are called again.

use crate::controlled;

use controlled::Folder;
use serde_json::Value;

const MANIFEST: &str = include_str!("projects/purse/Cargo.toml");
const LIBRARY: &str = include_str!("projects/purse/src/lib.rs");
const PROGRAM: &str = include_str!("projects/purse/src/main.rs");

fn built() -> Folder {
    let folder = Folder::empty();
    std::fs::create_dir(folder.path("src")).expect("a folder");
    let files = [
        ("Cargo.toml", MANIFEST),
        ("src/lib.rs", LIBRARY),
        ("src/main.rs", PROGRAM),
    ];
    for (name, text) in files {
        std::fs::write(folder.path(name), text).expect("a file");
    }
    let build = ["cargo", "build", "--quiet", "--offline"];
    folder.bohr(&build).expect(0);
    folder
}

fn marked(text: &str, marker: &str) -> usize {
    let marker = format!("marker: {marker}");
    let line = text.lines().position(|line| line.contains(&marker));
    1 + line.expect("a line of the program")
}

fn taken_at(folder: &Folder, place: &str) -> Value {
    let words = ["core", "--at", place, "--program", "target/debug/purse"];
    let words = [&words[..], &["--json", "-o", "bug"]].concat();
    let told = folder.bohr(&words).expect(1).json();
    assert_eq!(told["reproduced"], true, "{told}");
    assert!(told["tries"].as_u64() <= Some(10), "{told}");
    folder.bohr(&["replay", "bug", "--times", "20"]).expect(0);
    told
}

/// The paths of the variables that are not as they are in a good run.
fn critical(told: &Value) -> Vec<&str> {
    let variables = told["critical"].as_array().expect("a list").iter();
    let paths = variables.filter_map(|one| one["path"].as_str());
    paths.collect()
}

#[test]
fn a_core_is_taken_where_the_result_of_a_rust_program_is_wrong() {
    let folder = built();
    let line = marked(PROGRAM, "left");
    let told = taken_at(&folder, &format!("main.rs:{line} if left < 0"));
    let failure = told["failure"].as_str().expect("a text");
    // Its sources are the author's, not copies that are gone.
    let place = folder.path(&format!("src/main.rs:{line}"));
    let place = place.to_str().expect("a plain path");
    assert!(failure.ends_with(place), "{failure}");
    assert_eq!(told["thread"], "0");
    // What the threads have left behind in memory that was given back is no difference.
    let paths = critical(&told);
    assert!(
        paths.iter().any(|path| path.contains("left.data")),
        "{told}"
    );
    assert!(!paths.iter().any(|path| path.contains("threads")), "{told}");
    // Who accesses them is the author's code, in which the library's was put.
    let first = told["ranking"][0]["line"].as_str().expect("a line");
    assert!(first.starts_with("src/"), "{first}");
}

#[test]
fn a_check_can_be_put_into_a_library_of_the_program() {
    let folder = built();
    let line = marked(LIBRARY, "taken");
    let told = taken_at(&folder, &format!("src/lib.rs:{line} if *left < 0"));
    let failure = told["failure"].as_str().expect("a text");
    assert!(failure.contains("purse::Purse::take at "), "{failure}");
    assert!(
        failure.ends_with(&format!("src/lib.rs:{line}")),
        "{failure}"
    );
    // The check is in the program that is left beside the core, and nowhere else.
    assert_eq!(told["taken"]["program"], "bug.program");
    let sources = std::fs::read_to_string(folder.path("src/lib.rs"));
    assert_eq!(sources.expect("the source"), LIBRARY);

    let words = ["core", "--at", "src/lib.rs:3 if true", "-o", "bug"];
    let words = [&words[..], &["--program", "target/debug/purse"]].concat();
    let messages = folder.bohr(&words).expect(2).messages();
    assert!(messages.contains("has no line 3"), "{messages}");
}
