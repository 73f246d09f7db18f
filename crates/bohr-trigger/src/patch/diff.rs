//! Lines that are added to a file, as a unified diff.

use std::fmt::Write;

/// Lines around a change.
const CONTEXT: usize = 3;

/// A line, or several, to be added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Insertion {
    /// Before this line, counted from 1; behind the last one for one more.
    pub before: u32,
    /// Or inside of it, behind so many bytes, if that is not 0.
    pub column: usize,
    /// Without a newline at its end.
    pub text: String,
}

impl Insertion {
    /// Whole lines.
    #[must_use]
    pub fn lines(before: u32, text: String) -> Insertion {
        Insertion {
            before,
            column: 0,
            text,
        }
    }
}

/// What becomes of a line: lines before it, and itself, if it changes. `position`
/// counts from 0, and is that behind the last line for what is added there.
struct Changed<'a> {
    before: Vec<&'a str>,
    itself: Option<String>,
}

fn changed<'a>(insertions: &'a [Insertion], position: usize, line: Option<&str>) -> Changed<'a> {
    let here = insertions.iter().filter(|one| match line {
        Some(_) => one.before as usize == position + 1,
        None => one.before as usize > position,
    });
    let (mut inside, before): (Vec<&Insertion>, Vec<&Insertion>) =
        here.partition(|one| one.column > 0 && line.is_some());
    // The last one first: columns count what was there.
    inside.sort_by_key(|one| one.column);
    inside.reverse();
    let itself = line.filter(|_| !inside.is_empty()).map(|line| {
        let mut line = line.to_string();
        for one in inside {
            line.insert_str(one.column.min(line.len()), &format!(" {}", one.text));
        }
        line
    });
    let lines = before.into_iter().flat_map(|one| one.text.lines());
    Changed {
        before: lines.collect(),
        itself,
    }
}

/// The text with the insertions in it.
#[must_use]
pub fn inserted(text: &str, insertions: &[Insertion]) -> String {
    let mut result = String::new();
    let lines = text.lines().map(Some).chain(std::iter::once(None));
    for (position, line) in lines.enumerate() {
        let changed = changed(insertions, position, line);
        let kept = changed.itself.as_deref().or(line);
        for line in changed.before.into_iter().chain(kept) {
            result += line;
            result.push('\n');
        }
    }
    result
}

/// A diff that `patch -p1` and `git apply` take; `path` is relative.
#[must_use]
pub fn unified(path: &str, text: &str, insertions: &[Insertion]) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut places: Vec<usize> = { insertions.iter() }
        .map(|one| (one.before as usize - 1).min(lines.len()))
        .collect();
    places.sort_unstable();
    places.dedup();
    let mut result = format!("--- a/{path}\n+++ b/{path}\n");
    let mut added = 0;
    for hunk in places.chunk_by(|one, other| other - one <= 2 * CONTEXT) {
        let first = hunk[0].saturating_sub(CONTEXT);
        let end = (hunk[hunk.len() - 1] + CONTEXT).min(lines.len());
        let mut body = String::new();
        let mut new = 0;
        for position in first..=end {
            let line = lines[..end].get(position).copied();
            if line.is_none() && end < lines.len() {
                break;
            }
            let Changed { before, itself } = changed(insertions, position, line);
            new += before.len();
            for line in before {
                let _ = writeln!(body, "+{line}");
            }
            let _ = match (line, itself) {
                (Some(line), Some(itself)) => writeln!(body, "-{line}\n+{itself}"),
                (Some(line), None) => writeln!(body, " {line}"),
                (None, _) => Ok(()),
            };
        }
        let old = end - first;
        let (from, to) = (first + 1, first + 1 + added);
        let _ = writeln!(
            result,
            "@@ -{from},{old} +{to},{} @@\n{}",
            old + new,
            body.trim_end_matches('\n')
        );
        added += new;
    }
    // A file without a newline at its end would need a remark there.
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What `patch` does, word by word, and nothing that it forgives.
    fn patched(text: &str, diff: &str) -> String {
        let old: Vec<&str> = text.lines().collect();
        let mut new: Vec<&str> = Vec::new();
        let mut at = 0;
        for line in diff.lines().skip(2) {
            match line.split_at(1) {
                ("@", rest) => {
                    let first = rest.split(['-', ',']).nth(1).unwrap();
                    let first = first.parse::<usize>().unwrap() - 1;
                    new.extend(&old[at..first]);
                    at = first;
                }
                ("+", added) => new.push(added),
                (sign, kept) => {
                    assert_eq!(old[at], kept);
                    at += 1;
                    new.extend((sign == " ").then_some(kept));
                }
            }
        }
        new.extend(&old[at..]);
        new.iter().map(|line| format!("{line}\n")).collect()
    }

    /// The numbers of a hunk count its lines.
    fn check_counts(diff: &str) {
        for hunk in diff.split("\n@@ -").skip(1) {
            let (numbers, body) = hunk.split_once(" @@\n").unwrap();
            let count = |part: &str| part.split_once(',').unwrap().1.parse::<usize>().unwrap();
            let (old, new) = numbers.split_once(" +").unwrap();
            let lines = |sign: char| body.lines().filter(|line| !line.starts_with(sign)).count();
            assert_eq!([count(old), count(new)], [lines('+'), lines('-')], "{diff}");
        }
    }

    proptest! {
        #[test]
        fn the_diff_says_what_is_inserted(
            lines in prop::collection::vec("[a-z{};]{3}", 1..40),
            wanted in prop::collection::vec((0u32..42, 0usize..4, "[A-Z]{1,3}(\n[A-Z]{1,3})?"), 1..6),
        ) {
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let all: Vec<Insertion> = { wanted.into_iter() }
                .map(|(before, column, text)| match column {
                    0 => Insertion::lines(before % (lines.len() as u32 + 1) + 1, text),
                    _ => Insertion {
                        before: before % lines.len() as u32 + 1,
                        column,
                        text: text.replace('\n', " "),
                    },
                })
                .collect();
            let diff = unified("a.c", &text, &all);
            check_counts(&diff);
            prop_assert_eq!(patched(&text, &diff), inserted(&text, &all));
        }
    }

    #[test]
    fn what_goes_into_a_line_keeps_its_order() {
        let one = |text: &str| Insertion {
            before: 1,
            column: 3,
            text: text.to_string(),
        };
        assert_eq!(
            inserted("f({ x; }\n", &[one("A;"), one("B;")]),
            "f({ A; B; x; }\n"
        );
    }
}
