//! Reducing failures of real programs to the threads and iterations that they
//! need.

mod controlled;

use controlled::Folder;
use serde_json::{Value, json};

fn crowd() -> Folder {
    let folder = Folder::empty();
    folder.build("crowd", &[]);
    let words = ["hunt", "--strategy", "random", "--", "./program"];
    folder.bohr(&words).expect(1);
    folder
}

fn reduce(folder: &Folder, words: &[&str]) -> Value {
    let words = [&["reduce", "program.bohr", "--json"], words].concat();
    folder.bohr(&words).expect(0).json()
}

#[test]
fn bystanders_and_repetitions_go_and_the_bug_stays() {
    let folder = crowd();
    let before = folder.bohr(&["replay", "program.bohr", "--json"]).expect(0);
    let report = reduce(&folder, &[]);
    assert_eq!(report["threads_before"], json!(9));
    assert_eq!(report["threads_after"], json!(3), "main and two depositors");
    assert_eq!(report["sequential"], json!(false));
    assert_eq!(report["verified"], json!(true));
    let number = |name: &str| report[name].as_u64().unwrap();
    assert!(number("events_after") < number("events_before"));
    assert!(number("iterations_after") < number("iterations_before"));
    let replays = folder
        .bohr(&["replay", "program.bohr", "--times", "50", "--json"])
        .expect(0)
        .json();
    assert_eq!(replays["reproduced"], json!(50));
    assert_eq!(replays["events"], report["events_after"]);
    assert_eq!(replays["signature"], before.json()["signature"]);
    // Nothing more goes.
    let again = reduce(&folder, &[]);
    assert_eq!(again["threads_after"], report["threads_after"]);
    assert_eq!(again["events_after"], report["events_after"]);
}

#[test]
fn what_is_reduced_can_be_simplified_and_explained() {
    let folder = crowd();
    reduce(&folder, &["-o", "small.bohr"]);
    let simple = folder
        .bohr(&["simplify", "small.bohr", "--json"])
        .expect(0)
        .json();
    assert_eq!(simple["preemptive_after"], json!(1));
    folder
        .bohr(&["replay", "small.bohr", "--fresh", "--times", "5"])
        .expect(0);
    let text = folder.bohr(&["explain", "small.bohr"]).expect(0);
    assert!(text.text().contains("balance"), "{}", text.text());
}

#[test]
fn a_program_without_gates_is_left_as_it_is() {
    let folder = Folder::with("lost_update", &[]);
    folder.bohr(&["hunt", "--", "./program"]).expect(1);
    let report = reduce(&folder, &[]);
    assert_eq!(report["threads_after"], report["threads_before"]);
    assert_eq!(report["iterations_before"], json!(0));
    folder.bohr(&["replay", "program.bohr"]).expect(0);
}
