//! `cargo xtask bench simplify`: time, memory and reduction of the static
//! simplification, on generated traces of the sizes in Table 1 of the SimTrace
//! paper, and its growth.
//!
//! The generator runs threads that work on memory of their own and now and then
//! enter a critical section; a scheduler that knows nothing passes the
//! processor on after random times. How rare sections are is the one thing that
//! Table 1 does not tell; each model says what it assumes.

use crate::bench::{self, Bench};
use bohr_event::{EventKind, MemoryOrder, Operation, PlaceNumber, ThreadIndex, control::Step};
use bohr_reduce::{
    Chains, Execution, Options, Report, footprint::Footprints, graph::Graph, merge, simplify,
};
use std::time::Duration;

pub const BENCH: Bench = Bench {
    name: "simplify",
    run,
};

/// A trace to generate.
#[derive(Clone, Copy)]
struct Model {
    name: &'static str,
    events: usize,
    threads: u32,
    locks: u64,
    /// Shared variables, each under one of the locks.
    variables: u64,
    /// Events between two switches, on average.
    mean_run: u64,
    /// Events between two critical sections of a thread, on average.
    between_sections: u64,
    /// Per cent, as the paper reports it for the program of this size.
    paper_reduction: f64,
    paper_seconds: f64,
}

/// Philosopher, TSP, Cache4j and OpenJMS of Table 1, by size.
const MODELS: [Model; 4] = [
    Model {
        name: "philosopher-like",
        events: 131,
        threads: 6,
        locks: 1,
        variables: 1,
        mean_run: 2,
        between_sections: 8,
        paper_reduction: 65.0,
        paper_seconds: 0.006,
    },
    Model {
        name: "tsp-like",
        events: 636_499,
        threads: 5,
        locks: 3,
        variables: 234,
        mean_run: 55,
        between_sections: 300,
        paper_reduction: 86.0,
        paper_seconds: 149.0,
    },
    Model {
        name: "cache4j-like",
        events: 1_225_167,
        threads: 4,
        locks: 1,
        variables: 5,
        mean_run: 2_200,
        between_sections: 40_000,
        paper_reduction: 92.0,
        paper_seconds: 592.0,
    },
    Model {
        name: "openjms-like",
        events: 376_187,
        threads: 32,
        locks: 40,
        variables: 365,
        mean_run: 4,
        between_sections: 15,
        paper_reduction: 88.0,
        paper_seconds: 38.0,
    },
];

const MOST_SECONDS: f64 = 1.0;
const MOST_MEGABYTES: u64 = 500;
/// What the search may take of it; the rest is for graph and proof.
const SEARCH: Duration = Duration::from_millis(400);

fn run(_: &[String]) -> Result<(), String> {
    println!(
        "targets: {MOST_SECONDS} s and {MOST_MEGABYTES} MB each, reduction at least the paper's\n"
    );
    println!(
        "{:17} {:>9} {:>7} {:>6} {:>8} {:>8} {:>7} {:>7} {:>7} {:>10} {:>7} {:>6} {:>8}",
        "trace",
        "events",
        "threads",
        "vars",
        "nodes",
        "switches",
        "after",
        "bound",
        "merging",
        "reduction",
        "paper",
        "MB",
        "seconds"
    );
    let mut missed: Vec<String> = MODELS
        .iter()
        .filter_map(|model| table_row(model).err())
        .collect();
    println!("\ngrowth: tsp-like, longer\n");
    println!(
        "{:>10} {:>9} {:>9} {:>10} {:>9} {:>6}",
        "events", "nodes", "seconds", "ns/event", "us/node", "MB"
    );
    for factor in [1, 2, 4, 8, 16] {
        missed.extend(growth_row(factor).err());
    }
    match missed.is_empty() {
        true => Ok(()),
        false => Err(missed.join("; ")),
    }
}

struct Measured {
    report: Report,
    seconds: f64,
    megabytes: u64,
}

fn measure(steps: &[Step]) -> Result<Measured, String> {
    bench::forget_peak_memory();
    let begin = bench::processor_time();
    let mut polls = 0u32;
    let mut searching = None;
    let mut keep_going = || {
        // Asking for the time takes longer than a step of the search.
        polls += 1;
        let begin = *searching.get_or_insert_with(bench::processor_time);
        !polls.is_multiple_of(64) || bench::processor_time() - begin < SEARCH
    };
    let simplified = simplify(Execution::of(steps), &Options::default(), &mut keep_going);
    let simplified = simplified.map_err(|error| error.to_string())?;
    Ok(Measured {
        report: simplified.report,
        seconds: (bench::processor_time() - begin).as_secs_f64(),
        megabytes: bench::peak_memory() >> 20,
    })
}

fn table_row(model: &Model) -> Result<(), String> {
    let steps = generate(model, 1);
    let Measured {
        report,
        seconds,
        megabytes,
    } = measure(&steps)?;
    let reduction = 100.0 * (1.0 - report.switches_after as f64 / report.switches_before as f64);
    println!(
        "{:17} {:9} {:7} {:6} {:8} {:8} {:7} {:7} {:>7} {:8.1} % {:5.0} % {:6} {:8.3}",
        model.name,
        report.events,
        report.threads,
        report.shared_variables,
        report.graph_nodes,
        report.switches_before,
        report.switches_after,
        report.fewest_possible,
        merged(&steps, &report),
        reduction,
        model.paper_reduction,
        megabytes,
        seconds
    );
    println!("{:17} the paper: {} s", "", model.paper_seconds);
    if seconds > MOST_SECONDS || megabytes > MOST_MEGABYTES {
        return Err(format!(
            "{} takes {seconds:.2} s and {megabytes} MB",
            model.name
        ));
    }
    if reduction < model.paper_reduction {
        return Err(format!(
            "{} is reduced by {reduction:.1} % only",
            model.name
        ));
    }
    Ok(())
}

