//! Measures schedules per second of one template.
//!
//!     cargo run --release -p bohr-runtime --example rate [RUNS]

#[path = "../tests/harness/mod.rs"]
mod harness;

use bohr_event::control::{Detailing, Output};
use bohr_schedule::{Plan, Rule};
use std::time::Instant;

fn main() {
    let runs = std::env::args().nth(1).and_then(|runs| runs.parse().ok());
    let runs = runs.unwrap_or(20_000);
    let program = harness::Program::compile("fifty_events.c");
    let mut job = harness::job(&Plan::new(Rule::Random), runs);
    job.trace = Detailing::Never;
    job.details = Detailing::Failing;
    job.output = Output::Discard;
    let mut template = program.start();
    let start = Instant::now();
    let reports = template.run(&job);
    let rate = runs as f64 / start.elapsed().as_secs_f64();
    let events = reports.iter().map(|report| report.events).max();
    println!("{rate:.0} schedules a second, {events:?} events each");
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", template.process()));
    let stat = stat.expect("the template lives");
    let fields: Vec<f64> = stat
        .rsplit(')')
        .next()
        .expect("fields")
        .split_whitespace()
        .skip(7)
        .take(8)
        .map(|field| field.parse().expect("a number"))
        .collect();
    // Minor faults of itself and its children at 0 and 1, times from 4 on.
    let each = |ticks: f64| ticks * 10_000.0 / runs as f64;
    println!(
        "processor time per run: template {:.0} µs user, {:.0} µs system; run {:.0} and {:.0}",
        each(fields[4]),
        each(fields[5]),
        each(fields[6]),
        each(fields[7])
    );
    println!("page faults per run: {:.0}", fields[1] / runs as f64);
}
