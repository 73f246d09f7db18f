//! Simplifying failures of real programs.

use crate::controlled;

use bohr_trace::{Completeness, Record, Trace, Writer};
use controlled::Folder;
use serde_json::json;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Two threads add to a counter without a lock; one preemption shows it, and a
/// schedule drawn at random has many.
fn lost_update() -> Folder {
    let folder = Folder::with("lost_update", &[]);
    let words = ["hunt", "--strategy", "random", "--", "./program"];
    folder.bohr(&words).expect(1);
    folder
}

#[test]
fn a_lost_update_needs_one_preemption() {
    let folder = lost_update();
    let before = folder.bohr(&["replay", "program.bohr", "--json"]).expect(0);
    let report = folder
        .bohr(&["simplify", "program.bohr", "--json"])
        .expect(0)
        .json();
    assert_eq!(report["verified"], json!(true));
    assert_eq!(report["preemptive_after"], json!(1));
    assert_eq!(report["fewest_preemptions"], json!(true));
    assert_eq!(report["switches_before"], before.json()["switches"]);
    let number = |name: &str| report[name].as_u64().unwrap();
    assert!(number("switches_static") <= number("switches_before"));
    assert!(number("switches_dynamic") <= number("switches_static"));
    let replays = folder
        .bohr(&["replay", "program.bohr", "--times", "100", "--json"])
        .expect(0)
        .json();
    assert_eq!(replays["reproduced"], json!(100));
    assert_eq!(replays["switches"], report["switches_dynamic"]);
    assert_eq!(replays["signature"], before.json()["signature"]);
}

/// What is tried in vain, found done, refused or interrupted by a signal stays so: the
/// events are reordered, every value read is the same, and the failure comes.
#[test]
fn what_was_in_vain_stays_in_vain() {
    let folder = Folder::empty();
    folder.build("in_vain", &[]);
    let ways = [
        "mutex",
        "timed",
        "read",
        "write",
        "spin",
        "standard",
        "semaphore",
        "once",
        "unlock",
        "again",
        "poll",
        "signal",
        "join",
    ];
    for way in ways {
        let words = ["hunt", "--strategy", "random", "--", "./program", way];
        folder.bohr(&words).expect(1);
        let words = ["simplify", "program.bohr", "--json", "--dynamic", "off"];
        let report = folder.bohr(&words).expect(0).json();
        assert_eq!(report["verified"], json!(true), "{way}: {report}");
        let number = |name: &str| report[name].as_u64().unwrap();
        let (before, after) = (number("switches_before"), number("switches_static"));
        assert!(after < before, "{way}: {report}");
        std::fs::remove_file(folder.path("program.bohr")).unwrap();
    }
}

#[test]
fn each_step_can_be_left_out_and_the_original_kept() {
    let folder = lost_update();
    let original = std::fs::read(folder.path("program.bohr")).unwrap();
    let simplify = |words: &[&str]| {
        let words = [
            &["simplify", "program.bohr", "-o", "simple.bohr", "--json"],
            words,
        ]
        .concat();
        folder.bohr(&words).expect(0).json()
    };
    let reordered = simplify(&["--dynamic", "off"]);
    assert_eq!(reordered["switches_dynamic"], reordered["switches_static"]);
    assert_eq!(reordered["runs"], json!(2), "one to record, one to verify");
    let rerun = simplify(&["--static", "off"]);
    assert_eq!(rerun["verified"], json!(true));
    assert_eq!(rerun["switches_static"], rerun["switches_before"]);
    assert_eq!(rerun["preemptive_after"], json!(1));
    assert_eq!(rerun["graph_nodes"], json!(null));
    assert_eq!(
        std::fs::read(folder.path("program.bohr")).unwrap(),
        original
    );
    folder.bohr(&["replay", "simple.bohr"]).expect(0);
}

#[test]
fn what_cannot_be_is_refused_and_a_switch_alone_means_on() {
    let folder = lost_update();
    let words = ["simplify", "program.bohr", "-o", "new.bohr"];
    let off = ["--static", "off", "--dynamic", "off"];
    let refusal = folder.bohr(&[&words[..], &off].concat()).expect(2);
    assert!(refusal.messages().contains("nothing to do"), "{refusal}");
    assert!(!folder.path("new.bohr").exists());
    folder.export("trace", "run.trace");
    let words = ["simplify", "run.trace", "--static", "off"];
    let refusal = folder.bohr(&words).expect(2);
    assert!(
        refusal.messages().contains("only be reordered"),
        "{refusal}"
    );
    assert!(!folder.path("run.simple.trace").exists());
    let words = [
        "simplify",
        "program.bohr",
        "--json",
        "--static",
        "off",
        "--dynamic",
    ];
    let told = folder.bohr(&words).expect(0).json();
    assert_eq!(told["preemptive_after"], json!(1));
    assert_eq!(told["seconds_static"], json!(0.0));
}

