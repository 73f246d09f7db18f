//! Locks that are taken in opposite orders are told, whether a run deadlocks or not.

use crate::controlled;

use controlled::Folder;
use serde_json::{Value, json};

fn marker(name: &str) -> String {
    controlled::marker("lock_orders", name)
}

fn built() -> Folder {
    let folder = Folder::empty();
    folder.build("lock_orders", &[]);
    folder
}

/// A run in which one thread comes after the other.
fn run(folder: &Folder, way: &str) -> Value {
    let common = ["run", "--json", "--strategy", "sequential", "--"];
    let words = [&common[..], &["./program", way]].concat();
    folder.bohr(&words).expect(0).json()
}

/// Who takes what where, and since where has what.
fn takings(cycle: &Value) -> Vec<[String; 5]> {
    let text = |value: &Value| value.as_str().expect("a text").to_string();
    let line = |place: &Value| {
        let line = text(&place["line"]);
        assert!(line.contains(" at "), "{line}");
        line.rsplit('/').next().unwrap_or_default().to_string()
    };
    let threads = cycle["threads"].as_array().expect("threads").iter();
    threads
        .map(|one| {
            assert!(!one["at"]["stack"].as_array().expect("a stack").is_empty());
            [
                text(&one["thread"]),
                text(&one["takes"]),
                line(&one["at"]),
                text(&one["holds"]),
                line(&one["held_since"]),
            ]
        })
        .collect()
}

#[test]
fn a_run_that_comes_through_tells_who_could_wait_for_whom() {
    let folder = built();
    let told = run(&folder, "crossed");
    assert_eq!(told["failed"], false);
    let [cycle] = &told["lock_cycles"].as_array().unwrap()[..] else {
        panic!("one cycle: {told}")
    };
    let [inside, outside] = ["right-inside", "left-outside"].map(marker);
    let [first, second] = ["left-inside", "right-outside"].map(marker);
    let one = ["0:1", "right", &inside, "left", &outside].map(str::to_string);
    let other = ["0:2", "left", &first, "right", &second].map(str::to_string);
    assert_eq!(takings(cycle), [one, other]);
    assert_eq!(cycle["count"], 1);
    // Whoever calls is told, too.
    let stack = cycle["threads"][0]["at"]["stack"].as_array().unwrap();
    assert!(
        stack[1].as_str().unwrap().starts_with("rightwards at "),
        "{cycle}"
    );
}

#[test]
fn orders_that_cannot_deadlock_are_not_told() {
    let folder = built();
    for way in ["gate", "joined", "readers", "tried", "timed"] {
        assert_eq!(run(&folder, way)["lock_cycles"], json!([]), "{way}");
        let words = ["hunt", "--json", "--runs", "100", "--", "./program", way];
        let told = folder.bohr(&words).expect(0).json();
        assert_eq!(told["lock_cycles"], json!([]), "{way}");
    }
}

#[test]
fn a_hunt_tells_them_and_they_are_no_failures() {
    let folder = built();
    let once = ["--runs", "1", "--strategy", "sequential", "--", "./program"];
    let text = folder.bohr(&[&["hunt"], &once[..]].concat()).expect(0);
    let words = "0:1 takes right in take_inner at ";
    assert!(
        text.text().contains("locks taken in opposite orders"),
        "{text}"
    );
    assert!(text.text().contains(words), "{text}");
    let ignoring = [&["hunt", "--json", "--races", "ignore"], &once[..]].concat();
    let told = folder.bohr(&ignoring).expect(0).json();
    assert_eq!(told["lock_cycles"], json!([]));
}

#[test]
fn a_deadlock_that_is_the_bug_is_told_once() {
    let folder = built();
    let text = folder.bohr(&["hunt", "--", "./program"]).expect(1);
    assert!(text.text().contains("found: deadlock"), "{text}");
    assert!(!text.text().contains("opposite orders"), "{text}");
    let told = folder
        .bohr(&["explain", "program.bohr", "--json"])
        .expect(0)
        .json();
    assert_eq!(told["lock_cycles"], json!([]), "{told}");
    assert_eq!(told["findings"][0]["kind"], "deadlock");
}

