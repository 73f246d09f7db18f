//! The Java class, compiled by a real compiler and run by a real machine: the same
//! meetings as in the other languages.

use std::path::{Path, PathBuf};
use std::process::Command;

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

#[test]
fn threads_meet_in_java() {
    let classes = Path::new(env!("CARGO_TARGET_TMPDIR")).join("java");
    let mut compiler = Command::new("javac");
    compiler
        .args(["-Xlint:all,-try", "-Werror", "-sourcepath"])
        .arg(here("java"))
        .arg("-d")
        .arg(&classes)
        .arg(here("tests/programs/Meetings.java"));
    let made = compiler.output().expect("a JDK is installed");
    assert!(made.status.success(), "{made:?}");
    let mut java = Command::new("java");
    java.args(["-Xshare:auto", "-cp"]).arg(&classes);
    let output = java
        .arg("Meetings")
        .env("BOHR_BREAK_SUMMARY", "json")
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert_eq!(output.stdout, b"all met\n");
    assert!(errors.contains("its condition threw"), "{errors}");
    let summary = errors.lines().find(|line| line.starts_with('[')).unwrap();
    assert!(
        summary.contains(r#"{"name":"lost \"update\"","visits":200,"#),
        "{summary}"
    );
}
