//! `cargo xtask tidy`: keeps the habits that a compiler does not. Every file
//! says why it exists, every unsafe block why it is sound, every crate and
//! dependency has its row in the map, and no test is switched off or forgotten.

use crate::{Command, shell};
use std::path::{Path, PathBuf};

pub const COMMAND: Command = Command {
    name: "tidy",
    about: "check the house rules",
    run: |_| check(),
};

/// A file longer than this has more than one reason to exist.
const LONGEST_FILE: usize = 600;

/// Checks the whole project and lists every offence.
pub fn check() -> Result<(), String> {
    let root = shell::root();
    let map = read(&root.join("docs/ARCHITECTURE.md"))?;
    let manifest = read(&root.join("Cargo.toml"))?;
    let mut offences = unmapped(&map, &folders(&root.join("crates"))?, &manifest);
    for name in folders(&root.join("crates"))? {
        offences.extend(forgotten(&root.join("crates").join(name).join("tests"))?);
    }
    for path in sources(&root)? {
        let text = read(&path)?;
        let name = path
            .strip_prefix(&root)
            .unwrap_or(&path)
            .display()
            .to_string();
        offences.extend(
            in_file(&text)
                .into_iter()
                .map(|offence| format!("{name}{offence}")),
        );
    }
    match offences.len() {
        0 => Ok(()),
        count => Err(format!(
            "{count} offences against the house rules\n  {}",
            offences.join("\n  ")
        )),
    }
}

/// Files of tests that a crate whose tests are one program does not name in it: nobody
/// would notice that they are not run.
fn forgotten(tests: &Path) -> Result<Vec<String>, String> {
    let main = tests.join("main.rs");
    if !main.exists() {
        return Ok(Vec::new());
    }
    let named = read(&main)?;
    let entries =
        std::fs::read_dir(tests).map_err(|error| format!("{}: {error}", tests.display()))?;
    let files = entries.flatten().map(|entry| entry.path());
    let files = files.filter(|path| path.extension().is_some_and(|ending| ending == "rs"));
    let stems = files.filter_map(|path| Some(path.file_stem()?.to_str()?.to_string()));
    let stems: Vec<String> = stems.collect();
    Ok(unnamed(&named, &stems)
        .map(|stem| format!("{}: does not name the tests of {stem}.rs", main.display()))
        .collect())
}

fn unnamed<'a>(main: &'a str, stems: &'a [String]) -> impl Iterator<Item = &'a String> {
    let is_named =
        move |stem: &str| stem == "main" || main.lines().any(|line| line == format!("mod {stem};"));
    stems.iter().filter(move |stem| !is_named(stem))
}

/// Crates without a row in the code map, dependencies without a reason.
fn unmapped(map: &str, crates: &[String], manifest: &str) -> Vec<String> {
    let rows: Vec<&str> = map.lines().filter(|line| line.starts_with('|')).collect();
    let has_row = |name: &str| {
        rows.iter()
            .any(|row| row.split('|').nth(1).is_some_and(|cell| lists(cell, name)))
    };
    let unmapped_crates = crates.iter().filter(|name| !has_row(name));
    let dependencies = dependencies(manifest);
    let unexplained = dependencies.iter().filter(|name| !has_row(name));
    unmapped_crates
        .map(|name| format!("docs/ARCHITECTURE.md: no row for the crate {name}"))
        .chain(
            unexplained
                .map(|name| format!("docs/ARCHITECTURE.md: no reason for depending on {name}")),
        )
        .collect()
}

/// Whether a cell like `` `bohr` `` or `serde, postcard` lists the name.
fn lists(cell: &str, name: &str) -> bool {
    cell.split([',', ' ', '`']).any(|word| word == name)
}

/// The third-party names under `[workspace.dependencies]`.
fn dependencies(manifest: &str) -> Vec<String> {
    manifest
        .lines()
        .skip_while(|line| *line != "[workspace.dependencies]")
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| {
            line.split_once('=')
                .map(|(name, _)| name.trim().to_string())
        })
        .filter(|name| !name.starts_with("bohr-"))
        .collect()
}