#[test]
fn an_explanation_tells_them_beside_its_verdict() {
    let folder = built();
    let hunt = [
        "hunt",
        "--strategy",
        "sequential",
        "--",
        "./program",
        "crossed",
        "3",
    ];
    folder.bohr(&hunt).expect(1);
    let explain = [
        "explain",
        "program.bohr",
        "--sarif",
        "bug.sarif",
        "--html",
        "bug.html",
    ];
    let text = folder.bohr(&explain).expect(0);
    assert!(
        text.text()
            .contains("Also, locks are taken in opposite orders"),
        "{text}"
    );
    let told = folder
        .bohr(&["explain", "program.bohr", "--json"])
        .expect(0)
        .json();
    let kinds = told["findings"].as_array().unwrap().iter();
    assert!(
        kinds.map(|one| &one["kind"]).all(|kind| kind != "deadlock"),
        "{told}"
    );
    let [cycle] = &told["lock_cycles"].as_array().unwrap()[..] else {
        panic!("one cycle: {told}")
    };
    let taking = &cycle["threads"][1];
    assert_eq!(taking["takes"]["object"], "left");
    assert_eq!(taking["holds"]["object"], "right");
    let line = taking["takes"]["line"].as_str().unwrap();
    assert!(line.ends_with(&marker("left-inside")), "{line}");
    let read = |name: &str| std::fs::read_to_string(folder.path(name)).expect("a file");
    let sarif: Value = serde_json::from_str(&read("bug.sarif")).expect("JSON");
    let mut results = sarif["runs"][0]["results"].as_array().unwrap().iter();
    let result = results.find(|result| result["ruleId"] == "lock-order");
    assert_eq!(result.expect("a result")["level"], "warning");
    assert!(read("bug.html").contains("0:2 takes left at "));
}

/// Breakpoints at both inner locks, and real threads do deadlock.
#[test]
fn breakpoints_make_a_deadlock_of_one() {
    let folder = built();
    let hunt = [
        "hunt",
        "--strategy",
        "sequential",
        "--",
        "./program",
        "crossed",
        "3",
    ];
    folder.bohr(&hunt).expect(1);
    let told = folder
        .bohr(&["explain", "program.bohr", "--json"])
        .expect(0)
        .json();
    let count = |field: &str| told[field].as_array().unwrap().len();
    let number = (count("findings") + count("races") + 1).to_string();
    let from = [
        "break",
        "from",
        "program.bohr",
        "--finding",
        &number,
        "--runs",
        "20",
        "--json",
    ];
    let made = folder.bohr(&from).expect(0).json();
    let set = made["breakpoints"].as_array().unwrap().iter();
    let set: Vec<&str> = set.map(|one| one["expression"].as_str().unwrap()).collect();
    let mut native = vec!["run", "--native", "--json"];
    for one in &set {
        native.extend(["--break", one]);
    }
    native.extend(["--run-time", "5s", "--", "./program", "crossed"]);
    let ended = folder.bohr(&native).expect(1).json();
    assert_eq!(ended["kind"], "deadlock", "{ended}");
}

const REGISTRY: &str = r#"
use std::sync::{Arc, Mutex, RwLock};

#[derive(Default)]
struct Registry {
    lowest: Mutex<usize>,
    logger: RwLock<usize>,
}

fn set_level(registry: &Registry) {
    let logger = registry.logger.read().unwrap();
    *registry.lowest.lock().unwrap() += *logger; // marker: lowest-inside
}

fn reset(registry: &Registry) {
    let lowest = registry.lowest.lock().unwrap();
    *registry.logger.write().unwrap() = *lowest; // marker: logger-inside
}

fn main() {
    let registry = Arc::new(Registry::default());
    let other = registry.clone();
    let one = std::thread::spawn(move || set_level(&other));
    let other = registry.clone();
    let two = std::thread::spawn(move || reset(&other));
    one.join().unwrap();
    two.join().unwrap();
}
"#;

/// A writer sleeps on another word than readers do, and than the one that they change.
#[test]
fn a_writer_that_waits_for_readers_closes_a_circle() {
    let folder = Folder::empty();
    folder.build_rust("registry", REGISTRY);
    let found = folder.bohr(&["hunt", "--json", "--", "target/release/registry"]);
    assert_eq!(found.expect(1).json()["kind"], "deadlock");
    let told = folder.bohr(&["explain", "registry.bohr", "--json"]);
    let told = told.expect(0).json();
    let [finding] = &told["findings"].as_array().unwrap()[..] else {
        panic!("one finding: {told}")
    };
    assert_eq!(finding["kind"], "deadlock", "{told}");
    let verdict = finding["sentence"].as_str().unwrap();
    for marker in ["lowest-inside", "logger-inside"] {
        assert!(verdict.contains(&line_of(marker)), "{verdict}");
    }
    assert_eq!(told["lock_cycles"], json!([]));
}

/// Where in the registry's source a marker stands.
fn line_of(marker: &str) -> String {
    let number = REGISTRY.lines().position(|line| line.contains(marker));
    format!("main.rs:{}", number.expect("a line") + 1)
}

