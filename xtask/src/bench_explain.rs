//! `cargo xtask bench explain`: how long the analyses take on museum exhibits of
//! a million events and more, and how much memory. The program is not run again:
//! experiments cost what runs cost, and are not measured here.

use crate::bench::{self, Bench};
use crate::bench_trace::{Stand, built};
use crate::museum::build_bohr;
use bohr_event::control::{Detailing, Failure, Recorded, Step, ThreadState};
use bohr_event::{EventKind, FailureKind, Operation, PlaceNumber, Schedule};
use bohr_explain::{
    Experimenter, Observation, circle, lifetime, race::races, unheard, window::windows,
};
use bohr_museum::Variant;
use bohr_schedule::Rule;
use std::convert::Infallible;
use std::time::Duration;

pub const BENCH: Bench = Bench {
    name: "explain",
    run,
};

/// The targets, for every analysis on every run: seconds and bytes.
const MOST_SECONDS: f64 = 2.0;
const MOST_MEMORY: u64 = 1 << 30;

/// Exhibits with locks, with conditions, with memory that comes and goes, and
/// with nothing that keeps threads apart.
const RUNS: [(&str, Variant, &[&str]); 4] = [
    ("racey", Variant::Buggy, &["2", "250000"]),
    ("account", Variant::Fixed, &["8", "20000"]),
    ("bounded-buffer", Variant::Fixed, &["4", "30000"]),
    ("treiber-aba", Variant::Fixed, &["4", "20000"]),
];

fn run(_: &[String]) -> Result<(), String> {
    println!(
        "targets: at most {MOST_SECONDS} s and {} MB for all analyses together\n",
        MOST_MEMORY >> 20
    );
    println!(
        "{:16} {:>9} {:>8} {:>9} {:>11} {:>14} {:>9} {:>11} {:>8}",
        "exhibit",
        "events",
        "races s",
        "circle s",
        "lifetime s",
        "notification s",
        "windows s",
        "together s",
        "MB"
    );
    let bohr = build_bohr()?;
    let mut missed = Vec::new();
    for (name, variant, arguments) in RUNS {
        let mut stand = Stand::new(&built(name, variant, &bohr)?, &bohr, arguments)?;
        // As schedules are that get explained: few preemptions.
        let rule = Rule::Pct {
            depth: 4,
            length: 1_000_000,
        };
        let ran = stand.run(&rule, Detailing::Always, Detailing::Always)?.0;
        let schedule = ran.schedule();
        let (report, steps, _) = ran.into_parts();
        let run = Recorded {
            threads: report.detail.unwrap_or_default().threads,
            schedule,
            steps,
            pending: Vec::new(),
        };
        let figures = measure(&run);
        let together: Duration = figures.times.iter().sum();
        println!(
            "{name:16} {:9} {:8.3} {:9.3} {:11.3} {:14.3} {:9.3} {:11.3} {:8}",
            run.steps.len(),
            figures.times[0].as_secs_f64(),
            figures.times[1].as_secs_f64(),
            figures.times[2].as_secs_f64(),
            figures.times[3].as_secs_f64(),
            figures.times[4].as_secs_f64(),
            together.as_secs_f64(),
            figures.memory >> 20
        );
        if together.as_secs_f64() > MOST_SECONDS || figures.memory > MOST_MEMORY {
            missed.push(name);
        }
    }
    match missed.is_empty() {
        true => Ok(()),
        false => Err(format!("targets missed: {}", missed.join(", "))),
    }
}

struct Figures {
    times: [Duration; 5],
    memory: u64,
}

fn measure(run: &Recorded) -> Figures {
    let failure = failure(run);
    bench::forget_peak_memory();
    let times = [
        time(|| drop(races(&run.steps))),
        time(|| drop(circle(run, &failure.states))),
        time(|| drop(lifetime(run, &failure))),
        time(|| drop(unheard(run, &failure.states))),
        time(|| {
            let Ok(_) = windows(run, &mut Nobody);
        }),
    ];
    Figures {
        times,
        memory: bench::peak_memory(),
    }
}

fn time(analysis: impl FnOnce()) -> Duration {
    let begin = bench::processor_time();
    analysis();
    bench::processor_time() - begin
}

/// The run went well; this is how it might have failed: every thread waits for
/// what it touched last, and the block that was freed last is used.
fn failure(run: &Recorded) -> Failure {
    let last = |wanted: &dyn Fn(&Step) -> bool| run.steps.iter().rfind(|step| wanted(step));
    let freed = last(&|step| step.operation.kind == EventKind::Free);
    let state = |index: usize| {
        let thread = bohr_event::ThreadIndex(index as u32);
        let operation = last(&|step| step.thread == thread)?.operation;
        let kind = if index.is_multiple_of(2) {
            EventKind::Wait
        } else {
            EventKind::Acquire
        };
        Some(ThreadState {
            thread,
            operation: Operation { kind, ..operation },
            enabled: false,
            holder: None,
            frames: Vec::new(),
        })
    };
    Failure {
        kind: FailureKind::UseAfterFree,
        thread: bohr_event::ThreadIndex::MAIN,
        place: Some(PlaceNumber(1)),
        address: freed.map_or(0x1000, |step| step.operation.object),
        message: String::new(),
        states: (0..run.threads.len()).filter_map(state).collect(),
    }
}

/// Whoever asks is told that nothing fails.
struct Nobody;

impl Experimenter for Nobody {
    type Error = Infallible;

    fn observe(&mut self, _: &Schedule<PlaceNumber>) -> Result<Observation, Infallible> {
        Ok(Observation::default())
    }
}
