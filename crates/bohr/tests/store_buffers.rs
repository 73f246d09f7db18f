//! Bugs that need a store to wait are found under `--model tso`, kept with their
//! model, and go through all that bugs go through; fences of all kinds prevent them.

use crate::controlled;

use controlled::Folder;
use serde_json::json;

fn built(flags: &[&str]) -> Folder {
    let folder = Folder::empty();
    folder.build("store_buffers", flags);
    folder
}

/// Hunts all schedules under a model; the exit code of bohr.
fn exhausted(folder: &Folder, model: &str) -> i32 {
    let words = ["hunt", "--model", model, "--strategy", "exhaustive"];
    let ended = folder.bohr(&[&words[..], &["--json", "--", "./program"]].concat());
    let report = ended.json();
    assert_eq!(report["model"], json!(model));
    assert_eq!(
        report["complete"] == json!(true),
        ended.code() == 0,
        "{report}"
    );
    ended.code()
}

#[test]
fn a_store_that_waits_is_found_replayed_simplified_and_explained() {
    let folder = built(&[]);
    assert_eq!(exhausted(&folder, "sc"), 0);
    let words = ["hunt", "--model", "tso", "--json", "--", "./program"];
    let found = folder.bohr(&words).expect(1).json();
    assert_eq!(found["kind"], json!("abort"));
    assert_eq!(
        found["threads"],
        json!(3),
        "buffers are no threads of the program"
    );
    for more in [
        &["--times", "500"][..],
        &["--backend", "threads"],
        &["--fresh"],
    ] {
        let words = [&["replay", "program.bohr"], more].concat();
        folder.bohr(&words).expect(0);
    }
    folder.bohr(&["reduce", "program.bohr"]).expect(0);
    let simple = folder
        .bohr(&["simplify", "program.bohr", "--json"])
        .expect(0);
    assert_eq!(simple.json()["preemptive_after"], json!(0), "{simple}");
    let told = folder.bohr(&["explain", "program.bohr"]).expect(0).text();
    assert!(told.contains("was still in its store buffer"), "{told}");
    let refusal = folder.bohr(&["break", "from", "program.bohr"]).expect(2);
    assert!(
        refusal.messages().contains("under --model tso"),
        "{refusal}"
    );
}

#[test]
fn fences_of_all_kinds_keep_stores_from_waiting() {
    for fence in ["-DASSEMBLY", "-DINTRINSIC"] {
        let folder = built(&[fence]);
        for model in ["tso", "pso"] {
            assert_eq!(exhausted(&folder, model), 0, "{fence} under {model}");
        }
    }
}

#[test]
fn a_word_is_not_read_from_the_buffer_in_part() {
    let folder = built(&["-DPARTIAL"]);
    for model in ["tso", "pso"] {
        assert_eq!(exhausted(&folder, model), 0, "{model}");
    }
}

#[test]
fn what_code_without_hooks_writes_over_a_waiting_store_stays() {
    let folder = built(&["-DLIBRARY"]);
    for model in ["tso", "pso"] {
        assert_eq!(exhausted(&folder, model), 0, "{model}");
    }
}

#[test]
fn memory_may_go_away_under_a_waiting_store() {
    let folder = built(&["-DUNMAPPED"]);
    for model in ["tso", "pso"] {
        assert_eq!(exhausted(&folder, model), 0, "{model}");
    }
}

#[test]
fn a_crash_tells_what_was_still_in_the_buffers() {
    let folder = built(&["-DCRASH"]);
    let words = ["hunt", "--model", "tso", "--strategy", "sequential"];
    let found = folder.bohr(&[&words[..], &["--", "./program"]].concat());
    let text = found.expect(1).text();
    assert!(text.contains("segmentation fault"), "{text}");
    let held = "the store buffer of thread 0:1 still held a store\n      in announce";
    assert!(text.contains(held), "{text}");
}

#[test]
fn runs_are_determined_and_what_cannot_be_seen_is_refused() {
    let folder = built(&[]);
    let words = ["check", "--model", "pso", "--times", "5", "--json", "--"];
    let checked = folder
        .bohr(&[&words[..], &["./program"]].concat())
        .expect(0);
    assert_eq!(checked.json()["deterministic"], json!(true));
    for (words, reason) in [
        (
            &["hunt", "--model", "tso", "--calls-only"][..],
            "needs hooks at memory accesses",
        ),
        (
            &["hunt", "--model", "tso", "--races", "fail"],
            "under --model sc only",
        ),
        (
            &[
                "run",
                "--model",
                "pso",
                "--native",
                "--break",
                "a.c:1 -> a.c:2",
            ],
            "has the processor's own store buffers",
        ),
        (&["hunt", "--model", "arm"], "possible values: sc, tso, pso"),
    ] {
        let words = [words, &["--", "./program"]].concat();
        let refusal = folder.bohr(&words).expect(2);
        assert!(refusal.messages().contains(reason), "{refusal}");
    }
}
