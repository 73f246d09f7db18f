//! `cargo xtask bench explain`: how long the analyses take on museum exhibits of
//! a million events and more, and how that grows; how large a page is and how soon
//! it answers; and for every exhibit, or those that are named, whether the culprit
//! is. The analyses do not run the program again: experiments cost what runs cost,
//! and are not measured here.

mod page;

use crate::bench::{self, Bench};
use crate::bench_trace::{Stand, built};
use crate::museum::{build_bohr, explain_exhibits};
use bohr_event::control::{Detailing, Failure, Recorded, Step, ThreadState};
use bohr_event::{EventKind, FailureKind, Operation, PlaceNumber, Schedule};
use bohr_explain::{
    Experimenter, Observation, circle, lifetime, race::races, unheard, window::windows,
};
use bohr_explore::{Ran, lock_order};
use bohr_museum::Variant;
use bohr_schedule::Rule;
use std::convert::Infallible;
use std::path::Path;
use std::time::Duration;

pub const BENCH: Bench = Bench {
    name: "explain",
    run,
};

/// The targets for a million events: seconds and bytes of all analyses together.
const MOST_SECONDS: f64 = 2.0;
const MOST_MEMORY: u64 = 1 << 30;

/// Exhibits with locks, with locks inside locks, with conditions, with memory that comes and goes, and
/// with nothing that keeps threads apart; each in a quarter of its size, too.
const RUNS: [(&str, Variant, [&[&str]; 2]); 5] = [
    ("racey", Variant::Buggy, [&["2", "62500"], &["2", "250000"]]),
    ("account", Variant::Fixed, [&["8", "5000"], &["8", "20000"]]),
    (
        "philosophers",
        Variant::Fixed,
        [&["5", "6250"], &["5", "25000"]],
    ),
    (
        "bounded-buffer",
        Variant::Fixed,
        [&["4", "7500"], &["4", "30000"]],
    ),
    (
        "treiber-aba",
        Variant::Fixed,
        [&["4", "5000"], &["4", "20000"]],
    ),
];

fn run(names: &[String]) -> Result<(), String> {
    let bohr = build_bohr()?;
    let outcomes = [
        analyses(&bohr),
        page::measure(&bohr),
        explain_exhibits(names),
    ];
    let missed: Vec<String> = outcomes.into_iter().filter_map(Result::err).collect();
    match missed.is_empty() {
        true => Ok(()),
        false => Err(missed.join("; ")),
    }
}

fn analyses(bohr: &Path) -> Result<(), String> {
    println!(
        "targets: at most {MOST_SECONDS} s and {} MB a million events for all analyses together\n",
        MOST_MEMORY >> 20
    );
    println!(
        "{:16} {:>9} {:>8} {:>13} {:>9} {:>11} {:>14} {:>9} {:>11} {:>8} {:>8}",
        "exhibit",
        "events",
        "races s",
        "lock orders s",
        "circle s",
        "lifetime s",
        "notification s",
        "windows s",
        "together s",
        "ns/event",
        "MB"
    );
    let mut missed = Vec::new();
    for (name, variant, sizes) in RUNS {
        let program = built(name, variant, bohr)?;
        for arguments in sizes {
            let mut stand = Stand::new(&program, bohr, arguments)?;
            let ran = traced(&mut stand)?;
            let orders = lock_orders(&ran, &stand);
            let run = recorded(ran);
            let figures = measure(&run, orders);
            print_line(name, run.steps.len(), &figures);
            let millions = (run.steps.len() as f64 / 1e6).max(1.0);
            let seconds = figures.together().as_secs_f64() / millions;
            let memory = figures.memory as f64 / millions;
            if seconds > MOST_SECONDS || memory > MOST_MEMORY as f64 {
                missed.push(name);
            }
        }
    }
    match missed.is_empty() {
        true => Ok(()),
        false => Err(format!("targets missed: {}", missed.join(", "))),
    }
}

/// A run whose schedule is like those that get explained: few preemptions.
fn traced(stand: &mut Stand) -> Result<Ran, String> {
    let rule = Rule::Pct {
        depth: 4,
        length: 1_000_000,
    };
    Ok(stand.run(&rule, Detailing::Always, Detailing::Always)?.0)
}

fn recorded(ran: Ran) -> Recorded {
    let schedule = ran.schedule();
    let (report, steps, _) = ran.into_parts();
    Recorded {
        threads: report.detail.unwrap_or_default().threads,
        schedule,
        steps,
        pending: Vec::new(),
    }
}

fn print_line(name: &str, events: usize, figures: &Figures) {
    let [races, orders, circle, lifetime, notification, windows] =
        figures.times.map(|time| time.as_secs_f64());
    let together = figures.together().as_secs_f64();
    println!(
        "{name:16} {events:9} {races:8.3} {orders:13.3} {circle:9.3} {lifetime:11.3} {notification:14.3} \
         {windows:9.3} {together:11.3} {:8.0} {:8}",
        1e9 * together / events as f64,
        figures.memory >> 20
    );
}

/// Lock orders, as hunts look for them: with the model, which tells what threads wait
/// for. How long that takes, and the most memory meanwhile.
fn lock_orders(ran: &Ran, stand: &Stand) -> (Duration, u64) {
    let (mut atlas, _) = (stand.atlas(), ran.steps());
    bench::forget_peak_memory();
    let taken = time(|| drop(lock_order::found(ran, &mut atlas)));
    (taken, bench::peak_memory())
}

struct Figures {
    times: [Duration; 6],
    memory: u64,
}

impl Figures {
    fn together(&self) -> Duration {
        self.times.iter().sum()
    }
}

fn measure(run: &Recorded, (orders, memory): (Duration, u64)) -> Figures {
    let failure = failure(run);
    bench::forget_peak_memory();
    let times = [
        time(|| drop(races(&run.steps))),
        orders,
        time(|| drop(circle(run, &failure.states))),
        time(|| drop(lifetime(run, &failure))),
        time(|| drop(unheard(run, &failure.states))),
        time(|| {
            let Ok(_) = windows(run, &mut Nobody);
        }),
    ];
    Figures {
        times,
        memory: memory.max(bench::peak_memory()),
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