/// What the paper's greedy merging gives, where its quadratic time allows.
fn merged(steps: &[Step], report: &Report) -> String {
    if report.graph_nodes > 6_000 {
        return "-".to_string();
    }
    let chains = Chains::new(steps);
    let graph = Graph::new(
        &chains,
        &Footprints::new(Execution::of(steps), &chains),
        true,
    );
    merge::switches_after_merging(&graph, |_| {}).to_string()
}

fn growth_row(factor: usize) -> Result<(), String> {
    let model = Model {
        events: factor * MODELS[1].events,
        ..MODELS[1]
    };
    let steps = generate(&model, 2);
    let Measured {
        report,
        seconds,
        megabytes,
    } = measure(&steps)?;
    println!(
        "{:10} {:9} {:9.3} {:10.0} {:9.2} {:6}",
        report.events,
        report.graph_nodes,
        seconds,
        1e9 * seconds / report.events as f64,
        1e6 * seconds / report.graph_nodes as f64,
        megabytes
    );
    match report.events >= 10_000_000 && seconds > 10.0 {
        true => Err(format!("{} events take {seconds:.1} s", report.events)),
        false => Ok(()),
    }
}

/// What one worker is in the middle of.
#[derive(Clone, Default)]
struct Worker {
    /// Left of its critical section: the lock and how many accesses.
    section: Option<(u64, u64)>,
    cursor: u64,
}

struct Generator {
    model: Model,
    random: u64,
    steps: Vec<Step>,
    workers: Vec<Worker>,
    held: Vec<bool>,
}

fn generate(model: &Model, seed: u64) -> Vec<Step> {
    let mut generator = Generator {
        model: *model,
        random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        steps: Vec::with_capacity(model.events),
        workers: vec![Worker::default(); model.threads as usize],
        held: vec![false; model.locks as usize],
    };
    generator.fill();
    generator.steps
}

impl Generator {
    fn random(&mut self, below: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % below
    }

    fn emit(&mut self, thread: u32, kind: EventKind, object: u64) {
        self.steps.push(Step {
            thread: ThreadIndex(thread),
            operation: Operation {
                kind,
                order: MemoryOrder::Plain,
                size: if kind.is_access() { 8 } else { 0 },
                object,
                place: PlaceNumber(u64::from(thread)),
            },
        });
    }

    fn fill(&mut self) {
        let children = 1..self.model.threads;
        for child in children.clone() {
            self.emit(0, EventKind::Fork, ThreadIndex(child).object());
        }
        for child in children.clone() {
            self.emit(child, EventKind::Start, ThreadIndex(child).object());
        }
        let closing = 3 * self.model.threads as usize;
        while self.steps.len() + closing < self.model.events {
            let thread = self.random(u64::from(self.model.threads)) as u32;
            self.turn(thread);
        }
        for thread in 0..self.model.threads {
            while self.workers[thread as usize].section.is_some() {
                self.work(thread);
            }
        }
        for child in children {
            self.emit(child, EventKind::Exit, ThreadIndex(child).object());
            self.emit(0, EventKind::Join, ThreadIndex(child).object());
        }
    }

    /// Runs a thread until its time is up or it would have to wait.
    fn turn(&mut self, thread: u32) {
        let length = 1 + self.random(2 * self.model.mean_run - 1);
        for _ in 0..length {
            if !self.work(thread) {
                return;
            }
        }
    }

    /// One event of a thread; `false` if it wants a lock that another has.
    fn work(&mut self, thread: u32) -> bool {
        let section = self.workers[thread as usize].section;
        let enters = self.random(self.model.between_sections) == 0;
        match section {
            None if enters => {
                let lock = self.random(self.model.locks);
                if self.held[lock as usize] {
                    return false;
                }
                self.held[lock as usize] = true;
                let accesses = 2 + self.random(6);
                self.workers[thread as usize].section = Some((lock, accesses));
                self.emit(thread, EventKind::Acquire, 0x100 + 64 * lock);
            }
            None => self.local(thread),
            Some((lock, 0)) => {
                self.held[lock as usize] = false;
                self.workers[thread as usize].section = None;
                self.emit(thread, EventKind::Release, 0x100 + 64 * lock);
            }
            Some((lock, left)) => {
                self.workers[thread as usize].section = Some((lock, left - 1));
                let per_lock = self.model.variables.div_ceil(self.model.locks);
                let variable =
                    (lock * per_lock + self.random(per_lock)).min(self.model.variables - 1);
                let kind = if self.random(3) == 0 {
                    EventKind::Write
                } else {
                    EventKind::Read
                };
                self.emit(thread, kind, 0x10_0000 + 8 * variable);
            }
        }
        true
    }

    /// Walks through memory of its own.
    fn local(&mut self, thread: u32) {
        let worker = &mut self.workers[thread as usize];
        worker.cursor = (worker.cursor + 1) % 4096;
        let object = ((u64::from(thread) + 1) << 32) + worker.cursor * 8;
        let kind = if worker.cursor.is_multiple_of(4) {
            EventKind::Write
        } else {
            EventKind::Read
        };
        self.emit(thread, kind, object);
    }
}
