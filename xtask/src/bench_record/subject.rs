//! What is recorded.

use crate::subjects::{Compilers, SUBJECTS, build, fetch};
use crate::{install, shell};
use bohr_museum::{Exhibit, Papers, Variant};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// So much of a real file is compressed.
const INPUT: usize = 24 << 20;

/// So many seconds of processors a mirror works at least: they are told in steps of a
/// hundredth.
const SECONDS: f64 = 0.3;

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

/// What can be measured, before anything of it is built.
pub struct Candidate {
    pub name: String,
    source: Source,
}

enum Source {
    /// An exhibit, and the row that it mirrors.
    Mirror(Box<Exhibit>, String),
    Pbzip2,
    Zstd,
}

/// The mirrors of the paper's subjects, then the real programs.
pub fn candidates(papers: &Papers) -> Result<Vec<Candidate>, String> {
    let table = papers.table("clap", "2").ok_or("CLAP's Table 2 is gone")?;
    let exhibits = bohr_museum::all().map_err(|error| error.to_string())?;
    let mirror = |exhibit: Exhibit| {
        let mut mirrors = exhibit.manifest.mirrors.iter();
        let row = mirrors.find(|one| one.paper == "clap" && table.row(&one.row).is_some());
        let row = row?.row.clone();
        Some(Candidate {
            name: exhibit.manifest.name.clone(),
            source: Source::Mirror(Box::new(exhibit), row),
        })
    };
    let real = [("pbzip2", Source::Pbzip2), ("zstd", Source::Zstd)];
    let real = real.map(|(name, source)| Candidate {
        name: name.to_string(),
        source,
    });
    Ok(exhibits
        .into_iter()
        .filter_map(mirror)
        .chain(real)
        .collect())
}

impl Candidate {
    /// The row of the paper's table.
    #[cfg(test)]
    pub fn row(&self) -> Option<&str> {
        match &self.source {
            Source::Mirror(_, row) => Some(row),
            _ => None,
        }
    }

    /// Builds it.
    pub fn prepare(self, bohr: &Path, folder: &Path) -> Result<Subject, String> {
        match self.source {
            Source::Mirror(exhibit, row) => mirror(&exhibit, row, bohr, folder),
            Source::Pbzip2 => pbzip2(bohr, folder),
            Source::Zstd => zstd(bohr, folder),
        }
    }
}

fn mirror(exhibit: &Exhibit, row: String, bohr: &Path, folder: &Path) -> Result<Subject, String> {
    // Without its bug, so that every run is whole; of racey nothing would be left.
    let variant = match row.as_str() {
        "racey" => Variant::Buggy,
        _ => Variant::Fixed,
    };
    let compilers = bohr_museum::Compilers::of_bohr(bohr);
    let program = bohr_museum::compile(exhibit, variant, &compilers);
    let program = program.map_err(|error| error.to_string())?;
    let manifest = &exhibit.manifest;
    Ok(Subject {
        name: manifest.name.clone(),
        row: Some(row),
        arguments: long_enough(&program, &manifest.arguments.large)?,
        program,
        folder: folder.to_path_buf(),
        most_times: Some(1.5),
    })
}

/// The arguments of a long run, with the last of them, which says how much there is
/// to do, raised until the program works for a while. Time that it waits for others,
/// of its own threads or not, is no work.
fn long_enough(program: &Path, large: &[u64]) -> Result<Vec<String>, String> {
    let mut arguments = large.to_vec();
    for _ in 0..TRIES {
        let before = children_seconds()?;
        let words = arguments.iter().map(ToString::to_string);
        let mut command = Command::new(program);
        command
            .args(words)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.status().map_err(|error| error.to_string())?;
        let seconds = children_seconds()? - before;
        if seconds >= SECONDS {
            break;
        }
        if let Some(work) = arguments.last_mut() {
            let times = 1.25 * SECONDS / seconds.max(0.01);
            *work = work.saturating_mul(times.ceil().clamp(2.0, 10.0) as u64);
        }
    }
    Ok(arguments.iter().map(ToString::to_string).collect())
}

/// What the children of this process that have ended took of all processors.
fn children_seconds() -> Result<f64, String> {
    let status = fs::read_to_string("/proc/self/stat").map_err(|error| error.to_string())?;
    let fields = status.rsplit_once(')').map_or("", |(_, fields)| fields);
    let fields = fields.split_whitespace().skip(13).take(2);
    let ticks: Result<Vec<f64>, _> = fields.map(str::parse).collect();
    let ticks = ticks.map_err(|error| format!("/proc/self/stat: {error}"))?;
    Ok(ticks.iter().sum::<f64>() / 100.0)
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
