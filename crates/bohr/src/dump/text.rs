//! A core, for people.

use super::likeness::spot;
use super::report::{FrameReport, Report, ThreadReport};
use bohr_dump::Fault;
use bohr_dump::variables::{Value, Variable};
use bohr_explore::is_library;
use std::fmt::Write;

/// Frames of threads that did not fail.
const SHORT: usize = 8;
/// Variables of a frame; `--json` has them all.
const MOST_VARIABLES: usize = 12;
/// Letters of a value.
const LONGEST: usize = 100;

/// What is told of a core.
pub fn text(report: &Report) -> String {
    let mut text = String::new();
    let command = report.command.as_deref().unwrap_or("an unknown command");
    let threads = report.threads.len();
    let plural = if threads == 1 { "" } else { "s" };
    line(&mut text, &format!("{command}: {threads} thread{plural}"));
    line(
        &mut text,
        &report.fault.map_or_else(
            || String::from("no signal: the core was taken from a running process"),
            |fault| reason(&fault),
        ),
    );
    for circle in &report.deadlocks {
        line(&mut text, &deadlock(report, circle));
    }
    if report.deadlocks.is_empty() && !report.stuck().is_empty() {
        line(
            &mut text,
            "nobody can go on: every thread waits, and none for a limited time",
        );
    }
    for thread in &report.threads {
        text.push('\n');
        tell_thread(&mut text, thread, report.program.as_ref());
    }
    notes(&mut text, report);
    text
}

fn line(text: &mut String, content: &str) {
    text.push_str(content);
    text.push('\n');
}

fn reason(fault: &Fault) -> String {
    let name = match fault.signal {
        4 => "illegal instruction",
        5 => "trap",
        6 => "abort",
        7 => "bus error",
        8 => "arithmetic error",
        11 => "segmentation fault",
        15 => "termination",
        _ => "signal",
    };
    let signal = fault.signal;
    match fault.signal {
        // The kernel's own reasons are above 0; those below are of senders.
        4 | 5 | 7 | 8 | 11 if fault.code > 0 => {
            format!("{name} (signal {signal}) at address {:#x}", fault.address)
        }
        _ => format!("{name} (signal {signal})"),
    }
}

fn tell_thread(text: &mut String, thread: &ThreadReport, program: Option<&String>) {
    let failed = if thread.failed { ", which failed" } else { "" };
    line(
        text,
        &format!("thread {}{failed}{}", thread.number, waits(thread)),
    );
    let most = if thread.failed {
        usize::MAX
    } else {
        shown(thread, program)
    };
    for (number, frame) in thread.frames.iter().take(most).enumerate() {
        let is_own = frame.object.as_ref() == program;
        tell_frame(text, number, frame, thread.failed && is_own);
    }
    let more = thread.more + thread.frames.len().saturating_sub(most);
    if more > 0 {
        line(text, &format!("  … {more} more"));
    }
}

/// How many frames are shown of a thread that did not fail: so many that it can be seen
/// where the author's code is.
fn shown(thread: &ThreadReport, program: Option<&String>) -> usize {
    let own = thread.frames.iter().position(|frame| {
        let spot = spot(frame);
        frame.object.as_ref() == program && spot.line.is_some() && !is_library(&spot)
    });
    own.map_or(SHORT, |own| SHORT.max(own + 2))
}

fn waits(thread: &ThreadReport) -> String {
    let Some(waits) = &thread.waits else {
        return String::new();
    };
    let limited = match waits.wait.limited {
        true => ", for a limited time",
        false => "",
    };
    let holder = waits.wait.holder;
    if let Some(holder) = holder.filter(|_| waits.wait.for_end) {
        return format!(", waits for the end of thread {holder}{limited}");
    }
    let address = || format!("{:#x}", waits.wait.object);
    let object = waits.name.clone().unwrap_or_else(address);
    let holder = holder.map_or_else(String::new, |holder| {
        format!(", which thread {holder} holds")
    });
    format!(", waits for {object}{holder}{limited}")
}

fn deadlock(report: &Report, circle: &[i32]) -> String {
    let link = |number: &i32| {
        let thread = report
            .threads
            .iter()
            .find(|thread| thread.number == *number);
        format!("thread {number}{}", thread.map_or_else(String::new, waits))
    };
    let links: Vec<String> = circle.iter().map(link).collect();
    format!("deadlock: {}", links.join("; "))
}

fn tell_frame(text: &mut String, number: usize, frame: &FrameReport, with_variables: bool) {
    let place = match (&frame.call.file, frame.call.line) {
        (Some(file), Some(number)) => format!(" at {file}:{number}"),
        (Some(file), None) => format!(" in {file}"),
        _ => frame
            .object
            .as_ref()
            .map_or_else(String::new, |object| format!(" in {object}")),
    };
    let unknown = format!("{:#x}", frame.address);
    let name = frame.call.function.as_deref().unwrap_or(&unknown);
    let inlined = if frame.call.inlined { " (inlined)" } else { "" };
    let guessed = if frame.guessed {
        " (by its frame pointer)"
    } else {
        ""
    };
    line(
        text,
        &format!("  #{number} {name}{inlined}{place}{guessed}"),
    );
    let known = |variable: &&Variable| !matches!(variable.value, Value::Unknown(_));
    let told = frame.variables.iter().filter(known);
    for variable in told.take(if with_variables { MOST_VARIABLES } else { 0 }) {
        let value = shortened(&variable.value.to_string());
        let _ = writeln!(text, "       {} = {value}", variable.name);
    }
}

fn shortened(value: &str) -> String {
    match value.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &value[..end]),
        None => String::from(value),
    }
}

fn notes(text: &mut String, report: &Report) {
    let mut notes = Vec::new();
    if report.missing_bytes > 0 {
        notes.push(format!(
            "the core was cut off: {} bytes of memory are missing",
            report.missing_bytes
        ));
    }
    if !report.missing_files.is_empty() {
        let files = report.missing_files.join(", ");
        notes.push(format!(
            "not found: {files}; stacks through them are guessed"
        ));
    }
    if !report.without_debug_information.is_empty() {
        let objects = report.without_debug_information.join(", ");
        notes.push(format!("no debug information: {objects}"));
    }
    if !notes.is_empty() {
        text.push('\n');
        notes
            .iter()
            .for_each(|note| line(text, &format!("note: {note}")));
    }
}