/// Whoever calls again with less patience loses nothing.
#[test]
fn a_second_call_makes_nothing_worse() {
    let folder = lost_update();
    let simplify = |words: &[&str]| {
        let words = [&["simplify", "program.bohr", "--json"], words].concat();
        folder.bohr(&words).expect(0).json()
    };
    let first = simplify(&[]);
    assert_eq!(first["switches_earlier"], json!(null));
    let kept = || {
        let replayed = folder.bohr(&["replay", "program.bohr", "--json"]).expect(0);
        replayed.json()["switches"].clone()
    };
    assert!(first["switches_dynamic"].as_u64() < first["switches_before"].as_u64());
    assert_eq!(kept(), first["switches_dynamic"]);
    for words in [
        &["--dynamic", "off"][..],
        &["--time", "0s"],
        &["--static", "off", "--time", "0s"],
    ] {
        let again = simplify(words);
        assert_eq!(kept(), first["switches_dynamic"], "{words:?}");
        assert_eq!(again["switches_before"], first["switches_before"]);
        assert_eq!(again["switches_earlier"], first["switches_dynamic"]);
        assert_eq!(again["preemptive_earlier"], first["preemptive_after"]);
    }
    let words = ["simplify", "program.bohr", "--dynamic", "off"];
    let text = folder.bohr(&words).expect(0).text();
    assert!(
        text.contains("goes on from what an earlier call found"),
        "{text}"
    );
}

/// Fewer switches can be a place from which no single move leads to fewer preemptions.
#[test]
fn reordering_is_no_dead_end() {
    let folder = Folder::empty();
    folder.build_cpp("meetings");
    let words = ["hunt", "--strategy", "random", "--seed", "1"];
    let hunt = [&words[..], &["--", "./program"]].concat();
    folder.bohr(&hunt).expect(1);
    let words = ["simplify", "program.bohr", "--json", "--time", "40s"];
    let told = folder.bohr(&words).expect(0).json();
    assert_eq!(told["preemptive_after"], json!(1), "{told}");
}

#[test]
fn a_deadlock_stays_the_same_deadlock() {
    let folder = Folder::with("crossed_locks", &[]);
    let found = folder
        .bohr(&["hunt", "--json", "--", "./program"])
        .expect(1);
    let text = folder.bohr(&["simplify", "program.bohr"]).expect(0);
    for words in [
        "1 of them preemptive",
        "written to program.bohr",
        "bohr explain",
    ] {
        assert!(text.text().contains(words), "{words}: {}", text.text());
    }
    let replays = folder
        .bohr(&["replay", "program.bohr", "--times", "20", "--json"])
        .expect(0);
    assert_eq!(replays.json()["signature"], found.json()["signature"]);
}

/// What threads were about to do is no event, and still belongs to the run.
#[test]
fn a_deadlock_is_the_same_in_its_trace() {
    let folder = Folder::with("crossed_locks", &[]);
    let words = ["hunt", "--strategy", "random", "--", "./program"];
    folder.bohr(&words).expect(1);
    let words = ["trace", "program.bohr", "--export", "trace"];
    let exported = [&words[..], &["-o", "run.trace"]].concat();
    folder.bohr(&exported).expect(0);
    let simplify = |words: &[&str]| {
        let ended = folder.bohr(&[&["simplify", "--json"], words].concat());
        ended.expect(0).json()
    };
    let bug = simplify(&["program.bohr", "--dynamic", "off", "-o", "simple.bohr"]);
    let bare = simplify(&["run.trace"]);
    for name in [
        "preemptive_before",
        "preemptive_static",
        "switches_static",
        "pending_known",
    ] {
        assert_eq!(bare[name], bug[name], "{name}");
    }
    assert_eq!(bare["pending_known"], json!(true));
    let again = simplify(&["run.simple.trace"]);
    assert_eq!(again["preemptive_before"], bare["preemptive_static"]);
    assert_eq!(again["pending_known"], json!(true));
    let file = std::fs::read(folder.path("run.trace")).unwrap();
    let mut writer = Writer::new(Vec::new()).unwrap();
    for event in Trace::open(&file).unwrap().events() {
        writer.push(&event.unwrap().1);
    }
    std::fs::write(folder.path("old.trace"), writer.finish()).unwrap();
    assert_eq!(simplify(&["old.trace"])["pending_known"], json!(false));
    let text = folder.bohr(&["simplify", "old.trace"]).expect(0).text();
    assert!(text.contains("does not tell what threads were"), "{text}");
}

