//! Compares interpreted with native random programs, as many as you like:
//! `cargo run --release -p bohr-instrument --example csmith -- COUNT [FIRST SEED]`.

#[path = "../tests/interpreting/csmith.rs"]
mod csmith;
#[path = "../tests/interpreting/native.rs"]
mod native;

use csmith::{Limits, Verdict, compare, generate};
use std::collections::BTreeMap;

/// Programs between two lines of progress: who interrupts the run keeps those.
const EVERY: u64 = 25;

fn show(tally: &BTreeMap<(&str, &str), u64>) {
    for ((level, word), count) in tally {
        println!("{level} {word}: {count}");
    }
}

fn main() {
    let mut arguments = std::env::args()
        .skip(1)
        .map(|word| word.parse().expect("a number"));
    let count: u64 = arguments.next().unwrap_or(500);
    let first: u64 = arguments.next().unwrap_or(1);
    let limits = Limits {
        seconds: 5,
        steps: 400_000_000,
    };
    let mut tally: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    let mut different = 0;
    for seed in first..first + count {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let source = generate(directory.path(), seed, &[]);
        for level in ["-O0", "-O2"] {
            let verdict = compare(directory.path(), &source, level, limits);
            let word = match &verdict {
                Verdict::Same => "the same",
                Verdict::NativeTooSlow => "native too slow",
                Verdict::InterpreterTooSlow => "interpreter too slow",
                Verdict::Undefined => "undefined both ways",
                Verdict::Refused(_) => "refused",
                Verdict::Different(_) => "different",
            };
            *tally.entry((level, word)).or_default() += 1;
            if let Verdict::Refused(why) | Verdict::Different(why) = &verdict {
                println!("seed {seed} {level}: {word}: {why}");
            }
            different += u64::from(matches!(verdict, Verdict::Different(_)));
        }
        let done = seed + 1 - first;
        if done.is_multiple_of(EVERY) {
            println!("after {done} programs:");
            show(&tally);
        }
    }
    show(&tally);
    if different > 0 {
        std::process::exit(1);
    }
}
