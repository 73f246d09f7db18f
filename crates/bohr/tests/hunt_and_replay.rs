//! Hunting, replaying and checking real programs that were not built with bohr.

use crate::controlled;

use controlled::{Ended, Folder};
use serde_json::json;
use std::process::Stdio;

/// Strategies that reach a bug which needs one preemption.
const STRATEGIES: [&str; 8] = [
    "mixed",
    "random",
    "pct:2",
    "pos",
    "surw",
    "feedback",
    "bounded",
    "exhaustive",
];

#[test]
fn every_strategy_finds_a_lost_update_that_replays_every_time() {
    let folder = Folder::with("lost_update", &[]);
    for strategy in STRATEGIES {
        let words = [
            "hunt",
            "--json",
            "--time",
            "60s",
            "--strategy",
            strategy,
            "--",
            "./program",
        ];
        let found = folder.bohr(&words).expect(1).json();
        assert_eq!(found["found"], json!(true), "{strategy}");
        assert_eq!(found["kind"], json!("assertion"), "{strategy}");
        assert_eq!(found["reproduced"], json!(true), "{strategy}");
        assert_eq!(found["bug_file"], json!("program.bohr"));
        assert_eq!(found["threads"], json!(3));
        let replays = folder
            .bohr(&["replay", "program.bohr", "--times", "200", "--json"])
            .expect(0);
        assert_eq!(replays.json()["reproduced"], json!(200), "{strategy}");
        assert_eq!(replays.json()["signature"], found["signature"]);
    }
}

