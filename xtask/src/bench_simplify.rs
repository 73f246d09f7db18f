//! `cargo xtask bench simplify [generated | growth | recorded | museum] [NAME...]`:
//! time, memory and reduction of simplification. The static step on generated
//! traces of the sizes in Table 1 of the SimTrace paper, its growth, and recorded
//! runs of the exhibits that mirror that table; both steps on the whole museum.

mod generator;
mod growth;
mod models;
mod museum;
mod recorded;

use crate::bench::{self, Bench};
use bohr_event::control::Step;
use bohr_museum::Papers;
use bohr_reduce::{Execution, Options, Report, simplify};
use std::time::Duration;

pub const BENCH: Bench = Bench {
    name: "simplify",
    run,
};

const MOST_SECONDS: f64 = 1.0;
const MOST_MEGABYTES: u64 = 500;

const PARTS: [&str; 4] = ["generated", "growth", "recorded", "museum"];

fn run(arguments: &[String]) -> Result<(), String> {
    let (parts, names) = match arguments.split_first() {
        Some((part, names)) if PARTS.contains(&part.as_str()) => (vec![part.as_str()], names),
        _ => (PARTS.to_vec(), arguments),
    };
    let papers = Papers::load().map_err(|error| error.to_string())?;
    let mut missed = Vec::new();
    for part in parts {
        missed.extend(match part {
            "generated" => models::run(&papers),
            "growth" => growth::run()?,
            "recorded" => recorded::run(&papers, names)?,
            _ => museum::run(names)?,
        });
        println!();
    }
    match missed.is_empty() {
        true => Ok(()),
        false => Err(format!("missed:\n  {}", missed.join("\n  "))),
    }
}

struct Measured {
    report: Report,
    seconds: f64,
    megabytes: u64,
}

/// Simplifies a trace in memory, with so much time for the search behind the
/// first order.
fn measure(steps: &[Step], search: Duration) -> Result<Measured, String> {
    bench::forget_peak_memory();
    let begin = bench::processor_time();
    let mut polls = 0u32;
    let mut searching = None;
    let mut keep_going = || {
        // Asking for the time takes longer than a step of the search.
        polls += 1;
        let begin = *searching.get_or_insert_with(bench::processor_time);
        let unasked = !polls.is_multiple_of(64) && !search.is_zero();
        unasked || bench::processor_time() - begin < search
    };
    let simplified = simplify(Execution::of(steps), &Options::default(), &mut keep_going);
    let simplified = simplified.map_err(|error| error.to_string())?;
    Ok(Measured {
        report: simplified.report,
        seconds: (bench::processor_time() - begin).as_secs_f64(),
        megabytes: bench::peak_memory() >> 20,
    })
}
