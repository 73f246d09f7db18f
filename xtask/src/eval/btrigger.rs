//! BTrigger's tables: how surely breakpoints bring a bug about with real threads,
//! and what they cost.

use super::measure::Measured;
use super::papers::{Column, add_factor, compared};
use super::tables::Table;
use bohr_museum::Papers;

/// How failing runs ended.
fn error(measured: &Measured) -> Option<String> {
    Some(measured.broken.as_ref()?["error"].as_str()?.to_string())
}

fn breakpoints(measured: &Measured) -> Option<String> {
    Some(measured.breakpoints()?.to_string())
}

/// What sort of breakpoints they are, and what they were tuned with.
fn comment(measured: &Measured) -> Option<String> {
    let told = measured.broken.as_ref()?;
    let kind = told["kind"].as_str()?;
    let pauses = { told["breakpoints"].as_array()?.iter() }.filter_map(|it| it["pause"].as_f64());
    let pause = 1e3 * pauses.fold(0.0, f64::max);
    Some(format!("{kind}, pause={pause:.0}ms"))
}

/// Table 1: programs that end by themselves.
pub fn probability(papers: &Papers, results: &[Measured]) -> Result<Table, String> {
    let columns = [
        Column::new("lines", "LOC", |it| Some(it.lines.to_string())),
        Column::timed(
            "normal s",
            "normal time",
            Measured::broken,
            "normal_seconds",
        ),
        Column::timed("s with breakpoints", "time", Measured::broken, "seconds"),
        Column::new("overhead %", "overhead %", |it| {
            Some(format!("{:.0}", 100.0 * (it.broken("overhead")? - 1.0)))
        }),
        Column::new("error", "error", error),
        Column::new("probability", "probability", |it| {
            it.broken("probability").map(|share| format!("{share:.2}"))
        }),
        Column::new("comment", "comment", comment),
    ];
    let mut table = compared(papers, ("btrigger", "1"), &columns, results)?;
    add_factor(
        papers,
        &mut table,
        ("btrigger", "1", "normal time"),
        results,
        |it| it.broken("normal_seconds"),
    );
    add_factor(
        papers,
        &mut table,
        ("btrigger", "1", "LOC"),
        results,
        |it| Some(it.lines as f64),
    );
    let note = "Where the bug ends a run, the time with breakpoints is that of the runs up to it.";
    table.notes.push(note.to_string());
    Ok(table)
}

/// Table 2: servers, until they fail.
pub fn time_to_error(papers: &Papers, results: &[Measured]) -> Result<Table, String> {
    let columns = [
        Column::new("lines", "LOC", |it| Some(it.lines.to_string())),
        Column::new("error", "error", error),
        Column::timed(
            "mean s to error",
            "mean time to error",
            Measured::broken,
            "mean_time_to_error",
        ),
        Column::new("breakpoints", "breakpoints", breakpoints),
        Column::new("comment", "comment", comment),
    ];
    let mut table = compared(papers, ("btrigger", "2"), &columns, results)?;
    add_factor(
        papers,
        &mut table,
        ("btrigger", "2", "LOC"),
        results,
        |it| Some(it.lines as f64),
    );
    let note =
        "Ours are small programs that start anew for every error; theirs are servers under load.";
    table.notes.push(note.to_string());
    Ok(table)
}

/// Every exhibit: without breakpoints and with them.
pub fn all(results: &[Measured]) -> Table {
    let columns = [
        "exhibit",
        "failures in 1,000 native runs",
        "probability with breakpoints",
        "breakpoints",
        "mean s to error",
        "overhead %",
    ];
    let row = |it: &Measured| {
        let cell = |number: Option<f64>, digits: usize| {
            number.map_or("-".to_string(), |number| format!("{number:.digits$}"))
        };
        it.broken.as_ref()?;
        Some(vec![
            it.name.clone(),
            { it.native_per_thousand }
                .map_or("not measured".to_string(), |rate| format!("{rate:.0}")),
            cell(it.broken("probability"), 2),
            breakpoints(it)?,
            cell(it.broken("mean_time_to_error"), 4),
            cell(it.broken("overhead").map(|times| 100.0 * (times - 1.0)), 0),
        ])
    };
    Table {
        title: "Breakpoints".to_string(),
        columns: columns.map(String::from).to_vec(),
        rows: results.iter().filter_map(row).collect(),
        notes: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_that_was_never_measured_is_not_nought() {
        let measured = Measured {
            broken: Some(serde_json::json!({ "probability": 1.0, "breakpoints": [] })),
            ..Measured::default()
        };
        assert_eq!(all(&[measured]).rows[0][1], "not measured");
    }
}
