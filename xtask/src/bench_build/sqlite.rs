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

pub fn measure(tools: &Tools) -> Result<Vec<Ratio>, String> {
    let program = build(tools)?;
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

fn build(tools: &Tools) -> Result<PathBuf, String> {
    let sources = fetch::krate(CRATE.0, CRATE.1)?.join("sqlite3");
    let driver = tools.folder.join("sqlite_driver.c");
    let program = tools.folder.join("sqlite");
    fs::write(&driver, DRIVER).map_err(|error| error.to_string())?;
    let mut command = Command::new(&tools.bohr);
    command
        .args(["cc", "-O2", "-DSQLITE_THREADSAFE=1"])
        .arg(format!("-I{}", sources.display()))
        .arg(driver)
        .arg(sources.join("sqlite3.c"))
        .args(["-pthread", "-lm", "-o"])
        .arg(&program);
    shell::run_quietly(&mut command, &tools.folder.join("sqlite.log"))?;
    Ok(program)
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
