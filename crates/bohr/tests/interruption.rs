//! However bohr is ended, it leaves no process and no half-written file behind.

use crate::controlled;

use controlled::Folder;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Processes that run the program at `path`.
fn processes(path: &Path) -> Vec<String> {
    controlled::processes(|exe| exe == path)
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

#[test]
fn an_interrupted_check_ends_as_an_interrupted_hunt_does() {
    let folder = Folder::with("lost_update", &["-DFIXED"]);
    let words = ["check", "--times", "1000000", "--", "./program"];
    let mut child = folder
        .command(&words)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let program = folder.path("program").canonicalize().unwrap();
    wait_until("a run", || processes(&program).len() > 1);
    signal(&child, "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

/// Hunts on after the first bug and ends the hunt as `end` does, each time a little
/// later, until it was late enough for the bug; gives what that hunt told.
fn ended_after_its_bug(folder: &Folder, end: impl Fn(&Child)) -> serde_json::Value {
    for patience in (0..8).map(|doublings| Duration::from_millis(100 << doublings)) {
        let arguments = ["hunt", "--keep-going", "--json", "--time", "600s"];
        let mut command = folder.command(&[&arguments[..], &["--", "./program"]].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        let program = folder.path("program").canonicalize().unwrap();
        wait_until("a run", || processes(&program).len() > 1);
        std::thread::sleep(patience);
        end(&child);
        let output = child.wait_with_output().unwrap();
        wait_until("the end of all runs", || processes(&program).is_empty());
        let told = serde_json::from_slice::<serde_json::Value>(&output.stdout);
        match told {
            Ok(told) if told["found"] == serde_json::json!(true) => {
                assert_eq!(output.status.code(), Some(1));
                return told;
            }
            _ => assert_eq!(folder.files(), ["program"]),
        }
    }
    panic!("no moment was late enough");
}

#[test]
fn what_was_found_before_the_hunt_was_interrupted_is_kept() {
    let folder = Folder::with("lost_update", &[]);
    let told = ended_after_its_bug(&folder, |child| signal(child, "-INT"));
    assert_eq!(told["trouble"], "interrupted");
    folder.bohr(&["replay", "program.bohr"]).expect(0);
}

#[test]
fn what_was_found_before_the_hunt_met_trouble_is_kept() {
    let folder = Folder::with("lost_update", &[]);
    let program = folder.path("program").canonicalize().unwrap();
    let told = ended_after_its_bug(&folder, |_| {
        let mut kill = Command::new("kill");
        kill.arg("-KILL").args(processes(&program));
        // Some of the runs have ended by themselves since they were listed.
        kill.stderr(Stdio::null()).status().unwrap();
    });
    assert!(told["trouble"].is_string(), "{told}");
    folder.bohr(&["replay", "program.bohr"]).expect(0);
}

/// A generator of moments: any numbers will do, as long as they differ.
fn moments() -> impl Iterator<Item = Duration> {
    (0u64..24).map(|number| Duration::from_millis(number * number * 37 % 401))
}

#[test]
fn whatever_the_moment_nothing_is_left_half_done() {
    let folder = Folder::with("lost_update", &[]);
    let program = folder.path("program").canonicalize().unwrap();
    std::fs::create_dir(folder.path("scratch")).unwrap();
    let signals = ["-KILL", "-INT", "-TERM"].into_iter().cycle();
    let mut written = 0;
    for (moment, name) in moments().zip(signals) {
        // Finds its bug at once, so that some moments fall into the writing of it.
        let mut command = folder.command(&["hunt", "--json", "--", "./program"]);
        command.env("TMPDIR", folder.path("scratch"));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        std::thread::sleep(moment);
        if child.try_wait().unwrap().is_none() {
            signal(&child, name);
        }
        child.wait().unwrap();
        wait_until("the end of all runs", || processes(&program).is_empty());
        let scratch = std::fs::read_dir(folder.path("scratch")).unwrap().count();
        assert_eq!(scratch, 0, "{name} after {moment:?} leaves temporary files");
        let files = folder.files();
        if files.contains(&"program.bohr".to_string()) {
            written += 1;
            folder.bohr(&["replay", "program.bohr"]).expect(0);
            std::fs::remove_file(folder.path("program.bohr")).unwrap();
        }
        let left = folder.files();
        assert_eq!(left, ["program", "scratch"], "{name} after {moment:?}");
    }
    assert!(written > 0, "no moment was late enough");
}
