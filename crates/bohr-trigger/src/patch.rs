//! Breakpoints as changes to the user's sources: calls of `bohr_break.h` in C,
//! of `bohr_break.hpp` in C++, of the crate `bohr-break` in Rust. Text in, text
//! out.

mod diff;
mod in_c;
mod in_rust;
mod object;
mod regression;
mod statement;
mod unrelated;

pub use diff::{Insertion, inserted, unified};
pub use regression::{TestCase, regression_test};
pub use unrelated::unrelated;

use crate::expression::{Expression, Place, Refinement, Side};
use bohr_event::breakpoint::Rank;
use in_c::{in_c, moment_behind};
use in_rust::{breakpoint, in_rust, rolls};
use statement::room_before;
use std::collections::BTreeMap;
use std::time::Duration;

/// What a source file is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// C.
    C,
    /// C++.
    Cpp,
    /// Rust.
    Rust,
}

impl Language {
    /// By the end of a file's name.
    #[must_use]
    pub fn of(file: &str) -> Option<Language> {
        match file.rsplit_once('.')?.1 {
            "c" | "h" => Some(Language::C),
            "cc" | "cpp" | "cxx" | "hh" | "hpp" | "hxx" | "C" => Some(Language::Cpp),
            "rs" => Some(Language::Rust),
            _ => None,
        }
    }
}

/// Why sources cannot be changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// Sources are named by lines.
    #[error("`{0}` names no line, so there is nothing to change")]
    NoLine(String),
    /// The source is not there, or not in a language that is known.
    #[error("the source `{0}` cannot be changed: it is not there, or neither C, C++ nor Rust")]
    NoSource(String),
    /// There is no room for a call.
    #[error(
        "no statement of a function begins at `{0}`, or above it: a call needs a line of its own"
    )]
    NoStatement(String),
    /// The library has no word for it.
    #[error("`{0}` cannot be said with the library; it holds with `bohr run --native` only")]
    Unspeakable(String),
}

/// Where sides of a breakpoint go.
struct Visit<'a> {
    name: String,
    /// What the threads of the program that are told apart are called, but for their number.
    roll: String,
    /// Which of the breakpoints it is.
    number: usize,
    sides: Vec<usize>,
    of: usize,
    side: &'a Side,
    expression: &'a Expression,
    /// An expression for what threads bring along; nothing if all can meet.
    object: Option<String>,
}

/// What to insert into each file for a set of breakpoints; `sources` are the
/// texts of the files that it names. If threads are to bring `objects` along, those of
/// breakpoints that ask for the same object do, as far as their statements name it.
///
/// # Errors
/// If a file is missing, or something cannot be said.
pub fn insertions(
    name: &str,
    set: &[Expression],
    sources: &BTreeMap<String, String>,
    objects: bool,
) -> Result<BTreeMap<String, Vec<Insertion>>, PatchError> {
    let mut changes: BTreeMap<String, Vec<Insertion>> = BTreeMap::new();
    let mut declared: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (number, expression) in set.iter().enumerate() {
        let title = format!("{name}-{}", number + 1);
        let objects = match objects && expression.same_object {
            true => objects_of(expression, sources),
            false => None,
        };
        for mut visit in visits(&title, number, expression) {
            visit.roll = format!("{name}-of");
            let own = objects.as_ref().map(|all| all[visit.sides[0]].clone());
            visit.object = own;
            let (file, line) = line_of(visit.side)?;
            let text = sources.get(file);
            let text = text.ok_or_else(|| PatchError::NoSource(file.to_string()))?;
            let language = language_of(file)?;
            let call = match language {
                Language::C | Language::Cpp => in_c(&visit, language)?,
                Language::Rust => in_rust(&visit)?,
            };
            let change = changes.entry(file.to_string()).or_default();
            change.extend(before_statement(text, file, line, &call)?);
            if let Some((line, call)) = moment_behind(&title, expression, &visit, file) {
                change.extend(before_statement(text, file, line, &call)?);
            }
            let known = declared.entry(file.to_string()).or_default();
            if !known.contains(&number) {
                known.push(number);
            }
        }
    }
    for (file, numbers) in declared {
        let text = &sources[&file];
        let change = changes.entry(file.clone()).or_default();
        change.extend(declarations(name, set, &numbers, text, &file)?);
    }
    Ok(changes)
}

/// What the sides of a breakpoint are about, as their own lines name it.
fn objects_of(expression: &Expression, sources: &BTreeMap<String, String>) -> Option<Vec<String>> {
    let line = |side: &Side| {
        let (file, line) = line_of(side).ok()?;
        let text = sources
            .get(file)?
            .lines()
            .nth((line as usize).checked_sub(1)?)?;
        Some((text.to_string(), Language::of(file)?))
    };
    let lines: Vec<(String, Language)> =
        expression.sides.iter().map(line).collect::<Option<_>>()?;
    let texts: Vec<&str> = lines.iter().map(|(text, _)| text.as_str()).collect();
    object::objects(&texts, lines.first()?.1)
}

