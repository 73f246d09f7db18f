//! What a production build of real programs costs: instructions that they execute, over
//! those of a build by the compiler alone with the same flags.

use super::super::callgrind::instructions;
use crate::bench_build::subject;
use crate::shell;
use crate::subjects::{Compilers, build};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// So much is compressed: callgrind takes some fifty times as long as the program.
const INPUT: usize = 4 << 20;

/// A program of a subject, and how it compresses a file to its standard output.
struct Packer {
    name: &'static str,
    program: &'static str,
    options: &'static [&'static str],
}

const PACKERS: [Packer; 2] = [
    Packer {
        name: "pbzip2",
        program: "pbzip2/pbzip2",
        options: &["-k", "-c", "-q", "-p2", "-b1"],
    },
    Packer {
        name: "zstd",
        program: "libzstd/programs/zstd",
        options: &["-k", "-c", "-q", "-T2", "-9"],
    },
];

/// Percent by program. What cannot be measured is told in place of its figure.
pub fn of_programs(bohr: &Path) -> Vec<Result<(String, Value), String>> {
    let one = |packer: &Packer| match measure(bohr, packer) {
        Ok(told) => Ok((packer.name.to_string(), told)),
        Err(error) => Err(format!("{}: {error}", packer.name)),
    };
    PACKERS.iter().map(one).collect()
}

fn measure(bohr: &Path, packer: &Packer) -> Result<Value, String> {
    let folder = shell::root().join("target/eval-dump/overhead");
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let input = input(bohr, &folder)?;
    let bohr = bohr.display();
    let production = Compilers {
        cc: format!("{bohr} cc --production"),
        cxx: format!("{bohr} c++ --production"),
    };
    let plain = Compilers {
        cc: "clang-22".into(),
        cxx: "clang++-22".into(),
    };
    let count = |compilers: &Compilers, kind: &str| {
        let folder = folder.join(format!("{}-{kind}", packer.name));
        build(subject(packer.name)?, compilers, &folder)?;
        let words = packer.options.iter().map(ToString::to_string);
        let words: Vec<String> = words.chain([input.display().to_string()]).collect();
        instructions(&folder.join(packer.program), &words)
    };
    let (production, plain) = (count(&production, "production")?, count(&plain, "plain")?);
    Ok(json!({
        "instructions": production,
        "plain": plain,
        "overhead": 100.0 * (production as f64 / plain as f64 - 1.0),
    }))
}

/// The beginning of bohr itself: code, tables, texts.
fn input(bohr: &Path, folder: &Path) -> Result<PathBuf, String> {
    let mut bytes = fs::read(bohr).map_err(|error| error.to_string())?;
    bytes.truncate(INPUT);
    let path = folder.join("input");
    fs::write(&path, bytes).map_err(|error| error.to_string())?;
    Ok(path)
}
