//! What came of it, for people.

use super::Reproduced;
use super::told::ToldPreemption;
use crate::shell_word::as_word;
use std::fmt::Write;

/// Variables that are told; `--json` has them all.
const MOST: usize = 12;

/// The whole story.
pub fn text(told: &Reproduced) -> String {
    let mut text = String::new();
    if let Some(taken) = &told.taken {
        let _ = writeln!(
            text,
            "core taken at {} in native run {}: {}, of {}, which has the check",
            taken.at,
            taken.native_runs,
            taken.core.display(),
            taken.program.display()
        );
    }
    let _ = writeln!(
        text,
        "{} in thread {}\nfailure index:",
        told.failure, told.thread
    );
    for (depth, line) in told.index.iter().enumerate() {
        let _ = writeln!(text, "  {:depth$}{line}", "");
    }
    let _ = writeln!(text, "{}", good_run(told));
    let _ = writeln!(text, "{}:", compared(told));
    for variable in told.critical.iter().take(MOST) {
        let (failing, passing) = (&variable.failing, &variable.passing);
        let _ = writeln!(
            text,
            "  {} = {failing}, in the good run {passing}",
            variable.path
        );
    }
    if told.critical.len() > MOST {
        let _ = writeln!(text, "  … {} more", told.critical.len() - MOST);
    }
    if told.missing_bytes > 0 {
        let _ = writeln!(
            text,
            "note: the core was cut off: {} bytes of memory are missing, and with them perhaps the \
             thread's name, its outer calls and its iterations; `bohr hunt --like CORE -- PROGRAM` \
             goes by the place of the failure alone",
            told.missing_bytes
        );
    }
    if !told.missing_files.is_empty() {
        let _ = writeln!(
            text,
            "note: not found: {}; stacks through them are guessed",
            told.missing_files.join(", ")
        );
    }
    match &told.bug_file {
        Some(file) => {
            let word = as_word(file);
            let file = file.display();
            let _ = writeln!(
                text,
                "reproduced after {} in {:.1} s\nwritten to {file}\n  replay it:  bohr replay {word}",
                tries(told),
                told.seconds_search
            );
        }
        None => not_found(&mut text, told),
    }
    text
}

/// What came of it, in a few lines.
pub fn summary(told: &Reproduced) -> Vec<String> {
    let found = match told.reproduced {
        true => "reproduced after",
        false => "not reproduced in",
    };
    let found = format!("{found} {}, {:.1} s", tries(told), told.seconds_search);
    let lines = [good_run(told), compared(told), found].into_iter();
    lines.chain(wider(told)).collect()
}

fn good_run(told: &Reproduced) -> String {
    format!(
        "a good run of {} events, one thread after the other, {}: {}",
        told.events,
        told.order,
        alignment(told)
    )
}

fn compared(told: &Reproduced) -> String {
    format!(
        "{} values compared, {} differ; {} of {} that others can reach",
        told.variables,
        told.differences,
        told.critical.len(),
        told.shared
    )
}

fn tries(told: &Reproduced) -> String {
    match told.tries {
        1 => "1 try".into(),
        count => format!("{count} tries"),
    }
}

fn alignment(told: &Reproduced) -> &'static str {
    match told.alignment {
        "exact" => "comes to the same point",
        "closest" => "leaves the way to it at a branch, where the states are compared",
        _ => "does not come near it",
    }
}

fn not_found(text: &mut String, told: &Reproduced) {
    let _ = writeln!(
        text,
        "not reproduced in {}, {:.1} s",
        tries(told),
        told.seconds_search
    );
    if told.replayed_from_start == Some(false) {
        text.push_str(
            "a run from the checkpoint failed like the core, and the same schedule did not from \
             the start of the program\n",
        );
    }
    if !told.ranking.is_empty() {
        text.push_str("nearest accesses to what differs:\n");
    }
    for access in told.ranking.iter().take(MOST) {
        let line = access.line.as_deref().unwrap_or("?");
        let _ = writeln!(
            text,
            "  thread {}: {} of {} at {line}",
            access.thread, access.kind, access.variable
        );
    }
    if !told.schedules.is_empty() {
        text.push_str("tried first:\n");
    }
    for schedule in &told.schedules {
        let points: Vec<String> = schedule.iter().map(preemption).collect();
        let _ = writeln!(text, "  {}", points.join("; "));
    }
    if let Some(wider) = wider(told) {
        let _ = writeln!(text, "{wider}");
    }
}

/// What a search in vain has left.
fn wider(told: &Reproduced) -> Option<String> {
    let options = told.untried.join(", or ");
    (!options.is_empty()).then(|| format!("to look further: {options}"))
}

pub fn preemption(point: &ToldPreemption) -> String {
    let line = point.line.as_deref().unwrap_or("?");
    let (thread, to, before) = (&point.thread, &point.to, &point.before);
    let until = match point.kept_back {
        true => ", until what it uses there is freed",
        false => "",
    };
    format!("thread {thread} gives way to {to} before its {before} at {line}{until}")
}
