//! `cargo xtask bench record [NAME…]`: what recording costs (CLAP's Table 2). The
//! program as it was built, its order log and its path log, in turns, on the mirrors
//! of the paper's subjects and on pbzip2 and zstd with a real file.
//!
//! Times are those of all processors, so that what else runs on the machine counts
//! little; the median of several turns each.

mod subject;
mod table;

use crate::bench::{Bench, median};
use crate::install;
use crate::museum::build_bohr;
use bohr_museum::Papers;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use subject::{Subject, subjects};

pub const BENCH: Bench = Bench {
    name: "record",
    run,
};

/// Turns of each.
const TURNS: usize = 5;

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
    let bohr = build_bohr()?;
    let wanted = |name: &str| names.is_empty() || names.iter().any(|one| one == name);
    let chosen = subjects(&papers, &bohr, &wanted)?;
    if chosen.is_empty() {
        return Err(format!("nothing is called {}", names.join(" ")));
    }
    table::print_head();
    let mut missed = Vec::new();
    for subject in chosen {
        let measured = measure(&bohr, subject)?;
        table::print(&papers, &measured);
        missed.extend(table::missed(&measured));
    }
    table::print_notes(&papers);
    match missed.is_empty() {
        true => Ok(()),
        false => Err(format!("targets missed: {}", missed.join("; "))),
    }
}

fn measure(bohr: &Path, subject: Subject) -> Result<Measured, String> {
    let (mut native, mut order, mut path) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..TURNS {
        let told = record(bohr, &subject, &["--compare", "--log", "path"])?;
        native.push(number(&told, "native_processor_seconds")?);
        path.push(told);
        order.push(record(bohr, &subject, &["--log", "order"])?);
    }
    let branches = number(&path[0], "branches")?;
    Ok(Measured {
        native: median(native),
        order: logged(&order)?,
        path: logged(&path)?,
        branches,
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
