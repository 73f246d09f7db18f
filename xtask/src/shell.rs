//! Running other programs from the root of the project, with their output
//! shown and their failure turned into a sentence.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The root of the project.
pub fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest
        .parent()
        .expect("xtask lies in the root")
        .to_path_buf()
}

/// A folder beside what cargo builds, or with a profile's name (`release`) what it built.
pub fn built(folder: &str) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    root().join(target).join(folder)
}

/// The cargo that runs this program.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// Whether a program is on the PATH.
pub fn exists(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Runs to the end with output shown; any exit code but 0 is an error.
pub fn run(command: &mut Command) -> Result<(), String> {
    expect(command, 0)
}

/// Runs to the end with output shown; any exit code but `code` is an error.
pub fn expect(command: &mut Command, code: i32) -> Result<(), String> {
    let line = line(command);
    eprintln!("$ {line}");
    let status = command
        .status()
        .map_err(|error| format!("cannot run `{line}`: {error}"))?;
    match status.code() {
        Some(came) if came == code => Ok(()),
        _ => Err(format!(
            "`{line}` ended with {status}, expected exit code {code}"
        )),
    }
}

/// Runs to the end with output in a file, whose last lines are shown on failure.
pub fn run_quietly(command: &mut Command, log: &Path) -> Result<(), String> {
    let line = line(command);
    let file = std::fs::File::create(log).map_err(|error| format!("{}: {error}", log.display()))?;
    let copy = file.try_clone().map_err(|error| error.to_string())?;
    let status = command
        .stdin(Stdio::null())
        .stdout(file)
        .stderr(copy)
        .status()
        .map_err(|error| format!("cannot run `{line}`: {error}"))?;
    if status.success() {
        return Ok(());
    }
    let text = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    let last: Vec<&str> = text.lines().rev().take(LAST_LINES).collect();
    let last: Vec<&str> = last.into_iter().rev().collect();
    Err(format!(
        "`{line}` ended with {status}\n{}\n(all of it: {})",
        last.join("\n"),
        log.display()
    ))
}

/// How much of a log is shown.
const LAST_LINES: usize = 12;

/// Runs to the end and returns what it printed; messages are shown.
pub fn output(command: &mut Command) -> Result<String, String> {
    let line = line(command);
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot run `{line}`: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("`{line}` ended with {}", output.status)),
    }
}

/// Runs to the end in silence and says whether it succeeded.
pub fn succeeds(command: &mut Command) -> bool {
    let quiet = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// The command as a person would type it.
fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(|word| word.to_string_lossy().into_owned())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Splits an option with a number off the words that follow it.
pub fn number_and_rest<'a>(
    option: &str,
    default: u32,
    arguments: &'a [String],
) -> Result<(u32, &'a [String]), String> {
    match arguments {
        [flag, count, rest @ ..] if flag == option => match count.parse() {
            Ok(number) if number > 0 => Ok((number, rest)),
            _ => Err(format!("{option} wants a number from 1 on, not `{count}`")),
        },
        rest => Ok((default, rest)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_come_before_names() {
        let words = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
        let read = |text: &str| {
            let words = words(text);
            number_and_rest("--runs", 7, &words).map(|(runs, names)| (runs, names.to_vec()))
        };
        assert_eq!(read("--runs 5 a b"), Ok((5, words("a b"))));
        assert_eq!(read("a"), Ok((7, words("a"))));
        assert!(read("--runs none").is_err());
        assert!(read("--runs 0").is_err());
    }
}
