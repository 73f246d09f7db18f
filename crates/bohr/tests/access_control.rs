//! Programs built with bohr are controlled at their memory accesses: a bug that
//! no call shows is found, replayed and carried over to a rebuild.

use crate::controlled;

use controlled::{Folder, marker};
use serde_json::json;

/// A folder with `data_race.c`, built with bohr, and a cache of its own.
fn built(flags: &[&str]) -> Folder {
    let folder = Folder::empty();
    folder.build("data_race", flags);
    folder
}

#[test]
fn a_data_race_is_found_and_replays_every_time() {
    let folder = built(&[]);
    let found = folder
        .bohr(&["hunt", "--json", "--", "./program"])
        .expect(1);
    assert!(
        found.messages().contains("at its memory accesses"),
        "{found}"
    );
    let found = found.json();
    assert_eq!(found["kind"], json!("assertion"));
    assert_eq!(found["reproduced"], json!(true));
    assert!(found["conflicting_pairs"].as_u64() > Some(0));
    let words = ["replay", "program.bohr", "--times", "500", "--json"];
    let replays = folder.bohr(&words).expect(0).json();
    assert_eq!(replays["reproduced"], json!(500));
    let words = ["replay", "program.bohr", "--times", "10", "--fresh"];
    folder.bohr(&words).expect(0);
    // At its calls alone the program shows nothing.
    let words = [
        "hunt",
        "--json",
        "--calls-only",
        "--runs",
        "300",
        "--",
        "./program",
    ];
    folder.bohr(&words).expect(0);
}

/// A run that goes round in a circle is no matter of its limits, and one that gives up is
/// no circle.
#[test]
fn a_circle_of_accesses_is_found_early_and_replays() {
    let folder = Folder::empty();
    folder.build("polite", &[]);
    for words in [&["./program"][..], &["./program", "waits"]] {
        for strategy in ["random", "pct", "sequential"] {
            let options = ["hunt", "--json", "--strategy", strategy, "--"];
            let found = folder.bohr(&[&options, words].concat()).expect(1);
            let told = found.json();
            assert_eq!(told["kind"], json!("livelock"), "{found}");
            assert_eq!(told["reproduced"], json!(true), "{found}");
            assert!(told["events"].as_u64() < Some(1 << 20), "{found}");
            folder
                .bohr(&["replay", "program.bohr", "--fresh"])
                .expect(0);
            let words = ["replay", "program.bohr", "--backend", "threads"];
            folder.bohr(&words).expect(0);
        }
    }
    let words = ["hunt", "--runs", "3", "--", "./program", "gives-up"];
    folder.bohr(&words).expect(0);
}

/// Its accesses are nobody's events, and do not get into anybody's way.
#[test]
fn a_thread_made_by_clone_goes_past_the_hooks() {
    let folder = Folder::empty();
    folder.build("stranger", &[]);
    let words = ["hunt", "--json", "--runs", "60", "--", "./program"];
    let ended = folder.bohr(&words).expect(0);
    assert!(ended.messages().contains("by `clone`"), "{ended}");
}

#[test]
fn atomic_counters_survive_every_schedule() {
    let folder = built(&["-DFIXED"]);
    let words = ["hunt", "--json", "--runs", "1000", "--", "./program"];
    assert_eq!(folder.bohr(&words).expect(0).json()["found"], json!(false));
    let words = ["check", "--times", "3", "--json", "--", "./program"];
    assert_eq!(
        folder.bohr(&words).expect(0).json()["deterministic"],
        json!(true)
    );
}

#[test]
fn a_rebuild_of_the_same_sources_replays_and_a_changed_one_adapts() {
    let folder = built(&[]);
    folder.bohr(&["hunt", "--", "./program"]).expect(1);
    folder.build("data_race", &[]);
    folder.bohr(&["replay", "program.bohr"]).expect(0);
    folder.build("data_race", &["-DANOTHER", "-O0"]);
    let refusal = folder.bohr(&["replay", "program.bohr"]).expect(2);
    assert!(refusal.messages().contains("another build"), "{refusal}");
    let adapted = folder
        .bohr(&["replay", "--adapt", "--json", "program.bohr"])
        .json();
    assert!(!adapted["bug_file"].is_null(), "{adapted}");
}

#[test]
fn a_profile_whose_hooks_the_runtime_does_not_see_is_refused() {
    let folder = built(&[]);
    folder.bohr(&["profile", "./program"]).expect(0);
    let profiles = std::fs::read_dir(folder.path("cache/profiles")).unwrap();
    let profile = profiles.map(|entry| entry.unwrap().path()).next().unwrap();
    // What a runtime of another version sees: a program without hooks.
    std::fs::copy(folder.path("program"), profile.join("program")).unwrap();
    let refusal = folder.bohr(&["hunt", "--", "./program"]).expect(2);
    assert!(
        refusal.messages().contains("different versions"),
        "{refusal}"
    );
}

#[test]
fn a_failure_in_the_same_function_is_the_same_bug_of_a_changed_program() {
    let folder = built(&[]);
    folder.bohr(&["hunt", "--", "./program"]).expect(1);
    // Other code before the failing line moves its place within the function.
    let source = controlled::read_source("data_race");
    let changed = source.replacen("int main(", "static volatile int noise;\nint main(", 1);
    let changed = changed.replacen(
        "    pthread_t",
        "    noise = 1;\n    noise++;\n    pthread_t",
        1,
    );
    assert!(changed.len() > source.len() + 40, "{changed}");
    std::fs::write(folder.path("changed.c"), changed).unwrap();
    let words = ["cc", "-g", "-O1", "-pthread", "-o", "program", "changed.c"];
    folder.bohr(&words).expect(0);
    let adapted = folder.bohr(&["replay", "--adapt", "--json", "program.bohr"]);
    assert_eq!(adapted.expect(0).json()["reproduced"], json!(true));
}

