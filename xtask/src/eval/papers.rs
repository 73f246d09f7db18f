//! The papers' tables, with our figures in their cells.

use super::measure::Measured;
use super::tables::Table;
use bohr_museum::Papers;

/// What stands in a cell of ours.
type Cell = dyn Fn(&Measured) -> Option<String>;

/// One column: what we and the paper call it, and our figure for it.
pub struct Column {
    name: &'static str,
    theirs: &'static str,
    ours: Box<Cell>,
}

/// A figure by the name of its field, out of what a command printed.
pub type Figure = fn(&Measured, &str) -> Option<f64>;

impl Column {
    pub fn new(
        name: &'static str,
        theirs: &'static str,
        ours: impl Fn(&Measured) -> Option<String> + 'static,
    ) -> Column {
        Column {
            name,
            theirs,
            ours: Box::new(ours),
        }
    }

    /// Whole numbers, as they stand in a field.
    pub fn counted(
        name: &'static str,
        theirs: &'static str,
        figure: Figure,
        field: &'static str,
    ) -> Column {
        Column::new(name, theirs, move |it| figure(it, field).map(whole))
    }

    /// Seconds, as they stand in a field.
    pub fn timed(
        name: &'static str,
        theirs: &'static str,
        figure: Figure,
        field: &'static str,
    ) -> Column {
        Column::new(name, theirs, move |it| figure(it, field).map(seconds))
    }
}

/// A table of a paper, for the exhibits that mirror its rows.
pub fn compared(
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
            .filter(|subject| table.row(subject).is_some())
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
    let mut notes = vec![format!("Theirs was measured on: {}.", paper.machine)];
    let shown = |row: &str| rows.iter().any(|cells: &Vec<String>| cells[0] == row);
    // Of rows without an exhibit, too: what a paper says of one row can be about others.
    let footnotes = table.footnotes.iter();
    notes.extend(footnotes.map(|it| format!("{}, {}: {}", it.row, it.column, it.note)));
    let absent: Vec<&str> = table.names().filter(|row| !shown(row)).collect();
    if !absent.is_empty() {
        notes.push(format!(
            "Rows without a measured exhibit: {}.",
            absent.join(", ")
        ));
    }
    Ok(Table {
        title: format!(
            "{}, Table {} ({}; theirs / ours)",
            paper.title, table.table, paper.venue
        ),
        columns: first.into_iter().chain(names).collect(),
        rows,
        notes,
    })
}

/// A last column that tells how many times as large the paper's subject was: of
/// paper, table and column, beside our figure for it.
pub fn add_factor(
    papers: &Papers,
    table: &mut Table,
    (paper, number, column): (&str, &str, &str),
    results: &[Measured],
    ours: impl Fn(&Measured) -> Option<f64>,
) {
    let theirs = papers.table(paper, number);
    table.columns.push(format!("{column}, theirs over ours"));
    for row in &mut table.rows {
        let cell = theirs.and_then(|table| table.cell(&row[0], column)?.number());
        let measured = results.iter().find(|measured| measured.name == row[1]);
        let ours = measured.and_then(&ours).filter(|ours| *ours > 0.0);
        row.push(match (cell, ours) {
            (Some(theirs), Some(ours)) => format!("{:.2}", theirs / ours),
            _ => "-".to_string(),
        });
    }
}

pub fn whole(number: f64) -> String {
    format!("{number:.0}")
}

pub fn seconds(number: f64) -> String {
    format!("{number:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use bohr_museum::Mirror;

    /// Derby's replay time is what one of the papers contradicts itself in.
    #[test]
    fn cells_factors_and_footnotes_are_the_row_of_the_mirror() {
        let papers = Papers::load().unwrap();
        let mirror = Mirror {
            paper: "lean".to_string(),
            table: "1".to_string(),
            row: "Derby".to_string(),
        };
        let measured = Measured {
            name: "view-descriptor".to_string(),
            mirrors: vec![mirror.clone(), mirror],
            reduced: Some(serde_json::json!({ "bytes_before": 941_000 })),
            ..Measured::default()
        };
        let columns = [Column::counted(
            "bytes",
            "size",
            Measured::reduced,
            "bytes_before",
        )];
        let results = [measured];
        let mut table = compared(&papers, ("lean", "2"), &columns, &results).unwrap();
        let ours = |it: &Measured| it.reduced("bytes_before");
        add_factor(&papers, &mut table, ("lean", "2", "size"), &results, ours);
        let rows = [["Derby", "view-descriptor", "94.1M / 941000", "100.00"]];
        assert_eq!(table.rows, rows);
        assert!(table.notes.iter().any(|note| note.contains("446 s")));
        let other = compared(&papers, ("lean", "3"), &[], &results).unwrap();
        assert!(other.notes.iter().any(|note| note.starts_with("Tomcat")));
    }
}
