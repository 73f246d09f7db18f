//! The store on real runs: museum exhibits of about ten million events, under
//! control, once traced and once not.

use super::{LEAST_SCANNED, MOST_BYTES, scan};
use crate::museum::build_bohr;
use crate::shell;
use bohr_event::control::{Detailing, Job, Limits};
use bohr_explore::bug_file::Invocation;
use bohr_explore::{Atlas, Ran, Server, Subject, Voice, inspect_with};
use bohr_museum::{Compilers, Variant};
use bohr_program::Program;
use bohr_schedule::{Plan, Rule};
use bohr_trace::{Completeness, Trace};
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A traced run takes at most so many times as long as the same run untraced.
const MOST_TIMES: f64 = 2.0;

/// Each is run so often, and the quickest run counts: others use the machine, too.
const TIMES: usize = 3;

/// An exhibit, without its bug so that it runs to its end, and arguments with
/// which it has about ten million events.
const RUNS: [(&str, Variant, &[&str]); 5] = [
    // Without its races nothing is left of it.
    ("racey", Variant::Buggy, &["2", "1700000"]),
    ("bucket-sort", Variant::Fixed, &["4", "250000"]),
    ("query-cache", Variant::Fixed, &["4", "400000"]),
    ("treiber-aba", Variant::Fixed, &["4", "50000"]),
    ("handle-count", Variant::Fixed, &["4", "550000"]),
];

/// Who decides: by chance, as a hunt begins, at nearly every event; and as
/// seldom as can be, where the hooks only count.
const RULES: [(&str, Rule); 2] = [("random", Rule::Random), ("sequential", Rule::Sequential)];

/// Measures all of them; names of those that miss a target.
pub fn run(names: &[String]) -> Result<Vec<String>, String> {
    println!(
        "\nrecorded runs of museum exhibits; targets: at most {MOST_BYTES} bytes an event, at most {MOST_TIMES} times as long as untraced when chosen at random, at least {LEAST_SCANNED} M events/s scanned\n"
    );
    println!(
        "{:14} {:11} {:>10} {:>11} {:>11} {:>10} {:>7} {:>11} {:>9}",
        "exhibit",
        "schedule",
        "events",
        "untraced s",
        "traced s",
        "times",
        "ns",
        "bytes/event",
        "scan M/s"
    );
    let bohr = build_bohr()?;
    let mut missed = Vec::new();
    let wanted = |name: &str| names.is_empty() || names.iter().any(|word| word == name);
    for (name, variant, arguments) in RUNS.into_iter().filter(|run| wanted(run.0)) {
        let program = built(name, variant, &bohr)?;
        for (schedule, rule) in &RULES {
            let figures = measure(&program, &bohr, arguments, rule)?;
            println!(
                "{name:14} {schedule:11} {:10} {:11.3} {:11.3} {:10.2} {:7.1} {:11.2} {:9.0}",
                figures.events,
                figures.untraced.as_secs_f64(),
                figures.traced.as_secs_f64(),
                figures.times(),
                figures.nanoseconds(),
                figures.bytes,
                figures.scanned
            );
            let slow = *rule == Rule::Random && figures.times() > MOST_TIMES;
            if slow || figures.bytes > MOST_BYTES || figures.scanned < LEAST_SCANNED {
                missed.push(format!("{name} ({schedule})"));
            }
        }
    }
    Ok(missed)
}

struct Figures {
    events: u64,
    untraced: Duration,
    traced: Duration,
    bytes: f64,
    scanned: f64,
}

impl Figures {
    fn times(&self) -> f64 {
        self.traced.as_secs_f64() / self.untraced.as_secs_f64()
    }

    /// What tracing costs an event.
    fn nanoseconds(&self) -> f64 {
        let more = self.traced.saturating_sub(self.untraced);
        more.as_nanos() as f64 / self.events as f64
    }
}

