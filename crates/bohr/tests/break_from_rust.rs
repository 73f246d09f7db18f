//! From a bug of a Rust program to lines in its source and a `cargo test` that
//! fails as long as the program does, also in a program that has changed since.

use crate::controlled;

use controlled::Folder;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The program of the tests, with its files read at compile time.
const MANIFEST: &str = include_str!("projects/overdrawn/Cargo.toml");
const SOURCE: &str = include_str!("projects/overdrawn/src/main.rs");

const LIBRARY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../bohr-break");

fn package(folder: &Path, source: &str) {
    std::fs::create_dir_all(folder.join("src")).unwrap();
    std::fs::write(folder.join("Cargo.toml"), MANIFEST).unwrap();
    std::fs::write(folder.join("src/main.rs"), source).unwrap();
}

/// The package with this source, the patch applied, the library and the test
/// added, as the test's first lines ask for.
fn patched(folder: &Folder, name: &str, source: &str) -> PathBuf {
    let package_folder = folder.path(name);
    package(&package_folder, source);
    let mut patch = Command::new("patch");
    patch
        .args(["-p1", "--input"])
        .arg(folder.path("overdrawn.patch"));
    let output = patch.current_dir(&package_folder).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let dependency = format!("bohr-break = {{ path = {LIBRARY:?}, features = [\"armed\"] }}\n");
    let manifest = package_folder.join("Cargo.toml");
    std::fs::write(manifest, format!("{MANIFEST}{dependency}")).unwrap();
    std::fs::create_dir(package_folder.join("tests")).unwrap();
    let test = package_folder.join("tests/overdrawn.rs");
    std::fs::copy(folder.path("overdrawn.rs"), test).unwrap();
    package_folder
}

/// Whether the regression test passes; it has to compile.
fn passes(folder: &Folder, package: &Path, flags: &[&str]) -> bool {
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["test", "--offline", "--quiet", "--test", "overdrawn"])
        .args(flags)
        .env("CARGO_TARGET_DIR", folder.path("shared"))
        .env_remove("RUSTFLAGS")
        .current_dir(package);
    let output = cargo.output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(printed.contains("running 1 test"), "{output:?}");
    output.status.success()
}

#[test]
fn a_bug_in_rust_becomes_a_cargo_test() {
    let folder = Folder::empty();
    let root = folder.path(".");
    package(&root, SOURCE);
    folder
        .bohr(&["cargo", "build", "--quiet", "--offline"])
        .expect(0);
    let hunt = ["hunt", "-o", "overdrawn.bohr", "--"];
    folder
        .bohr(&[&hunt[..], &["target/debug/overdrawn"]].concat())
        .expect(1);
    let told = folder.bohr(&["break", "from", "overdrawn.bohr", "--runs", "25", "--json"]);
    let told = told.expect(0).json();
    assert_eq!(told["breakpoints"].as_array().unwrap().len(), 1, "{told}");
    assert!(told["patch_file"].is_string(), "{told}");
    assert!(told["patched"]["failures"].as_u64() >= Some(18), "{told}");

    let same = patched(&folder, "same", SOURCE);
    assert!(!passes(&folder, &same, &[]), "the bug is still there");
    assert!(passes(&folder, &same, &["--features", "fixed"]));

    let idle = "    thread::spawn(|| thread::yield_now()).join().unwrap();\n";
    let changed = SOURCE.replace("fn main() {\n", &format!("fn main() {{\n{idle}"));
    let changed = format!(
        "// One.\n// Two.\n// Three.\n{}",
        changed.replace("//! ", "// ")
    );
    assert!(changed.contains(idle));
    let changed = patched(&folder, "changed", &changed);
    assert!(!passes(&folder, &changed, &[]), "after an unrelated edit");
}
