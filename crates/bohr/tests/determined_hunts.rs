//! A hunt is a function of its seed: how many workers share it, and which of
//! them is faster, changes nothing that it reports.

use crate::controlled;

use controlled::Folder;
use serde_json::{Value, json};

/// All that a hunt reports except for times and what depends on them.
fn result(folder: &Folder, words: &[&str]) -> Value {
    let all = [&["hunt", "--json"], words, &["--", "./program"]].concat();
    let mut result = folder.bohr(&all).json();
    for time in ["seconds", "runs_per_second", "resumed_runs", "rewound_runs"] {
        assert!(result[time].take().is_number());
    }
    result
}

/// Hunts with different numbers of workers, and compares.
fn assert_determined(folder: &Folder, words: &[&str]) -> Value {
    let with = |jobs: &str| result(folder, &[words, &["--jobs", jobs]].concat());
    let alone = with("1");
    for jobs in ["2", "3", "7"] {
        assert_eq!(with(jobs), alone, "{words:?} with {jobs} workers");
    }
    alone
}

#[test]
fn the_number_of_workers_changes_nothing() {
    let folder = Folder::with("rare_order", &[]);
    let mut runs = std::collections::BTreeSet::new();
    for strategy in ["mixed", "random", "feedback"] {
        for seed in ["0", "1000"] {
            let words = ["--strategy", strategy, "--seed", seed];
            let found = assert_determined(&folder, &words);
            assert_eq!(found["found"], json!(true));
            runs.insert(found["runs"].as_u64().unwrap());
        }
    }
    assert!(runs.len() > 2, "every hunt ends alike: {runs:?}");
    assert!(runs.last() > Some(&16), "too easily found: {runs:?}");
}

#[test]
fn workers_share_a_search() {
    let folder = Folder::with("rare_order", &[]);
    for strategy in ["bounded", "exhaustive"] {
        let words = ["--strategy", strategy, "--keep-going", "--runs", "400"];
        let searched = assert_determined(&folder, &words);
        assert_eq!(searched["runs"], json!(400));
        assert!(searched["conflicting_pairs"].as_u64() > Some(0));
    }
}

#[test]
fn going_on_after_a_bug_is_determined_too() {
    let folder = Folder::with("rare_order", &[]);
    let words = ["--strategy", "random", "--keep-going", "--runs", "2000"];
    let found = assert_determined(&folder, &words);
    assert_eq!(found["runs"], json!(2000));
    assert_eq!(found["bugs"].as_array().map(Vec::len), Some(2));
}

#[test]
fn the_seed_of_a_finding_is_that_of_its_run() {
    let folder = Folder::with("rare_order", &[]);
    let words = ["--strategy", "random", "--seed", "70"];
    let found = result(&folder, &words);
    let (runs, seed) = (found["runs"].as_u64().unwrap(), found["seed"].as_u64());
    assert_eq!(seed, Some(70 + runs - 1));
    // And that seed alone is enough.
    let seed = seed.unwrap().to_string();
    let words = ["run", "--json", "--seed", &seed, "--", "./program"];
    let again = folder.bohr(&words).expect(1).json();
    for field in ["signature", "events", "switches", "threads"] {
        assert_eq!(again[field], found[field], "{field}");
    }
}
