//! Explaining failures of real programs: the sentence names the variable and
//! the three lines that matter.

use crate::controlled;

use controlled::{Folder, marker, read_source};
use serde_json::{Value, json};

/// The number of the first line that holds these words.
fn line(name: &str, words: &str) -> String {
    let source = read_source(name);
    let number = source.lines().position(|line| line.contains(words));
    format!("{name}.c:{}", 1 + number.expect("a line of the program"))
}

fn ends_with(value: &Value, line: &str) -> bool {
    value["line"]
        .as_str()
        .is_some_and(|found| found.ends_with(line))
}

#[test]
fn a_lost_update_is_told_by_its_variable_and_lines() {
    let folder = Folder::empty();
    folder.build("lost_update", &[]);
    folder.bohr(&["hunt", "--", "./program"]).expect(1);
    let told = folder
        .bohr(&["explain", "program.bohr", "--json"])
        .expect(0)
        .json();
    let [window] = &told["windows"].as_array().unwrap()[..] else {
        panic!("one window: {told}")
    };
    let culprit = &window["culprit"];
    let (read, written) = (
        line("lost_update", "int seen"),
        line("lost_update", "seen + 1"),
    );
    assert!(ends_with(&culprit["before"], &read), "{culprit}");
    assert!(ends_with(&culprit["between"], &written), "{culprit}");
    assert!(ends_with(&culprit["after"], &written), "{culprit}");
    for part in ["before", "between", "after"] {
        assert_eq!(culprit[part]["object"], json!("balance"));
    }
    assert_eq!(culprit["before"]["thread"], window["thread"]);
    assert_ne!(culprit["between"]["thread"], window["thread"]);
    assert_eq!(told["races"], json!([]), "the lock orders every access");
}

#[test]
fn memory_behind_a_global_pointer_is_told_by_its_type() {
    let folder = Folder::empty();
    folder.build("ledger", &[]);
    folder.bohr(&["hunt", "--", "./program"]).expect(1);
    let told = folder.bohr(&["explain", "program.bohr", "--json"]);
    let told = told.expect(0).json();
    let culprit = &told["windows"][0]["culprit"];
    for part in ["between", "after"] {
        let object = json!("row.amount [1]");
        assert_eq!(culprit[part]["object"], object, "{culprit}");
    }
}

#[test]
fn a_race_is_told_and_its_repair_has_none() {
    let folder = Folder::empty();
    folder.build("data_race", &[]);
    folder.bohr(&["hunt", "--", "./program"]).expect(1);
    let text = folder.bohr(&["explain", "program.bohr"]).expect(0);
    for words in [
        "It fails when",
        "▶",
        "thread 0:1",
        "Nothing orders",
        "What to try",
    ] {
        assert!(text.text().contains(words), "{words}:\n{}", text.text());
    }
    let told = folder.bohr(&["explain", "program.bohr", "--json"]);
    let told = told.expect(0).json();
    let races = told["races"].as_array().unwrap();
    assert_eq!(races[0]["needed"], json!(true), "{told}");
}

#[test]
fn a_deadlock_is_told_by_its_locks() {
    let folder = Folder::empty();
    folder.build("crossed_locks", &[]);
    folder.bohr(&["hunt", "--", "./program"]).expect(1);
    let text = folder.bohr(&["explain", "program.bohr"]).expect(0);
    let verdict = text.text();
    let verdict = verdict.split("The run").next().unwrap();
    assert!(verdict.matches("thread 0:").count() >= 2, "{verdict}");
    let told = folder.bohr(&["explain", "program.bohr", "--json"]);
    let told = told.expect(0).json();
    // How they came there is another's turn between two locks, and says no more.
    let findings = told["findings"].as_array().unwrap().iter();
    let kinds: Vec<&Value> = findings.map(|finding| &finding["kind"]).collect();
    assert_eq!(kinds, [&json!("deadlock")], "{told}");
}

