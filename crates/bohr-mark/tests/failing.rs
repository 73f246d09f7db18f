//! A failed assertion ends the process, and says what and where.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

/// Names what a copy of this program is to do wrong.
const WISH: &str = "BOHR_MARK_FAILS";

const ABORT: i32 = 6;

#[test]
fn does_as_it_is_told() {
    match std::env::var(WISH).as_deref() {
        Ok("assert") => bohr_mark::bohr_assert!(1 + 1 == 3),
        Ok("fail") => bohr_mark::bohr_fail!("as it was told"),
        _ => bohr_mark::bohr_assert!(1 + 1 == 2),
    }
}

#[test]
fn a_failure_ends_the_process_and_says_why() {
    for (wish, words) in [("assert", "1 + 1 == 3"), ("fail", "as it was told")] {
        let copy = std::env::current_exe().expect("a running program");
        let mut command = Command::new(copy);
        command.args(["--exact", "does_as_it_is_told", "--nocapture"]);
        let ended = command.env(WISH, wish).output().expect("it starts");
        assert_eq!(ended.status.signal(), Some(ABORT), "{wish}");
        let message = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(message.contains(words), "{message}");
        assert!(message.contains("failing.rs:"), "{message}");
    }
}
