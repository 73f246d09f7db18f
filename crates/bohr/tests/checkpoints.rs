//! Runs that begin at a checkpoint: they go on as the run did that it was taken of, and
//! what is found from there holds without it.

use crate::controlled;
use crate::cores::crash;

use controlled::Folder;
use serde_json::Value;
use std::fs;

/// A program that warms up, and a file for it to read.
fn warmed_up(flags: &[&str]) -> Folder {
    let folder = Folder::empty();
    folder.build("warmed_up", flags);
    fs::write(folder.path("words"), "one two three").expect("a file");
    folder
}

/// What a run is known by.
fn figures(told: &Value) -> [Value; 5] {
    ["events", "switches", "threads", "schedule", "exit_code"].map(|name| told[name].clone())
}

/// One after the other where the program begins; what it prints counts, too.
fn run(folder: &Folder, more: &[&str]) -> ([Value; 5], String) {
    let words = [
        &["run", "--json"],
        more,
        &["--", "./program", "20000", "words"],
    ]
    .concat();
    let ended = folder.bohr(&words);
    assert!(ended.code() < 2, "{ended}");
    let printed = ended.messages();
    let printed = printed.lines().filter(|line| !line.starts_with("bohr:"));
    (
        figures(&ended.json()),
        printed.collect::<Vec<_>>().join("\n"),
    )
}

/// The run that goes on from any moment is the one that was not interrupted.
#[test]
fn a_run_goes_on_from_any_moment_as_it_did() {
    let folder = warmed_up(&[]);
    for (strategy, seed) in [("random", "3"), ("pct:3", "5"), ("sequential", "0")] {
        let rule = ["--strategy", strategy, "--seed", seed];
        let (whole, printed) = run(&folder, &rule);
        let events = whole[0].as_u64().expect("a number");
        // Before the first thread, in the middle of all, and right before the end.
        let mut chance = 0x9e37_79b9_7f4a_7c15u64 ^ events;
        let mut moments = vec![1, 61_500, events - 1];
        moments.extend((0..4).map(|_| {
            chance = chance.wrapping_mul(0x5851_f42d_4c95_7f2d).rotate_left(29) | 1;
            1 + chance % (events - 1)
        }));
        for moment in moments {
            let at = moment.to_string();
            let keep = [&rule[..], &["--checkpoint-at", &at, "--checkpoint", "kept"]].concat();
            let words = [&["run"], &keep[..], &["--", "./program", "20000", "words"]].concat();
            folder.bohr(&words).expect(0);
            let (rest, said) = run(&folder, &[&rule[..], &["--from", "kept"]].concat());
            assert_eq!(rest, whole, "{strategy} {seed}: from event {moment}");
            assert!(
                printed.ends_with(&said),
                "{printed:?} and {said:?} from {moment}"
            );
        }
    }
}

/// A hunt begins there, too, and the bug that it finds is one of the whole run.
#[test]
fn what_is_hunted_from_a_checkpoint_is_a_bug_of_the_program() {
    let folder = warmed_up(&[]);
    let keep = [
        "run",
        "--strategy",
        "sequential",
        "--checkpoint-at",
        "61000",
        "--checkpoint",
    ];
    let told = [
        &keep[..],
        &["kept", "--json", "--", "./program", "20000", "words"],
    ]
    .concat();
    let told = folder.bohr(&told).expect(0).json();
    assert_eq!(told["events"], 61_000);
    let words = [
        "hunt",
        "--json",
        "--from",
        "kept",
        "-o",
        "bug",
        "--",
        "./program",
    ];
    let hunted = folder.bohr(&words).expect(1).json();
    assert_eq!(hunted["kind"], "crash-signal-11", "{hunted}");
    // Without the checkpoint, and with it.
    folder.bohr(&["replay", "bug", "--times", "5"]).expect(0);
    let words = ["replay", "bug", "--times", "20", "--from", "kept"];
    folder.bohr(&words).expect(0);
    // Another run has other beginnings.
    let other = [
        "run",
        "--seed",
        "9",
        "--strategy",
        "random",
        "--checkpoint-at",
        "62000",
    ];
    let other = [
        &other[..],
        &["--checkpoint", "other", "--", "./program", "20000", "words"],
    ];
    folder.bohr(&other.concat()).expect(0);
    let ended = folder.bohr(&["replay", "bug", "--from", "other"]).expect(2);
    let message = ended.messages();
    assert!(
        message.contains("does not lead to the moment of the image"),
        "{message}"
    );
}

