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
