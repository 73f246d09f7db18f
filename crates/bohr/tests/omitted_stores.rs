//! Leaving out single stores: what they would have written nobody ever sees, and
//! all else goes as it did.

use crate::controlled;

use controlled::{Ended, Folder};
use serde_json::{Value, json};

/// Writes a source and builds `program` from it with bohr.
fn built(compiler: &str, name: &str, source: &str, level: &str) -> Folder {
    let folder = Folder::empty();
    std::fs::write(folder.path(name), source).expect("a source");
    let words = [compiler, "-g", level, "-pthread", name, "-o", "program"];
    folder.bohr(&words).expect(0);
    folder
}

/// The gates of stores in a line, `null` where one cannot be left out.
fn gates(folder: &Folder, program: &str, file: &str, line: u64) -> Vec<Value> {
    let facts = folder
        .bohr(&["inspect", program, "--json"])
        .expect(0)
        .json();
    let functions = facts["functions"].as_array().expect("a list");
    let sites = functions.iter().flat_map(|function| {
        let sites = function["sites"].as_array().expect("a list");
        sites.iter().filter(|site| {
            let places = site["places"].as_array().expect("a list");
            let is_here = |place: &Value| place["file"] == file && place["line"] == json!(line);
            let is_store = site["kind"] == "write" || site["kind"] == "update";
            is_store && site["sharing"] == "shared" && places.iter().any(is_here)
        })
    });
    sites.map(|site| site["gate"].clone()).collect()
}

fn run_without(folder: &Folder, program: &str, omitted: &[String], more: &[&str]) -> Ended {
    let omitted = omitted.iter().flat_map(|one| ["--without-iteration", one]);
    let words: Vec<&str> = ["run"].into_iter().chain(omitted).collect();
    folder.bohr(&[&words[..], more, &["--", program]].concat())
}

const C: &str = r#"#include <pthread.h>
#include <stdio.h>
struct wide { long a, b, c, d; };
static int flag, seen;
static volatile int five = 5;
static long total;
static struct wide all, none = {1, 2, 3, 4};
static void *work(void *p) {
    int limit = five;
    for (int i = 0; i < limit; i++) {
        flag = i + 1;
        total += flag;
    }
    __atomic_fetch_add(&seen, 3, __ATOMIC_SEQ_CST);
    *(int *)p = 9;
    all.a = none.a; all.b = none.b; all.c = none.c; all.d = none.d;
    return p;
}
int main(void) {
    pthread_t t;
    int own = 2;
    flag = 100;
    pthread_create(&t, 0, work, &own);
    pthread_join(t, 0);
    sscanf("7", "%d", &seen) == 1 ? (void)0 : (void)(seen = 1);
    printf("%d %ld %d %d %ld\n", flag, total, seen, own, all.a + all.b + all.c + all.d);
    return 0;
}
"#;

#[test]
fn a_store_that_is_left_out_is_seen_by_nobody() {
    for level in ["-O0", "-O2"] {
        let folder = built("cc", "c.c", C, level);
        let without = |line: u64, thread: &str, numbers: &str, more: &[&str]| {
            let gates = gates(&folder, "program", "c.c", line);
            assert!(
                !gates.is_empty() && gates.iter().all(Value::is_u64),
                "{gates:?}"
            );
            let omitted = gates
                .iter()
                .map(|gate| format!("{gate}@{thread}={numbers}"));
            let omitted: Vec<String> = omitted.collect();
            run_without(&folder, "./program", &omitted, more).expect(0)
        };
        let whole = run_without(&folder, "./program", &[], &[]).expect(0);
        assert_eq!(whole.text(), "5 15 7 9 10\n");
        // The thread's own next read finds what was there before.
        if level == "-O0" {
            let first = without(11, "0:1", "0", &[]);
            assert_eq!(first.text(), "5 114 7 9 10\n");
            assert!(first.messages().contains("5 times, 1 left out"), "{first}");
            assert_eq!(without(11, "0:1", "1,3-", &[]).text(), "3 11 7 9 10\n");
        }
        assert_eq!(
            without(11, "0:1", "0-", &[]).text().split(' ').next(),
            Some("100")
        );
        assert_eq!(without(12, "0:1", "0-", &[]).text(), "5 0 7 9 10\n");
        // Another thread's stack is memory like any other.
        assert_eq!(without(15, "0:1", "0-", &[]).text(), "5 15 7 2 10\n");
        assert_eq!(without(16, "0:1", "0-", &[]).text(), "5 15 7 9 0\n");
        assert_eq!(without(15, "0:2", "0-", &[]).text(), whole.text());
        for model in ["tso", "pso"] {
            let words = ["--model", model, "--strategy", "random", "--seed", "3"];
            assert_eq!(without(12, "0:1", "0-", &words).text(), "5 0 7 9 10\n");
        }
    }
}

const LOOKED_AT: &str = r#"#include <pthread.h>
#include <stdio.h>
extern void look(int *p);
static int number, other;
static void *work(void *p) {
    number = 1;
    look(&number);
    other = 3;
    sscanf("7", "%d", &other);
    number = 8;
    return p;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, work, 0);
    pthread_join(t, 0);
    printf("%d %d\n", number, other);
    return 0;
}
"#;