/// The counting program with other code around what it counts with: every site
/// number of the old schedule means another place now.
fn changed_source() -> String {
    let source = controlled::read_source("data_race");
    let front = "static int unrelated_values[8];
int unrelated(int most) {
    for (int number = 0; number < most; number++)
        unrelated_values[number & 7] += number;
    return unrelated_values[0];
}
";
    let changed = source.replace(
        "counter++;",
        "{ unrelated_values[round & 7]++; counter++; }",
    );
    assert_ne!(source, changed);
    changed.replace("static void *count", &format!("{front}static void *count"))
}

#[test]
fn an_old_schedule_leads_to_the_bug_of_a_changed_program() {
    let folder = built(&[]);
    let found = folder
        .bohr(&["hunt", "--json", "--", "./program"])
        .expect(1);
    std::fs::write(folder.path("changed.c"), changed_source()).unwrap();
    let words = ["cc", "-g", "-O1", "-pthread", "-o", "program", "changed.c"];
    folder.bohr(&words).expect(0);
    let adapted = folder.bohr(&["replay", "--adapt", "--json", "program.bohr"]);
    let result = adapted.expect(0).json();
    assert_eq!(result["signature"], found.json()["signature"], "{result}");
    assert_eq!(result["reproduced"], json!(true));
    let [all, followed] = ["segments", "segments_followed"].map(|it| result[it].as_u64().unwrap());
    assert!(followed * 2 > all, "{result}");
    // What was found is a bug of the program as it is now.
    folder
        .bohr(&["replay", "program-adapted.bohr", "--times", "50"])
        .expect(0);
}

/// Hunts with each of these strategies; all find the same failure, and it replays on
/// both back ends.
fn found_alike_and_replayed(folder: &Folder, strategies: &[&str]) -> serde_json::Value {
    let hunts = strategies.iter().map(|strategy| {
        let words = ["hunt", "--json", "--strategy", strategy, "--", "./program"];
        let found = folder.bohr(&words).expect(1).json();
        assert_eq!(found["reproduced"], json!(true), "{strategy}");
        for backend in ["fiber", "threads"] {
            let words = ["replay", "program.bohr", "--backend", backend];
            folder.bohr(&words).expect(0);
        }
        found
    });
    let hunts: Vec<_> = hunts.collect();
    for found in &hunts {
        assert_eq!(found["signature"], hunts[0]["signature"]);
    }
    hunts[0].clone()
}

#[test]
fn a_stack_overflows_at_the_same_access_however_the_run_is_controlled() {
    let folder = Folder::empty();
    folder.build("bottomless", &[]);
    let found = found_alike_and_replayed(&folder, &["random", "pct:3", "bounded"]);
    assert_eq!(found["kind"], json!("crash-signal-11"));
    // Traced, every access is announced: it must fail where it did untraced.
    let explained = folder.bohr(&["explain", "program.bohr"]).expect(0);
    assert!(explained.text().contains("has overflowed"), "{explained}");
}

#[test]
fn programs_may_bring_stacks_of_their_own() {
    let folder = Folder::empty();
    folder.build("own_stacks", &[]);
    let found = found_alike_and_replayed(&folder, &["random", "pct:3", "bounded"]);
    assert_eq!(found["kind"], json!("assertion"));
    // That nobody knows how much room is left there costs no more than a moment.
    let many = ["./program", "300000"];
    let words = [
        "run",
        "--strategy",
        "sequential",
        "--races",
        "ignore",
        "--run-time",
    ];
    folder
        .bohr(&[&words[..], &["5s", "--"], &many].concat())
        .expect(0);
}

#[test]
fn searches_stay_at_moments_on_small_stacks() {
    // Runs so long that many are cloned from others, which serve where they are.
    let folder = Folder::empty();
    folder.build("own_stacks", &["-DSIZE=(8<<10)"]);
    let words = ["hunt", "--strategy", "bounded", "--runs", "8000", "--json"];
    let none = [&words[..], &["--", "./program", "4000", "8000"]].concat();
    let result = folder.bohr(&none).expect(0).json();
    assert_eq!(result["runs"], json!(8000), "{result}");
}

#[test]
fn stacks_tell_the_line_of_every_call() {
    let folder = Folder::empty();
    folder.build("called", &[]);
    let words = ["hunt", "--json", "--", "./program"];
    let found = folder.bohr(&words).expect(1).json();
    let stacks = found["stacks"].as_array().expect("stacks");
    let stack = |doing: &str| {
        let told = stacks.iter().find(|told| told["doing"] == doing);
        told.unwrap_or_else(|| panic!("{doing}: {found}"))["stack"].clone()
    };
    let ends = |stack: serde_json::Value, markers: &[&str]| {
        let frames: Vec<String> = serde_json::from_value(stack).expect("an array of texts");
        let lines = markers.iter().map(|name| marker("called", name));
        for (frame, line) in frames.iter().zip(lines) {
            assert!(frame.ends_with(&line), "{frame} at {line}");
        }
        assert_eq!(frames.len(), markers.len());
    };
    ends(stack("failed"), &["crashes", "in a loop", "alone"]);
    ends(stack("waits for the end of 0:1"), &["waits"]);
}

#[test]
fn programs_without_lines_are_told_how_to_get_them() {
    let folder = Folder::empty();
    for (flags, known) in [(["-g0"], false), (["-g"], true)] {
        folder.build("data_race", &flags);
        let found = folder.bohr(&["hunt", "--", "./program"]).expect(1);
        let noted = found.messages().contains("no line of the program is known");
        assert_eq!(noted, !known, "{found}");
    }
}
