//! The figures that the papers print, read from `eval/papers.toml`. Code never
//! holds a paper's number; what is compared with one looks it up here.

use crate::exhibit::read;
use crate::{Error, root};
use serde::Deserialize;
use std::collections::BTreeMap;

/// All papers and their tables.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Papers {
    paper: BTreeMap<String, Paper>,
    table: Vec<Table>,
}

/// Where a paper is to be found.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Its title.
    pub title: String,
    /// Family names.
    pub authors: String,
    /// Conference and year, or report number.
    pub venue: String,
    /// What its figures were measured on.
    pub machine: String,
}

/// A table of a paper, or the subject of one of its figures.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// The short name of the paper.
    pub paper: String,
    /// "1" for Table 1, "figure-1" for Figure 1.
    pub table: String,
    /// What it shows.
    pub caption: String,
    /// Names of the cells after the first, with their units.
    pub columns: Vec<String>,
    /// The first cell is the name of the row.
    rows: Vec<Vec<Cell>>,
    /// What the paper says otherwise elsewhere.
    #[serde(default)]
    pub footnotes: Vec<Footnote>,
}

/// Something that the paper says otherwise elsewhere, or that needs a word.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Footnote {
    /// The row's name.
    pub row: String,
    /// The column's name.
    pub column: String,
    /// The contradiction.
    pub note: String,
}

/// One printed figure. Text stands for what is no plain number: a size with its
/// unit, a figure that ends in a nought, or "-" where the paper prints nothing.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Cell {
    /// A count.
    Integer(i64),
    /// A measured figure.
    Decimal(f64),
    /// Anything else.
    Text(String),
}

impl Cell {
    /// As a number: a size with its unit counts in ones. `None` of anything else.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self {
            Cell::Integer(number) => Some(*number as f64),
            Cell::Decimal(number) => Some(*number),
            Cell::Text(text) => {
                let text = text.trim_end_matches('B');
                let (digits, unit) = match text.strip_suffix('K') {
                    Some(digits) => (digits, 1e3),
                    None => text.strip_suffix('M').map_or((text, 1.0), |it| (it, 1e6)),
                };
                Some(digits.parse::<f64>().ok()? * unit)
            }
        }
    }
}

impl std::fmt::Display for Cell {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Cell::Integer(number) => number.fmt(out),
            Cell::Decimal(number) => number.fmt(out),
            Cell::Text(text) => out.write_str(text),
        }
    }
}

impl Papers {
    /// Reads the file.
    ///
    /// # Errors
    /// If it has not the right form, or its parts do not fit each other.
    pub fn load() -> Result<Papers, Error> {
        let path = root().join("eval/papers.toml");
        let papers: Papers = match toml::from_str(&read(&path)?) {
            Ok(papers) => papers,
            Err(cause) => {
                let cause = Box::new(cause);
                return Err(Error::Form { path, cause });
            }
        };
        let offences = papers.offences();
        if offences.is_empty() {
            Ok(papers)
        } else {
            Err(Error::Content { path, offences })
        }
    }

    /// Where a paper is to be found, by its short name.
    #[must_use]
    pub fn paper(&self, paper: &str) -> Option<&Paper> {
        self.paper.get(paper)
    }

    /// A table by its paper and number.
    #[must_use]
    pub fn table(&self, paper: &str, table: &str) -> Option<&Table> {
        self.table
            .iter()
            .find(|candidate| candidate.paper == paper && candidate.table == table)
    }

    /// The cells of a row, without its name.
    #[must_use]
    pub fn row(&self, paper: &str, table: &str, row: &str) -> Option<&[Cell]> {
        self.table(paper, table)?.row(row)
    }

