//! Where a library makes the accesses, explanations name the line of the author's
//! that called it, also in programs that are not optimised.

use crate::controlled;

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

/// A folder with a project of Rust, built with bohr, that was hunted: `it.bohr`.
fn hunted(name: &str, manifest: &str, source: &str, profile: &str) -> Folder {
    hunted_in(Folder::empty(), name, manifest, source, profile)
}

/// The same in a folder that has something already.
fn hunted_in(folder: Folder, name: &str, manifest: &str, source: &str, profile: &str) -> Folder {
    std::fs::create_dir(folder.path("src")).unwrap();
    std::fs::write(folder.path("Cargo.toml"), manifest).unwrap();
    std::fs::write(folder.path("src/main.rs"), source).unwrap();
    let options = ["--quiet", "--offline", "--profile", profile];
    folder
        .bohr(&[&["cargo", "build"], &options[..]].concat())
        .expect(0);
    let target = if profile == "dev" { "debug" } else { profile };
    let program = format!("target/{target}/{name}");
    folder
        .bohr(&["hunt", "-o", "it.bohr", "--", &program])
        .expect(1);
    folder
}

/// The lines of a source that hold one of these.
fn own_lines(source: &str, words: &[&str]) -> Vec<String> {
    let lines = source.lines().enumerate();
    let own = lines.filter(|(_, line)| words.iter().any(|words| line.contains(words)));
    own.map(|(number, _)| format!("src/main.rs:{}", 1 + number))
        .collect()
}

#[test]
fn a_mutex_of_rust_is_told_by_what_it_guards() {
    let manifest = include_str!("projects/overdrawn/Cargo.toml");
    let source = include_str!("projects/overdrawn/src/main.rs");
    let folder = hunted("overdrawn", manifest, source, "dev");
    let told = told(&folder, "it.bohr");
    let own = own_lines(source, &["*BALANCE.lock()", "*balance -= wanted"]);
    let found = lines(&told);
    assert!(!found.is_empty(), "{told}");
    assert!(found.iter().all(|line| own.contains(line)), "{told}");
    for moment in told["findings"][0]["moments"].as_array().unwrap() {
        let object = moment["object"].as_str().unwrap();
        assert!(object.contains("BALANCE"), "{told}");
    }
}

/// Of an optimised program, too: much of the library is in the author's functions there.
#[test]
fn a_table_of_rust_is_told_by_who_asks_it_and_who_has_it() {
    let manifest = concat!(
        include_str!("projects/eviction/Cargo.toml"),
        "\n[profile.release]\ndebug = true\n"
    );
    let source = include_str!("projects/eviction/src/main.rs");
    let own = own_lines(source, &["self.entries.lock()"]);
    for profile in ["dev", "release"] {
        let folder = hunted("eviction", manifest, source, profile);
        let told = told(&folder, "it.bohr");
        let found = lines(&told);
        assert!(!found.is_empty(), "{profile}: {told}");
        let of_author = found.iter().all(|line| own.contains(line));
        assert!(of_author, "{profile}: {told}");
        for moment in told["findings"][0]["moments"].as_array().unwrap() {
            let object = moment["object"].as_str().unwrap();
            let names = ["Cache::entries", "cache[…]", "other[…]", "self[…]"];
            let named = names.iter().any(|name| object.contains(name));
            assert!(named, "{profile}: {object}");
        }
    }
}

/// The bug is the author's, the lock is of a package as cargo fetches them. Whoever
/// wants to read about the package as well can; and if it is the package that fails,
/// that is what the story is about.
#[test]
fn a_lock_of_a_package_is_told_by_what_it_guards() {
    const PACKAGE: &str = "registry/src/mirror-1f/padlock-0.1.0";
    let manifest = include_str!("projects/overdrawn/Cargo.toml");
    let manifest = manifest.replace("[workspace]", "[workspace]\nexclude = [\"registry\"]");
    let manifest = format!("{manifest}padlock = {{ path = \"{PACKAGE}\" }}\n");
    let source = include_str!("projects/overdrawn/src/main.rs");
    let source = source.replace("std::sync::Mutex", "padlock::Mutex");
    let source = source.replace(".lock().unwrap()", ".lock()");
    let package = [
        ("Cargo.toml", include_str!("projects/padlock/Cargo.toml")),
        ("src/lib.rs", include_str!("projects/padlock/src/lib.rs")),
        (
            "src/mutex.rs",
            include_str!("projects/padlock/src/mutex.rs"),
        ),
    ];
    let hunted = |source: &str| {
        let folder = Folder::empty();
        std::fs::create_dir_all(folder.path(PACKAGE).join("src")).unwrap();
        for (name, text) in package {
            std::fs::write(folder.path(PACKAGE).join(name), text).unwrap();
        }
        hunted_in(folder, "overdrawn", &manifest, source, "dev")
    };
    let folder = hunted(&source);
    let told = told(&folder, "it.bohr");
    let own = own_lines(&source, &["*BALANCE.lock()", "*balance -= wanted"]);
    let found = lines(&told);
    assert!(!found.is_empty(), "{told}");
    assert!(found.iter().all(|line| own.contains(line)), "{told}");
    let words = ["explain", "it.bohr", "--json", "--packages"];
    let told = folder.bohr(&words).expect(0).json();
    let inside = |line: &String| line.contains("padlock-0.1.0/src/mutex.rs");
    assert!(lines(&told).iter().any(inside), "{told}");
    let failing = source.replace(
        "assert!(*balance >= 0, \"drawn too much\")",
        "padlock::demand(*balance >= 0)",
    );
    let told = self::told(&hunted(&failing), "it.bohr");
    assert!(lines(&told).iter().any(inside), "{told}");
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

/// Who sends first locks something else of the library on its way, where the other could
/// be held up; what matters is who sends first.
#[test]
fn the_order_of_messages_is_told_by_who_sends_them() {
    let manifest = include_str!("projects/senders/Cargo.toml");
    let source = include_str!("projects/senders/src/main.rs");
    let [first, second] =
        ["sender.send", "other.send"].map(|words| own_lines(source, &[words]).remove(0));
    for profile in ["dev", "release"] {
        let folder = hunted("senders", manifest, source, profile);
        let told = told(&folder, "it.bohr");
        assert_eq!(told["findings"][0]["kind"], "order", "{profile}: {told}");
        assert_eq!(
            lines(&told),
            [second.clone(), first.clone()],
            "{profile}: {told}"
        );
    }
}