#[test]
fn locks_of_rust_are_told_by_the_lines_that_take_them() {
    let folder = Folder::empty();
    folder.build_rust("registry", REGISTRY);
    let program = "target/release/registry";
    let hunt = [
        "hunt",
        "--json",
        "--runs",
        "1",
        "--strategy",
        "sequential",
        "--",
        program,
    ];
    let told = folder.bohr(&hunt).expect(0).json();
    let [cycle] = &told["lock_cycles"].as_array().unwrap()[..] else {
        panic!("one cycle: {told}")
    };
    let all: Vec<[String; 2]> = { takings(cycle).into_iter() }
        .map(|[_, takes, at, ..]| [takes, at])
        .collect();
    let expected = [
        ["Registry::lowest".to_string(), line_of("lowest-inside")],
        ["Registry::logger".to_string(), line_of("logger-inside")],
    ];
    assert_eq!(all, expected);
}

/// Whoever comes too late to wait is as much behind what it reads as who waits for it.
#[test]
fn what_a_thread_would_have_waited_for_comes_before_it() {
    for (level, ways) in [
        ("-O0", &["waits", "polls", "acquires"][..]),
        ("-O1", &["waits", "polls", "acquires", "either", "spins"]),
        ("-O2", &["waits", "polls", "acquires", "either", "spins"]),
    ] {
        let folder = Folder::empty();
        folder.build("await_orders", &[level]);
        for way in ways {
            let told = run(&folder, way);
            assert_eq!(told["failed"], false);
            assert_eq!(told["lock_cycles"], json!([]), "{level} {way}");
        }
    }
}

/// What might have let it go on earlier, or without waiting, puts it behind nothing.
#[test]
fn deadlocks_behind_waits_are_told() {
    for level in ["-O0", "-O2"] {
        let folder = Folder::empty();
        folder.build("await_orders", &[level]);
        let ways = [
            "never",
            "told-before",
            "counted",
            "open",
            "once",
            "gives-up",
            "helped",
            "stopped",
        ];
        for way in ways {
            let told = run(&folder, way);
            assert_eq!(told["failed"], false);
            let cycles = told["lock_cycles"].as_array().unwrap();
            assert_eq!(cycles.len(), 1, "{level} {way}: {told}");
        }
    }
}

/// A loop that goes on to something else, does what it looks for, or comes by a pointer that
/// others exchange puts nobody behind who was just faster.
#[test]
fn deadlocks_behind_loops_that_wait_for_nobody_are_told() {
    for level in ["-O0", "-O2"] {
        let folder = Folder::empty();
        folder.build("lets_itself_out", &[level]);
        for way in ["empties", "calls", "list", "row", "begins", "exchanged"] {
            let told = run(&folder, way);
            assert_eq!(told["failed"], false);
            let cycles = told["lock_cycles"].as_array().unwrap();
            assert_eq!(cycles.len(), 1, "{level} {way}: {told}");
        }
        assert_eq!(run(&folder, "gate")["lock_cycles"], json!([]), "{level}");
    }
}

/// The compiler knows behind the test in front of the loop that the lock is held, and leads
/// further on from there than from the loop.
#[test]
fn waits_with_predicates_order_threads_too() {
    let folder = Folder::empty();
    let source = r#"
        #include <condition_variable>
        #include <mutex>
        #include <string>
        #include <thread>
        std::mutex left, right, lock;
        std::condition_variable changed;
        bool ready;
        struct Door {
            int opened = 0;
            void pass(std::unique_lock<std::mutex> &held) {
                changed.wait(held, [this] { return opened == 1; });
            }
        } door;
        static void rightwards() {
            {
                std::lock_guard first(left);
                std::lock_guard second(right);
            }
            std::lock_guard held(lock);
            ready = true;
            door.opened = 1;
            changed.notify_all();
        }
        static void leftwards(std::string way) {
            if (way == "door") {
                std::unique_lock held(lock);
                door.pass(held);
            }
            if (way == "waits") {
                std::unique_lock held(lock);
                changed.wait(held, [] { return ready; });
            }
            std::lock_guard second(right);
            std::lock_guard first(left);
        }
        int main(int, char **words) {
            std::thread one(rightwards), other(leftwards, std::string(words[1]));
            one.join();
            other.join();
        }
    "#;
    std::fs::write(folder.path("waits.cpp"), source).expect("a source");
    for level in ["-O0", "-O2"] {
        let words = ["c++", "-std=c++20", "-g", level, "-pthread"];
        let files = ["-o", "program", "waits.cpp"];
        folder.bohr(&[&words[..], &files].concat()).expect(0);
        for (way, cycles) in [("never", 1), ("waits", 0), ("door", 0)] {
            let told = run(&folder, way);
            let found = told["lock_cycles"].as_array().expect("cycles").len();
            assert_eq!(found, cycles, "{level} {way}: {told}");
        }
    }
}
