//! A bug in words.

use bohr_event::control::GateReference;
use bohr_event::{FailureKind, Signature, spoken};
use bohr_explore::bug_file::{Bug, Reduced, ThreadLine};
use bohr_explore::{Spot, Verdict, is_library};
use bohr_report::printable;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Frames of a thread that are shown.
const SHOWN_FRAMES: usize = 6;

/// Threads that are shown; a program with hundreds has most of them waiting.
const SHOWN_THREADS: usize = 12;

/// What failed and where each thread was.
pub fn describe_bug(bug: &Bug) -> String {
    let mut text = describe(&bug.signature, &bug.message, &bug.threads);
    // What a sanitizer reports is more than its first line, which is the message.
    let says_more =
        bug.signature.kind == FailureKind::Sanitizer || !bug.printed.contains(bug.message.trim());
    if !bug.printed.trim().is_empty() && says_more {
        text.push_str("\n  it printed:");
        for line in bug.printed.lines() {
            let _ = write!(text, "\n      {line}");
        }
    }
    if let Some(reduced) = &bug.reduced {
        let _ = write!(text, "\n  {}", describe_reduction(bug, reduced));
    }
    printable(&text)
}

/// Says so if nothing is known of the lines of the program.
pub fn note_missing_lines(bug: &Bug) {
    let mut frames = bug.threads.iter().flat_map(|line| &line.stack);
    if !bug.threads.is_empty() && !frames.any(|frame| is_line_of_author(frame)) {
        eprintln!(
            "bohr: note: no line of the program is known: it was built without -g, or stripped \
             (Rust: CARGO_PROFILE_RELEASE_DEBUG=true bohr cargo build --release)"
        );
    }
}

/// Whether a frame of a stack, `function at file:line`, is a line that the program's
/// author wrote.
fn is_line_of_author(frame: &str) -> bool {
    let Some((function, line)) = frame.rsplit_once(" at ") else {
        return false;
    };
    let number = line.rsplit_once(':').map(|(_, number)| number);
    let spot = Spot {
        function: Some(function.to_string()),
        line: Some(line.to_string()),
    };
    number.is_some_and(|number| number.parse::<u32>().is_ok()) && !is_library(&spot)
}

/// The counts of a reduced bug, before and after.
fn describe_reduction(bug: &Bug, reduced: &Reduced) -> String {
    let segments = reduced.schedule.segments().iter();
    let threads: BTreeSet<_> = segments.map(|segment| &segment.thread).collect();
    let there =
        |path: &&&_| !reduced.without.threads.contains(path) && !reduced.serial.contains(path);
    let mut text = format!(
        "reduced from {} threads, {} events and {} switches to {}, {} and {}",
        bug.thread_count,
        bug.events,
        bug.schedule.switches(),
        threads.iter().filter(there).count(),
        reduced.schedule.events(),
        reduced.schedule.switches(),
    );
    if !reduced.serial.is_empty() {
        let paths: Vec<String> = reduced.serial.iter().map(ToString::to_string).collect();
        let _ = write!(text, "; in one piece each: {}", paths.join(", "));
    }
    let places = |is_of: fn(&GateReference) -> bool| {
        let gates = reduced.without.iterations.iter().map(|one| one.gate);
        gates.filter(is_of).collect::<BTreeSet<_>>().len()
    };
    let left_out = [
        ("calls", places(GateReference::is_call)),
        ("stores", places(GateReference::is_store)),
    ];
    for (what, places) in left_out.into_iter().filter(|one| one.1 > 0) {
        let _ = write!(
            text,
            "; without {what} at {places} places, of which nothing comes"
        );
    }
    text
}

/// The same, of a run that is not kept.
pub fn describe_verdict(verdict: &Verdict) -> String {
    let text = describe(&verdict.signature, &verdict.message, &verdict.threads);
    printable(&text)
}

fn describe(signature: &Signature, message: &str, threads: &[ThreadLine]) -> String {
    let mut text = headline(signature, message);
    for line in threads.iter().take(SHOWN_THREADS) {
        let _ = write!(text, "\n  {} {}", spoken(&line.thread), line.doing);
        for frame in line.stack.iter().take(SHOWN_FRAMES) {
            let _ = write!(text, "\n      in {frame}");
        }
    }
    if threads.len() > SHOWN_THREADS {
        let _ = write!(
            text,
            "\n  and {} more threads",
            threads.len() - SHOWN_THREADS
        );
    }
    text
}

fn headline(signature: &Signature, message: &str) -> String {
    let kind = match &signature.kind {
        FailureKind::Crash { signal } => format!("crash by signal {signal}"),
        FailureKind::Assertion => "failed assertion".to_string(),
        FailureKind::Abort => "abort".to_string(),
        FailureKind::Panic => "panic".to_string(),
        FailureKind::Exit { .. } => "bad exit".to_string(),
        FailureKind::Deadlock => "deadlock".to_string(),
        FailureKind::Livelock => "livelock".to_string(),
        FailureKind::TimeLimit => "time limit".to_string(),
        FailureKind::Output => "wrong output".to_string(),
        FailureKind::UseAfterFree => "use after free".to_string(),
        FailureKind::DoubleFree => "double free".to_string(),
        FailureKind::Sanitizer => "sanitizer report".to_string(),
        FailureKind::DataRace => "data race".to_string(),
    };
    match message.trim() {
        "" => kind,
        message => format!("{kind}: {message}"),
    }
}
