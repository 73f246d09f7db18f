//! `cargo xtask bench trace`: bytes and time that the trace store takes for an
//! event, on model programs of ten million events each and on museum exhibits;
//! with names, on those exhibits alone.

mod recorded;

pub use recorded::{Stand, built};

use crate::bench::{self, Bench};
use bohr_event::{EventKind, MemoryOrder, Operation, PlaceNumber, ThreadIndex};
use bohr_trace::{Record, Trace, Writer};
use std::hint::black_box;
use std::time::Duration;

pub const BENCH: Bench = Bench { name: "trace", run };

const EVENTS: usize = 10_000_000;

/// Events made ahead of writing them, so that making them is not measured. Few
/// enough to stay in the cache, as an event does that was made just now.
const CHUNK: usize = 1 << 12;

/// The targets: bytes per event, millions of events per second. What writing may
/// cost is a ratio, measured on real runs in [`recorded`].
const MOST_BYTES: f64 = 4.0;
const LEAST_SCANNED: f64 = 50.0;

fn run(names: &[String]) -> Result<(), String> {
    let mut missed = Vec::new();
    if names.is_empty() {
        missed.extend(models()?);
    }
    missed.extend(recorded::run(names)?);
    match missed.is_empty() {
        true => Ok(()),
        false => Err(format!("targets missed: {}", missed.join(", "))),
    }
}

/// Measures the model programs; names of those that miss a target.
fn models() -> Result<Vec<String>, String> {
    println!(
        "{EVENTS} events each; targets: at most {MOST_BYTES} bytes an event, at least {LEAST_SCANNED} M events/s scanned\n"
    );
    println!(
        "{:28} {:>12} {:>12} {:>14} {:>20}",
        "program", "bytes/event", "ns/event", "scan M/s", "blocks per variable"
    );
    let programs: [(&str, Program); 4] = [
        ("shared arrays", arrays),
        ("counters under locks", counters),
        ("hash table with chains", table),
        ("ring buffer, atomics", ring),
    ];
    let mut missed = Vec::new();
    for (name, body) in programs {
        let figures = measure(body)?;
        println!(
            "{name:28} {:12.2} {:12.1} {:14.0} {:>20}",
            figures.bytes, figures.nanoseconds, figures.scanned, figures.visited
        );
        if figures.bytes > MOST_BYTES || figures.scanned < LEAST_SCANNED {
            missed.push(name.to_string());
        }
    }
    Ok(missed)
}

/// One round of a model program.
type Program = fn(&mut Machine);

struct Figures {
    bytes: f64,
    nanoseconds: f64,
    scanned: f64,
    /// Blocks that have to be read to find all accesses to one variable.
    visited: String,
}

fn measure(body: Program) -> Result<Figures, String> {
    let mut machine = Machine::new();
    let mut writer =
        Writer::new(Vec::with_capacity(64 << 20)).map_err(|error| error.to_string())?;
    let empty = writer.length();
    let mut writing = Duration::ZERO;
    let mut written = 0;
    while written < EVENTS {
        machine.made.clear();
        while machine.made.len() < CHUNK {
            body(&mut machine);
        }
        let begin = bench::processor_time();
        machine.made.iter().for_each(|record| writer.push(record));
        writing += bench::processor_time() - begin;
        written += machine.made.len();
    }
    let file = writer.finish();
    let trace = Trace::open(&file).map_err(|error| error.to_string())?;
    assert_eq!(trace.len(), written as u64);
    Ok(Figures {
        bytes: (file.len() - empty) as f64 / written as f64,
        nanoseconds: writing.as_nanos() as f64 / written as f64,
        scanned: scan(&trace)?,
        visited: visited(&trace, machine.made[0].operation.object),
    })
}

/// A trace is read so often, and the quickest time counts: others use the machine, too.
const SCANS: usize = 3;

/// Millions of events that are read in a second.
fn scan(trace: &Trace<'_>) -> Result<f64, String> {
    let mut best = f64::MAX;
    for _ in 0..SCANS {
        let begin = bench::processor_time();
        let mut sum = 0u64;
        for event in trace.events() {
            let (_, record) = event.map_err(|error| error.to_string())?;
            sum = sum.wrapping_add(record.operation.object ^ record.value.unwrap_or(1));
        }
        black_box(sum);
        let scanning = bench::processor_time() - begin;
        best = best.min(scanning.as_secs_f64());
    }
    Ok(trace.len() as f64 / best / 1e6)
}

fn visited(trace: &Trace<'_>, object: u64) -> String {
    let candidates = trace.blocks().filter(|&block| {
        trace
            .summary(block)
            .is_none_or(|summary| summary.may_touch(&(object..object + 1)))
    });
    format!("{} of {}", candidates.count(), trace.blocks().count())
}

