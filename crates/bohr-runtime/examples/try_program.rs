//! Runs any program under a few seeds and prints how it went.
//!
//!     cargo run -p bohr-runtime --example try_program RUNS PROGRAM ARGUMENTS…

#[path = "../tests/harness/mod.rs"]
mod harness;

use bohr_event::control::{Detailing, Output};
use bohr_schedule::{Plan, Rule};
use std::{path::Path, time::Instant};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [runs, program, rest @ ..] = &arguments[..] else {
        panic!("try_program RUNS PROGRAM ARGUMENTS…")
    };
    let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
    let mut job = harness::job(
        &Plan::new(Rule::Random),
        runs.parse().expect("a number of runs"),
    );
    job.trace = Detailing::Never;
    job.output = Output::Capture { limit: 1 << 30 };
    job.limits.events = 100_000_000;
    let mut template = harness::Template::start(Path::new(program), &rest);
    println!("notices: {:?}", template.ready.notices);
    let start = Instant::now();
    for report in template.run(&job) {
        let detail = report.report.detail.clone().unwrap_or_default();
        println!(
            "seed {}: {:?}, {} threads, {} events, {} switches, hash {:016x}, {} bytes out {:x}, {:?}",
            report.seed,
            report.outcome,
            report.threads,
            report.events,
            report.switches,
            report.hash,
            detail.output.len(),
            detail
                .output
                .iter()
                .fold(0u64, |sum, &byte| sum.wrapping_mul(31) + u64::from(byte)),
            detail.notices
        );
    }
    println!("{:.2?}", start.elapsed());
}
