//! From the log of a native run that failed to a bug file that replays.

mod controlled;

use controlled::Folder;

/// Records until `program` fails.
fn record(folder: &Folder, words: &[&str]) {
    let record = [
        "record",
        "--until-failure",
        "--runs",
        "200",
        "--",
        "./program",
    ];
    folder.bohr(&[&record[..], words].concat()).expect(1);
}

#[test]
fn a_recorded_failure_becomes_a_bug_that_replays() {
    let folder = Folder::empty();
    folder.build("overdrawn", &[]);
    record(&folder, &[]);
    let solved = folder
        .bohr(&["solve", "--json", "program.log"])
        .expect(0)
        .json();
    assert_eq!(solved["solved"], true, "{solved}");
    assert_eq!(solved["kind"], "assertion", "{solved}");
    assert_eq!(solved["bug_file"], "program.bohr", "{solved}");
    let replayed = folder.bohr(&["replay", "--json", "--times", "20", "program.bohr"]);
    let replayed = replayed.expect(0).json();
    assert_eq!(replayed["reproduced"], 20, "{replayed}");
}

#[test]
fn what_cannot_be_solved_is_told() {
    let folder = Folder::empty();
    folder.build("ways", &[]);
    folder.bohr(&["record", "--", "./program"]).expect(0);
    let good = folder.bohr(&["solve", "program.log"]).expect(2);
    assert!(good.messages().contains("was good"), "{good}");
    folder.bohr(&["record", "--", "./program", "a"]).expect(1);
    // Another build of the program.
    folder.build("ways", &["-O2"]);
    let other = folder.bohr(&["solve", "program.log"]).expect(2);
    assert!(other.messages().contains("another build"), "{other}");
    std::fs::write(folder.path("half.log"), "bohr-log").expect("a file");
    let half = folder.bohr(&["solve", "half.log"]).expect(2);
    assert!(half.messages().contains("truncated"), "{half}");
}
