//! sqlite: a library that is one huge file, under a small threaded program.

use super::measure::{least_of_both, quiet};
use super::{Ratio, Tools};
use crate::shell;
use crate::subjects::fetch;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The crate whose sources carry the amalgamation.
const CRATE: (&str, &str) = ("libsqlite3-sys", "0.35.0");
const DRIVER: &str = include_str!("sqlite_driver.c");
const ROWS: &str = "600000";
const TURNS: u32 = 5;
const OBJECTS: [&str; 2] = ["sqlite_driver.o", "sqlite3.o"];

pub(super) fn measure(tools: &Tools) -> Result<Vec<Ratio>, String> {
    let program = build(&tools.bohr, &tools.folder)?;
    let plain = || {
        tools
            .profile(&program, "sqlite-plain", &["--plain"])
            .map(drop)
    };
    let control = || tools.profile(&program, "sqlite-control", &[]).map(drop);
    let (plain, control) = least_of_both(2, plain, control)?;
    let folder = tools.folder.join("sqlite-control");
    describe(&folder)?;
    let every = tools.profile(&program, "sqlite-every", &["--hook", "all"])?;
    Ok(vec![
        adding(tools)?,
        Ratio {
            what: "sqlite: making the control profile, times its plain pipeline".into(),
            value: control / plain,
            most: 1.5,
        },
        Ratio {
            what: "sqlite: control profile, control off, times native".into(),
            value: slowdown(&program, &folder.join("program"))?,
            most: 1.5,
        },
        Ratio {
            what: "sqlite: the same with every access hooked".into(),
            value: slowdown(&program, &every.join("program"))?,
            most: 1.5,
        },
    ])
}

/// A program whose bundle is 2 MB: compiled to objects, then linked.
pub fn build(bohr: &Path, folder: &Path) -> Result<PathBuf, String> {
    let sources = fetch::krate(CRATE.0, CRATE.1)?.join("sqlite3");
    let driver = folder.join("sqlite_driver.c");
    fs::write(&driver, DRIVER).map_err(|error| error.to_string())?;
    let mut command = Command::new(bohr);
    command
        .args(["cc", "-c", "-O2", "-DSQLITE_THREADSAFE=1"])
        .arg(format!("-I{}", sources.display()))
        .arg(driver)
        .arg(sources.join("sqlite3.c"))
        .current_dir(folder);
    shell::run_quietly(&mut command, &folder.join("sqlite.log"))?;
    let program = folder.join("sqlite");
    let bohr = bohr.display().to_string();
    quiet(&mut link(folder, &[&bohr, "cc"], &program))?;
    Ok(program)
}

fn link(folder: &Path, compiler: &[&str], program: &Path) -> Command {
    let mut command = Command::new(compiler[0]);
    command
        .args(&compiler[1..])
        .args(OBJECTS)
        .args(["-pthread", "-lm", "-o"])
        .arg(program)
        .current_dir(folder);
    command
}

/// What adding the bundle costs, in seconds.
fn adding(tools: &Tools) -> Result<Ratio, String> {
    let bohr = tools.bohr.display().to_string();
    let program = tools.folder.join("sqlite-linked");
    let (plain, with) = least_of_both(
        TURNS,
        || quiet(&mut link(&tools.folder, &["clang-22"], &program)),
        || quiet(&mut link(&tools.folder, &[&bohr, "cc"], &program)),
    )?;
    Ok(Ratio {
        what: "sqlite: seconds that the bundle adds to the link".into(),
        value: with - plain,
        most: 0.1,
    })
}

fn slowdown(native: &Path, profile: &Path) -> Result<f64, String> {
    let start = |program: &Path| quiet(Command::new(program).arg(ROWS));
    let (native, profile) = least_of_both(TURNS, || start(native), || start(profile))?;
    Ok(profile / native)
}

/// How many accesses needed no hook, and why; the memory that it took.
fn describe(folder: &Path) -> Result<(), String> {
    let text = fs::read_to_string(folder.join("report.json")).map_err(|error| error.to_string())?;
    let report: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    println!(
        "sqlite: {} sites, {} hooked",
        report["sites"], report["hooked"]
    );
    for (reason, count) in report["unhooked"].as_object().into_iter().flatten() {
        println!("  {count:>7} not hooked: {reason}");
    }
    let memory = report["peak_memory"].as_f64().unwrap_or_default() / f64::from(1 << 20);
    println!(
        "  peak memory {memory:.0} MiB, seconds by step {}",
        report["seconds"]
    );
    Ok(())
}
