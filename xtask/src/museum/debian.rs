//! `cargo xtask museum debian`: compressors as Debian ships them, under control
//! at their calls. Whatever the schedule, the output unpacks to the input; and
//! one seed is one run.

use super::build_bohr;
use crate::{install, shell};
use std::path::Path;
use std::process::{Command, Stdio};

/// Seeds per program, unless `--seeds` says otherwise.
const SEEDS: u32 = 100;

/// A program of the distribution.
struct Compressor {
    package: &'static str,
    program: &'static str,
    /// Several threads, output on standard output; the input's name follows.
    arguments: &'static [&'static str],
    /// Unpacks standard input to standard output.
    unpacker: &'static [&'static str],
}

const COMPRESSORS: [Compressor; 4] = [
    Compressor {
        package: "pigz",
        program: "/usr/bin/pigz",
        arguments: &["-p", "4", "-c"],
        unpacker: &["gzip", "-dc"],
    },
    Compressor {
        package: "pbzip2",
        program: "/usr/bin/pbzip2",
        arguments: &["-p4", "-b1", "-c"],
        unpacker: &["bzip2", "-dc"],
    },
    Compressor {
        package: "xz-utils",
        program: "/usr/bin/xz",
        arguments: &["-0", "-T4", "--block-size=65536", "-c"],
        unpacker: &["xz", "-dc"],
    },
    Compressor {
        package: "zstd",
        program: "/usr/bin/zstd",
        arguments: &["-1", "-T4", "-B524288", "-q", "-c"],
        unpacker: &["zstd", "-q", "-dc"],
    },
];

/// What a run under control came to.
#[derive(PartialEq, Eq)]
struct Run {
    output: Vec<u8>,
    /// The line in which bohr sums it up: events, switches, threads, schedule.
    summary: String,
}

pub fn run(arguments: &[String]) -> Result<(), String> {
    let (seeds, names) = shell::number_and_rest("--seeds", SEEDS, arguments)?;
    let packages = COMPRESSORS.map(|it| (it.package, it.program));
    install::needed(&[&packages[..], &[("bzip2", "/usr/bin/bzip2")]].concat())?;
    let bohr = build_bohr()?;
    let folder = shell::built("debian");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let input = folder.join("input");
    std::fs::write(&input, text()).map_err(|error| error.to_string())?;
    for compressor in &COMPRESSORS {
        if names.is_empty() || names.iter().any(|name| name == compressor.package) {
            let line = try_seeds(compressor, &bohr, &input, seeds)?;
            println!("{:9} {line}", compressor.package);
        }
    }
    Ok(())
}

fn try_seeds(
    compressor: &Compressor,
    bohr: &Path,
    input: &Path,
    seeds: u32,
) -> Result<String, String> {
    let mut schedules = std::collections::BTreeSet::new();
    for seed in 0..seeds {
        let wrong = |what: &str| format!("{}, seed {seed}: {what}", compressor.package);
        let first = controlled(compressor, bohr, input, seed)?;
        if unpacked(compressor, &first.output)? != text() {
            return Err(wrong("the output does not unpack to the input"));
        }
        let again = controlled(compressor, bohr, input, seed)?;
        if first != again {
            let (one, other) = (&first.summary, &again.summary);
            return Err(wrong(&format!("two runs differ: {one}; {other}")));
        }
        schedules.insert(first.summary);
    }
    let last = schedules.last().map_or("", String::as_str);
    let different = schedules.len();
    Ok(format!(
        "{seeds} seeds, each twice and equal, all outputs right; {different} different runs, as {last}"
    ))
}

fn controlled(
    compressor: &Compressor,
    bohr: &Path,
    input: &Path,
    seed: u32,
) -> Result<Run, String> {
    let told = |error: std::io::Error| error.to_string();
    // A file, not a pipe: who writes to a pipe sees how fast it is read.
    let packed = input.with_extension("packed");
    let mut command = Command::new(bohr);
    command
        .args(["run", "--seed", &seed.to_string(), "--"])
        .arg(compressor.program)
        .args(compressor.arguments)
        .arg(input)
        .stdout(std::fs::File::create(&packed).map_err(told)?);
    let ended = command.output().map_err(told)?;
    let messages = String::from_utf8_lossy(&ended.stderr).into_owned();
    let summary = messages.lines().find(|line| line.contains(" switches, "));
    match summary {
        Some(summary) if ended.status.success() => Ok(Run {
            output: std::fs::read(&packed).map_err(told)?,
            summary: summary.trim_start_matches("bohr: ").to_string(),
        }),
        _ => Err(format!(
            "{}, seed {seed}: {}: {messages}",
            compressor.package, ended.status
        )),
    }
}

fn unpacked(compressor: &Compressor, packed: &[u8]) -> Result<Vec<u8>, String> {
    use std::io::Write;
    let told = |error: std::io::Error| format!("{:?}: {error}", compressor.unpacker);
    let [program, arguments @ ..] = compressor.unpacker else {
        return Err("an unpacker has a name".to_string());
    };
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(told)?;
    let mut stdin = child.stdin.take();
    std::thread::scope(|scope| {
        // It may stop reading early, and then its output tells.
        scope.spawn(move || stdin.as_mut().map(|stdin| stdin.write_all(packed)));
        child.wait_with_output().map(|ended| ended.stdout)
    })
    .map_err(told)
}

/// Half a megabyte that packs well but not trivially.
fn text() -> Vec<u8> {
    let mut state = 12_345u32;
    let mut line = |number: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        format!("line {number} says {}\n", state >> 16)
    };
    (0..25_000).map(&mut line).collect::<String>().into_bytes()
}
