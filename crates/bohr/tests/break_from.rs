//! From a bug to lines in the source that show it every time: the patch applies,
//! builds and reproduces, also in a program that has changed since.

mod controlled;

use controlled::{Folder, read_source};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

const HEADERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../include");

/// A program of the tests in a folder of its own, hunted, with breakpoints.
fn broken(name: &str) -> (Folder, Value) {
    let folder = Folder::empty();
    let source = folder.path(&format!("{name}.c"));
    std::fs::write(&source, read_source(name)).unwrap();
    let source = source.to_str().unwrap();
    let compile = ["cc", "-g", "-O1", "-pthread", source, "-o", name];
    folder.bohr(&compile).expect(0);
    let program = format!("./{name}");
    folder.bohr(&["hunt", "--", &program]).expect(1);
    let bug = format!("{name}.bohr");
    let told = folder.bohr(&["break", "from", &bug, "--runs", "25", "--json"]);
    let told = told.expect(0).json();
    (folder, told)
}

/// Applies the patch in a folder of its own, to this text, and builds it.
fn patched(folder: &Folder, name: &str, text: &str) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    std::fs::write(copy.path().join(format!("{name}.c")), text).unwrap();
    let patch = folder.path(&format!("{name}.patch"));
    let mut command = Command::new("patch");
    command.args(["-p1", "--input"]).arg(patch);
    let output = command.current_dir(copy.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let mut compiler = Command::new("clang-22");
    compiler.args([
        "-g",
        "-O1",
        "-Wall",
        "-Werror",
        "-pthread",
        "-DBOHR_BREAK=1",
        "-I",
        HEADERS,
    ]);
    compiler.arg(format!("{name}.c")).args(["-o", name]);
    let output = compiler.current_dir(copy.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    copy
}

/// What the regression test says about the program in a folder.
fn regression(folder: &Folder, name: &str, program: &Path) -> bool {
    let mut shell = Command::new("sh");
    shell.arg(folder.path(&format!("{name}.sh"))).arg(program);
    shell.output().unwrap().status.success()
}

#[test]
fn a_lost_update_becomes_a_patch_and_a_test() {
    let (folder, told) = broken("lost_update");
    assert_eq!(told["probability"], 1.0, "{told}");
    assert_eq!(told["runs"], 25, "{told}");
    assert_eq!(told["breakpoints"].as_array().unwrap().len(), 1, "{told}");
    for name in ["hits", "mean_time_to_error", "overhead"] {
        assert!(told[name].is_number(), "{name}: {told}");
    }
    for name in ["patch_file", "test_file"] {
        let file = told[name].as_str().unwrap();
        assert!(folder.path(file).exists(), "{told}");
    }
    let text = read_source("lost_update");
    let copy = patched(&folder, "lost_update", &text);
    assert!(!regression(
        &folder,
        "lost_update",
        &copy.path().join("lost_update")
    ));
    let changed = format!("// One.\n// Two.\n// Three.\n{text}").replace(
        "    pthread_create(&second, NULL, deposit, NULL);\n",
        "    pthread_create(&second, NULL, deposit, NULL);\n    pthread_t idle;\n    \
         pthread_create(&idle, NULL, watch, NULL);\n    pthread_join(idle, NULL);\n",
    );
    let changed = changed.replace(
        "int main(void) {",
        "static void *watch(void *unused) {\n    return unused;\n}\n\nint main(void) {",
    );
    let copy = patched(&folder, "lost_update", &changed);
    assert!(!regression(
        &folder,
        "lost_update",
        &copy.path().join("lost_update")
    ));
    let fixed = format!("#define FIXED\n{text}");
    let copy = patched(&folder, "lost_update", &fixed);
    assert!(regression(
        &folder,
        "lost_update",
        &copy.path().join("lost_update")
    ));
}

#[test]
fn a_deadlock_needs_one_breakpoint() {
    let (folder, told) = broken("crossed_locks");
    assert_eq!(told["probability"], 1.0, "{told}");
    assert_eq!(told["kind"], "deadlock", "{told}");
    assert_eq!(told["error"], "deadlock", "{told}");
    assert_eq!(told["breakpoints"].as_array().unwrap().len(), 1, "{told}");
    let copy = patched(&folder, "crossed_locks", &read_source("crossed_locks"));
    let program = copy.path().join("crossed_locks");
    let stuck = Command::new("timeout")
        .arg("2")
        .arg(program)
        .env("BOHR_BREAK", "all")
        .status();
    assert_eq!(stuck.unwrap().code(), Some(124));
}
