//! Data races are told, or are failures, as the user wants it: what orders
//! accesses is what the language says, not what this machine does.

use crate::controlled;

use controlled::Folder;
use serde_json::{Value, json};

/// `file:line` of a marker in the program.
fn marker(name: &str) -> String {
    controlled::marker("unordered", name)
}

fn built() -> Folder {
    let folder = Folder::empty();
    folder.build("unordered", &[]);
    folder
}

/// A hunt in which races are failures.
fn hunt(folder: &Folder, way: &str, code: i32) -> Value {
    let common = ["hunt", "--json", "--runs", "300", "--races", "fail"];
    let words = [&common[..], &["--", "./program", way]].concat();
    folder.bohr(&words).expect(code).json()
}

#[test]
fn what_orders_accesses_is_what_the_language_says() {
    let folder = built();
    for way in ["release-acquire", "fences", "lock", "lock-of-the-dead"] {
        assert_eq!(hunt(&folder, way, 0)["races"], json!([]), "{way}");
    }
    for way in ["relaxed", "other-lock"] {
        assert_eq!(hunt(&folder, way, 1)["kind"], "data-race", "{way}");
    }
}

#[test]
fn a_race_is_a_bug_with_two_places_that_replays() {
    let folder = built();
    let found = hunt(&folder, "other-lock", 1);
    assert_eq!(found["reproduced"], true, "{found}");
    let race = &found["races"][0];
    for (access, kind, lock, name) in [
        (&race["first"], "writes", "left", "sent"),
        (&race["second"], "reads", "right", "received"),
    ] {
        assert_eq!(access["kind"], kind);
        assert_eq!(access["object"], "message");
        assert_eq!(access["locks"], json!([lock]));
        let innermost = access["stack"][0].as_str().unwrap();
        assert!(innermost.ends_with(&marker(name)), "{access}");
    }
    for backend in ["fiber", "threads"] {
        let words = [
            "replay",
            "program.bohr",
            "--times",
            "20",
            "--backend",
            backend,
        ];
        folder.bohr(&words).expect(0);
    }
    // Whoever comes first, it is the same race.
    let simpler = folder.bohr(&["simplify", "program.bohr", "--json"]);
    assert_eq!(simpler.expect(0).json()["preemptive_after"], 0);
    folder.bohr(&["replay", "program.bohr"]).expect(0);
}

#[test]
fn a_race_that_is_reported_is_no_failure() {
    let folder = built();
    let words = [
        "hunt",
        "--json",
        "--runs",
        "60",
        "--",
        "./program",
        "relaxed",
    ];
    let found = folder.bohr(&words).expect(0).json();
    assert_eq!(found["races"][0]["first"]["object"], "message", "{found}");
    let text = folder.bohr(&["hunt", "--runs", "60", "--", "./program", "relaxed"]);
    let text = text.expect(0).text();
    assert!(text.contains("message: 0:1 writes in sender"), "{text}");
    let run = folder.bohr(&[
        "run",
        "--json",
        "--strategy",
        "sequential",
        "--",
        "./program",
        "relaxed",
    ]);
    assert_eq!(run.expect(0).json()["races"][0]["count"], 1);
}

#[test]
fn a_race_that_is_the_bug_is_told_once() {
    let folder = built();
    let words = [
        "hunt",
        "--runs",
        "300",
        "--races",
        "fail",
        "--",
        "./program",
        "other-lock",
    ];
    let text = folder.bohr(&words).expect(1).text();
    assert!(
        text.contains("found: data race: 0:1 writes message"),
        "{text}"
    );
    assert!(!text.contains("data races,"), "{text}");
}

#[test]
fn long_runs_are_looked_at_to_their_end() {
    let folder = Folder::empty();
    folder.build("long_way", &[]);
    let rest = ["--runs", "1", "--races", "fail", "--", "./program"];
    let words = [&["hunt", "--json"][..], &rest, &["1000400"]].concat();
    let told = folder.bohr(&words).expect(0);
    assert_eq!(told.json()["events_unwatched"], 0, "{told}");
    let events = told.json()["events_per_run"].as_f64();
    assert!(events.is_some_and(|events| events > 1e6), "{told}");
    assert!(!told.messages().contains("looked for"), "{told}");
}

#[test]
fn libraries_order_too() {
    let folder = Folder::empty();
    folder.build_cpp("ordered_by_libraries");
    let found = hunt(&folder, "", 0);
    assert_eq!(found["races"], json!([]));
}

#[test]
fn whoever_hears_of_a_descriptor_knows_what_was_done_before() {
    let folder = Folder::empty();
    folder.build("registered", &[]);
    let words = [
        "hunt",
        "--races",
        "fail",
        "--runs",
        "300",
        "--",
        "./program",
    ];
    folder.bohr(&words).expect(0);
}

