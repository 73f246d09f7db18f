//! A debugger at the moment of failure sees the program's threads, each with
//! its own stack.

use crate::controlled;

use controlled::Folder;
use std::io::Write;
use std::process::Stdio;

/// What gdb says to these commands at the failure.
fn debug(folder: &Folder, bug: &str, commands: &str) -> String {
    let mut command = folder.command(&["replay", "--gdb", bug]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(commands.as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{errors}");
    text
}

#[test]
fn gdb_stands_at_the_failure_with_all_threads() {
    let folder = Folder::empty();
    folder.build("crossed_locks", &[]);
    folder.bohr(&["hunt", "--", "./program"]).expect(1);
    let text = debug(&folder, "program.bohr", "thread apply all backtrace\n");
    for place in [
        "in leftwards (",
        "in rightwards (",
        "in main (",
        "crossed_locks.c:10",
        "crossed_locks.c:18",
    ] {
        assert!(text.contains(place), "{place}:\n{text}");
    }
    let program = folder.path("cache").canonicalize().unwrap();
    let left = controlled::processes(|exe| exe.starts_with(&program));
    assert_eq!(left, Vec::<String>::new(), "processes are left");
}

#[test]
fn gdb_begins_in_the_thread_that_failed() {
    let folder = Folder::with("crossed_locks", &[]);
    folder.bohr(&["hunt", "--", "./program"]).expect(1);
    let text = debug(&folder, "program.bohr", "backtrace\n");
    // The last that blocked is one of the two, not the one that waits for them.
    let seen = ["leftwards", "rightwards", "main"].map(|it| text.contains(&format!("in {it} (")));
    assert!(seen[0] != seen[1] && !seen[2], "{text}");
}

#[test]
fn gdb_follows_what_is_left_after_reduction() {
    let folder = Folder::empty();
    folder.build("crowd", &[]);
    let hunt = ["hunt", "--strategy", "random", "--", "./program"];
    folder.bohr(&hunt).expect(1);
    let words = ["reduce", "program.bohr", "-o", "small.bohr", "--json"];
    let report = folder.bohr(&words).expect(0).json();
    assert_eq!(report["threads_after"], 3);
    let text = debug(&folder, "small.bohr", "backtrace\n");
    assert!(
        text.contains("in main (") && text.contains("crowd.c:47"),
        "{text}"
    );
}

#[test]
fn a_failure_without_a_moment_is_refused() {
    let folder = Folder::with("order", &[]);
    let words = ["hunt", "--", "./program", "argument"];
    folder.bohr(&words).expect(1);
    let refusal = folder.bohr(&["replay", "--gdb", "program.bohr"]).expect(2);
    assert!(
        refusal.messages().contains("no moment to stop at"),
        "{refusal}"
    );
}
