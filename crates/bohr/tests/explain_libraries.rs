//! Where a library makes the accesses, explanations name the line of the author's
//! that called it, also in programs that are not optimised.

mod controlled;

use controlled::Folder;
use serde_json::Value;

fn told(folder: &Folder, bug: &str) -> Value {
    folder.bohr(&["explain", bug, "--json"]).expect(0).json()
}

/// The lines of what the findings name.
fn lines(told: &Value) -> Vec<String> {
    let findings = told["findings"].as_array().unwrap().iter();
    let moments = findings.flat_map(|finding| finding["moments"].as_array().unwrap());
    let line = |moment: &Value| moment["line"].as_str().unwrap_or("?").to_string();
    moments.map(line).collect()
}

#[test]
fn a_mutex_of_rust_is_told_by_what_it_guards() {
    let folder = Folder::empty();
    let manifest = include_str!("projects/overdrawn/Cargo.toml");
    let source = include_str!("projects/overdrawn/src/main.rs");
    std::fs::create_dir(folder.path("src")).unwrap();
    std::fs::write(folder.path("Cargo.toml"), manifest).unwrap();
    std::fs::write(folder.path("src/main.rs"), source).unwrap();
    let build = ["cargo", "build", "--quiet", "--offline"];
    folder.bohr(&build).expect(0);
    let hunt = ["hunt", "-o", "it.bohr", "--", "target/debug/overdrawn"];
    folder.bohr(&hunt).expect(1);
    let told = told(&folder, "it.bohr");
    let line = |words: &str| {
        let number = source.lines().position(|line| line.contains(words));
        format!("src/main.rs:{}", 1 + number.unwrap())
    };
    let own = [line("*BALANCE.lock()"), line("*balance -= wanted")];
    let found = lines(&told);
    assert!(!found.is_empty(), "{told}");
    assert!(found.iter().all(|line| own.contains(line)), "{told}");
    for moment in told["findings"][0]["moments"].as_array().unwrap() {
        let object = moment["object"].as_str().unwrap();
        assert!(object.contains("BALANCE"), "{told}");
    }
}

#[test]
fn a_container_of_cpp_is_told_by_who_asks_it() {
    let folder = Folder::empty();
    folder.build_cpp("lookup");
    folder.bohr(&["hunt", "--", "./program"]).expect(1);
    let told = told(&folder, "program.bohr");
    let found = lines(&told);
    assert!(!found.is_empty(), "{told}");
    for line in found {
        assert!(line.contains("lookup.cpp:"), "{told}");
    }
}