#[test]
fn a_source_that_is_gone_or_has_changed_is_told_in_a_word() {
    let folder = Folder::empty();
    let source = folder.path("gone.c");
    std::fs::write(&source, read_source("lost_update")).unwrap();
    let build = ["cc", "-g", "-O1", "-pthread", "-o", "program", "gone.c"];
    folder.bohr(&build).expect(0);
    folder.bohr(&["hunt", "--", "./program"]).expect(1);
    let whole = folder.bohr(&["explain", "program.bohr"]).expect(0);
    assert_eq!(whole.messages(), "");
    std::fs::write(&source, format!("\n{}", read_source("lost_update"))).unwrap();
    let told = folder.bohr(&["explain", "program.bohr"]).expect(0);
    let changed = "gone.c was changed after the program was built";
    assert!(told.messages().contains(changed), "{told}");
    std::fs::remove_file(source).unwrap();
    let told = folder.bohr(&["explain", "program.bohr"]).expect(0);
    assert!(told.messages().contains("gone.c was not found"), "{told}");
    assert!(told.text().contains("writes balance"), "{told}");
}

#[test]
fn a_program_that_was_not_built_with_bohr_is_told_at_its_calls() {
    let folder = Folder::with("lost_update", &[]);
    folder.bohr(&["hunt", "--", "./program"]).expect(1);
    let text = folder.bohr(&["explain", "program.bohr"]).expect(0);
    for line in [11, 15] {
        let place = format!("lost_update.c:{line}");
        let named = |text: &str| text.contains("locks lock") && text.contains(&place);
        let verdict = text.text().lines().any(named);
        assert!(verdict, "{}", text.text());
    }
}

#[test]
fn sarif_has_the_lines_of_the_verdict() {
    let folder = Folder::empty();
    folder.build("lost_update", &[]);
    folder.bohr(&["hunt", "--", "./program"]).expect(1);
    let words = ["explain", "program.bohr", "--sarif", "found.sarif"];
    folder.bohr(&words).expect(0);
    let log = std::fs::read(folder.path("found.sarif")).unwrap();
    let log: Value = serde_json::from_slice(&log).unwrap();
    let result = &log["runs"][0]["results"][0];
    assert_eq!(result["ruleId"], "atomicity");
    let lines = |places: &Value| -> Vec<String> {
        let places = places.as_array().unwrap().iter();
        let line = |place: &Value| {
            let place = &place["physicalLocation"];
            let file = place["artifactLocation"]["uri"]
                .as_str()
                .unwrap()
                .to_string();
            format!("{file}:{}", place["region"]["startLine"])
        };
        places.map(line).collect()
    };
    let read = line("lost_update", "int seen");
    let written = line("lost_update", "seen + 1");
    assert!(lines(&result["locations"])[0].ends_with(&read), "{result}");
    let related = lines(&result["relatedLocations"]);
    assert!(
        related.iter().all(|line| line.ends_with(&written)),
        "{result}"
    );
}

/// The sentences of what it takes to fail, and all names of things in them.
fn told_of(program: &str) -> (Value, Vec<String>) {
    let folder = Folder::empty();
    folder.build(program, &[]);
    folder.bohr(&["hunt", "--", "./program"]).expect(1);
    let told = folder.bohr(&["explain", "program.bohr", "--json"]);
    let told = told.expect(0).json();
    let findings = told["findings"].as_array().unwrap().iter();
    let moments = findings.flat_map(|finding| finding["moments"].as_array().unwrap());
    let names = moments.map(|moment| moment["object"].as_str().unwrap().to_string());
    let names = names.collect();
    (told, names)
}

/// What is found of this program, told with these words, by kind and names.
fn found_of(program: &str, words: &[&str]) -> Vec<(String, Vec<String>)> {
    let folder = Folder::empty();
    folder.build(program, &[]);
    let hunt = [&["hunt", "--", "./program"], words].concat();
    folder.bohr(&hunt).expect(1);
    let told = folder.bohr(&["explain", "program.bohr", "--json"]);
    let told = told.expect(0).json();
    let text = |value: &Value| value.as_str().unwrap().to_string();
    let findings = told["findings"].as_array().unwrap().iter();
    let found = findings.map(|finding| {
        let moments = finding["moments"].as_array().unwrap().iter();
        let mut names: Vec<String> = moments.map(|moment| text(&moment["object"])).collect();
        names.sort();
        names.dedup();
        (text(&finding["kind"]), names)
    });
    found.collect()
}

#[test]
fn what_is_locked_beside_the_bug_is_not_blamed() {
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    let update = found_of("beside_innocents", &[]);
    assert_eq!(update, [("atomicity".to_string(), names(&["hits"]))]);
    let locks = found_of("beside_innocents", &["locks"]);
    assert_eq!(locks, [("deadlock".to_string(), names(&["one", "other"]))]);
}

