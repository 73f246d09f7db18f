//! Leaving out threads and iterations: what is left out does not happen, all
//! else does, and nobody waits for it.

use crate::controlled;

use controlled::{Ended, Folder};

/// Writes a source and builds `program` from it with bohr.
fn built(compiler: &str, name: &str, source: &str, flags: &[&str]) -> Folder {
    let folder = Folder::empty();
    std::fs::write(folder.path(name), source).expect("a source");
    let include = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../../include");
    let common = [compiler, "-g", "-pthread", include, name, "-o", "program"];
    folder.bohr(&[&common, flags].concat()).expect(0);
    folder
}

fn run(folder: &Folder, words: &[&str]) -> Ended {
    folder.bohr(&[&["run"], words, &["--", "./program"]].concat())
}

/// The number of the gate that `inspect` lists for a function.
fn gate(folder: &Folder, kind: &str, function: &str) -> String {
    let facts = folder
        .bohr(&["inspect", "program", "--json"])
        .expect(0)
        .json();
    let gates = facts["gates"].as_array().expect("a list").clone();
    let found = gates.iter().find(|gate| {
        gate["kind"] == kind
            && gate["function"]
                .as_str()
                .is_some_and(|name| name.contains(function))
    });
    let found = found.unwrap_or_else(|| panic!("no {kind} of {function} among {gates:?}"));
    found["number"].to_string()
}

const C: &str = r#"#include <bohr.h>
#include <pthread.h>
#include <stdio.h>
static int done[4], steps[8], handled;
static volatile int five = 5;
static void *work(void *p) {
    int me = *(int *)p;
    done[me] = 1;
    return p;
}
static void *count(void *p) {
    int limit = five;
    for (int i = 0; i < limit; i++) steps[i] += 1;
    for (int i = 0; i < 4; i++) { BOHR_RCB_BEGIN handled += 1 << i; BOHR_RCB_END }
    return 0;
}
int main(void) {
    pthread_t t[4];
    int numbers[3] = {0, 1, 2}, results = 0;
    for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, work, &numbers[i]);
    pthread_create(&t[3], 0, count, 0);
    for (int i = 0; i < 4; i++) { void *r; pthread_join(t[i], &r); results += r != 0; }
    printf("%d%d%d %d ", done[0], done[1], done[2], results);
    for (int i = 0; i < 5; i++) printf("%d", steps[i]);
    printf(" %d\n", handled);
    return 0;
}
"#;

#[test]
fn threads_iterations_and_blocks_of_c() {
    for level in ["-O0", "-O2"] {
        let folder = built("cc", "c.c", C, &[level]);
        let whole = run(&folder, &[]).expect(0);
        assert_eq!(whole.text(), "111 3 11111 15\n");
        let one = run(&folder, &["--without-thread", "0:2"]).expect(0);
        assert_eq!(one.text(), "101 2 11111 15\n");
        assert!(
            one.messages().contains("thread 0:2 ran without its body"),
            "{one}"
        );
        let two = ["--without-thread", "0:1", "--without-thread", "0:3"];
        assert_eq!(run(&folder, &two).expect(0).text(), "010 1 11111 15\n");
        let none = run(&folder, &["--without-thread", "0:9"]).expect(0);
        assert!(
            none.messages().contains("there was no thread 0:9"),
            "{none}"
        );

        let loops = gate(&folder, "iteration", "count");
        let skip = format!("{loops}@0:4=0,3-4");
        let left = run(&folder, &["--without-iteration", &skip]).expect(0);
        assert_eq!(left.text(), "111 3 01100 15\n");
        assert!(left.messages().contains("5 times, 3 left out"), "{left}");
        // The passes of other threads are others.
        let skip = format!("{loops}@0:1=0,3-4");
        assert_eq!(
            run(&folder, &["--without-iteration", &skip])
                .expect(0)
                .text(),
            whole.text()
        );
        let block = format!("{}@0:4=1,2", gate(&folder, "block", "count"));
        assert_eq!(
            run(&folder, &["--without-iteration", &block])
                .expect(0)
                .text(),
            "111 3 11111 9\n"
        );
    }
}

