//! A bug that a published crate had: found in the version that had it, replayed,
//! and gone in the version that fixed it. `cargo xtask bugs` does all of them.

use bohr_museum::{RealBug, Variant, hunt, judge_twin, replay_every_way};
use std::path::Path;

#[test]
fn the_once_of_spin_is_caught_and_its_repair_is_silent() {
    let bohr = Path::new(env!("CARGO_BIN_EXE_bohr"));
    let folder = tempfile::tempdir().unwrap();
    let bug = RealBug::load("spin").unwrap();
    let program = bug.compile(Variant::Buggy, bohr, folder.path()).unwrap();
    let report = hunt(bohr, &program, &[], 60).unwrap();
    assert_eq!(bug.judge(&report), Ok(()));
    let bug_file = program.with_extension("bohr");
    assert_eq!(replay_every_way(bohr, &bug_file, 200, 5).unwrap(), None);
    let program = bug.compile(Variant::Fixed, bohr, folder.path()).unwrap();
    let report = hunt(bohr, &program, &[], 3).unwrap();
    assert_eq!(judge_twin(&report), Ok(()));
}
