//! `bohr core` on a core of a process that gdb has stopped.

mod controlled;

use controlled::Folder;
use std::process::Command;

fn stopped_at(folder: &Folder, place: &str) {
    let words = ["-batch", "-ex", "set breakpoint pending on", "-ex"];
    let status = Command::new("gdb")
        .args(words)
        .arg(format!("break {place}"))
        .args(["-ex", "run", "-ex", "generate-core-file taken.core"])
        .args(["-ex", "kill", "./program"])
        .current_dir(folder.path("."))
        .output();
    let output = status.expect("gdb is installed");
    assert!(folder.path("taken.core").exists(), "{output:?}");
}

#[test]
fn who_was_where() {
    let folder = Folder::with("lost_update", &[]);
    stopped_at(&folder, "main");
    let text = folder.bohr(&["core", "taken.core"]).expect(0).text();
    assert!(text.contains("#0 main at "), "{text}");
    assert!(text.contains("lost_update.c:"), "{text}");
    let words = ["core", "taken.core", "--program", "program", "--json"];
    let told = folder.bohr(&words).expect(0).json();
    assert_eq!(told["threads"][0]["frames"][0]["function"], "main");
    assert_eq!(told["threads"][0]["failed"], true);
    assert_eq!(told["missing_bytes"], 0);
}

#[test]
fn what_is_no_core() {
    let folder = Folder::with("lost_update", &[]);
    let messages = folder.bohr(&["core", "program"]).expect(2).messages();
    assert!(messages.contains("not a core file"), "{messages}");
    assert!(messages.contains("--program"), "{messages}");
    let messages = folder.bohr(&["core", "nothing"]).expect(2).messages();
    assert!(messages.contains("nothing cannot be read"), "{messages}");
}