/// A program and its control profile.
pub struct Built {
    program: PathBuf,
    profile: PathBuf,
}

/// Builds an exhibit.
pub fn built(name: &str, variant: Variant, bohr: &Path) -> Result<Built, String> {
    let exhibit = bohr_museum::named(name).map_err(|error| error.to_string())?;
    let compilers = Compilers::of_bohr(bohr);
    let program = bohr_museum::compile(&exhibit, variant, &compilers);
    let program = program.map_err(|error| error.to_string())?;
    let mut command = Command::new(bohr);
    let printed = shell::output(command.arg("profile").arg(&program))?;
    Ok(Built {
        program,
        profile: PathBuf::from(printed.trim()),
    })
}

fn measure(
    program: &Built,
    bohr: &Path,
    arguments: &[&str],
    rule: &Rule,
) -> Result<Figures, String> {
    let mut stand = Stand::new(program, bohr, arguments)?;
    let mut best = [Duration::MAX; 2];
    let mut last = None;
    for _ in 0..TIMES {
        for (place, trace) in [Detailing::Never, Detailing::Always]
            .into_iter()
            .enumerate()
        {
            let (ran, time) = stand.run(rule, trace, Detailing::Never)?;
            best[place] = best[place].min(time);
            last = Some(ran);
        }
    }
    let ran = last.ok_or("no run was made")?;
    let file = ran.trace().ok_or("no trace was written")?;
    let file = file.read().map_err(|error| error.to_string())?;
    let trace = Trace::open(&file).map_err(|error| error.to_string())?;
    if trace.completeness() != Completeness::Complete || trace.len() != ran.events {
        return Err(format!("the trace is {}", trace.completeness()));
    }
    Ok(Figures {
        events: ran.events,
        untraced: best[0],
        traced: best[1],
        bytes: file.len() as f64 / ran.events as f64,
        scanned: scan(&trace)?,
    })
}

/// A program that stands ready.
pub struct Stand {
    subject: Subject,
    server: Server,
}

impl Stand {
    pub fn new(built: &Built, bohr: &Path, arguments: &[&str]) -> Result<Stand, String> {
        let runtime = bohr.with_file_name(bohr_explore::RUNTIME);
        let model = built.profile.with_file_name("model");
        let bytes = fs::read(&model).map_err(|error| format!("{}: {error}", model.display()))?;
        let model = Program::from_bytes(&bytes).map_err(|error| error.to_string())?;
        let profile = Some((built.profile.clone(), model.identity));
        let target = inspect_with(&built.program, profile, runtime);
        let target = target.map_err(|error| error.to_string())?;
        let bytes = |word: &&str| word.as_bytes().to_vec();
        let mut subject = Subject::new(
            target,
            Invocation {
                arguments: arguments.iter().map(bytes).collect(),
                ..Invocation::default()
            },
        );
        subject.models = vec![Arc::new(model)];
        subject.limits = Limits {
            events: 100_000_000,
            milliseconds: 120_000,
        };
        let server = subject.serve(Voice::Muted, &|| true);
        let server = server.map_err(|error| error.to_string())?;
        Ok(Stand { subject, server })
    }

    /// Its places.
    pub fn atlas(&self) -> Atlas {
        self.subject.atlas(&self.server)
    }

    /// One run with seed 1, and how long it took.
    pub fn run(
        &mut self,
        rule: &Rule,
        trace: Detailing,
        details: Detailing,
    ) -> Result<(Ran, Duration), String> {
        let job = Job {
            first_seed: 1,
            trace,
            details,
            ..self.subject.job(&Plan::new(rule.clone()))
        };
        let mut ran = None;
        let started = Instant::now();
        let end = self.server.run(job, &|| true, |runs| {
            ran = runs.into_iter().next();
            ControlFlow::Continue(())
        });
        let time = started.elapsed();
        end.map_err(|error| error.to_string())?;
        Ok((ran.ok_or("no run was made")?, time))
    }
}
