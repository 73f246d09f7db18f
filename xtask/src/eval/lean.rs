//! LEAN's tables.

use super::measure::Measured;
use super::papers::{Column, add_factor, compared, seconds, whole};
use super::tables::Table;
use bohr_museum::Papers;
use serde_json::Value;

/// LEAN's Table 2: what is left of an execution.
pub fn effect(papers: &Papers, results: &[Measured]) -> Result<Table, String> {
    let columns = [
        Column::counted("threads", "threads", Measured::reduced, "threads_before"),
        Column::new("threads left", "simplified threads", threads_left),
        Column::counted("bytes", "size", Measured::reduced, "bytes_before"),
        Column::counted(
            "bytes left",
            "simplified size",
            Measured::reduced,
            "bytes_after",
        ),
        Column::counted("switches", "switches", Measured::reduced, "switches_before"),
        Column::counted(
            "switches left",
            "simplified switches",
            Measured::reduced,
            "switches_after",
        ),
        Column::timed(
            "replay",
            "replay time",
            Measured::reduced,
            "replay_seconds_before",
        ),
        Column::timed(
            "replay of the rest",
            "simplified replay time",
            Measured::reduced,
            "replay_seconds_after",
        ),
    ];
    let mut table = compared(papers, ("lean", "2"), &columns, results)?;
    add_size(papers, &mut table, results);
    let note = "Threads left: those that still run in one piece, one after the other, stand behind a plus.";
    table.notes.push(note.to_string());
    Ok(table)
}

/// Threads that still take turns, and those that run as a whole where they stand.
fn threads_left(measured: &Measured) -> Option<String> {
    let turning = measured.reduced("threads_after")?;
    let whole = measured.reduced("threads_serial")?;
    Some(match whole > 0.0 {
        true => format!("{turning} + {whole}"),
        false => turning.to_string(),
    })
}

/// How many times as large the paper's executions were.
fn add_size(papers: &Papers, table: &mut Table, results: &[Measured]) {
    add_factor(papers, table, ("lean", "2", "size"), results, |it| {
        it.reduced("bytes_before")
    });
}

/// LEAN's Table 1: how large the subjects are.
pub fn subjects(papers: &Papers, results: &[Measured]) -> Result<Table, String> {
    let columns = [
        Column::new("threads, main aside", "threads", |it| {
            Some(whole(it.reduced("threads_before")? - 1.0))
        }),
        Column::counted(
            "passes through blocks",
            "iterations",
            Measured::reduced,
            "iterations_before",
        ),
    ];
    let mut table = compared(papers, ("lean", "1"), &columns, results)?;
    add_size(papers, &mut table, results);
    let note =
        "Theirs are iterations of each thread, ours passes of all threads through all blocks.";
    table.notes.push(note.to_string());
    Ok(table)
}

/// LEAN's Table 4: what finding that took.
pub fn effort(papers: &Papers, results: &[Measured]) -> Result<Table, String> {
    let columns = [
        Column::new("rounds, threads", "thread rounds", |it| {
            stage(it, "threads", "rounds").map(whole)
        }),
        Column::new("seconds, threads", "thread time", |it| {
            stage(it, "threads", "seconds").map(seconds)
        }),
        Column::new("seconds, slicing", "slicing time", |it| {
            stage(it, "slices", "seconds").map(seconds)
        }),
        Column::new("rounds, repetition", "repetition rounds", |it| {
            stage(it, "iterations", "rounds").map(whole)
        }),
        Column::new("seconds, repetition", "repetition time", |it| {
            stage(it, "iterations", "seconds").map(seconds)
        }),
        Column::counted("blocks", "blocks found", Measured::reduced, "blocks_found"),
        Column::counted(
            "redundant",
            "blocks real",
            Measured::reduced,
            "blocks_redundant",
        ),
    ];
    let mut table = compared(papers, ("lean", "4"), &columns, results)?;
    add_size(papers, &mut table, results);
    Ok(table)
}

/// LEAN's Table 3: which component removed how much, in events and in per cent of all events.
pub fn components(papers: &Papers, results: &[Measured]) -> Result<Table, String> {
    fn by_threads(it: &Measured) -> Option<f64> {
        stage(it, "threads", "events_removed")
    }
    fn by_slicing(it: &Measured) -> Option<f64> {
        let skipped = stage(it, "slices", "events_removed")?;
        let shown = it.reduced("events_relevant");
        let hidden = shown.map_or(Some(0.0), |shown| Some(it.reduced("events_after")? - shown))?;
        Some(skipped + hidden)
    }
    fn by_repetition(it: &Measured) -> Option<f64> {
        stage(it, "iterations", "events_removed")
    }
    type Removed = fn(&Measured) -> Option<f64>;
    fn events(name: &'static str, theirs: &'static str, removed: Removed) -> Column {
        Column::new(name, theirs, move |it| removed(it).map(whole))
    }
    fn share(name: &'static str, theirs: &'static str, removed: Removed) -> Column {
        Column::new(name, theirs, move |it| {
            let before = it.reduced("events_before")?;
            Some(format!("{:.1}", 100.0 * removed(it)? / before.max(1.0)))
        })
    }
    let columns = [
        events("threads", "whole-thread", by_threads),
        share("threads %", "whole-thread %", by_threads),
        events("slicing", "slicing", by_slicing),
        share("slicing %", "slicing %", by_slicing),
        events("repetition", "repetition", by_repetition),
        share("repetition %", "repetition %", by_repetition),
    ];
    let mut table = compared(papers, ("lean", "3"), &columns, results)?;
    add_size(papers, &mut table, results);
    let note = "Theirs are bytes, ours events. Of what slicing finds irrelevant, passes are not \
executed, and single events are not shown.";
    table.notes.push(note.to_string());
    Ok(table)
}

/// LEAN's Table 5: what the dependence graph alone removes.
pub fn against_graph(papers: &Papers, results: &[Measured]) -> Result<Table, String> {
    fn share(it: &Measured, removed: f64) -> Option<String> {
        let before = it.reduced("events_before")?;
        Some(format!("{:.1}", 100.0 * removed / before.max(1.0)))
    }
    let columns = [
        Column::new("graph alone %", "ER %", |it| {
            share(it, it.reduced("er_events_removed")?)
        }),
        Column::new("reduction %", "LEAN %", |it| {
            let after = it.reduced("events_after")?;
            share(it, it.reduced("events_before")? - after)
        }),
    ];
    let mut table = compared(papers, ("lean", "5"), &columns, results)?;
    add_size(papers, &mut table, results);
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn threads_that_run_in_one_piece_are_told() {
        let left = |after: u64, serial: u64| {
            threads_left(&Measured {
                reduced: Some(json!({ "threads_after": after, "threads_serial": serial })),
                ..Measured::default()
            })
        };
        assert_eq!(left(2, 1), Some("2 + 1".to_string()));
        assert_eq!(left(3, 0), Some("3".to_string()));
        assert_eq!(threads_left(&Measured::default()), None);
    }
}
