//! `cargo xtask eval --only dump`: the dump paper's tables. Each exhibit that mirrors
//! one of its bugs is lengthened by work that precedes the failure, built for
//! production and run natively, with real threads, until it leaves a core; `bohr core`
//! is to find a schedule that fails like it, guided in both ways and not at all. Beside
//! them: how whole programs nest, what their production builds cost, and what reading a
//! large core takes.

mod asked;
mod dependences;
mod native;
mod overhead;
mod reading;
mod tables;

use super::measure::Measured;
use super::page;
use crate::museum::build_bohr;
use crate::shell;
use bohr_museum::{Exhibit, Papers};
use dependences::Row;
use serde::Serialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// How the search is guided.
const GUIDES: [&str; 3] = ["temporal", "dependence", "none"];
/// How long it may take.
const LONGEST: &str = "60s";
/// How long it may take without guidance: its runs are as long as the program, and what
/// it has tried by then is a lower bound that has to mean something.
const LONGEST_UNGUIDED: &str = "300s";

/// What is measured of whole programs, beside the exhibits.
const PARTS: [&str; 3] = ["dependences", "overhead", "reading"];

/// What it came to.
#[derive(Default, Serialize)]
struct Programs {
    dependences: Vec<Row>,
    overheads: Vec<Row>,
    reading: Option<Value>,
}

impl Programs {
    /// The parts that are wanted, and why others that are wanted are not there.
    fn measure(
        bohr: &Path,
        exhibits: &[Exhibit],
        is_wanted: impl Fn(&str) -> bool,
    ) -> (Programs, Vec<String>) {
        let mut programs = Programs::default();
        let mut missing = Vec::new();
        if is_wanted("dependences") {
            let rows;
            (programs.dependences, rows) = told_apart(dependences::of_programs(bohr, exhibits));
            missing.extend(rows);
        }
        if is_wanted("overhead") {
            let rows;
            (programs.overheads, rows) = told_apart(overhead::of_programs(bohr));
            missing.extend(rows);
        }
        if is_wanted("reading") {
            match reading::measure(bohr) {
                Ok(told) => programs.reading = Some(told),
                Err(error) => missing.push(format!("reading: {error}")),
            }
        }
        (programs, missing)
    }
}

/// Everything, of these exhibits and parts, or of all that mirror a bug of the paper.
pub fn evaluate(names: &[String]) -> Result<(), String> {
    let bohr = build_bohr()?;
    let papers = Papers::load().map_err(|error| error.to_string())?;
    let (exhibits, damaged) = super::whole_and_damaged()?;
    let is_wanted = |name: &str| names.is_empty() || names.iter().any(|wanted| wanted == name);
    let mirrors = { exhibits.iter() }.filter(|exhibit| mirrored(exhibit).is_some());
    let mirrors: Vec<&Exhibit> = mirrors.collect();
    let is_known = |name: &&String| {
        let mut mirrors = mirrors.iter();
        PARTS.contains(&name.as_str()) || mirrors.any(|exhibit| exhibit.manifest.name == **name)
    };
    if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
        let known = mirrors.iter().map(|exhibit| exhibit.manifest.name.as_str());
        let known: Vec<&str> = PARTS.into_iter().chain(known).collect();
        return Err(format!("nothing is called {unknown}: {}", known.join(", ")));
    }
    let (programs, mut missing) = Programs::measure(&bohr, &exhibits, is_wanted);
    let mut results = Vec::new();
    for exhibit in mirrors.iter().filter(|one| is_wanted(&one.manifest.name)) {
        let mut measured = Measured::of(exhibit);
        if let Err(error) = measure(&bohr, exhibit, &mut measured) {
            measured.errors.insert("dump".into(), error);
        }
        println!("{:16} {}", measured.name, tables::line(&measured));
        results.push(measured);
        save(&papers, &results, &programs)?;
    }
    println!("\n{}", save(&papers, &results, &programs)?);
    let errors = results.iter().filter_map(|it| it.errors.get("dump"));
    missing.extend(errors.cloned());
    missing.extend(asked::table(&papers, &results, &programs).1);
    match missing.is_empty() {
        false => Err(missing.join("\n")),
        true => super::none_damaged(&damaged),
    }
}

/// What there is, and why the rest is not there.
fn told_apart(rows: Vec<Result<Row, String>>) -> (Vec<Row>, Vec<String>) {
    let (mut there, mut missing) = (Vec::new(), Vec::new());
    for row in rows {
        match row {
            Ok(row) => there.push(row),
            Err(error) => missing.push(error),
        }
    }
    (there, missing)
}

/// The bug of the paper that an exhibit mirrors.
fn mirrored(exhibit: &Exhibit) -> Option<&str> {
    let mut mirrors = exhibit.manifest.mirrors.iter();
    let mirror = mirrors.find(|mirror| mirror.paper == "dumps" && mirror.table == "2");
    Some(&mirror?.row)
}

fn measure(bohr: &Path, exhibit: &Exhibit, measured: &mut Measured) -> Result<(), String> {
    let lengthened = native::Lengthened::of(exhibit)?;
    let program = lengthened.build(bohr)?;
    measured
        .dumped
        .insert("model".into(), dependences::inspected(bohr, &program)?);
    let mut keep = |name: &str, told: Value| measured.dumped.insert(name.into(), told);
    keep("length", lengthened.measure(&program)?);
    keep("native", lengthened.leave_core()?);
    for guide in GUIDES {
        let time = match guide {
            "none" => LONGEST_UNGUIDED,
            _ => LONGEST,
        };
        let options = ["--guide", guide, "--time", time];
        let told = search(bohr, &lengthened, &program, &options)?;
        keep(guide, told);
    }
    // The same, aligned by counting.
    let counted = lengthened.counted();
    let program = counted.build(bohr)?;
    keep("counted native", counted.leave_core()?);
    let options = ["--align", "count", "--time", LONGEST];
    let told = search(bohr, &counted, &program, &options)?;
    keep("counted", told);
    Ok(())
}

/// What `bohr core --json` says, with the time that the whole command took.
fn search(
    bohr: &Path,
    lengthened: &native::Lengthened,
    program: &Path,
    options: &[&str],
) -> Result<Value, String> {
    let begun = Instant::now();
    let output = Command::new(bohr)
        .args(["core", native::CORE, "--json"])
        .args(options)
        .arg("--program")
        .arg(program)
        .args(["-o", "bug.bohr", "--"])
        .args(lengthened.words())
        .current_dir(lengthened.folder())
        .output()
        .map_err(|error| error.to_string())?;
    let told: Result<Value, _> = serde_json::from_slice(&output.stdout);
    let mut told = told.map_err(|_| String::from_utf8_lossy(&output.stderr).into_owned())?;
    told["seconds"] = json!(begun.elapsed().as_secs_f64());
    Ok(told)
}

fn save(papers: &Papers, results: &[Measured], programs: &Programs) -> Result<String, String> {
    let folder: PathBuf = shell::root().join("eval/results");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let tables = tables::all(papers, results, programs)?;
    let origin = format!(
        "{}; again: `cargo xtask eval --only dump`",
        bohr_museum::machine_facts()
    );
    let heading = "Cores of native runs of the exhibits that mirror the dump paper's bugs.";
    let sections = page::sections(&tables, &origin);
    let page = format!("# From cores to schedules\n\n{heading}\n{sections}");
    let files = [
        ("md", page.clone()),
        (
            "json",
            format!(
                "{:#}\n",
                json!({ "exhibits": results, "programs": programs })
            ),
        ),
    ];
    for (ending, text) in files {
        let path = folder.join(format!("dump.{ending}"));
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(page)
}
