//! Recorded runs: what the log says is what the program counted itself, however
//! the run ended.

use crate::controlled;

use bohr_log::{End, Recording, Step, execution};
use bohr_program::Program;
use controlled::{Folder, processes};
use std::collections::HashMap;
use std::path::PathBuf;

fn log_of(folder: &Folder) -> Recording {
    let bytes = std::fs::read(folder.path("program.log")).expect("a log");
    bohr_log::read(&bytes).expect("a whole log")
}

fn model_of(folder: &Folder) -> Program {
    let profiles = std::fs::read_dir(folder.path("cache/profiles")).expect("profiles");
    let mut models = profiles.map(|profile| profile.expect("a profile").path().join("model"));
    let model = models.find(|path| path.exists()).expect("a model");
    Program::from_bytes(&std::fs::read(model).expect("the model")).expect("a whole model")
}

/// How often each function was entered, by the log.
fn entered(folder: &Folder) -> HashMap<String, usize> {
    let program = model_of(folder);
    let execution = execution(&program, &log_of(folder)).expect("a log that decodes");
    let mut counts = HashMap::new();
    for thread in &execution.threads {
        for step in &thread.steps[..thread.certain] {
            if let Step::Enter(function) = step {
                let name = &program.texts[program.functions[*function].name];
                *counts.entry(name.to_string()).or_insert(0) += 1;
            }
        }
    }
    counts
}

/// What the program printed: its own counts.
fn printed(text: &str) -> Vec<usize> {
    let words = text.split_whitespace();
    words.map(|word| word.parse().expect("a count")).collect()
}

#[test]
fn the_log_tells_every_call_however_the_run_ends() {
    const FUNCTIONS: [&str; 5] = ["compare", "collatz", "fibonacci", "deep", "chosen"];
    let folder = Folder::empty();
    folder.build("ways", &["-O2"]);
    for (how, code) in [("r", 0), ("a", 1), ("c", 1), ("k", 1), ("_", 0)] {
        let ended = folder
            .bohr(&["record", "--", "./program", how])
            .expect(code);
        let counts = entered(&folder);
        let told: Vec<usize> = FUNCTIONS.map(|name| counts[name]).to_vec();
        assert_eq!(told, printed(&ended.text()), "{how}: {ended}");
        let recording = log_of(&folder);
        let threads = recording.threads.iter().map(|log| log.thread.to_string());
        let mut threads: Vec<_> = threads.collect();
        threads.sort();
        assert_eq!(threads, ["0", "0:1", "0:2", "0:3"]);
        match (how, &recording.end) {
            (
                "a",
                End::Signal {
                    number: 6, thread, ..
                },
            )
            | (
                "c",
                End::Signal {
                    number: 11,
                    thread,
                    address: 8,
                    ..
                },
            ) => {
                assert_eq!(
                    thread.as_ref().map(ToString::to_string).as_deref(),
                    Some("0")
                );
            }
            ("k", End::Signal { number: 9, .. }) | ("r" | "_", End::Exit(0)) => {}
            other => panic!("{other:?}"),
        }
    }
}

/// Branches and bytes of a recorded run.
fn branches_and_bytes(folder: &Folder, options: &[&str], rounds: &str) -> (u64, u64) {
    let program = ["--", "./program", rounds];
    let arguments = [&["record", "--json"], options, &program].concat();
    let told = folder.bohr(&arguments).expect(0).json();
    let number = |field: &str| told[field].as_u64().expect("a number");
    (number("branches"), number("log_bytes"))
}

#[test]
fn loops_that_only_count_are_decoded_without_a_word() {
    let folder = Folder::empty();
    folder.build("sums", &["-O1"]);
    let (few, small) = branches_and_bytes(&folder, &[], "10");
    let (many, large) = branches_and_bytes(&folder, &[], "210");
    let controlled = branches_and_bytes(&folder, &["--slices", "5"], "10");
    assert_eq!(controlled.0, few);
    // Two threads, each with a branch of its own per round, 500 and 10 within.
    assert_eq!(many - few, 2 * 200 * (1 + 500 + 10));
    // One bit per round is written.
    assert!(large - small <= 2 * (200 / 8 + 8), "{small} and {large}");
}