/// A core of a program that warms up for long: the good run begins behind that.
#[test]
fn a_core_is_reproduced_from_a_checkpoint() {
    let folder = warmed_up(&["--production", "-O2"]);
    crash(&folder, "20000 words");
    let core = ["core", "left.core", "--program", "./program", "--json"];
    let whole = [&core[..], &["-o", "whole", "--", "20000", "words"]].concat();
    let whole = folder.bohr(&whole).expect(1).json();
    let at = [
        "--checkpoint-at",
        "63000",
        "--checkpoint",
        "kept",
        "--",
        "20000",
        "words",
    ];
    let kept = folder.bohr(&[&core[..], &at].concat()).expect(0).json();
    let words = [&core[..], &["-o", "bug", "--from", "kept"]].concat();
    let told = folder.bohr(&words).expect(1).json();
    for same in [
        "failure",
        "thread",
        "alignment",
        "index",
        "differences",
        "order",
        "tries",
    ] {
        assert_eq!(told[same], whole[same], "{same}: {told}");
    }
    assert_eq!(kept["order"], whole["order"], "{kept}");
    let critical = |told: &Value| {
        let list = told["critical"].as_array().expect("a list").iter();
        list.map(|one| one["path"].to_string()).collect::<Vec<_>>()
    };
    assert_eq!(critical(&told), critical(&whole));
    let events = |told: &Value| told["events"].as_u64().expect("a number");
    assert_eq!(events(&told) + 63_000, events(&whole));
    assert_eq!(told["replayed_from_start"], true);
    folder.bohr(&["replay", "bug", "--times", "5"]).expect(0);
    // The thread has been where the other one failed: nothing is to be found from there.
    let late = (events(&whole) - 1).to_string();
    let at = ["--checkpoint-at", &late, "--checkpoint", "late", "--"];
    let words = ["20000", "words"];
    folder.bohr(&[&core[..], &at, &words].concat()).expect(0);
    let words = [&core[..], &["-o", "bug", "--from", "late"]].concat();
    let ended = folder.bohr(&words).expect(0);
    assert_eq!(ended.json()["alignment"], "none", "{ended}");
    let messages = ended.messages();
    assert!(messages.contains("or past it, take one"), "{messages}");
}

/// Whatever is not as it was, is said.
#[test]
fn a_checkpoint_of_something_else_is_refused() {
    let folder = warmed_up(&[]);
    let keep = ["run", "--checkpoint-at", "61000", "--checkpoint", "kept"];
    let keep = [&keep[..], &["--", "./program", "20000", "words"]].concat();
    folder.bohr(&keep).expect(0);
    let refused = |words: &[&str], says: &str| {
        let words = [&["run", "--from", "kept"], words].concat();
        let message = folder.bohr(&words).expect(2).messages();
        assert!(message.contains(says), "{message}");
    };
    refused(&["--", "./program", "7"], "other arguments");
    refused(&["--model", "tso", "--", "./program"], "other rules");
    refused(&["--calls-only", "--", "./program"], "another build");
    fs::write(folder.path("words"), "other words").expect("a file");
    refused(&["--", "./program"], "has changed since");
    // Damage of any kind.
    let whole = fs::read(folder.path("kept")).expect("an image");
    let damaged = |bytes: &[u8], says: &str| {
        fs::write(folder.path("kept"), bytes).expect("a file");
        refused(&["--", "./program"], says);
    };
    damaged(&whole[..whole.len() / 2], "is cut off");
    damaged(&whole[..5], "is cut off");
    damaged(b"something else", "is not an image");
    let mut changed = whole.clone();
    changed[whole.len() / 3] ^= 4;
    damaged(&changed, "is damaged");
    changed = whole;
    changed[8] += 1;
    damaged(&changed, "format version");
    // What has a stream open has no image, and one that is over has none either.
    let words = [
        "run",
        "--checkpoint-at",
        "900000000",
        "--checkpoint",
        "late",
    ];
    let words = [&words[..], &["--", "./program", "10"]].concat();
    let message = folder.bohr(&words).expect(2).messages();
    assert!(message.contains("the run ended after"), "{message}");
    assert!(!folder.path("late").exists());
}
