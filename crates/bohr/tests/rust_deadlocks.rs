//! Deadlocks of Rust's own locks are told by the names of the locks, whether the program
//! is optimised or not.

use crate::controlled::Folder;

const BANK: &str = r#"
use std::sync::{Arc, Mutex};

struct Bank {
    checking: Mutex<i64>,
    savings: Mutex<i64>,
}

fn save(bank: &Bank) {
    let mut from = bank.checking.lock().unwrap(); // marker: save-first
    let mut to = bank.savings.lock().unwrap();
    *from -= 1;
    *to += 1;
}

fn spend(bank: &Bank) {
    let mut from = bank.savings.lock().unwrap(); // marker: spend-first
    let mut to = bank.checking.lock().unwrap();
    *from -= 1;
    *to += 1;
}

fn main() {
    let bank = Arc::new(Bank { checking: Mutex::new(5), savings: Mutex::new(5) });
    let other = bank.clone();
    let one = std::thread::spawn(move || save(&other));
    let other = bank.clone();
    let two = std::thread::spawn(move || spend(&other));
    one.join().unwrap();
    two.join().unwrap();
}
"#;

/// Where in the source a marker stands.
fn line_of(marker: &str) -> String {
    let number = BANK.lines().position(|line| line.contains(marker));
    format!("src/main.rs:{}", number.expect("a line") + 1)
}

#[test]
fn a_hunt_tells_which_locks_and_who_has_them() {
    let folder = Folder::empty();
    folder.build_rust("bank", BANK);
    folder
        .bohr(&["cargo", "build", "--offline", "--quiet"])
        .expect(0);
    for level in ["debug", "release"] {
        let program = format!("target/{level}/bank");
        let told = folder.bohr(&["hunt", "--json", "-o", "bank.bohr", "--", &program]);
        let told = told.expect(1).json();
        let lines = told["stacks"].as_array().expect("threads").iter();
        let doing: Vec<&str> = lines.map(|line| line["doing"].as_str().unwrap()).collect();
        for (lock, marker) in [
            ("Bank::savings, held by 0:2 since ", "spend-first"),
            ("Bank::checking, held by 0:1 since ", "save-first"),
        ] {
            let line = line_of(marker);
            let told = doing.iter().find(|told| told.contains(lock));
            let told = told.unwrap_or_else(|| panic!("{level}: {lock} in {doing:?}"));
            assert!(told.ends_with(&line), "{level}: {told}");
        }
    }
}

const SETTINGS: &str = r#"
use std::sync::RwLock;

static CONFIG: RwLock<i64> = RwLock::new(1);
static CACHE: RwLock<i64> = RwLock::new(2);

fn refresh() {
    let config = CONFIG.read().unwrap(); // marker: refresh-first
    *CACHE.write().unwrap() = *config; // marker: refresh-second
}

fn apply() {
    let cache = CACHE.read().unwrap(); // marker: apply-first
    *CONFIG.write().unwrap() = *cache; // marker: apply-second
}

fn main() {
    let one = std::thread::spawn(refresh);
    let two = std::thread::spawn(apply);
    one.join().unwrap();
    two.join().unwrap();
}
"#;

/// Writers sleep on another word of the lock than the one that tells who has it.
#[test]
fn writers_that_wait_for_each_others_readers_are_a_circle() {
    let folder = Folder::empty();
    folder.build_rust("settings", SETTINGS);
    let build = ["cargo", "build", "--offline", "--quiet"];
    folder.bohr(&build).expect(0);
    let line = |marker: &str| {
        let number = SETTINGS.lines().position(|line| line.contains(marker));
        format!("src/main.rs:{}", number.expect("a line") + 1)
    };
    for level in ["debug", "release"] {
        let program = format!("target/{level}/settings");
        let words = ["hunt", "--json", "-o", "settings.bohr", "--", &program];
        let told = folder.bohr(&words).expect(1).json();
        assert_eq!(told["kind"], "deadlock", "{level}: {told}");
        let told = folder.bohr(&["explain", "settings.bohr", "--json"]);
        let told = told.expect(0).json();
        let [finding] = &told["findings"].as_array().expect("findings")[..] else {
            panic!("{level}: one finding: {told}")
        };
        assert_eq!(finding["kind"], "deadlock", "{level}: {told}");
        let sentence = finding["sentence"].as_str().expect("a sentence");
        for marker in [
            "refresh-first",
            "refresh-second",
            "apply-first",
            "apply-second",
        ] {
            assert!(sentence.contains(&line(marker)), "{level}: {sentence}");
        }
        for lock in ["CONFIG", "CACHE"] {
            assert!(sentence.contains(lock), "{level}: {sentence}");
        }
    }
}
