//! `cargo xtask exports`: does another tool read what we write, and say what
//! `docs/trace.md` promises? Runs the queries of that page in DuckDB, which it
//! installs into a folder of its own, on the sample that the page describes.

use crate::{Command, shell};
use std::path::{Path, PathBuf};
use std::process;

pub const COMMAND: Command = Command {
    name: "exports",
    about: "run the queries of docs/trace.md in DuckDB",
    run: |_| check(),
};

/// Prints the answer to the query in its argument as CSV.
const ASK: &str = "import duckdb, sys\n\
    answer = duckdb.sql(sys.argv[1])\n\
    print(','.join(answer.columns))\n\
    for row in answer.fetchall(): print(','.join(str(field) for field in row))";

/// Asks, and holds the answers against the page's.
pub fn check() -> Result<(), String> {
    let page = shell::root().join("docs/trace.md");
    let page = std::fs::read_to_string(&page).map_err(|error| error.to_string())?;
    let questions = questions(&page);
    if questions.is_empty() {
        return Err("docs/trace.md asks nothing".to_string());
    }
    let folder = shell::root().join("target/exports");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let python = python(&folder)?;
    // As the tests build it, so that nothing is built twice.
    shell::run(shell::cargo().args(["build", "--quiet", "--workspace", "--example", "sample"]))?;
    let sample = shell::built("debug").join("examples/sample");
    shell::run(process::Command::new(sample).arg(&folder))?;
    for (query, expected) in &questions {
        ask(&python, &folder, query, expected)?;
    }
    println!("{} queries answered as docs/trace.md says", questions.len());
    Ok(())
}

/// A Python that knows DuckDB.
fn python(folder: &Path) -> Result<PathBuf, String> {
    let python = folder.join("venv/bin/python");
    if !python.exists() {
        let mut create = process::Command::new("python3");
        shell::run(create.args(["-m", "venv"]).arg(folder.join("venv")))?;
    }
    let mut install = process::Command::new(&python);
    shell::run(install.args(["-m", "pip", "install", "--quiet", "duckdb"]))?;
    Ok(python)
}

fn ask(python: &Path, folder: &Path, query: &str, expected: &str) -> Result<(), String> {
    let mut command = process::Command::new(python);
    command.current_dir(folder).args(["-c", ASK, query]);
    let output = command.output().map_err(|error| error.to_string())?;
    let answer = String::from_utf8_lossy(&output.stdout);
    if output.status.success() && answer.trim() == expected.trim() {
        return Ok(());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    Err(format!(
        "{query}\nwas answered\n{answer}{complaint}\nand docs/trace.md says\n{expected}"
    ))
}

/// Each query of the page with the answer that stands below it.
fn questions(page: &str) -> Vec<(String, String)> {
    let blocks: Vec<(&str, String)> = page
        .split("\n```")
        .filter_map(|part| part.split_once('\n'))
        .filter(|(language, _)| ["sql", "csv"].contains(language))
        .map(|(language, text)| (language, text.to_string()))
        .collect();
    let pairs = blocks.chunk_by(|first, second| first.0 == "sql" && second.0 == "csv");
    pairs
        .filter_map(|pair| match pair {
            [(_, query), (_, answer)] => Some((query.clone(), answer.clone())),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_stand_above_their_answers() {
        let page =
            "Text.\n\n```sql\nselect 1\n```\n\n```csv\none\n1\n```\n\n```sql\nselect 2\n```\n";
        assert_eq!(
            questions(page),
            [("select 1".to_string(), "one\n1".to_string())]
        );
    }
}