#[test]
fn accesses_that_are_not_seen_cannot_race() {
    let folder = Folder::with("unordered", &[]);
    let words = ["hunt", "--races", "fail", "--", "./program", "relaxed"];
    let refusal = folder.bohr(&words).expect(2);
    assert!(refusal.messages().contains("build it with"), "{refusal}");
}

/// The first read of a loop is moved in front of it, and has no line of its own then.
#[test]
fn accesses_that_the_compiler_has_moved_have_a_line() {
    let folder = Folder::empty();
    let source = r#"
        #include <pthread.h>
        static struct { long balance; int open; } account;
        static void add(long *balance, long more) { *balance += more; }
        static void *work(void *balance) {
            for (int i = 0; i < 3; i++) add(balance, 1);
            return NULL;
        }
        int main(void) {
            pthread_t one, other;
            pthread_create(&one, NULL, work, &account.balance);
            pthread_create(&other, NULL, work, &account.balance);
            pthread_join(one, NULL);
            pthread_join(other, NULL);
            return 0;
        }
    "#;
    std::fs::write(folder.path("moved.c"), source).expect("a source");
    let words = ["cc", "-g", "-O2", "-pthread", "-o", "program", "moved.c"];
    folder.bohr(&words).expect(0);
    let words = ["hunt", "--json", "--runs", "60", "--", "./program"];
    let told = folder.bohr(&words).expect(0).json();
    let races = told["races"].as_array().expect("races");
    assert!(!races.is_empty(), "{told}");
    for access in races
        .iter()
        .flat_map(|race| [&race["first"], &race["second"]])
    {
        let innermost = access["stack"][0].as_str().expect("a frame");
        assert!(innermost.contains("moved.c:"), "{access}");
    }
}

/// A look at what another thread may not have written yet, which the author made behind a
/// condition and the optimiser ahead of it.
const PUBLISHED: &str = r#"
    #include <pthread.h>
    #include <stdatomic.h>
    #include <stdlib.h>
    static int message;
    static atomic_int ready;
    static void *sender(void *unused) {
        message = 1;
        atomic_store_explicit(&ready, 1, memory_order_release);
        return unused;
    }
    static void *receiver(void *unused) {
        if (atomic_load_explicit(&ready, ORDER) && message != 1) abort();
        return unused;
    }
    int main(void) {
        pthread_t threads[2];
        pthread_create(&threads[0], 0, sender, 0);
        pthread_create(&threads[1], 0, receiver, 0);
        for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    }
"#;

#[test]
fn what_an_optimiser_looks_at_for_nothing_is_no_race() {
    let folder = Folder::empty();
    std::fs::write(folder.path("published.c"), PUBLISHED).expect("a source");
    let hunt = ["hunt", "--json", "--runs", "200", "--races", "fail"];
    for level in ["-O0", "-O1", "-O2", "-O3"] {
        for (order, code) in [("acquire", 0), ("relaxed", 1)] {
            let order = format!("-DORDER=memory_order_{order}");
            let words = ["cc", "-g", level, &order, "-pthread", "-o", "program"];
            let words = [&words[..], &["published.c"]].concat();
            folder.bohr(&words).expect(0);
            let words = [&hunt[..], &["--", "./program"]].concat();
            let told = folder.bohr(&words).expect(code).json();
            let count = told["races"].as_array().expect("races").len();
            assert_eq!(count, usize::from(code > 0), "{level} {order}: {told}");
        }
    }
}

const ONCE: &str = r#"
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

static mut MESSAGE: i32 = 0;
static READY: AtomicBool = AtomicBool::new(false);
static ONCE: OnceLock<i32> = OnceLock::new();

fn main() {
    let sender = std::thread::spawn(|| {
        // SAFETY: nobody looks before it is ready.
        unsafe { MESSAGE = 1 };
        READY.store(true, Ordering::Release);
        ONCE.set(7).ok();
    });
    let receiver = std::thread::spawn(|| {
        if READY.load(Ordering::Acquire) {
            // SAFETY: it was written before.
            assert_eq!(unsafe { MESSAGE }, 1);
        }
        if let Some(value) = ONCE.get() {
            assert_eq!(*value, 7);
        }
    });
    sender.join().unwrap();
    receiver.join().unwrap();
}
"#;

#[test]
fn what_rust_looks_at_for_nothing_is_no_race() {
    let folder = Folder::empty();
    folder.build_rust("once", ONCE);
    let words = ["hunt", "--json", "--runs", "200", "--races", "fail"];
    let words = [&words[..], &["--", "target/release/once"]].concat();
    assert_eq!(folder.bohr(&words).expect(0).json()["races"], json!([]));
}
