//! A heap block that is used after it was freed, or freed twice, is told with who
//! freed it and who had allocated it.

use crate::controlled;

use controlled::Folder;
use serde_json::Value;
use std::sync::atomic::{AtomicBool, Ordering};

/// `file:line` of a marker in the program.
fn marker(name: &str) -> String {
    controlled::marker("freed", name)
}

/// The stack of the thread that did this.
fn stack(found: &Value, doing: &str) -> Vec<String> {
    let lines = found["stacks"].as_array().expect("stacks");
    let line = lines.iter().find(|line| line["doing"] == doing);
    let line = line.unwrap_or_else(|| panic!("{doing}: {found}"));
    serde_json::from_value(line["stack"].clone()).expect("an array of texts")
}

fn tells_both(found: &Value, kind: &str) {
    assert_eq!(found["kind"], kind, "{found}");
    assert_eq!(found["reproduced"], true, "{found}");
    let freed = stack(found, "had freed the block");
    assert!(freed[0].ends_with(&marker("freed")), "{freed:?}");
    assert!(
        freed[1].starts_with("owner") || freed[1].starts_with("user"),
        "{freed:?}"
    );
    let made = stack(found, "had allocated the block");
    assert!(made[0].ends_with(&marker("made")), "{made:?}");
    assert!(made[1].starts_with("main"), "{made:?}");
}

#[test]
fn a_use_after_free_names_both_stacks() {
    let folder = Folder::empty();
    folder.build("freed", &["-fno-inline", "-fno-optimize-sibling-calls"]);
    let words = ["hunt", "--json", "--", "./program"];
    tells_both(&folder.bohr(&words).expect(1).json(), "use-after-free");
    // The bug file keeps them.
    let told = folder.bohr(&["replay", "program.bohr"]).expect(0).text();
    for part in ["0:2 had freed the block", "0 had allocated the block"] {
        assert!(told.contains(part), "{told}");
    }
    // As many bytes as were asked for, not as many as the allocator gives.
    assert!(told.contains("in a heap block of 24 bytes"), "{told}");
    let words = [
        "run",
        "--strategy",
        "sequential",
        "--",
        "./program",
        "again",
    ];
    let told = folder.bohr(&words).expect(1).messages();
    assert!(told.contains("0:1 had freed the block"), "{told}");
}

#[test]
fn so_does_a_double_free_in_a_program_that_bohr_did_not_build() {
    let folder = Folder::with("freed", &["-fno-inline", "-fno-optimize-sibling-calls"]);
    let words = ["hunt", "--json", "--", "./program", "again"];
    tells_both(&folder.bohr(&words).expect(1).json(), "double-free");
}

/// Runs that share a process begin alike, also where the system takes the processor away
/// while what one of them has written is looked for.
#[test]
fn what_another_run_has_freed_is_not_free() {
    let folder = Folder::empty();
    folder.build("freed_at_the_end", &["-O0"]);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let crowd = std::thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..crowd {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop()
                }
            });
        }
        let hunt = ["hunt", "--runs", "600", "--", "./program"];
        let codes: Vec<i32> = (0..25).map(|_| folder.bohr(&hunt).code()).collect();
        over.store(true, Ordering::Relaxed);
        assert!(codes.iter().all(|code| *code == 0), "{codes:?}");
    });
}

#[test]
fn who_frees_again_is_not_who_had_freed() {
    let folder = Folder::empty();
    folder.build("freed_twice", &[]);
    for seed in 0..8 {
        let seed = seed.to_string();
        let words = ["hunt", "--json", "--seed", &seed, "--", "./program"];
        let found = folder.bohr(&words).expect(1).json();
        let who = |doing: &str| {
            let mut lines = found["stacks"].as_array().expect("stacks").iter();
            let line = lines.find(|line| line["doing"] == doing);
            line.unwrap_or_else(|| panic!("{doing}: {found}"))["thread"].clone()
        };
        assert_ne!(who("failed"), who("had freed the block"), "{found}");
    }
}

#[test]
fn what_a_library_allocates_and_frees_is_told_at_the_lines_of_the_author() {
    let folder = Folder::empty();
    let source = controlled::file("shared_row.cpp");
    let source = source.to_str().expect("a plain path");
    let words = [
        "c++",
        "-std=c++20",
        "-g",
        "-O0",
        "-pthread",
        "-o",
        "program",
        source,
    ];
    folder.bohr(&words).expect(0);
    folder.bohr(&["hunt", "--", "./program"]).expect(1);
    let told = folder.bohr(&["explain", "program.bohr", "--json"]);
    let told = told.expect(0).json();
    let finding = &told["findings"][0];
    assert_eq!(finding["kind"], "lifetime", "{told}");
    let text = controlled::read_file("shared_row.cpp");
    for (moment, name) in [(0, "used"), (1, "freed"), (2, "made")] {
        let number = text
            .lines()
            .position(|line| line.contains(&format!("marker: {name}")));
        let place = format!("shared_row.cpp:{}", 1 + number.expect("a marker"));
        let line = finding["moments"][moment]["line"].as_str().expect("a line");
        assert!(line.ends_with(&place), "{line} for {place}: {finding}");
    }
}

/// No access of the program's own code tells that a lock is gone: the call has to.
#[test]
fn a_lock_in_freed_memory_is_not_to_be_used() {
    const WAYS: [&str; 16] = [
        "lock",
        "trylock",
        "unlock",
        "signal",
        "broadcast",
        "wait",
        "read",
        "write",
        "release",
        "arrive",
        "spin",
        "once",
        "post",
        "take",
        "mtx",
        "cnd",
    ];
    let built = Folder::empty();
    built.build("freed_objects", &["-O0"]);
    let foreign = Folder::with("freed_objects", &["-O0"]);
    for folder in [&built, &foreign] {
        for way in WAYS {
            let found = folder.bohr(&["hunt", "--json", "--", "./program", way]);
            let found = found.expect(1).json();
            assert_eq!(found["kind"], "use-after-free", "{way}: {found}");
            let failed = stack(&found, "failed");
            let line = controlled::marker("freed_objects", way);
            assert!(failed[0].ends_with(&line), "{way}: {failed:?}");
            let freed = stack(&found, "had freed the block");
            let line = controlled::marker("freed_objects", "freed");
            assert!(freed[0].ends_with(&line), "{way}: {freed:?}");
            folder
                .bohr(&["replay", "program.bohr", "--times", "5"])
                .expect(0);
            let told = folder.bohr(&["explain", "program.bohr"]).expect(0).text();
            // Where bohr has not built it, freeing is no event of the run.
            if std::ptr::eq(folder, &built) {
                assert!(
                    told.contains("after thread 0:1 frees it at"),
                    "{way}: {told}"
                );
            }
        }
        let hunt = ["hunt", "--runs", "3000", "--", "./program", "right"];
        folder.bohr(&hunt).expect(0);
    }
}