    /// Tables of unknown papers, rows of the wrong width, footnotes to nothing.
    fn offences(&self) -> Vec<String> {
        let of_table = |table: &Table| {
            let place = format!("{} {}", table.paper, table.table);
            let mut found = Vec::new();
            if !self.paper.contains_key(&table.paper) {
                found.push(format!("{place}: the paper is not listed"));
            }
            for row in &table.rows {
                if row.len() != table.columns.len() + 1 || !matches!(row[0], Cell::Text(_)) {
                    found.push(format!("{place}: {row:?} does not fit the columns"));
                }
            }
            for footnote in &table.footnotes {
                let known = table.cell(&footnote.row, &footnote.column).is_some();
                if !known || footnote.note.is_empty() {
                    found.push(format!("{place}: a footnote to nothing: {footnote:?}"));
                }
            }
            found
        };
        self.table.iter().flat_map(of_table).collect()
    }
}

impl Table {
    /// The names of its rows, in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().filter_map(|row| match row.first() {
            Some(Cell::Text(name)) => Some(&name[..]),
            _ => None,
        })
    }

    /// The cells of a row, without its name.
    #[must_use]
    pub fn row(&self, name: &str) -> Option<&[Cell]> {
        let wanted = Cell::Text(name.to_string());
        let (_, cells) = self
            .rows
            .iter()
            .filter_map(|row| row.split_first())
            .find(|(first, _)| **first == wanted)?;
        Some(cells)
    }

    /// One cell.
    #[must_use]
    pub fn cell(&self, row: &str, column: &str) -> Option<&Cell> {
        let at = self.columns.iter().position(|name| name == column)?;
        self.row(row)?.get(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_reads_and_answers() {
        let papers = Papers::load().unwrap();
        let tsp = papers.table("lean", "2").unwrap();
        assert_eq!(tsp.cell("Tsp", "threads"), Some(&Cell::Integer(5)));
        assert!(papers.row("lean", "2", "Nobody").is_none());
    }

    #[test]
    fn sizes_are_numbers() {
        let text = |text: &str| Cell::Text(text.to_string()).number();
        assert_eq!(text("13.2K"), Some(13_200.0));
        assert_eq!(text("108MB"), Some(108e6));
        assert_eq!(text("448B"), Some(448.0));
        assert_eq!(text("-"), None);
        assert_eq!(Cell::Integer(5).number(), Some(5.0));
    }

    /// A number loses the noughts at its end, and with them how exact it is.
    #[test]
    fn figures_stand_as_they_are_printed() {
        let file = read(&root().join("eval/papers.toml")).unwrap();
        let rows = file.lines().filter(|line| line.starts_with("    ["));
        for row in rows {
            // What is quoted lies between every other pair of quotation marks.
            let plain = row.split('"').step_by(2);
            let figures = plain.flat_map(|part| part.split([',', '[', ']', ' ']));
            for figure in figures {
                let is_cut = figure.contains('.') && figure.ends_with('0');
                assert!(!is_cut, "{figure} has to be quoted in {row}");
            }
        }
        let papers = Papers::load().unwrap();
        let table = papers.table("lean", "5").unwrap();
        let cell = table.cell("Tsp", "ER %").unwrap();
        assert_eq!(
            (cell.to_string().as_str(), cell.number()),
            ("0.0", Some(0.0))
        );
    }

    /// The places where the papers contradict themselves carry a footnote.
    #[test]
    fn contradictions_are_told() {
        let papers = Papers::load().unwrap();
        for (paper, table, row) in [
            ("dumps", "4", "apache-1"),
            ("clap", "3", "apache"),
            ("lean", "2", "Derby"),
        ] {
            let notes = &papers.table(paper, table).unwrap().footnotes;
            assert!(notes.iter().any(|note| note.row == row), "{paper} {table}");
        }
    }

    #[test]
    fn misfits_are_told() {
        let text = r#"
            [paper.a]
            title = "t"
            authors = "x"
            venue = "v"
            machine = "m"
            [[table]]
            paper = "b"
            table = "1"
            caption = "c"
            columns = ["n"]
            rows = [["short"], ["fits", 1], [1, 1]]
            footnotes = [{ row = "fits", column = "m", note = "?" }]
        "#;
        let papers: Papers = toml::from_str(text).unwrap();
        assert_eq!(papers.offences().len(), 4);
    }
}
