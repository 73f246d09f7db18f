//! SimTrace's Table 1, on recorded runs of the sizes that its rows have.

use super::measure::Measured;
use super::papers::{Column, add_factor, compared, seconds, whole};
use super::tables::Table;
use bohr_museum::Papers;

fn recorded(measured: &Measured, field: &str) -> Option<f64> {
    let recorded = measured.recorded.as_ref()?.as_ref()?;
    Some(recorded.number(field))
}

/// The table.
pub fn simplified(papers: &Papers, results: &[Measured]) -> Result<Table, String> {
    let columns = [
        Column::new("lines", "LOC", |it| Some(it.lines.to_string())),
        Column::new("threads", "threads", |it| {
            recorded(it, "threads").map(whole)
        }),
        Column::new("shared variables", "shared variables", |it| {
            recorded(it, "shared_variables").map(whole)
        }),
        Column::new("events", "events", |it| recorded(it, "events").map(whole)),
        Column::new("seconds", "time", |it| {
            recorded(it, "seconds_static").map(seconds)
        }),
        Column::new("switches", "switches", |it| {
            recorded(it, "switches_before").map(whole)
        }),
        Column::new("simplified", "simplified switches", |it| {
            recorded(it, "switches_static").map(whole)
        }),
        Column::new("reduction %", "reduction %", |it| {
            let recorded = it.recorded.as_ref()?.as_ref()?;
            Some(format!("{:.1}", recorded.reduction()))
        }),
    ];
    let mut table = compared(papers, ("simtrace", "1"), &columns, results)?;
    for (column, field) in [("events", "events"), ("switches", "switches_before")] {
        let ours = |it: &Measured| recorded(it, field);
        add_factor(papers, &mut table, ("simtrace", "1", column), results, ours);
    }
    let runs = results.iter().filter_map(|measured| {
        let recorded = measured.recorded.as_ref()?.as_ref()?;
        let words: Vec<String> = recorded.arguments.iter().map(u64::to_string).collect();
        Some(format!(
            "{} {}{}: time slices of {} events, seed {}",
            measured.name,
            words.join(" "),
            if recorded.twin { " (its twin)" } else { "" },
            recorded.slice,
            recorded.seed
        ))
    });
    let runs: Vec<String> = runs.collect();
    table.notes.push(format!(
        "Simplified by reordering alone, as theirs is. Recorded: {}.",
        runs.join("; ")
    ));
    let reasons = results.iter().filter_map(|measured| {
        let why = measured.recorded.as_ref()?.as_ref()?.why.as_ref()?;
        Some(format!("{}: {why}.", measured.name))
    });
    table.notes.extend(reasons);
    Ok(table)
}