/// A machine that runs model programs and keeps what they do.
struct Machine {
    made: Vec<Record>,
    thread: ThreadIndex,
    memory: Vec<u64>,
    cursor: [u64; 8],
    random: u64,
}

const BASE: u64 = 0x5000_0000_0000;
const WORDS: usize = 1 << 16;

impl Machine {
    fn new() -> Machine {
        Machine {
            made: Vec::new(),
            thread: ThreadIndex::MAIN,
            memory: vec![0; WORDS],
            cursor: [0; 8],
            random: 0x2545_f491_4f6c_dd1d,
        }
    }

    fn random(&mut self, below: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % below
    }

    /// Passes the processor on, once in so many calls.
    fn maybe_switch(&mut self, once_in: u64) {
        if self.random(once_in) == 0 {
            self.thread = ThreadIndex(self.random(8) as u32);
        }
    }

    fn event(
        &mut self,
        kind: EventKind,
        order: MemoryOrder,
        word: u64,
        site: u64,
        value: Option<u64>,
    ) {
        self.made.push(Record {
            thread: self.thread,
            operation: Operation {
                kind,
                order,
                size: if kind.is_access() { 8 } else { 0 },
                object: BASE + 8 * word,
                place: PlaceNumber::new(1, site),
            },
            value,
        });
    }

    fn read(&mut self, word: u64, site: u64) -> u64 {
        let value = self.memory[word as usize % WORDS];
        self.event(EventKind::Read, MemoryOrder::Plain, word, site, Some(value));
        value
    }

    fn write(&mut self, word: u64, site: u64, value: u64) {
        self.memory[word as usize % WORDS] = value;
        self.event(
            EventKind::Write,
            MemoryOrder::Plain,
            word,
            site,
            Some(value),
        );
    }

    fn update(&mut self, word: u64, site: u64, value: u64) {
        self.memory[word as usize % WORDS] = value;
        self.event(
            EventKind::Update,
            MemoryOrder::AcquireRelease,
            word,
            site,
            Some(value),
        );
    }

    fn synchronise(&mut self, kind: EventKind, word: u64, site: u64) {
        self.event(kind, MemoryOrder::Plain, word, site, None);
    }

    fn step(&mut self) -> u64 {
        let cursor = &mut self.cursor[self.thread.position()];
        *cursor += 1;
        *cursor
    }
}

/// `c[i] = a[i] + b[i]`, each thread on its part, with data that nobody foresees.
fn arrays(machine: &mut Machine) {
    let index = machine.step() % 2048 + 2048 * u64::from(machine.thread.0);
    machine.maybe_switch(50);
    let a = machine.read(index, 10);
    let b = machine.read(index + 16384, 11);
    let noise = machine.random(1 << 16);
    machine.write(index + 32768, 12, a + b + noise);
}

/// Counters, each under its lock.
fn counters(machine: &mut Machine) {
    let counter = machine.random(16);
    machine.maybe_switch(4);
    machine.synchronise(EventKind::Acquire, 1000 + 8 * counter, 20);
    let value = machine.read(counter, 21);
    machine.write(counter, 22, value + 1);
    machine.synchronise(EventKind::Release, 1000 + 8 * counter, 23);
}

/// Looks up a key in a hash table with chains and stores something new.
fn table(machine: &mut Machine) {
    machine.maybe_switch(6);
    let bucket = machine.random(512);
    machine.synchronise(EventKind::Acquire, bucket % 32, 30);
    let mut node = machine.read(64 + bucket, 31);
    if node == 0 {
        node = BASE + 8 * (1024 + 4 * machine.random(8192));
        machine.write(64 + bucket, 32, node);
    }
    let word = (node - BASE) / 8;
    machine.read(word, 33);
    machine.read(word + 1, 34);
    let stored = machine.random(1 << 32);
    machine.write(word + 2, 35, stored);
    machine.synchronise(EventKind::Release, bucket % 32, 36);
}

/// A ring buffer between producers and consumers.
fn ring(machine: &mut Machine) {
    machine.maybe_switch(3);
    if machine.thread.0.is_multiple_of(2) {
        let head = machine.read(0, 40);
        let item = machine.random(1 << 20);
        machine.write(64 + head % 1024, 41, item);
        machine.update(0, 42, head + 1);
    } else {
        let tail = machine.read(8, 43);
        machine.read(0, 44);
        machine.read(64 + tail % 1024, 45);
        machine.update(8, 46, tail + 1);
    }
}
