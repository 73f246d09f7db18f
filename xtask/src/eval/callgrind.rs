//! Instructions of a native run, counted by callgrind.

use std::path::Path;
use std::process::Command;

/// Runs a program to its good end, and tells how many instructions it executed.
pub fn instructions(program: &Path, words: &[String]) -> Result<u64, String> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(words)
        .output()
        .map_err(|error| format!("valgrind, which counts instructions: {error}"))?;
    let told = String::from_utf8_lossy(&output.stderr);
    let shown = || format!("{} {}: {told}", program.display(), words.join(" "));
    if !output.status.success() {
        return Err(shown());
    }
    let line = told
        .lines()
        .find_map(|line| line.split_once("Collected : "));
    let number = line.and_then(|(_, number)| number.trim().parse().ok());
    number.ok_or_else(shown)
}