fn language_of(file: &str) -> Result<Language, PatchError> {
    Language::of(file).ok_or_else(|| PatchError::NoSource(file.to_string()))
}

/// A call before the statement that a line belongs to.
fn before_statement(
    text: &str,
    file: &str,
    line: u32,
    call: &str,
) -> Result<Vec<Insertion>, PatchError> {
    let room = room_before(text, line);
    let room = room.ok_or_else(|| PatchError::NoStatement(format!("{file}:{line}")))?;
    let statement = text.lines().nth(room.line as usize - 1).unwrap_or_default();
    let inside = |column: usize, text: String| Insertion {
        before: room.line,
        column,
        text,
    };
    let indent = match room.column {
        0 => statement.len() - statement.trim_start().len(),
        _ => 0,
    };
    let call = format!("{}{call}", &statement[..indent]);
    Ok(match room.close {
        None => vec![inside(room.column, call)],
        Some(close) => vec![
            inside(room.column, format!("{{ {call} ")),
            inside(close, "}".to_string()),
        ],
    })
}

/// The places of a breakpoint; sides at the same place that ask for the same go
/// together.
fn visits<'a>(name: &str, number: usize, expression: &'a Expression) -> Vec<Visit<'a>> {
    let mut visits: Vec<Visit<'a>> = Vec::new();
    for (position, side) in expression.sides.iter().enumerate() {
        let same = |visit: &&mut Visit<'_>| {
            let other = visit.side;
            let next = visit.sides.last().is_some_and(|last| last + 1 == position);
            next && line_of(other) == line_of(side) && other.refinements == side.refinements
        };
        match visits.iter_mut().find(same) {
            Some(visit) => visit.sides.push(position),
            None => visits.push(Visit {
                name: name.to_string(),
                roll: String::new(),
                number,
                sides: vec![position],
                of: expression.sides.len(),
                side,
                expression,
                object: None,
            }),
        }
    }
    visits
}

fn line_of(side: &Side) -> Result<(&str, u32), PatchError> {
    let place = side.own_place();
    match place {
        Place::Line { file, line, .. } => Ok((file, *line)),
        Place::Function { .. } => Err(PatchError::NoLine(place.to_string())),
    }
}

/// What the library can say about a side's visits.
#[derive(Clone, Copy, Default)]
struct Counting {
    /// So many pass.
    ignored: u64,
    /// Only this one of each thread counts.
    nth: Option<u64>,
    /// Only those of this thread count.
    rank: Option<Rank>,
}

fn counting(visit: &Visit<'_>) -> Result<Counting, PatchError> {
    let mut counting = Counting::default();
    for refinement in &visit.side.refinements {
        match refinement {
            // Visits of a library's line are others than those of the author's.
            Refinement::IgnoreFirst(_) | Refinement::Nth(_) if visit.side.counts_elsewhere() => {}
            Refinement::IgnoreFirst(count) => counting.ignored = *count,
            Refinement::Nth(number) => counting.nth = Some(*number),
            Refinement::Thread(rank) => counting.rank = Some(*rank),
            // Whoever is at that line is in that function.
            Refinement::Within(_) if visit.side.source.is_some() => {}
            other => return Err(PatchError::Unspeakable(other.to_string())),
        }
    }
    Ok(counting)
}

fn milliseconds(time: Duration) -> u128 {
    time.as_millis().max(1)
}

/// One of these sides after the other; they follow each other.
fn in_turn(count: &str, sides: &[usize]) -> String {
    match sides[0] {
        0 => format!("{count} % {}", sides.len()),
        first => format!("{first} + {count} % {}", sides.len()),
    }
}

/// What a file needs once: the header, or the breakpoints themselves.
fn declarations(
    name: &str,
    set: &[Expression],
    numbers: &[usize],
    text: &str,
    file: &str,
) -> Result<Vec<Insertion>, PatchError> {
    let language = language_of(file)?;
    if language != Language::Rust {
        let header = match language {
            Language::Cpp => "bohr_break.hpp",
            _ => "bohr_break.h",
        };
        let include = format!("#include \"{header}\"");
        return Ok(vec![Insertion::lines(first_include(text), include)]);
    }
    let mut lines = Vec::new();
    lines.extend(rolls(name, numbers.iter().map(|number| &set[*number])));
    for number in numbers {
        lines.push(breakpoint(name, *number, &set[*number]));
    }
    let end = text.lines().count() as u32 + 1;
    Ok(vec![Insertion::lines(end, lines.join("\n"))])
}

/// The line before which the header goes.
fn first_include(text: &str) -> u32 {
    let mut lines = text.lines();
    let found = lines.position(|line| line.trim_start().starts_with("#include"));
    found.unwrap_or(0) as u32 + 1
}

#[cfg(test)]
mod tests;
