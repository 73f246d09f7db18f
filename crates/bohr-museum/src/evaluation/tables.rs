//! An evaluation as Markdown.

use super::{Evaluation, Quartiles, Summary, Trial};
use crate::{Cell, Exhibit, Papers};
use std::fmt::Write;

/// What was measured, by exhibit and strategy, and how to measure it again.
#[must_use]
pub fn markdown(evaluation: &Evaluation) -> String {
    let strategies = evaluation.strategies();
    let mut text = format!(
        "# Hunting the museum\n\nMeasured on {}; at most {} s a hunt; again with `{}`.\n\n\
         A cell has the hunts that found the bug, of all hunts; the median of the runs to the \
         bug, with quartiles; and the median of the seconds.\n\n",
        evaluation.machine, evaluation.seconds, evaluation.command
    );
    let _ = writeln!(text, "| exhibit | {} |", strategies.join(" | "));
    let _ = writeln!(text, "| --- |{}", " --- |".repeat(strategies.len()));
    for exhibit in evaluation.exhibits() {
        let cell = |strategy: &&str| cell(&evaluation.summary(exhibit, strategy));
        let cells: Vec<String> = strategies.iter().map(cell).collect();
        let _ = writeln!(text, "| {exhibit} | {} |", cells.join(" | "));
    }
    text
}

fn cell(summary: &Summary) -> String {
    let share = format!("{}/{}", summary.found, summary.trials);
    let Some((runs, seconds)) = summary.runs.zip(summary.seconds) else {
        return share;
    };
    let Quartiles {
        lower,
        median,
        upper,
    } = runs;
    format!(
        "{share}: {median:.0} ({lower:.0}-{upper:.0}), {:.2} s",
        seconds.median
    )
}

/// The rows of the papers' tables that exhibits mirror, with our figures behind
/// those of the paper. Ours are of the failing run that was found soonest.
#[must_use]
pub fn of_papers(evaluation: &Evaluation, papers: &Papers, exhibits: &[Exhibit]) -> String {
    let mut text = String::from("# The papers' tables, and ours\n");
    for table in papers.tables() {
        let mirrored = |exhibit: &&Exhibit| {
            let mirrors = exhibit.manifest.mirrors.iter();
            let here = |it: &&crate::Mirror| it.paper == table.paper && it.table == table.table;
            mirrors.filter(here).map(|it| it.row.clone()).next()
        };
        let rows: Vec<(&Exhibit, String)> = exhibits
            .iter()
            .filter_map(|exhibit| Some((exhibit, mirrored(&exhibit)?)))
            .collect();
        if rows.is_empty() {
            continue;
        }
        let title = papers.paper(&table.paper).map_or("", |paper| &paper.title);
        let _ = write!(
            text,
            "\n## {title}, table {}\n\n{}\n\n",
            table.table, table.caption
        );
        let columns = table.columns.join(" | ");
        let ours = "our exhibit | our threads | our events | our switches | our runs | our seconds";
        let _ = writeln!(text, "| row | {columns} | {ours} |");
        let _ = writeln!(text, "| --- |{}", " --- |".repeat(table.columns.len() + 6));
        for (exhibit, row) in rows {
            let cells: Vec<String> = table
                .row(&row)
                .unwrap_or_default()
                .iter()
                .map(shown)
                .collect();
            let name = &exhibit.manifest.name;
            let _ = writeln!(
                text,
                "| {row} | {} | {name} | {} |",
                cells.join(" | "),
                own_cells(soonest(evaluation, name))
            );
        }
        for footnote in &table.footnotes {
            let _ = writeln!(
                text,
                "\n{}, {}: {}",
                footnote.row, footnote.column, footnote.note
            );
        }
    }
    text
}

fn soonest<'a>(evaluation: &'a Evaluation, exhibit: &str) -> Option<&'a Trial> {
    let own = evaluation
        .trials
        .iter()
        .filter(|it| it.exhibit == exhibit && it.found);
    own.min_by(|a, b| a.seconds.total_cmp(&b.seconds))
}

fn own_cells(trial: Option<&Trial>) -> String {
    let Some(trial) = trial else {
        return ["-"; 5].join(" | ");
    };
    let count = |value: Option<u64>| value.map_or("-".to_string(), |value| value.to_string());
    [
        count(trial.threads),
        count(trial.events),
        count(trial.switches),
        trial.runs.to_string(),
        format!("{:.2}", trial.seconds),
    ]
    .join(" | ")
}

fn shown(cell: &Cell) -> String {
    match cell {
        Cell::Integer(number) => number.to_string(),
        Cell::Decimal(number) => number.to_string(),
        Cell::Text(text) => text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{evaluation, trial};
    use super::*;

    #[test]
    fn a_row_per_exhibit_and_a_column_per_strategy() {
        let text = markdown(&evaluation(vec![
            trial("account", "pos", true, 10),
            trial("account", "surw", false, 99),
        ]));
        assert!(text.contains("| exhibit | pos | surw |\n| --- | --- | --- |\n"));
        assert!(text.contains("| account | 1/1: 10 (10-10), 1.00 s | 0/1 |\n"));
        assert!(text.contains("a machine") && text.contains("`cargo xtask eval`"));
    }

    #[test]
    fn figures_stand_behind_those_of_the_paper() {
        let philosophers = crate::named("philosophers").unwrap();
        let mirror = philosophers.manifest.mirrors[0].clone();
        let papers = Papers::load().unwrap();
        let measured = evaluation(vec![trial("philosophers", "pos", true, 10)]);
        let text = of_papers(&measured, &papers, &[philosophers]);
        let row = text
            .lines()
            .find(|line| line.starts_with(&format!("| {} |", mirror.row)));
        let row = row.unwrap_or_else(|| panic!("no row {}:\n{text}", mirror.row));
        assert!(
            row.ends_with("| philosophers | 3 | 100 | 7 | 10 | 1.00 |"),
            "{row}"
        );
    }
}
