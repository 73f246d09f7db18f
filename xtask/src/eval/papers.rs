//! The papers' tables, with our figures in their cells.

use super::measure::Measured;
use super::tables::Table;
use bohr_museum::{Cell, Papers};
use serde_json::Value;

/// One column: what the paper calls it, and our figure for it.
struct Column {
    name: &'static str,
    theirs: &'static str,
    ours: fn(&Measured) -> Option<String>,
}

/// A table of a paper, for the exhibits that mirror its rows.
fn compared(
    papers: &Papers,
    name: (&str, &str),
    columns: &[Column],
    results: &[Measured],
) -> Result<Table, String> {
    let missing = || format!("papers.toml has no Table {} of {}", name.1, name.0);
    let table = papers.table(name.0, name.1).ok_or_else(missing)?;
    let paper = papers.paper(name.0).ok_or_else(missing)?;
    let mut rows = Vec::new();
    for measured in results {
        let mirrors = measured.mirrors.iter();
        // Tables of a paper have the same subjects.
        let mut subjects: Vec<&str> = mirrors
            .filter(|mirror| mirror.paper == name.0)
            .map(|mirror| mirror.row.as_str())
            .filter(|subject| table.cell(subject, columns[0].theirs).is_some())
            .collect();
        subjects.dedup();
        for subject in subjects {
            let cell = |column: &Column| {
                let theirs = table.cell(subject, column.theirs);
                let theirs = theirs.map_or("-".to_string(), ToString::to_string);
                let ours = (column.ours)(measured).unwrap_or("-".to_string());
                format!("{theirs} / {ours}")
            };
            let names = [subject.to_string(), measured.name.clone()];
            rows.push(names.into_iter().chain(columns.iter().map(cell)).collect());
        }
    }
    let names = columns.iter().map(|column| column.name.to_string());
    let first = ["subject", "exhibit"].map(String::from);
    Ok(Table {
        title: format!(
            "{}, Table {} ({}; theirs / ours)",
            paper.title, table.table, paper.venue
        ),
        columns: first.into_iter().chain(names).collect(),
        rows,
        notes: vec![format!("Theirs was measured on: {}.", paper.machine)],
    })
}

fn simplified(measured: &Measured, field: &str) -> Option<f64> {
    measured.simplified.as_ref()?[field].as_f64()
}

fn reduced(measured: &Measured, field: &str) -> Option<f64> {
    measured.reduced.as_ref()?[field].as_f64()
}

fn whole(number: f64) -> String {
    format!("{number:.0}")
}

fn seconds(number: f64) -> String {
    format!("{number:.3}")
}

/// SimTrace's Table 1, with how many times as many events its subject had.
pub fn simtrace(papers: &Papers, results: &[Measured]) -> Result<Table, String> {
    let name = ("simtrace", "1");
    let column = |name, theirs, ours| Column { name, theirs, ours };
    let columns = [
        column("threads", "threads", |it| {
            simplified(it, "threads").map(whole)
        }),
        column("events", "events", |it| simplified(it, "events").map(whole)),
        column("switches", "switches", |it| {
            simplified(it, "switches_before").map(whole)
        }),
        column("simplified", "simplified switches", |it| {
            simplified(it, "switches_static").map(whole)
        }),
        column("reduction %", "reduction %", |it| {
            let before = simplified(it, "switches_before")?;
            let after = simplified(it, "switches_static")?;
            Some(whole(100.0 * (1.0 - after / before.max(1.0))))
        }),
        column("seconds", "time", |it| {
            simplified(it, "seconds_static").map(seconds)
        }),
    ];
    let mut table = compared(papers, name, &columns, results)?;
    table
        .columns
        .push("events of theirs per one of ours".to_string());
    for row in &mut table.rows {
        let theirs = papers.table(name.0, name.1);
        let theirs = theirs.and_then(|table| table.cell(&row[0], "events"));
        let ours = results.iter().find(|measured| measured.name == row[1]);
        let ours = ours.and_then(|measured| simplified(measured, "events"));
        row.push(match (theirs, ours) {
            (Some(Cell::Integer(theirs)), Some(ours)) => {
                format!("{:.1}", *theirs as f64 / ours.max(1.0))
            }
            _ => "-".to_string(),
        });
    }
    let note = "Simplified by reordering alone, as theirs is.";
    table.notes.push(note.to_string());
    Ok(table)
}

