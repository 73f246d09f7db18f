//! Lines that are added to a file, as a unified diff.

use std::fmt::Write;

/// Lines around a change.
const CONTEXT: usize = 3;

/// A line, or several, to be added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Insertion {
    /// Before this line, counted from 1; behind the last one for one more.
    pub before: u32,
    /// Without a newline at its end.
    pub text: String,
}

fn sorted(insertions: &[Insertion]) -> Vec<&Insertion> {
    let mut all: Vec<&Insertion> = insertions.iter().collect();
    all.sort_by_key(|insertion| insertion.before);
    all
}

/// The text with the insertions in it.
#[must_use]
pub fn inserted(text: &str, insertions: &[Insertion]) -> String {
    let mut result = String::new();
    let sorted = sorted(insertions);
    let mut next = sorted.iter().peekable();
    let lines = text.lines().map(Some).chain(std::iter::once(None));
    for (position, line) in lines.enumerate() {
        let is_here = |one: &&&Insertion| one.before as usize <= position + 1 || line.is_none();
        while let Some(insertion) = next.next_if(is_here) {
            result += &insertion.text;
            result.push('\n');
        }
        if let Some(line) = line {
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
    let insertions = sorted(insertions);
    let mut result = format!("--- a/{path}\n+++ b/{path}\n");
    let mut added = 0;
    let close =
        |one: &&Insertion, other: &&Insertion| (other.before - one.before) as usize <= 2 * CONTEXT;
    for hunk in insertions.chunk_by(close) {
        let first = (hunk[0].before as usize - 1).saturating_sub(CONTEXT);
        let last = hunk[hunk.len() - 1].before as usize - 1;
        let end = (last + CONTEXT).min(lines.len());
        let new: usize = hunk.iter().map(|one| one.text.lines().count()).sum();
        let old = end - first;
        let _ = writeln!(
            result,
            "@@ -{},{old} +{},{} @@",
            first + 1,
            first + 1 + added,
            old + new
        );
        let mut next = hunk.iter().peekable();
        for position in first..=end {
            while let Some(one) = next.next_if(|one| one.before as usize == position + 1) {
                for line in one.text.lines() {
                    let _ = writeln!(result, "+{line}");
                }
            }
            if let Some(line) = lines[..end].get(position) {
                let _ = writeln!(result, " {line}");
            }
        }
        added += new;
    }
    // A file without a newline at its end would need a remark there.
    result
}