#[test]
fn fresh_processes_another_environment_and_one_core_reproduce_too() {
    let folder = Folder::with("lost_update", &[]);
    folder.bohr(&["hunt", "--", "./program"]).expect(1);
    let words = [
        "replay",
        "program.bohr",
        "--times",
        "20",
        "--fresh",
        "--json",
    ];
    let mut command = folder.command(&words);
    command.env("ANOTHER_VARIABLE", "x".repeat(10_000));
    let replays: serde_json::Value =
        serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
    assert_eq!(replays["reproduced"], json!(20));
    assert_eq!(replays["same_schedule"], json!(true));
    let mut command = std::process::Command::new("taskset");
    command
        .args(["-c", "0", env!("CARGO_BIN_EXE_bohr")])
        .args(words);
    let output = command.current_dir(folder.path("")).output().unwrap();
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn a_repaired_program_survives() {
    let folder = Folder::with("lost_update", &["-DFIXED"]);
    let words = ["hunt", "--json", "--runs", "2000", "--", "./program"];
    let result = folder.bohr(&words).expect(0).json();
    assert_eq!(result["found"], json!(false));
    assert_eq!(result["runs"], json!(2000));
    assert_eq!(result["bug_file"], json!(null));
    assert_eq!(folder.files(), ["program"], "nothing is written");
    let words = [
        "hunt",
        "--strategy",
        "exhaustive",
        "--json",
        "--",
        "./program",
    ];
    let result = folder.bohr(&words).expect(0).json();
    assert_eq!(result["complete"], json!(true));
}

#[test]
fn a_deadlock_names_threads_locks_and_lines() {
    let folder = Folder::with("crossed_locks", &[]);
    let found = folder
        .bohr(&["hunt", "-o", "dead.bohr", "--", "./program"])
        .expect(1);
    let text = found.text();
    for line in [
        "found: deadlock",
        "thread 0 waits for the end of 0:1",
        "thread 0:1 waits for ",
        ", held by 0:2 since ",
        "waits for left, held by 0:",
        "waits for right, held by 0:",
        "crossed_locks.c:10",
        "crossed_locks.c:18",
        "written to dead.bohr",
        "bohr replay dead.bohr",
    ] {
        assert!(text.contains(line), "`{line}` is missing in:\n{text}");
    }
    assert!(found.messages().contains("was not built with bohr"));
    folder
        .bohr(&["replay", "dead.bohr", "--times", "100"])
        .expect(0);
}

#[test]
fn one_seed_is_one_run() {
    let folder = Folder::with("order", &[]);
    std::fs::write(folder.path("input"), "hello\n").unwrap();
    let run = |seed: &str| {
        let words = ["run", "--seed", seed, "--stdin", "input", "--", "./program"];
        folder.bohr(&words).expect(0).text()
    };
    let mut seen = std::collections::BTreeSet::new();
    for seed in ["0", "1", "2", "3", "4", "5", "6", "7"] {
        let first = run(seed);
        assert_eq!(run(seed), first, "seed {seed}");
        seen.insert(first);
    }
    let orders = ["hello\none\ntwo\n", "hello\ntwo\none\n"].map(String::from);
    assert_eq!(seen, orders.into());
}

#[test]
fn the_input_of_bohr_is_passed_on_if_asked_for() {
    let folder = Folder::with("order", &[]);
    std::fs::write(folder.path("input"), "hello\n").unwrap();
    let run = |words: &[&str], input: Option<&str>| {
        let all = [&["run", "--seed", "1"], words, &["--", "./program"]].concat();
        let input = input.map_or_else(Stdio::null, |name| {
            Stdio::from(std::fs::File::open(folder.path(name)).unwrap())
        });
        let output = folder.command(&all).stdin(input).output().unwrap();
        Ended { output }.expect(0)
    };
    let told = "with `--stdin -` it gets what bohr is given";
    let passed_on = run(&["--stdin", "-"], Some("input"));
    assert!(passed_on.text().starts_with("hello\n") && !passed_on.messages().contains(told));
    let not_asked = run(&[], Some("input"));
    assert!(!not_asked.text().contains("hello") && not_asked.messages().contains(told));
    assert!(!run(&[], None).messages().contains(told));
}

/// Two runs at once would find the file of each other, and fail.
#[test]
fn runs_that_leave_something_behind_are_made_one_at_a_time() {
    let folder = Folder::with("keeps_file", &[]);
    for strategy in ["random", "bounded"] {
        let words = [
            "hunt",
            "--strategy",
            strategy,
            "--runs",
            "1000",
            "--jobs",
            "4",
        ];
        let hunt = folder.bohr(&[&words[..], &["--", "./program"]].concat());
        let told = hunt.expect(0).messages();
        assert!(told.contains("they are made one at a time"), "{told}");
    }
}

/// Threads of OpenMP wait for work for a fifth of a second by the clock, unless they
/// are told otherwise.
#[test]
fn threads_of_openmp_do_not_spin() {
    let folder = Folder::empty();
    folder.build("greatest", &["-fopenmp"]);
    folder
        .bohr(&["hunt", "--runs", "2000", "--", "./program"])
        .expect(1);
    folder
        .bohr(&["replay", "program.bohr", "--times", "50"])
        .expect(0);
    let simplified = folder
        .bohr(&["simplify", "program.bohr", "--json"])
        .expect(0)
        .json();
    assert_eq!(simplified["preemptive_after"], json!(1), "{simplified}");
}

#[test]
fn output_and_exit_code_are_judged_as_asked() {
    let folder = Folder::with("order", &[]);
    std::fs::write(folder.path("expected"), "one\ntwo\n").unwrap();
    let kind = |words: &[&str], code: i32| {
        let all = [&["hunt", "--json", "--runs", "200"], words].concat();
        folder.bohr(&all).expect(code).json()["kind"].clone()
    };
    let expected = ["--expect-output", "expected", "--", "./program"];
    assert_eq!(kind(&expected, 1), json!("output"));
    folder
        .bohr(&["replay", "program.bohr", "--times", "20"])
        .expect(0);
    let command = ["--check-output", "grep -q one", "--", "./program"];
    assert_eq!(kind(&command, 0), json!(null));
    let command = [
        "--check-output",
        "head -n 1 | grep -q one",
        "--",
        "./program",
    ];
    assert_eq!(kind(&command, 1), json!("output"));
    assert_eq!(kind(&["--", "./program", "argument"], 1), json!("exit-1"));
    let expected = ["--expect-exit", "2", "--", "./program", "a", "b"];
    assert_eq!(kind(&expected, 0), json!(null));
}

#[test]
fn nothing_leaks_into_a_schedule() {
    let folder = Folder::with("order", &[]);
    let result = folder
        .bohr(&["check", "--json", "--times", "5", "--", "./program"])
        .expect(0)
        .json();
    assert_eq!(result["deterministic"], json!(true));
    assert_eq!(result["runs"], json!(15));
}

#[test]
fn what_nobody_controls_is_noticed() {
    let folder = Folder::empty();
    folder.build("uncontrolled", &[]);
    let check = |way: &str, code| {
        let words = ["check", "--json", "--times", "20", "--", "./program", way];
        folder.bohr(&words).expect(code).json()
    };
    assert_eq!(check("", 0)["deterministic"], json!(true));
    let printed = check("print", 1);
    assert_eq!(printed["deterministic"], json!(false));
    assert_eq!(printed["leak"]["event"], json!(null));
    let expected = printed["leak"]["expected"].as_str().unwrap_or_default();
    assert!(expected.starts_with("the output `"), "{printed}");
    let turned = check("turn", 1);
    assert!(turned["leak"]["event"].is_u64(), "{turned}");
    assert_ne!(turned["leak"]["expected"], turned["leak"]["found"]);
}

#[test]
fn assertions_of_the_header_hold_in_every_build() {
    let include = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../../include");
    let folder = Folder::with("own_assertion", &[include, "-DNDEBUG", "-Werror"]);
    for (way, words) in [
        ("assert", "`total == 2' failed"),
        ("fail", "`an update was lost' failed"),
    ] {
        let hunt = ["hunt", "--json", "--runs", "500", "--", "./program", way];
        let found = folder.bohr(&hunt).expect(1).json();
        assert_eq!(found["kind"], "assertion", "{found}");
        let message = found["message"].as_str().unwrap_or_default();
        assert!(message.contains(words), "{found}");
        folder.bohr(&["replay", "program.bohr"]).expect(0);
    }
}

#[test]
fn threads_that_give_way_for_ever_are_a_livelock() {
    let folder = Folder::empty();
    folder.build("giving_way", &[]);
    for strategy in ["random", "pct:3"] {
        let words = ["hunt", "--runs", "1", "--json", "--strategy", strategy];
        let hunt = |way| folder.bohr(&[&words[..], &["--", "./program", way]].concat());
        let (circle, idleness) = ("in the same state", "nobody changes anything");
        // Who counts is never in the same state again, and changes nothing all the same.
        let ways = [
            ("after-you", &[circle, idleness][..]),
            ("counting", &[idleness]),
        ];
        for (way, proofs) in ways {
            let found = hunt(way).expect(1).json();
            assert_eq!(found["kind"], "livelock", "{strategy}: {found}");
            assert_eq!(found["reproduced"], json!(true), "{strategy}: {found}");
            let message = found["message"].as_str().unwrap_or_default();
            let is_proved = proofs.iter().any(|proof| message.contains(proof));
            assert!(is_proved, "{strategy}, {way}: {found}");
        }
        hunt("step").expect(0);
    }
}

#[test]
fn nobody_starves() {
    let folder = Folder::empty();
    folder.build("waiting_pair", &[]);
    for strategy in ["pct:1", "pct:3", "pos", "surw", "random", "sequential"] {
        let words = ["hunt", "--runs", "100", "--strategy", strategy];
        let words = [&words[..], &["--json", "--", "./program"]].concat();
        let hunted = folder.bohr(&words).expect(0).json();
        assert_eq!(hunted["found"], json!(false), "{strategy}");
        // Only an exhaustive search can claim to have seen everything.
        assert_eq!(hunted["complete"], json!(false), "{strategy}");
    }
}

#[test]
fn shards_make_different_runs_and_their_results_join() {
    let folder = Folder::with("lost_update", &["-DFIXED"]);
    let mut files = Vec::new();
    for shard in ["1/2", "2/2"] {
        let words = [
            "hunt",
            "--json",
            "--runs",
            "50",
            "--shard",
            shard,
            "--",
            "./program",
        ];
        let result = folder.bohr(&words).expect(0);
        let file = format!("shard-{}.json", &shard[..1]);
        std::fs::write(folder.path(&file), result.text()).unwrap();
        files.push(file);
    }
    let words = ["hunt", "--json", "--merge", &files[0], &files[1]];
    let joined = folder.bohr(&words).expect(0).json();
    assert_eq!(
        (&joined["runs"], &joined["shards"]),
        (&json!(100), &json!(2))
    );
    let words = ["hunt", "--merge", &files[0], &files[1], &files[0]];
    let refusal = folder.bohr(&words).expect(2);
    assert!(refusal.messages().contains("tell of the same runs"));
    std::fs::write(folder.path("other.json"), "{}").unwrap();
    let refusal = folder.bohr(&["hunt", "--merge", "other.json"]).expect(2);
    assert!(
        refusal
            .messages()
            .contains("is not what `bohr hunt --json` prints")
    );
}

#[test]
fn shards_share_the_seeds_and_find_the_same_bug() {
    let folder = Folder::with("rare_order", &[]);
    let mut files = Vec::new();
    let mut signatures = std::collections::BTreeSet::new();
    for index in 0..3u64 {
        let (shard, output) = (format!("{}/3", index + 1), format!("{index}.bohr"));
        let words = ["--strategy", "random", "--keep-going", "--runs", "700"];
        let hunt = ["hunt", "--json", "--shard", &shard, "-o", &output];
        let found = folder.bohr(&[&hunt[..], &words, &["--", "./program"]].concat());
        let result = found.json();
        if result["found"] == json!(true) {
            assert_eq!(result["seed"].as_u64().unwrap() % 3, index, "its own seeds");
            folder.bohr(&["replay", &output]).expect(0);
        }
        for bug in result["bugs"].as_array().unwrap() {
            signatures.insert(bug["signature"].to_string());
        }
        let file = format!("{index}.json");
        std::fs::write(folder.path(&file), found.text()).unwrap();
        files.push(file);
    }
    let merge = [
        &["hunt", "--json", "--merge"],
        &*files.iter().map(String::as_str).collect::<Vec<_>>(),
    ]
    .concat();
    let joined = folder.bohr(&merge).expect(1).json();
    assert_eq!(joined["runs"], json!(2100));
    assert_eq!(joined["bugs"].as_array().unwrap().len(), signatures.len());
    // Together they did what one machine does alone.
    let words = [
        "--strategy",
        "random",
        "--keep-going",
        "--runs",
        "2100",
        "--",
        "./program",
    ];
    let alone = folder
        .bohr(&[&["hunt", "--json"], &words[..]].concat())
        .json();
    let alone = alone["bugs"].as_array().unwrap();
    let alone = alone.iter().map(|bug| bug["signature"].to_string());
    assert_eq!(alone.collect::<std::collections::BTreeSet<_>>(), signatures);
}

#[test]
fn a_crash_is_told_at_its_own_instruction() {
    for level in ["-O1", "-O2"] {
        // Without hooks, nothing of the line stands before the instruction.
        let folder = Folder::with("inlined_crash", &[level]);
        let words = ["hunt", "--json", "--", "./program"];
        let found = folder.bohr(&words).expect(1).json();
        assert_eq!(found["kind"], json!("crash-signal-11"));
        let threads = found["stacks"].as_array().unwrap();
        let failed = threads.iter().find(|it| it["doing"] == json!("failed"));
        let innermost = failed.unwrap()["stack"][0].as_str().unwrap();
        assert!(innermost.starts_with("print at "), "{level}: {found}");
        assert!(
            innermost.ends_with("inlined_crash.c:15"),
            "{level}: {found}"
        );
    }
}

/// What is printed to be pasted can be.
#[test]
fn commands_that_are_printed_quote_their_words() {
    let folder = Folder::with("lost_update", &[]);
    let words = ["hunt", "-o", "my bug.bohr", "--", "./program"];
    let text = folder.bohr(&words).expect(1).text();
    assert!(text.contains("bohr replay 'my bug.bohr'"), "{text}");
    assert!(text.contains("bohr explain 'my bug.bohr'"), "{text}");
}