#[test]
fn sarif_has_the_races_beside_the_verdict() {
    let folder = Folder::empty();
    folder.build("beside_innocents", &[]);
    folder.bohr(&["hunt", "--", "./program"]).expect(1);
    let words = ["explain", "program.bohr", "--sarif", "told.sarif"];
    folder.bohr(&words).expect(0);
    let told = std::fs::read(folder.path("told.sarif")).unwrap();
    let told: Value = serde_json::from_slice(&told).unwrap();
    let results = told["runs"][0]["results"].as_array().unwrap().iter();
    let warnings = results.filter(|result| result["level"] == json!("warning"));
    let texts = warnings.map(|result| result["message"]["text"].as_str().unwrap());
    let texts: Vec<&str> = texts.collect();
    let is_race = |text: &&str| text.contains("nothing orders") && text.contains("hits");
    assert!(texts.iter().any(is_race), "{texts:?}");
}

#[test]
fn a_signal_that_wakes_another_was_not_missed() {
    let found = found_of("wrong_waiter", &[]);
    let kinds: Vec<&str> = found.iter().map(|(kind, _)| kind.as_str()).collect();
    assert_eq!(kinds, ["wrong-wakeup"], "{found:?}");
    assert_eq!(found[0].1, ["changed", "things"], "{found:?}");
}

#[test]
fn who_goes_on_without_looking_again_is_told_by_who_was_quicker() {
    let found = found_of("not_again", &[]);
    let names = ["given", "items"].map(str::to_string).to_vec();
    assert_eq!(found, [("stolen-wakeup".to_string(), names)]);
}

#[test]
fn who_waits_for_what_nobody_gives_should_have_come_first() {
    let found = found_of("kept_permit", &[]);
    let names = vec!["count".to_string()];
    assert_eq!(found, [("order".to_string(), names)]);
}

#[test]
fn one_signal_for_all_who_have_to_end_is_told() {
    let found = found_of("stopped_once", &[]);
    let names = ["changed", "stopping"].map(str::to_string).to_vec();
    assert_eq!(found, [("wrong-wakeup".to_string(), names)]);
}

#[test]
fn waits_that_end_by_chance_are_told() {
    for (option, way, kind) in [
        ("--spurious-wakes", "once", "spurious-wake"),
        ("--early-timeouts", "timed", "time-out"),
    ] {
        let folder = Folder::empty();
        folder.build("hasty_waits", &[]);
        let words = ["hunt", option, "--", "./program", way];
        folder.bohr(&words).expect(1);
        let told = folder.bohr(&["explain", "program.bohr", "--json"]);
        let told = told.expect(0).json();
        let finding = &told["findings"][0];
        assert_eq!(finding["kind"], json!(kind), "{told}");
        assert_eq!(finding["variable"], json!("changed"), "{told}");
        let place = marker("hasty_waits", way);
        assert!(ends_with(&finding["moments"][0], &place), "{told}");
    }
}

#[test]
fn locks_of_one_name_are_told_apart() {
    let (told, _) = told_of("transfers");
    let sentence = told["findings"][0]["sentence"].as_str().unwrap();
    let two = "account.lock #2";
    assert_eq!(sentence.matches(two).count(), 2, "{sentence}");
    let one = sentence.replace(two, "");
    assert_eq!(one.matches("account.lock").count(), 2, "{sentence}");
}

#[test]
fn what_closures_capture_goes_by_its_name() {
    let folder = Folder::empty();
    folder.build_cpp("captured");
    folder.bohr(&["hunt", "--", "./program"]).expect(1);
    let told = folder.bohr(&["explain", "program.bohr", "--json"]);
    let told = told.expect(0).json();
    assert_eq!(told["findings"][0]["variable"], json!("total"), "{told}");
}

#[test]
fn semaphores_close_a_circle() {
    let (told, mut names) = told_of("permits");
    let finding = &told["findings"][0];
    assert_eq!(finding["kind"], json!("deadlock"), "{told}");
    names.sort();
    names.dedup();
    assert_eq!(names, ["forks[0]", "forks[1]", "forks[2]"]);
    let sentence = finding["sentence"].as_str().unwrap();
    assert_eq!(sentence.matches(&marker("permits", "waits")).count(), 3);
}