/// LEAN's Table 2: what is left of an execution.
pub fn lean_effect(papers: &Papers, results: &[Measured]) -> Result<Table, String> {
    let column = |name, theirs, ours| Column { name, theirs, ours };
    let columns = [
        column("threads", "threads", |it| {
            reduced(it, "threads_before").map(whole)
        }),
        column("threads left", "simplified threads", |it| {
            reduced(it, "threads_after").map(whole)
        }),
        column("bytes", "size", |it| reduced(it, "bytes_before").map(whole)),
        column("bytes left", "simplified size", |it| {
            reduced(it, "bytes_after").map(whole)
        }),
        column("switches", "switches", |it| {
            reduced(it, "switches_before").map(whole)
        }),
        column("switches left", "simplified switches", |it| {
            reduced(it, "switches_after").map(whole)
        }),
        column("replay", "replay time", |it| {
            reduced(it, "replay_seconds_before").map(seconds)
        }),
        column("replay of the rest", "simplified replay time", |it| {
            reduced(it, "replay_seconds_after").map(seconds)
        }),
    ];
    let mut table = compared(papers, ("lean", "2"), &columns, results)?;
    let note = "Threads and repeated passes are left out, nothing is sliced.";
    table.notes.push(note.to_string());
    Ok(table)
}

/// LEAN's Table 4: what finding that took.
pub fn lean_effort(papers: &Papers, results: &[Measured]) -> Result<Table, String> {
    let column = |name, theirs, ours| Column { name, theirs, ours };
    let columns = [
        column("rounds, threads", "thread rounds", |it| {
            stage(it, "threads", "rounds").map(whole)
        }),
        column("seconds, threads", "thread time", |it| {
            stage(it, "threads", "seconds").map(seconds)
        }),
        column("rounds, repetition", "repetition rounds", |it| {
            stage(it, "iterations", "rounds").map(whole)
        }),
        column("seconds, repetition", "repetition time", |it| {
            stage(it, "iterations", "seconds").map(seconds)
        }),
        column("blocks", "blocks found", |it| {
            reduced(it, "blocks_found").map(whole)
        }),
        column("redundant", "blocks real", |it| {
            reduced(it, "blocks_redundant").map(whole)
        }),
    ];
    compared(papers, ("lean", "4"), &columns, results)
}

/// LEAN's Table 3: which component removed how much, in per cent of the events.
pub fn lean_parts(papers: &Papers, results: &[Measured]) -> Result<Table, String> {
    fn share(it: &Measured, name: &str) -> Option<String> {
        let before = reduced(it, "events_before")?;
        let removed = stage(it, name, "events_removed")?;
        Some(format!("{:.1}", 100.0 * removed / before.max(1.0)))
    }
    let column = |name, theirs, ours| Column { name, theirs, ours };
    let columns = [
        column("threads %", "whole-thread %", |it| share(it, "threads")),
        column("repetition %", "repetition %", |it| share(it, "iterations")),
        column("slicing % / another schedule %", "slicing %", |it| {
            share(it, "events")
        }),
    ];
    let mut table = compared(papers, ("lean", "3"), &columns, results)?;
    let note =
        "Theirs are bytes, ours events. They slice; ours looks for a shorter schedule instead.";
    table.notes.push(note.to_string());
    Ok(table)
}

/// LEAN's Table 5: what the dependence graph alone removes.
pub fn lean_against_graph(papers: &Papers, results: &[Measured]) -> Result<Table, String> {
    fn share(it: &Measured, removed: f64) -> Option<String> {
        let before = reduced(it, "events_before")?;
        Some(format!("{:.1}", 100.0 * removed / before.max(1.0)))
    }
    let column = |name, theirs, ours| Column { name, theirs, ours };
    let columns = [
        column("graph alone %", "ER %", |it| {
            share(it, reduced(it, "er_events_removed")?)
        }),
        column("reduction %", "LEAN %", |it| {
            let after = reduced(it, "events_after")?;
            share(it, reduced(it, "events_before")? - after)
        }),
    ];
    let mut table = compared(papers, ("lean", "5"), &columns, results)?;
    table
        .notes
        .push("Theirs are bytes, ours events.".to_string());
    Ok(table)
}

/// The sum over all stages with this name.
fn stage(measured: &Measured, name: &str, field: &str) -> Option<f64> {
    let stages = measured.reduced.as_ref()?["stages"].as_array()?;
    let named = stages.iter().filter(|stage| stage["name"] == name);
    Some(named.filter_map(|stage| Value::as_f64(&stage[field])).sum())
}