/// A lock that is left held in memory that becomes another one: to the trace it is
/// held already.
#[test]
fn a_run_that_cannot_be_reordered_is_run_again_all_the_same() {
    let folder = Folder::with("left_locked", &[]);
    let words = ["hunt", "--strategy", "random", "--", "./program"];
    folder.bohr(&words).expect(1);
    let explained = folder.bohr(&["explain", "program.bohr"]).expect(0);
    assert!(explained.text().contains("It fails when"), "{explained}");
    let words = ["simplify", "program.bohr", "--json", "--dynamic", "off"];
    let refusal = folder.bohr(&words).expect(2).messages();
    for words in ["by thread 0:", "held already", "--static off"] {
        assert!(refusal.contains(words), "{words}: {refusal}");
    }
    let ended = folder.bohr(&words[..3]).expect(0);
    assert!(ended.messages().contains("left in their order"), "{ended}");
    let told = ended.json();
    let reason = told["static_refused"].as_str().unwrap();
    assert!(reason.contains("held already"), "{reason}");
    assert_eq!(told["graph_nodes"], json!(null));
    assert_eq!(told["preemptive_after"], json!(1));
}

#[test]
fn what_is_no_bug_is_refused() {
    let folder = Folder::with("lost_update", &["-DFIXED"]);
    std::fs::write(folder.path("noise.bohr"), b"noise").unwrap();
    let refusal = folder.bohr(&["simplify", "noise.bohr"]).expect(2);
    assert!(refusal.messages().contains("not a bug file"));
    folder.bohr(&["simplify", "missing.bohr"]).expect(2);
}

#[test]
fn a_program_that_is_gone_is_told_with_what_can_be_done() {
    let folder = lost_update();
    std::fs::rename(folder.path("program"), folder.path("moved")).unwrap();
    let refusal = folder.bohr(&["simplify", "program.bohr"]).expect(2);
    for words in ["is gone", "--program", "--export trace"] {
        assert!(refusal.messages().contains(words), "{words}: {refusal}");
    }
    let words = ["simplify", "program.bohr", "--program", "./moved"];
    folder.bohr(&words).expect(0);
}

#[test]
fn a_bare_trace_is_reordered_too() {
    let folder = lost_update();
    folder.export("trace", "run.trace");
    let told = folder
        .bohr(&["simplify", "run.trace", "--json"])
        .expect(0)
        .json();
    let with_program = folder
        .bohr(&["simplify", "program.bohr", "--dynamic", "off", "--json"])
        .expect(0)
        .json();
    for name in [
        "events",
        "threads",
        "shared_variables",
        "graph_nodes",
        "switches_before",
    ] {
        assert_eq!(told[name], with_program[name], "{name}");
    }
    assert_eq!(told["trace_file"], json!("run.simple.trace"));
    assert_eq!(told["verified"], json!(true));
    let [before, after] = ["run.trace", "run.simple.trace"].map(|name| {
        let file = std::fs::read(folder.path(name)).unwrap();
        let trace = Trace::open(&file).unwrap();
        assert_eq!(trace.completeness(), Completeness::Complete);
        assert_eq!(
            trace.tables().unwrap().len(),
            2,
            "names, and pending operations"
        );
        let mut threads = std::collections::BTreeMap::<u32, Vec<Record>>::new();
        let events = trace.events().map(|event| event.unwrap().1);
        events.for_each(|record| threads.entry(record.thread.0).or_default().push(record));
        threads
    });
    assert_eq!(before, after, "every thread does and sees the same");
    let again = folder.bohr(&["simplify", "run.simple.trace", "--json"]);
    let again = again.expect(0).json();
    assert_eq!(again["switches_before"], told["switches_static"]);
    std::fs::write(folder.path("cut.trace"), b"bohr-trc").unwrap();
    folder.bohr(&["simplify", "cut.trace"]).expect(2);
}