#[test]
fn a_removed_thread_keeps_its_number() {
    // Whatever the schedule, 0:2 is the second thread that main creates.
    let folder = built("cc", "c.c", C, &["-O1"]);
    for seed in ["1", "2", "3", "4"] {
        let words = [
            "--without-thread",
            "0:2",
            "--strategy",
            "random",
            "--seed",
            seed,
        ];
        assert_eq!(run(&folder, &words).expect(0).text(), "101 2 11111 15\n");
    }
}

#[test]
fn what_cannot_be_left_out_is_refused() {
    let folder = built("cc", "c.c", C, &["-O1"]);
    let main = run(&folder, &["--without-thread", "0"]).expect(2);
    assert!(main.messages().contains("main thread"), "{main}");
    let calls = run(&folder, &["--calls-only", "--without-thread", "0:1"]).expect(2);
    assert!(calls.messages().contains("built with bohr"), "{calls}");
    run(&folder, &["--without-iteration", "3@0:1"]).expect(2);
}

const CPP: &str = r#"#include <cstdio>
#include <future>
#include <string>
#include <thread>
static std::string text() { return "long enough to live on the heap"; }
int main() {
    int ran[3] = {};
    std::thread one([&] { ran[0] = 1; });
    std::thread two([&](int n) { ran[1] = n; }, 2);
    auto value = std::async(std::launch::async, [] { return 7; });
    auto nothing = std::async(std::launch::async, [&] { ran[2] = 3; });
    auto owned = std::async(std::launch::async, text);
    one.join();
    two.join();
    int result = value.get();
    nothing.get();
    std::printf("%d%d%d %d %zu\n", ran[0], ran[1], ran[2], result, owned.get().size());
}
"#;

#[test]
fn threads_and_tasks_of_cpp() {
    for level in ["-O0", "-O2"] {
        let folder = built("c++", "p.cc", CPP, &[level]);
        for (thread, left) in [
            ("0:9", "123 7 31\n"),
            ("0:1", "023 7 31\n"),
            ("0:2", "103 7 31\n"),
            ("0:3", "123 0 31\n"),
            ("0:4", "120 7 31\n"),
            ("0:5", "123 7 31\n"),
        ] {
            let ended = run(&folder, &["--without-thread", thread]).expect(0);
            assert_eq!(ended.text(), left, "{level} without {thread}");
            let has_gate = !ended.messages().contains("its body has no gate");
            assert_eq!(has_gate, thread != "0:5", "{ended}");
        }
    }
}

const RUST: &str = r#"use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;
static RAN: AtomicU32 = AtomicU32::new(0);
fn main() {
    let given = vec![1];
    let nothing = thread::spawn(move || { RAN.fetch_add(given[0], SeqCst); });
    let number = thread::spawn(|| { RAN.fetch_add(10, SeqCst); 7_i64 });
    let owned = thread::spawn(|| { RAN.fetch_add(100, SeqCst); String::from("seven") });
    nothing.join().unwrap();
    let number = number.join().unwrap();
    let owned = owned.join().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| { RAN.fetch_add(1000, SeqCst); });
    });
    println!("{} {number} {owned}", RAN.load(SeqCst));
}
"#;

#[test]
fn threads_of_rust() {
    let folder = Folder::empty();
    folder.build_rust("threads", RUST);
    for (thread, left) in [
        ("0:9", "1111 7 seven\n"),
        ("0:1", "1110 7 seven\n"),
        ("0:2", "1101 0 seven\n"),
        ("0:3", "1111 7 seven\n"),
        ("0:4", "111 7 seven\n"),
    ] {
        let words = [
            "run",
            "--without-thread",
            thread,
            "--",
            "target/release/threads",
        ];
        let ended = folder.bohr(&words).expect(0);
        assert_eq!(ended.text(), left, "without {thread}");
        let has_gate = !ended.messages().contains("its body has no gate");
        assert_eq!(has_gate, thread != "0:3", "{ended}");
    }
    let told = folder
        .bohr(&["inspect", "--gates", "target/release/threads"])
        .expect(0)
        .text();
    let forgetful = told.matches("does not drop what its closure holds").count();
    assert_eq!(forgetful, 1, "one closure holds something\n{told}");
    assert!(
        told.contains("it returns a value of type alloc::string::String"),
        "{told}"
    );
}
