//! The analysis of sharing against what threads of Rust programs really do: a
//! program with a hook at every access runs natively, and every access that met
//! another thread's has to be at a site that the analysis calls shared. The
//! standard library is part of the program, and of the comparison.
//!
//! (C and C++ programs are compared by `tests/observed.rs` of `bohr-instrument`.)

use crate::project;

use bohr_program::{Program, Sharing, SiteNumber, Verdict};
use project::{Project, expect_success};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One access as `recorder.c` writes it.
#[derive(Clone, Copy)]
struct Access {
    address: u64,
    size: u64,
    site: u32,
    thread: u32,
    writes: bool,
}

const RECORD: usize = 32;

/// The site of a record that tells where a new thread has its stack.
const STACK: u32 = u32::MAX;

fn accesses(log: &[u8]) -> Vec<Access> {
    let number =
        |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let long = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let records = log.chunks_exact(RECORD);
    // Threads are numbered from 1; the rest of the file was never written.
    let written = records.take_while(|record| number(record, 20) != 0);
    written
        .map(|record| Access {
            address: long(record, 0),
            size: long(record, 8),
            site: number(record, 16),
            thread: number(record, 20),
            writes: number(record, 24) != 0,
        })
        .collect()
}

/// Who touched a byte, as sets of threads.
#[derive(Clone, Copy, Default)]
struct Touched {
    read: u64,
    written: u64,
}

/// A byte of memory, and how many threads had it on their stacks before: what
/// one leaves behind is another thing when the next one comes.
type Byte = (u64, usize);

/// Accesses with the bytes that they touch.
fn with_bytes(records: &[Access]) -> Vec<(Access, Vec<Byte>)> {
    let mut stacks: Vec<std::ops::Range<u64>> = Vec::new();
    let mut accesses = Vec::new();
    for &record in records {
        let range = record.address..record.address + record.size;
        if record.site == STACK {
            stacks.push(range);
            continue;
        }
        let owners = |byte| stacks.iter().filter(|stack| stack.contains(&byte)).count();
        let bytes = range.map(|byte| (byte, owners(byte))).collect();
        accesses.push((record, bytes));
    }
    accesses
}

/// The sites whose accesses met another thread's, one of the two writing.
fn met(records: &[Access]) -> BTreeSet<u32> {
    let set = |access: &Access| 1_u64 << (access.thread % 64);
    let accesses = with_bytes(records);
    let mut touched: HashMap<Byte, Touched> = HashMap::new();
    for (access, bytes) in &accesses {
        for byte in bytes {
            let touched = touched.entry(*byte).or_default();
            match access.writes {
                true => touched.written |= set(access),
                false => touched.read |= set(access),
            }
        }
    }
    let meets = |(access, bytes): &&(Access, Vec<Byte>)| {
        bytes.iter().any(|byte| {
            let Touched { read, written } = touched[byte];
            let others = if access.writes {
                read | written
            } else {
                written
            };
            others & !set(access) != 0
        })
    };
    let meeting = accesses.iter().filter(meets);
    meeting.map(|(access, _)| access.site).collect()
}

/// Exhibits of the museum that are written in Rust, with the arguments of a small run.
fn exhibits() -> BTreeMap<PathBuf, Vec<String>> {
    let museum = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../museum");
    let folders = fs::read_dir(museum)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    folders
        .filter(|folder| folder.join("src/main.rs").exists())
        .map(|folder| {
            let manifest = fs::read_to_string(folder.join("exhibit.toml")).unwrap();
            let line = manifest.lines().find(|line| line.starts_with("small"));
            let numbers = line.and_then(|line| line.split_once('[')).unwrap().1;
            let numbers = numbers.trim_end_matches(']').split(',');
            let words = numbers.map(|number| number.trim().to_owned()).collect();
            (folder, words)
        })
        .collect()
}

/// Builds the repaired exhibit with a hook at every access; gives the directory
/// with the program and its model.
fn instrumented(project: &Project, exhibit: &Path) -> PathBuf {
    let name = exhibit.file_name().unwrap().to_str().unwrap();
    let manifest = exhibit.join("Cargo.toml");
    let target = project.path("target");
    project.bohr(&format!(
        "cargo build -q --offline --features fixed --manifest-path {} --target-dir {}",
        manifest.display(),
        target.display()
    ));
    let directory = project.path(name);
    fs::create_dir(&directory).unwrap();
    let lower = Path::new(env!("CARGO_BIN_EXE_bohr")).with_file_name("bohr-lower");
    let mut command = Command::new(lower);
    command.arg(target.join("debug").join(name)).arg(&directory);
    command.args(["--hook", "all"]);
    expect_success(command);
    directory
}

/// The sites that met in a run, or nothing if it did not end in time.
fn observed(project: &Project, directory: &Path, words: &[String]) -> Option<BTreeSet<u32>> {
    let log = directory.join("log");
    let mut command = Command::new("timeout");
    command.arg("20").arg(directory.join("program")).args(words);
    command.env("LD_PRELOAD", project.path("recorder.so"));
    let ended = command.env("ACCESS_LOG", &log).output().unwrap().status;
    let accesses = accesses(&fs::read(&log).unwrap());
    fs::remove_file(log).unwrap();
    ended.success().then(|| met(&accesses))
}

#[test]
fn what_meets_in_rust_is_shared() {
    let project = Project::empty();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/observed/recorder.c");
    let recorder = project.path("recorder.so");
    let paths = [source.to_str().unwrap(), "-o", recorder.to_str().unwrap()];
    let flags = ["-O1", "-w", "-shared", "-fPIC"];
    project.run("clang-22", &[&flags[..], &paths[..]].concat());
    let (mut programs, mut sites) = (0, 0);
    for (exhibit, words) in exhibits() {
        let directory = instrumented(&project, &exhibit);
        let read = |name: &str| fs::read(directory.join(name)).unwrap();
        let program = Program::from_bytes(&read("model")).unwrap();
        let sharing = Sharing::from_bytes(&read("sharing"), &program).unwrap();
        if let Some(met) = observed(&project, &directory, &words) {
            let private = met
                .iter()
                .map(|&site| (site, sharing.verdict(SiteNumber::from_u32(site))))
                .filter(|(_, verdict)| matches!(verdict, Verdict::Private(_)));
            let missed: Vec<_> = private.collect();
            assert!(missed.is_empty(), "{}: {missed:?}", exhibit.display());
            programs += 1;
            sites += met.len();
        }
        fs::remove_dir_all(directory).unwrap();
    }
    assert!(
        programs >= 8 && sites > 20 * programs,
        "{sites} sites in {programs} programs met another thread's"
    );
}
