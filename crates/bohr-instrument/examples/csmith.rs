//! Compares native random programs with the same interpreted, or with the same
//! with hooks and gates, as many as you like:
//! `cargo run --release -p bohr-instrument --example csmith -- interpreted|instrumented COUNT [FIRST SEED]`.

#[path = "../tests/interpreting/csmith.rs"]
mod csmith;
#[path = "../tests/interpreting/native.rs"]
mod native;
#[path = "../tests/support/mod.rs"]
mod support;

use csmith::{Limits, Other, Verdict, compare, generate};
use std::collections::BTreeMap;

/// Programs between two lines of progress: who interrupts the run keeps those.
const EVERY: u64 = 25;

/// How many programs came to what, by level.
type Tally = BTreeMap<(&'static str, &'static str), u64>;

fn show(tally: &Tally) {
    for ((level, word), count) in tally {
        println!("{level} {word}: {count}");
    }
}

fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Same => "the same",
        Verdict::NativeTooSlow => "native too slow",
        Verdict::OtherTooSlow => "other too slow",
        Verdict::Undefined => "undefined both ways",
        Verdict::Refused(_) => "refused",
        Verdict::Different(_) => "different",
    }
}

fn one(other: Other, seed: u64, tally: &mut Tally) {
    let limits = Limits {
        seconds: 5,
        steps: 400_000_000,
    };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let source = generate(directory.path(), seed, &[]);
    for level in ["-O0", "-O2"] {
        let verdict = compare(other, directory.path(), &source, level, limits);
        *tally.entry((level, word(&verdict))).or_default() += 1;
        if let Verdict::Refused(why) | Verdict::Different(why) = &verdict {
            println!("seed {seed} {level}: {}: {why}", word(&verdict));
        }
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let other = match arguments.next().as_deref() {
        Some("interpreted") => Other::Interpreted,
        Some("instrumented") => Other::Instrumented,
        given => panic!("expected interpreted or instrumented, not {given:?}"),
    };
    let mut numbers = arguments.map(|word| word.parse().expect("a number"));
    let count: u64 = numbers.next().unwrap_or(500);
    let first: u64 = numbers.next().unwrap_or(1);
    let mut tally = Tally::new();
    for seed in first..first + count {
        one(other, seed, &mut tally);
        let done = seed + 1 - first;
        if done.is_multiple_of(EVERY) {
            println!("after {done} programs:");
            show(&tally);
        }
    }
    show(&tally);
    if tally.keys().any(|(_, word)| *word == "different") {
        std::process::exit(1);
    }
}