/// Recorders meet good runs, too, and time slices as the system gives them.
#[test]
fn a_good_run_is_recorded_and_reordered() {
    let folder = Folder::with("lost_update", &["-DFIXED"]);
    let words = ["run", "--json", "--strategy", "slices:2", "--seed", "3"];
    let rest = ["--trace", "good.trace", "--", "./program"];
    let ran = folder.bohr(&[&words[..], &rest].concat()).expect(0).json();
    assert_eq!(ran["trace_file"], json!("good.trace"));
    assert_eq!(ran["strategy"], json!("slices:2"));
    let words = ["simplify", "good.trace", "--json"];
    let told = folder.bohr(&words).expect(0).json();
    for name in ["events", "threads"] {
        assert_eq!(told[name], ran[name], "{name}");
    }
    assert_eq!(told["switches_before"], ran["switches"]);
    assert_eq!(told["verified"], json!(true));
    let number = |name: &str| told[name].as_u64().unwrap();
    assert!(number("switches_static") < number("switches_before"));
    let native = [
        "run",
        "--native",
        "--trace",
        "t",
        "--break",
        "a.c:1 -> a.c:2",
    ];
    folder
        .bohr(&[&native[..], &["./program"]].concat())
        .expect(2);
}

/// Where stores wait in buffers, those count as no threads.
#[test]
fn a_run_with_store_buffers_is_recorded_and_reordered() {
    let folder = Folder::empty();
    folder.build("store_buffers", &[]);
    let words = ["run", "--json", "--model", "tso", "--seed", "5"];
    let rest = ["--trace", "run.trace", "--", "./program"];
    let ran = folder.bohr(&[&words[..], &rest].concat()).json();
    let words = ["simplify", "run.trace", "--json"];
    let told = folder.bohr(&words).expect(0).json();
    assert_eq!(told["threads"], ran["threads"]);
    assert_eq!(told["switches_before"], ran["switches"]);
    assert_eq!(told["verified"], json!(true));
}

/// Runs that hang are not waited for: neither beyond the time that there is, nor when
/// somebody wants the end.
#[test]
fn the_search_ends_when_it_is_to() {
    let folder = Folder::with("waits_for_ever", &[]);
    let words = ["hunt", "--strategy", "sequential", "--run-time", "40s"];
    let hunt = [&words[..], &["--", "./program"]].concat();
    folder.bohr(&hunt).expect(1);
    let words = ["simplify", "program.bohr", "--json", "--time"];
    let started = Instant::now();
    let told = folder
        .bohr(&[&words[..], &["1s"]].concat())
        .expect(0)
        .json();
    assert!(started.elapsed() < Duration::from_secs(20), "{told}");
    assert_eq!(told["interrupted"], json!(false));
    assert_eq!(told["fewest_preemptions"], json!(true), "there are none");

    let program = folder.path("program").canonicalize().unwrap();
    let runs = || controlled::processes(|exe| exe == program).len();
    let mut command = folder.command(&[&words[..], &["600s"]].concat());
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let search = command.spawn().unwrap();
    while runs() < 2 {
        std::thread::sleep(Duration::from_millis(5));
    }
    // By now it hangs.
    std::thread::sleep(Duration::from_secs(1));
    let started = Instant::now();
    let interrupt = ["-INT", &search.id().to_string()];
    let sent = Command::new("kill").args(interrupt).status();
    assert!(sent.unwrap().success());
    let output = search.wait_with_output().unwrap();
    assert!(started.elapsed() < Duration::from_secs(20));
    assert_eq!(output.status.code(), Some(0));
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["interrupted"], json!(true));
    folder.bohr(&["replay", "program.bohr"]).expect(0);
}

/// Nobody waits for the end of the search to see what it has found.
#[test]
fn what_is_found_on_the_way_survives_a_kill() {
    let folder = Folder::with("crowd", &[]);
    let words = ["hunt", "--strategy", "random", "--", "./program"];
    folder.bohr(&words).expect(1);
    let words = ["simplify", "program.bohr", "--static", "off"];
    let rest = ["--time", "600s", "-o", "simple.bohr"];
    let mut command = folder.command(&[&words[..], &rest].concat());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut search = command.spawn().unwrap();
    while !folder.path("simple.bohr").exists() {
        let ended = search.try_wait().unwrap();
        assert!(ended.is_none(), "the search left nothing behind: {ended:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(search.try_wait().unwrap().is_none(), "ended by itself");
    search.kill().unwrap();
    search.wait().unwrap();
    let switches = |file: &str| {
        let replayed = folder.bohr(&["replay", file, "--json"]).expect(0);
        replayed.json()["switches"].as_u64().unwrap()
    };
    assert!(switches("simple.bohr") < switches("program.bohr"));
}