#[test]
fn a_store_that_a_library_may_look_at_has_no_gate() {
    let folder = Folder::empty();
    std::fs::write(folder.path("l.c"), LOOKED_AT).expect("a source");
    std::fs::write(folder.path("look.c"), "void look(int *p) { *p += 4; }").expect("a source");
    let plain = std::process::Command::new("cc")
        .args(["-c", "look.c"])
        .current_dir(folder.path("."))
        .status();
    assert!(plain.expect("a compiler").success());
    let words = [
        "cc", "-g", "-O0", "-pthread", "l.c", "look.o", "-o", "program",
    ];
    folder.bohr(&words).expect(0);
    let gate = |line| gates(&folder, "program", "l.c", line);
    assert_eq!(
        gate(6),
        [Value::Null],
        "what the library writes would be taken back"
    );
    let [known, last] = [gate(8), gate(10)].map(|gates| gates[0].as_u64());
    assert!(last.is_some(), "nothing comes any more");
    // Of a function that is known bohr hears before it reads or writes.
    let known = known.map(|gate| format!("{gate}@0:1=0"));
    let omitted: Vec<String> = known.into_iter().collect();
    let ended = run_without(&folder, "./program", &omitted, &[]).expect(0);
    assert_eq!(ended.text(), "8 7\n");
}

const ACCOUNT: &str = r#"#include <atomic>
#include <cassert>
#include <memory>
#include <thread>
#include <vector>
struct Account {
    long balance = 0, last = 0;
    std::atomic<long> hits{0};
    void deposit(long n) {
        long before = balance;
        hits.fetch_add(1, std::memory_order_relaxed);
        last = n;
        balance = before + n;
    }
};
int main() {
    auto account = std::make_unique<Account>();
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; i++) threads.emplace_back([&account] { account->deposit(1); });
    for (auto &thread : threads) thread.join();
    assert(account->balance == 3);
}
"#;

const COUNTED: &str = r#"use std::sync::atomic::{AtomicU64, Ordering::*};
use std::thread;
static BALANCE: AtomicU64 = AtomicU64::new(0);
static HITS: AtomicU64 = AtomicU64::new(0);
static LAST: AtomicU64 = AtomicU64::new(0);
fn main() {
    let deposits = (0..3).map(|number| thread::spawn(move || {
        let before = BALANCE.load(SeqCst);
        HITS.fetch_add(1, Relaxed);
        LAST.store(number, Relaxed);
        BALANCE.store(before + 1, SeqCst);
    }));
    let deposits: Vec<_> = deposits.collect();
    for deposit in deposits {
        deposit.join().unwrap();
    }
    assert_eq!(BALANCE.load(SeqCst), 3);
    println!("{}", LAST.load(SeqCst));
}
"#;

/// Hunts a program down, reduces the bug and goes through all that is done with one.
fn reduced(folder: &Folder, program: &str, lines: &[&str]) {
    let hunt = [
        "hunt",
        "-o",
        "bug.bohr",
        "--strategy",
        "random",
        "--",
        program,
    ];
    folder.bohr(&hunt).expect(1);
    let reduce = ["reduce", "bug.bohr", "-o", "small.bohr", "--json"];
    let report = folder.bohr(&reduce).expect(0).json();
    let stages = report["stages"].as_array().expect("a list");
    assert!(
        stages.iter().any(|stage| stage["name"] == "stores"),
        "{report}"
    );
    assert!(
        report["stores_left_out"].as_u64() >= Some(2 * lines.len() as u64),
        "{report}"
    );
    let places = report["without_stores"].to_string();
    for line in lines {
        assert!(places.contains(line), "{line}: {places}");
    }
    let replays = |words: &[&str]| {
        let replay = ["replay", "small.bohr", "--times", "20", "--json"];
        folder.bohr(&[&replay, words].concat()).expect(0).json()
    };
    assert_eq!(replays(&[])["events"], report["events_after"]);
    assert_eq!(replays(&["--fresh"])["reproduced"], json!(20));
    assert_eq!(
        replays(&["--fresh", "--backend", "threads"])["reproduced"],
        json!(20)
    );
    folder.bohr(&["simplify", "small.bohr"]).expect(0);
    assert_eq!(replays(&[])["reproduced"], json!(20));
    let told = folder.bohr(&["explain", "small.bohr"]).expect(0).text();
    assert!(told.contains("; without stores at "), "{told}");
    assert!(told.to_lowercase().contains("balance"), "{told}");
    for gone in ["writes Account::last", "writes counted::LAST", "updates"] {
        assert!(!told.contains(gone), "{told}");
    }
    let text = folder.bohr(&["reduce", "bug.bohr"]).expect(0).text();
    assert!(
        text.contains("stores were left out, of which nothing comes"),
        "{text}"
    );
}

#[test]
fn stores_of_which_nothing_comes_go_in_cpp() {
    for level in ["-O0", "-O2"] {
        let folder = built("c++", "a.cpp", ACCOUNT, level);
        reduced(&folder, "./program", &["a.cpp:12"]);
    }
}

#[test]
fn stores_of_which_nothing_comes_go_in_rust() {
    let folder = Folder::empty();
    folder.build_rust("counted", COUNTED);
    reduced(
        &folder,
        "target/release/counted",
        &["main.rs:9", "main.rs:10"],
    );
}