#[test]
fn long_ways_are_whole_whether_they_are_counted_or_not() {
    const MANY: u64 = 400_000;
    let folder = Folder::empty();
    folder.build("coins", &["-O0"]);
    let (few, _) = branches_and_bytes(&folder, &[], "10");
    let many = MANY.to_string();
    let arguments = ["record", "--json", "--no-count", "--", "./program", &many];
    let told = folder.bohr(&arguments).expect(0).json();
    assert_eq!(told["branches"], serde_json::Value::Null);
    // Threads go on to the next word within a page, behind it, and behind a piece.
    let piece = bohr_event::recording::CHUNK as u64;
    assert!(told["log_bytes"].as_u64() > Some(2 * piece), "{told}");
    let counted = bohr_log::choices(&model_of(&folder), &log_of(&folder)).expect("it decodes");
    assert_eq!(counted - few, 2 * 2 * (MANY - 10));
}

#[test]
fn threads_come_and_go_in_every_way() {
    let folder = Folder::empty();
    folder.build("beyond", &["-O2", "-std=gnu17"]);
    let ended = folder.bohr(&["record", "--", "./program"]).expect(0);
    let counts = entered(&folder);
    let told = ["collatz", "step"].map(|name| counts[name]).to_vec();
    assert_eq!(told, printed(&ended.text()), "{ended}");
    let threads = log_of(&folder).threads.into_iter();
    let mut threads: Vec<_> = threads.map(|log| log.thread.to_string()).collect();
    threads.sort();
    assert_eq!(threads, ["0", "0:1", "0:2", "0:3", "0:4"]);
}

#[test]
fn handlers_of_signals_leave_the_way_whole() {
    let folder = Folder::empty();
    folder.build("handled", &["-O2"]);
    let ended = folder.bohr(&["record", "--", "./program"]).expect(0);
    let counts = entered(&folder);
    let [collatz, handled] = printed(&ended.text())[..] else {
        panic!("{ended}");
    };
    assert!(handled > 0, "{ended}");
    assert_eq!(counts["collatz"], collatz, "{ended}");
    assert_eq!(counts.get("handled"), None);
}

#[test]
fn exceptions_land_where_they_did() {
    let folder = Folder::empty();
    folder.build_cpp("thrown");
    let ended = folder.bohr(&["record", "--", "./program"]).expect(0);
    let counts = entered(&folder);
    let told = ["_ZN5GuardD2Ev", "_Z4diveii", "_Z7comparePKvS0_"];
    let told: Vec<usize> = told
        .map(|name| counts.get(name).copied().unwrap_or(0))
        .to_vec();
    let printed = printed(&ended.text());
    // Destructors may be part of their callers' code.
    assert_eq!(told[1..], printed[1..], "{ended}");
}

#[test]
fn a_failing_run_is_kept_and_a_good_one_is_not() {
    let folder = Folder::empty();
    folder.build("ways", &[]);
    let words = ["record", "--json", "--until-failure", "--runs", "3", "--"];
    let told = folder.bohr(&[&words[..], &["./program"]].concat());
    let told = told.expect(0).json();
    assert_eq!((&told["failed"], &told["runs"]), (&false.into(), &3.into()));
    assert!(!folder.path("program.log").exists());
    let told = folder.bohr(&[&words[..], &["./program", "a"]].concat());
    let told = told.expect(1).json();
    assert_eq!((&told["failed"], &told["runs"]), (&true.into(), &1.into()));
    assert_eq!(told["threads"], 4);
    let (bytes, branches) = (&told["log_bytes"], &told["branches"]);
    let (bytes, branches) = (bytes.as_u64().unwrap(), branches.as_u64().unwrap());
    assert!(branches > 200_000 && bytes * 5 < branches, "{told}");
    // Nothing but what was asked for is left.
    let left = folder.files();
    assert_eq!(left, ["cache", "program", "program.log"], "{left:?}");
}

#[test]
fn an_interrupted_recording_leaves_nothing() {
    let folder = Folder::empty();
    folder.build("ways", &[]);
    folder
        .bohr(&["profile", "--profile", "path", "./program"])
        .expect(0);
    let mut command = folder.command(&["record", "--until-failure", "--", "./program"]);
    let mut bohr = command.spawn().expect("bohr starts");
    std::thread::sleep(std::time::Duration::from_millis(200));
    let pid = rustix::process::Pid::from_child(&bohr);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("a signal");
    assert_eq!(bohr.wait().expect("an end").code(), Some(130));
    let left = folder.files();
    assert_eq!(left, ["cache", "program"], "{left:?}");
    let cache: PathBuf = folder.path("cache");
    assert_eq!(
        processes(|program| program.starts_with(&cache)),
        Vec::<String>::new()
    );
}

#[test]
fn what_cannot_be_recorded_is_refused() {
    let folder = Folder::with("ways", &[]);
    let refused = folder.bohr(&["record", "--", "./program"]).expect(2);
    assert!(refused.messages().contains("bohr cc"), "{refused}");
}