#[test]
fn a_wait_is_about_its_condition_and_about_its_lock() {
    let folder = Folder::empty();
    folder.build("door", &[]);
    folder.bohr(&["hunt", "--", "./program"]).expect(1);
    let filter = format!("line={}", marker("door", "waits"));
    let shown = folder.bohr(&["trace", "program.bohr", "--json", "--filter", &filter]);
    let shown = shown.expect(0).json();
    let events = shown["events"].as_array().unwrap().iter();
    let unlocks = events.filter(|event| event["kind"] == json!("release"));
    let names: Vec<&Value> = unlocks.map(|event| &event["variable"]).collect();
    assert_eq!(names, [&json!("door.lock")], "{shown}");
    let told = folder.bohr(&["explain", "program.bohr", "--json"]);
    let told = told.expect(0).json();
    let findings = told["findings"].as_array().unwrap();
    let kind = json!("missed-notification");
    let missed = findings.iter().find(|finding| finding["kind"] == kind);
    assert_eq!(missed.unwrap()["variable"], json!("door.opened"), "{told}");
}

#[test]
fn what_optimisation_takes_apart_is_called_as_in_the_source() {
    let folder = Folder::empty();
    folder.build("taken_apart", &["-O2"]);
    folder.bohr(&["hunt", "--", "./program"]).expect(1);
    let shown = folder.bohr(&["trace", "program.bohr", "--json", "--filter", "kind=write"]);
    let shown = shown.expect(0).json();
    let events = shown["events"].as_array().unwrap().iter();
    let mut names: Vec<&str> = events
        .filter_map(|event| event["variable"].as_str())
        .collect();
    names.retain(|name| name.contains("state") || name.contains("total"));
    names.sort_unstable();
    names.dedup();
    assert_eq!(
        names,
        ["*total", "state.balance", "state.visits"],
        "{shown}"
    );
}

#[test]
fn an_order_is_found_where_the_second_needs_the_first() {
    let (told, names) = told_of("early_note");
    let finding = &told["findings"][0];
    assert_eq!(finding["kind"], json!("order"), "{told}");
    let noted = |name: &String| name == "count" || name.starts_with("notes");
    assert!(!names.is_empty() && names.iter().all(noted), "{names:?}");
}

#[test]
fn a_program_says_nothing_to_the_terminal() {
    let folder = Folder::empty();
    folder.build("loud", &[]);
    let found = folder.bohr(&["hunt", "--", "./program"]).expect(1);
    let told = folder.bohr(&["explain", "program.bohr"]).expect(0);
    for text in [found.to_string(), told.to_string()] {
        assert!(text.contains(r"\u{1b}[31mred.c"), "{text:?}");
        assert!(
            !text.contains('\u{1b}') && !text.contains('\u{7}'),
            "{text:?}"
        );
    }
}

/// Without optimisation, the library's functions know a vector as what they were called
/// for: where it lies is all that is known of it.
#[test]
fn what_has_no_name_is_told_by_where_it_lies() {
    let folder = Folder::empty();
    let source = r#"
        #include <cassert>
        #include <thread>
        #include <vector>
        int main() {
            std::vector<int> order;
            auto put = [&] { order.push_back(1); };
            std::thread one(put), other(put);
            one.join();
            other.join();
            assert(order.size() == 2);
        }
    "#;
    std::fs::write(folder.path("order.cpp"), source).expect("a source");
    let words = ["c++", "-g", "-O0", "-pthread", "-o", "program", "order.cpp"];
    folder.bohr(&words).expect(0);
    folder.bohr(&["hunt", "--", "./program"]).expect(1);
    let told = folder.bohr(&["explain", "program.bohr", "--json"]);
    let told = told.expect(0).json();
    let findings = told["findings"].as_array().expect("findings");
    assert!(!findings.is_empty(), "{told}");
    for finding in findings {
        let sentence = finding["sentence"].as_str().expect("a sentence");
        assert!(!sentence.contains("0x"), "{sentence}");
    }
    let races = told["races"].as_array().expect("races").iter();
    let first = |race: &Value| race["first"]["object"].as_str().map(str::to_string);
    let objects: Vec<String> = races.filter_map(first).collect();
    assert!(!objects.is_empty(), "{told}");
    for object in objects {
        assert!(!object.starts_with("0x"), "{object}");
    }
}