/// Offences within one Rust file, each with its line.
fn in_file(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let mut offences = Vec::new();
    if !text.trim_start().starts_with("//!") {
        offences.push(": does not open with //! and why it exists".to_string());
    }
    if lines.len() > LONGEST_FILE {
        offences.push(format!(
            ": {} lines; more than {LONGEST_FILE} is more than one reason to exist",
            lines.len()
        ));
    }
    for (index, line) in lines.iter().enumerate() {
        if let Some(offence) = in_line(line, &lines[..index]) {
            offences.push(format!(":{}: {offence}", index + 1));
        }
    }
    offences
}

fn in_line(line: &str, above: &[&str]) -> Option<&'static str> {
    let code = line.split("//").next().unwrap_or(line);
    let quoted = |word: &str| {
        code.find(word)
            .is_some_and(|at| code[..at].matches('"').count() % 2 == 1)
    };
    if code.contains("#[ignore") && !quoted("#[ignore") {
        return Some("an ignored test; a tool for determinism has none");
    }
    if code.contains("unsafe {") && !quoted("unsafe {") && !explained(line, above) {
        return Some("an unsafe block without its SAFETY note");
    }
    let promise = ["TODO", "FIXME", "XXX", "HACK"]
        .iter()
        .find(|word| line.contains(**word));
    if promise.is_some_and(|word| !line.contains(&format!("\"{word}\""))) {
        return Some("a promise in a comment; build it or leave it out");
    }
    None
}

/// Whether a SAFETY note stands on the line or in the comment right above the
/// statement that the unsafe block belongs to.
fn explained(line: &str, above: &[&str]) -> bool {
    let note = |text: &&str| text.contains("SAFETY");
    note(&line) || above.iter().rev().take(8).any(note)
}

fn folders(parent: &Path) -> Result<Vec<String>, String> {
    let entries =
        std::fs::read_dir(parent).map_err(|error| format!("{}: {error}", parent.display()))?;
    Ok(entries
        .flatten()
        .filter(|entry| entry.path().join("Cargo.toml").exists())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect())
}

/// Every Rust file that git tracks or would.
fn sources(root: &Path) -> Result<Vec<PathBuf>, String> {
    let mut git = std::process::Command::new("git");
    git.current_dir(root)
        .args(["ls-files", "-co", "--exclude-standard", "*.rs"]);
    let output = git
        .output()
        .map_err(|error| format!("cannot run git: {error}"))?;
    let names = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(names
        .lines()
        .map(|name| root.join(name))
        .filter(|path| path.exists())
        .collect())
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tidy_file_passes() {
        assert_eq!(
            in_file("//! Why.\n\n// SAFETY: one thread.\nlet x = unsafe { y() };\n"),
            [""; 0]
        );
    }

    #[test]
    fn each_offence_is_named_with_its_line() {
        let untidy = [
            "fn f() {}",
            "#[ignore]",
            "let x = unsafe { y() };",
            concat!("// TO", "DO later"),
        ]
        .join("\n");
        let offences = in_file(&untidy).join("\n");
        for expected in [
            ": does not open",
            ":2: an ignored",
            ":3: an unsafe",
            ":4: a promise",
        ] {
            assert!(
                offences.contains(expected),
                "{expected} missing in:\n{offences}"
            );
        }
        assert!(
            in_file(&"//! Why.\n".repeat(LONGEST_FILE + 1))[0].contains("more than one reason")
        );
    }

    #[test]
    fn no_file_of_tests_is_forgotten() {
        let stems = ["main", "hunt", "replay"].map(String::from);
        let main = "//! All.\n\nmod hunt;\n// mod replay;\n";
        assert_eq!(unnamed(main, &stems).collect::<Vec<_>>(), ["replay"]);
    }

    #[test]
    fn crates_and_dependencies_need_a_row() {
        let map = "| `bohr-event` | words |\n| serde, postcard | one derive |\n";
        let manifest = "[workspace.dependencies]\nbohr-event = {}\nserde = \"1\"\nrand = \"1\"\n[profile.dev]\n";
        let offences = unmapped(map, &["bohr-event".into(), "bohr".into()], manifest);
        assert_eq!(offences.len(), 2, "{offences:?}");
        assert!(offences[0].ends_with("bohr") && offences[1].ends_with("rand"));
    }
}
