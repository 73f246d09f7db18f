//! What is recorded.

use crate::subjects::{Compilers, SUBJECTS, build, fetch};
use crate::{install, shell};
use bohr_museum::{Papers, Variant};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// So much of a real file is compressed.
const INPUT: usize = 24 << 20;

/// So long a mirror works at least.
const SECONDS: f64 = 0.5;

/// So often its work is raised to get there.
const TRIES: usize = 6;

/// A program and how it is called.
pub struct Subject {
    pub name: String,
    /// The row of the paper's table.
    pub row: Option<String>,
    pub program: PathBuf,
    pub arguments: Vec<String>,
    /// Where it runs.
    pub folder: PathBuf,
    /// How many times as long it may take with a path log, if there is a target.
    pub most_times: Option<f64>,
}

/// The mirrors of the paper's subjects, then the real programs.
pub fn subjects(
    papers: &Papers,
    bohr: &Path,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<Vec<Subject>, String> {
    let folder = shell::built("bench-record");
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let mut found = mirrors(papers, bohr, &folder, wanted)?;
    if wanted("pbzip2") {
        found.push(pbzip2(bohr, &folder)?);
    }
    if wanted("zstd") {
        found.push(zstd(bohr, &folder)?);
    }
    Ok(found)
}

fn mirrors(
    papers: &Papers,
    bohr: &Path,
    folder: &Path,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<Vec<Subject>, String> {
    let table = papers.table("clap", "2").ok_or("CLAP's Table 2 is gone")?;
    let compilers = bohr_museum::Compilers::of_bohr(bohr);
    let mut found = Vec::new();
    for exhibit in bohr_museum::all().map_err(|error| error.to_string())? {
        let manifest = &exhibit.manifest;
        let mut mirrors = manifest.mirrors.iter();
        let row = mirrors.find(|one| one.paper == "clap" && table.row(&one.row).is_some());
        let Some(row) = row.filter(|_| wanted(&manifest.name)) else {
            continue;
        };
        // Without its bug, so that every run is whole; of racey nothing would be left.
        let variant = match row.row.as_str() {
            "racey" => Variant::Buggy,
            _ => Variant::Fixed,
        };
        let program = bohr_museum::compile(&exhibit, variant, &compilers);
        let program = program.map_err(|error| error.to_string())?;
        found.push(Subject {
            name: manifest.name.clone(),
            row: Some(row.row.clone()),
            arguments: long_enough(&program, &manifest.arguments.large)?,
            program,
            folder: folder.to_path_buf(),
            most_times: Some(1.5),
        });
    }
    Ok(found)
}

/// The arguments of a long run, with the last of them, which says how much there is
/// to do, raised until the program works for a while: times come from a clock that
/// may tick once in ten milliseconds.
fn long_enough(program: &Path, large: &[u64]) -> Result<Vec<String>, String> {
    let mut arguments = large.to_vec();
    for _ in 0..TRIES {
        let begun = Instant::now();
        let words = arguments.iter().map(ToString::to_string);
        let mut command = Command::new(program);
        command
            .args(words)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.status().map_err(|error| error.to_string())?;
        let seconds = begun.elapsed().as_secs_f64();
        if seconds >= SECONDS {
            break;
        }
        if let Some(work) = arguments.last_mut() {
            *work *= (1.25 * SECONDS / seconds).ceil().clamp(2.0, 10.0) as u64;
        }
    }
    Ok(arguments.iter().map(ToString::to_string).collect())
}

/// Linked with the system's library, as in the paper: only its own code is recorded.
fn pbzip2(bohr: &Path, folder: &Path) -> Result<Subject, String> {
    install::needed(&[("libbz2-dev", "/usr/include/bzlib.h")])?;
    let sources = folder.join("pbzip2");
    fetch::unpack(&["pbzip2"], &sources)?;
    let mut make = Command::new("make");
    make.arg("-C")
        .arg(sources.join("pbzip2"))
        .arg(format!("CXX={} c++ -std=gnu++98", bohr.display()))
        .arg("pbzip2");
    shell::run_quietly(&mut make, &sources.join("build.log"))?;
    Ok(Subject {
        name: "pbzip2".into(),
        row: Some("pbzip2".into()),
        program: sources.join("pbzip2/pbzip2"),
        arguments: ["-k", "-f", "-q", "-p2", &input(bohr, folder)?]
            .map(String::from)
            .into(),
        folder: folder.to_path_buf(),
        most_times: Some(1.1),
    })
}

/// All of its code is recorded.
fn zstd(bohr: &Path, folder: &Path) -> Result<Subject, String> {
    let subject = SUBJECTS.iter().find(|subject| subject.name == "zstd");
    let compilers = Compilers {
        cc: format!("{} cc", bohr.display()),
        cxx: format!("{} c++", bohr.display()),
    };
    let sources = folder.join("zstd");
    build(
        subject.ok_or("there is no subject zstd")?,
        &compilers,
        &sources,
    )?;
    Ok(Subject {
        name: "zstd".into(),
        row: None,
        program: sources.join("libzstd/programs/zstd"),
        arguments: ["-T2", "-q", "-f", "-k", &input(bohr, folder)?]
            .map(String::from)
            .into(),
        folder: folder.to_path_buf(),
        most_times: Some(1.5),
    })
}

/// The beginning of bohr itself: code, tables, texts.
fn input(bohr: &Path, folder: &Path) -> Result<String, String> {
    let mut bytes = fs::read(bohr).map_err(|error| error.to_string())?;
    bytes.truncate(INPUT);
    fs::write(folder.join("input"), bytes).map_err(|error| error.to_string())?;
    Ok("input".into())
}
