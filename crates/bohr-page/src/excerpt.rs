//! Which lines of the sources go into a page: those around events. A page for a
//! small bug in a large file stays small.

use crate::lexicon::{Lexicon, SourceText};
use serde::Serialize;
use std::collections::BTreeSet;

/// Lines that are shown before and behind one that matters.
const AROUND: u32 = 14;

/// Bytes of source in a page. Lines that the findings name come first.
pub const MOST_SOURCE: usize = 400_000;

/// A line longer than this was not written by hand, and is cut.
const LONGEST_LINE: usize = 400;

/// Lines in a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Excerpt {
    /// Of which file.
    pub file: String,
    /// Number of the first, from 1.
    pub first: u32,
    /// Their texts.
    pub lines: Vec<String>,
    /// The file was changed after the program was built.
    #[serde(rename = "isNewer")]
    pub is_newer: bool,
}

/// The excerpts around these lines of these files, as far as there is room. A file
/// may come twice: then its lines come first that come first here.
pub fn excerpts(wanted: &[(&str, Vec<u32>)], lexicon: &mut dyn Lexicon) -> Vec<Excerpt> {
    let mut room = MOST_SOURCE;
    let mut files: Vec<(&str, BTreeSet<u32>)> = Vec::new();
    for (file, lines) in wanted {
        let known = files.iter().position(|known| known.0 == *file);
        let position = known.unwrap_or(files.len());
        if known.is_none() {
            files.push((file, BTreeSet::new()));
        }
        let Some(source) = lexicon.source(file) else {
            continue;
        };
        let text: Vec<&str> = source.text.lines().collect();
        take(&text, lines, &mut files[position].1, &mut room);
    }
    let excerpts = files
        .iter()
        .flat_map(|(file, lines)| in_rows(file, lines, &lexicon.source(file).unwrap_or_default()));
    excerpts.collect()
}

/// Takes the lines around those that are wanted.
fn take(text: &[&str], wanted: &[u32], taken: &mut BTreeSet<u32>, room: &mut usize) {
    for line in wanted.iter().filter(|line| **line > 0) {
        let around = line.saturating_sub(AROUND).max(1)..=line.saturating_add(AROUND);
        let there = around.filter(|line| *line as usize <= text.len());
        for line in there {
            let length = text[line as usize - 1].len().min(LONGEST_LINE) + 4;
            if *room < length {
                return;
            }
            if taken.insert(line) {
                *room -= length;
            }
        }
    }
}

fn in_rows(file: &str, lines: &BTreeSet<u32>, source: &SourceText) -> Vec<Excerpt> {
    let text: Vec<&str> = source.text.lines().collect();
    let mut rows: Vec<Excerpt> = Vec::new();
    for &line in lines {
        let words: String = text[line as usize - 1].chars().take(LONGEST_LINE).collect();
        match rows.last_mut() {
            Some(row) if row.first + row.lines.len() as u32 == line => row.lines.push(words),
            _ => rows.push(Excerpt {
                file: file.to_string(),
                first: line,
                lines: vec![words],
                is_newer: source.is_newer,
            }),
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexicon::Whereabouts;
    use bohr_event::{Operation, PlaceNumber};

    struct Shelf(usize);

    impl Lexicon for Shelf {
        fn variable(&mut self, _: &Operation) -> String {
            String::new()
        }

        fn whereabouts(&mut self, _: PlaceNumber) -> Whereabouts {
            Whereabouts::default()
        }

        fn source(&mut self, file: &str) -> Option<SourceText> {
            let line = |number: usize| format!("{number}{}\n", "x".repeat(self.0));
            (file != "lost.c").then(|| SourceText {
                text: (1..=1000).map(line).collect(),
                is_newer: false,
            })
        }
    }

    #[test]
    fn lines_around_events_are_taken_and_joined() {
        let wanted = [("a.c", vec![20, 30, 990, 5000]), ("lost.c", vec![1])];
        let found = excerpts(&wanted, &mut Shelf(0));
        let rows: Vec<_> = found
            .iter()
            .map(|row| (row.first, row.lines.len()))
            .collect();
        assert_eq!(rows, [(6, 39), (976, 25)]);
        assert_eq!(found[0].lines[0], "6");
    }

    #[test]
    fn what_is_named_first_has_room_first() {
        let all: Vec<u32> = (1..=1000).collect();
        let wanted = [("a.c", vec![900]), ("b.c", all)];
        let found = excerpts(&wanted, &mut Shelf(5000));
        assert_eq!((found[0].first, found[0].lines.len()), (886, 29));
        let bytes: usize = found
            .iter()
            .flat_map(|row| &row.lines)
            .map(String::len)
            .sum();
        assert!(bytes <= MOST_SOURCE, "{bytes}");
        assert!(found.iter().any(|row| row.file == "b.c"));
    }
}
