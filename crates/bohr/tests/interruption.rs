//! However bohr is ended, it leaves no process and no half-written file behind.

mod controlled;

use controlled::Folder;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Processes that run the program at `path`.
fn processes(path: &Path) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let runs_it = |entry: &std::fs::DirEntry| {
        std::fs::read_link(entry.path().join("exe")).is_ok_and(|exe| exe == path)
    };
    let found = entries.filter(runs_it).map(|entry| entry.file_name());
    found
        .map(|name| name.to_string_lossy().into_owned())
        .collect()
}

/// Waits until `condition` holds; a minute is far more than any machine needs.
#[track_caller]
fn wait_until(what: &str, condition: impl Fn() -> bool) {
    for _ in 0..6_000 {
        if condition() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{what} has not come about");
}

fn hunting(folder: &Folder) -> Child {
    let mut command = folder.command(&["hunt", "--json", "--time", "600s", "--", "./program"]);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let child = command.spawn().unwrap();
    let program = folder.path("program").canonicalize().unwrap();
    wait_until("a run", || processes(&program).len() > 1);
    child
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill")
        .args([name, &child.id().to_string()])
        .status();
    assert!(status.unwrap().success());
}

#[test]
fn a_kill_leaves_nothing_behind() {
    let folder = Folder::with("lost_update", &["-DFIXED"]);
    let mut child = hunting(&folder);
    signal(&child, "-KILL");
    child.wait().unwrap();
    let program = folder.path("program").canonicalize().unwrap();
    wait_until("the end of all runs", || processes(&program).is_empty());
    assert_eq!(folder.files(), ["program"]);
}

#[test]
fn an_interrupted_hunt_tells_what_it_has_done() {
    for name in ["-INT", "-TERM"] {
        let folder = Folder::with("lost_update", &["-DFIXED"]);
        let child = hunting(&folder);
        signal(&child, name);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{name}");
        let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(result["found"], serde_json::json!(false));
        let program = folder.path("program").canonicalize().unwrap();
        wait_until("the end of all runs", || processes(&program).is_empty());
        assert_eq!(folder.files(), ["program"]);
    }
}
