//! A bare trace, without its program: its events in another order, in a file of
//! their own.

use super::Args;
use super::patience::until;
use super::report::{self, Report};
use crate::control::interruption;
use crate::outcome::{Failure, Outcome};
use crate::trace;
use bohr_event::ChoiceKind;
use bohr_event::control::Step;
use bohr_explore::{ExploreError, write_whole};
use bohr_reduce::{Execution, Options, cost, simplify};
use bohr_trace::{Completeness, Note, Record, Trace, Writer, append_table, pack};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Simplifies the trace in a file and writes the result beside it.
pub fn run(args: &Args) -> Outcome {
    let path = &args.subject.bug;
    let output = args.output.clone().unwrap_or_else(|| beside(path));
    let bytes = std::fs::read(path).map_err(|source| unusable(path, source))?;
    let trace = Trace::open(&bytes)?;
    if trace.completeness() != Completeness::Complete {
        eprintln!("bohr: note: the trace is {}", trace.completeness());
    }
    let started = Instant::now();
    let records: Vec<Record> = trace
        .events()
        .map(|event| event.map(|(_, record)| record))
        .collect::<Result<_, _>>()?;
    let steps: Vec<Step> = records.iter().map(step).collect();
    let threads = trace::threads(&trace)?;
    let pending = trace::pending(&trace)?;
    let execution = Execution {
        threads: &threads,
        pending: pending.as_deref().unwrap_or_default(),
        wakes_by_chance: trace.notes()?.iter().any(|(_, note)| is_chance(note)),
        ..Execution::of(&steps)
    };
    let go_on = until(started + args.time);
    let simplified = simplify(execution, &Options::default(), &mut || go_on())?;
    let order = simplified.order.events(&steps);
    let reordered: Vec<Record> = order.map(|event| records[event]).collect();
    let file = written(&trace, &reordered)?;
    let steps: Vec<Step> = reordered.iter().map(step).collect();
    let mut report = Report {
        events: simplified.report.events,
        threads: report::programs_own(&threads),
        before: cost(execution)?,
        after: cost(Execution {
            steps: &steps,
            ..execution
        })?,
        verified: simplified.report.verified,
        is_trace: true,
        pending_known: pending.is_some(),
        interrupted: interruption().load(Ordering::Relaxed),
        seconds_static: started.elapsed().as_secs_f64(),
        ..Report::default()
    };
    report.after_static = report.after;
    report.take_static(&simplified.report);
    write_whole(&output, &file).map_err(|source| unusable(&output, source))?;
    match args.subject.json {
        true => println!("{}", report.as_json(&output)),
        false => print!("{}", report.as_text(&output)),
    }
    Ok(ExitCode::SUCCESS)
}

fn unusable(path: &Path, source: std::io::Error) -> ExploreError {
    ExploreError::File {
        path: path.to_path_buf(),
        source,
    }
}

fn step(record: &Record) -> Step {
    Step {
        thread: record.thread,
        operation: record.operation,
    }
}

/// Whether a thread woke without a signal.
fn is_chance(note: &Note) -> bool {
    let kind = ChoiceKind::SpuriousWake;
    matches!(note, Note::Choice { kind: asked, .. } if *asked == kind)
}

/// `cache.trace` becomes `cache.simple.trace`.
fn beside(path: &Path) -> PathBuf {
    let ending = path.extension().map(|ending| ending.to_string_lossy());
    path.with_extension(match ending {
        Some(ending) => format!("simple.{ending}"),
        None => "simple".to_string(),
    })
}

/// A trace of these events, with the threads, choices and names of another.
fn written(trace: &Trace<'_>, records: &[Record]) -> Result<Vec<u8>, Failure> {
    let mut writer = Writer::new(Vec::new()).expect("a vector has room");
    for (_, note) in trace.notes()? {
        match note {
            Note::Thread { index, path } => writer.name_thread(index, path.steps()),
            Note::Choice {
                thread,
                number,
                kind,
                picked,
            } => writer.choose(thread, number, kind, picked),
        }
    }
    records.iter().for_each(|record| writer.push(record));
    let file = writer.finish();
    let mut file = pack(&Trace::open(&file)?)?;
    for table in trace.tables()? {
        append_table(&mut file, &table)?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_lies_beside() {
        let path = |name: &str| beside(Path::new(name)).display().to_string();
        assert_eq!(path("a/cache.trace"), "a/cache.simple.trace");
        assert_eq!(path("cache"), "cache.simple");
    }
}
