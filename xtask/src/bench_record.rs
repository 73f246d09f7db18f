//! `cargo xtask bench record [NAME…]`: what recording costs (CLAP's Table 2). The
//! program as it was built, its order log and its path log, in turns, on the mirrors
//! of the paper's subjects and on pbzip2 and zstd with a real file.
//!
//! Times are those of all processors, so that what else runs on the machine counts
//! little; the median of several turns each. A row is printed as soon as it is there,
//! and what cannot be measured has a row that says why.

mod subject;
mod table;

use crate::bench::{Bench, median};
use crate::museum::build_bohr;
use crate::{install, shell};
use bohr_museum::Papers;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use subject::{Candidate, Subject, candidates};

pub const BENCH: Bench = Bench {
    name: "record",
    run,
};

/// Turns of the plain program and of the path log.
const TURNS: usize = 5;

/// Turns of the order log, which takes many times as long and is compared with the
/// other one only.
const ORDER_TURNS: usize = 3;

/// What a subject took.
pub struct Measured {
    pub subject: Subject,
    pub native: f64,
    pub order: Logged,
    pub path: Logged,
    pub branches: f64,
}

/// One way to record.
pub struct Logged {
    pub seconds: f64,
    pub bytes: f64,
}

fn run(names: &[String]) -> Result<(), String> {
    install::for_building()?;
    let papers = Papers::load().map_err(|error| error.to_string())?;
    let chosen = chosen(candidates(&papers)?, names)?;
    let bohr = build_bohr()?;
    let folder = shell::built("bench-record");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    table::print_head();
    let mut missed = Vec::new();
    for candidate in chosen {
        let name = candidate.name.clone();
        progress(&name, "being built");
        let subject = candidate.prepare(&bohr, &folder);
        match subject.and_then(|subject| measure(&bohr, subject)) {
            Ok(measured) => {
                table::print(&papers, &measured);
                missed.extend(table::missed(&measured));
            }
            Err(why) => {
                println!("{name:18} not measured: {}", last_line(&why));
                missed.push(format!("{name}: not measured"));
            }
        }
    }
    table::print_notes(&papers);
    match missed.is_empty() {
        true => Ok(()),
        false => Err(format!("targets missed:\n  {}", missed.join("\n  "))),
    }
}

/// Those that have one of the names, or all if there are none.
fn chosen(mut all: Vec<Candidate>, names: &[String]) -> Result<Vec<Candidate>, String> {
    let known: Vec<String> = all.iter().map(|one| one.name.clone()).collect();
    if let Some(name) = names.iter().find(|name| !known.contains(name)) {
        return Err(format!("nothing is called {name}: {}", known.join(", ")));
    }
    all.retain(|one| names.is_empty() || names.contains(&one.name));
    Ok(all)
}

/// Beside the table, so that somebody who waits knows for what.
fn progress(name: &str, what: &str) {
    eprintln!("  … {name}: {what}");
}

/// What went wrong in the end, of an output that may be long.
fn last_line(text: &str) -> &str {
    let mut lines = text.lines().rev().map(str::trim);
    lines.find(|line| !line.is_empty()).unwrap_or_default()
}

fn measure(bohr: &Path, subject: Subject) -> Result<Measured, String> {
    let (mut native, mut order, mut path) = (Vec::new(), Vec::new(), Vec::new());
    let mut branches = None;
    for turn in 0..TURNS {
        progress(&subject.name, &format!("turn {} of {TURNS}", turn + 1));
        // Counting takes longer than recording, and comes to the same in every turn.
        let counting: &[&str] = if turn == 0 { &[] } else { &["--no-count"] };
        let options = [&["--compare", "--log", "path"], counting].concat();
        let told = record(bohr, &subject, &options)?;
        native.push(number(&told, "native_processor_seconds")?);
        branches = branches.or(told["branches"].as_f64());
        path.push(told);
        if turn < ORDER_TURNS {
            order.push(record(bohr, &subject, &["--log", "order"])?);
        }
    }
    Ok(Measured {
        native: median(native),
        order: logged(&order)?,
        path: logged(&path)?,
        branches: branches.ok_or("bohr record says no branches")?,
        subject,
    })
}

fn logged(turns: &[Value]) -> Result<Logged, String> {
    let of = |field: &str| {
        let numbers: Result<Vec<f64>, String> =
            turns.iter().map(|told| number(told, field)).collect();
        numbers.map(median)
    };
    Ok(Logged {
        seconds: of("recorded_processor_seconds")?,
        bytes: of("log_bytes")?,
    })
}

fn record(bohr: &Path, subject: &Subject, options: &[&str]) -> Result<Value, String> {
    let mut command = Command::new(bohr);
    command
        .current_dir(&subject.folder)
        .args(["record", "--json", "-o", "recorded.log"])
        .args(options)
        .arg("--")
        .arg(&subject.program)
        .args(&subject.arguments)
        .stderr(Stdio::null());
    let output = command.output().map_err(|error| error.to_string())?;
    // A run that fails is recorded as well as any other.
    match output.status.code() {
        Some(0 | 1) => serde_json::from_slice(&output.stdout)
            .map_err(|error| format!("{}: {error}", subject.name)),
        _ => Err(format!("{command:?} ended with {}", output.status)),
    }
}

fn number(told: &Value, field: &str) -> Result<f64, String> {
    told[field]
        .as_f64()
        .ok_or_else(|| format!("bohr record says no {field}: {told}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(chosen: &[Candidate]) -> Vec<&str> {
        chosen.iter().map(|one| one.name.as_str()).collect()
    }

    #[test]
    fn every_row_of_the_paper_and_the_real_programs_can_be_chosen() {
        let papers = Papers::load().expect("papers");
        let all = candidates(&papers).expect("candidates");
        let table = papers.table("clap", "2").expect("Table 2");
        let mirrored = all.iter().filter(|one| one.row().is_some());
        assert_eq!(mirrored.count(), table.names().count());
        assert!(names(&all).ends_with(&["pbzip2", "zstd"]));
        let asked = ["zstd".to_string(), "racey".to_string()];
        let some = chosen(all, &asked).expect("both are there");
        assert_eq!(names(&some), ["racey", "zstd"]);
    }

    #[test]
    fn a_name_that_nothing_has_is_told_with_those_that_there_are() {
        let papers = Papers::load().expect("papers");
        let all = candidates(&papers).expect("candidates");
        let why = chosen(all, &["zst".to_string()]).err().expect("refused");
        assert!(
            why.starts_with("nothing is called zst: ") && why.contains("zstd"),
            "{why}"
        );
    }

    #[test]
    fn of_a_long_output_the_last_words_are_told() {
        assert_eq!(last_line("first\nsecond \n\n"), "second");
    }
}
