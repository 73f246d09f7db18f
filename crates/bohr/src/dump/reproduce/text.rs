//! What came of it, for people.

use super::Reproduced;
use std::fmt::Write;

/// Variables that are told; `--json` has them all.
const MOST: usize = 12;

/// The whole story.
pub fn text(told: &Reproduced) -> String {
    let mut text = format!(
        "{} in thread {}\nfailure index:\n",
        told.failure, told.thread
    );
    for (depth, line) in told.index.iter().enumerate() {
        let _ = writeln!(text, "  {:depth$}{line}", "");
    }
    let _ = writeln!(
        text,
        "a good run, one thread after the other: {}",
        alignment(told)
    );
    let _ = writeln!(
        text,
        "{} values compared, {} differ; {} of {} that others can reach:",
        told.variables,
        told.differences,
        told.critical.len(),
        told.shared
    );
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
    match &told.bug_file {
        Some(file) => {
            let file = file.display();
            let _ = writeln!(
                text,
                "reproduced after {} tries in {:.1} s\nwritten to {file}\n  replay it:  bohr replay {file}",
                told.tries, told.seconds_search
            );
        }
        None => not_found(&mut text, told),
    }
    text
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
        "not reproduced in {} tries, {:.1} s",
        told.tries, told.seconds_search
    );
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
}
