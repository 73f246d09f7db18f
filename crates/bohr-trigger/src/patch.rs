//! Breakpoints as changes to the user's sources: calls of `bohr_break.h` in C,
//! of `bohr_break.hpp` in C++, of the crate `bohr-break` in Rust. Text in, text
//! out.

mod diff;
mod regression;
mod statement;

pub use diff::{Insertion, unified};
pub use regression::{TestCase, regression_test};

use crate::expression::{Expression, Place, Refinement, Side};
use statement::statement_line;
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
    /// The library has no word for it.
    #[error("`{0}` cannot be said with the library; it holds with `bohr run --native` only")]
    Unspeakable(String),
}

/// Where sides of a breakpoint go.
struct Visit<'a> {
    name: String,
    /// Which of the breakpoints it is.
    number: usize,
    sides: Vec<usize>,
    of: usize,
    side: &'a Side,
    expression: &'a Expression,
}

/// What to insert into each file for a set of breakpoints; `sources` are the
/// texts of the files that it names.
///
/// # Errors
/// If a file is missing, or something cannot be said.
pub fn insertions(
    name: &str,
    set: &[Expression],
    sources: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, Vec<Insertion>>, PatchError> {
    let mut changes: BTreeMap<String, Vec<Insertion>> = BTreeMap::new();
    let mut declared: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (number, expression) in set.iter().enumerate() {
        let visits = visits(&format!("{name}-{}", number + 1), number, expression);
        for visit in visits {
            let (file, line) = line_of(visit.side)?;
            let unknown = || PatchError::NoSource(file.to_string());
            let text = sources.get(file).ok_or_else(unknown)?;
            let language = Language::of(file).ok_or_else(unknown)?;
            let at = statement_line(text, line).ok_or_else(unknown)?;
            let indent: String = text
                .lines()
                .nth(at as usize - 1)
                .unwrap_or_default()
                .chars()
                .take_while(|letter| letter.is_whitespace())
                .collect();
            let call = match language {
                Language::C | Language::Cpp => in_c(&visit, language)?,
                Language::Rust => in_rust(&visit)?,
            };
            let change = changes.entry(file.to_string()).or_default();
            change.push(Insertion {
                before: at,
                text: format!("{indent}{call}"),
            });
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

/// The places of a breakpoint; sides at the same place go together.
fn visits<'a>(name: &str, number: usize, expression: &'a Expression) -> Vec<Visit<'a>> {
    let mut visits: Vec<Visit<'a>> = Vec::new();
    for (position, side) in expression.sides.iter().enumerate() {
        let same = |visit: &&mut Visit<'_>| line_of(visit.side) == line_of(side);
        match visits.iter_mut().find(same) {
            Some(visit) => visit.sides.push(position),
            None => visits.push(Visit {
                name: name.to_string(),
                number,
                sides: vec![position],
                of: expression.sides.len(),
                side,
                expression,
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
}

fn counting(visit: &Visit<'_>) -> Result<Counting, PatchError> {
    let mut counting = Counting::default();
    for refinement in &visit.side.refinements {
        match refinement {
            Refinement::IgnoreFirst(count) => counting.ignored = *count,
            Refinement::Nth(_) if visit.side.counts_elsewhere() => {
                return Err(PatchError::Unspeakable(visit.side.to_string()));
            }
            Refinement::Nth(number) => counting.nth = Some(*number),
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

/// A call of the library. At a place of several sides, threads take turns.
fn in_c(visit: &Visit<'_>, language: Language) -> Result<String, PatchError> {
    let name = &visit.name;
    let options = match language {
        Language::Cpp => options_in_cpp(visit)?,
        Language::C | Language::Rust => options_in_c(visit)?,
    };
    let reach = |side: &str| match language {
        Language::Cpp => format!("bohr::reach({side}, \"{name}\", nullptr, {{{options}}});"),
        _ => format!("(void)BOHR_BREAK_REACH(\"{name}\", {side}, NULL{options});"),
    };
    let mut counters = String::new();
    if counting(visit)?.nth.is_some() {
        counters += "static __thread unsigned long bohr_visits; ";
    }
    let call = match &visit.sides[..] {
        [side] => reach(&side.to_string()),
        sides => {
            counters += "static unsigned bohr_side; ";
            reach(&format!(
                "__atomic_fetch_add(&bohr_side, 1, __ATOMIC_RELAXED) % {}",
                sides.len()
            ))
        }
    };
    Ok(match counters.is_empty() {
        true => call,
        false => format!("{{ {counters}{call} }}"),
    })
}

fn options_in_c(visit: &Visit<'_>) -> Result<String, PatchError> {
    let mut options = String::new();
    let mut option = |name: &str, value: u128| options += &format!(", .{name} = {value}");
    if visit.of > 2 {
        option("sides", visit.of as u128);
    }
    option("pause", milliseconds(visit.expression.pause));
    if let Some(bound) = visit.expression.at_most {
        option("at_most", u128::from(bound));
    }
    let counting = counting(visit)?;
    if counting.ignored > 0 {
        option("ignore_first", u128::from(counting.ignored));
    }
    if let Some(nth) = counting.nth {
        options += &format!(", .unless = ++bohr_visits != {nth}");
    }
    Ok(options)
}

/// The fields of `bohr::Options` in their order: designators are for C++20.
fn options_in_cpp(visit: &Visit<'_>) -> Result<String, PatchError> {
    let pause = milliseconds(visit.expression.pause);
    let bound = visit.expression.at_most.unwrap_or(0);
    let counting = counting(visit)?;
    let mut options = format!(
        "{}, std::chrono::milliseconds({pause}), {}, {bound}",
        visit.of, counting.ignored
    );
    if let Some(nth) = counting.nth {
        options += &format!(", nullptr, ++bohr_visits != {nth}");
    }
    Ok(options)
}

fn in_rust(visit: &Visit<'_>) -> Result<String, PatchError> {
    let item = rust_item(visit.number);
    let call = match &visit.sides[..] {
        [side] => format!("{item}.reach({side}, &{item});"),
        sides => format!(
            "{item}.reach({item}_SIDE.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % {}, &{item});",
            sides.len()
        ),
    };
    Ok(match counting(visit)?.nth {
        None => call,
        Some(nth) => format!(
            "{{ thread_local!(static VISITS: std::cell::Cell<u64> = const {{ std::cell::Cell::new(0) }}); \
             VISITS.set(VISITS.get() + 1); if VISITS.get() == {nth} {{ {call} }} }}"
        ),
    })
}

fn rust_item(number: usize) -> String {
    format!("BOHR_BREAK_{}", number + 1)
}

/// What a file needs once: the header, or the breakpoints themselves.
fn declarations(
    name: &str,
    set: &[Expression],
    numbers: &[usize],
    text: &str,
    file: &str,
) -> Result<Vec<Insertion>, PatchError> {
    let language = Language::of(file).ok_or_else(|| PatchError::NoSource(file.to_string()))?;
    if language != Language::Rust {
        let header = match language {
            Language::Cpp => "bohr_break.hpp",
            _ => "bohr_break.h",
        };
        return Ok(vec![Insertion {
            before: first_include(text),
            text: format!("#include \"{header}\""),
        }]);
    }
    let mut lines = Vec::new();
    for number in numbers {
        lines.push(rust_breakpoint(name, *number, &set[*number])?);
    }
    Ok(vec![Insertion {
        before: text.lines().count() as u32 + 1,
        text: lines.join("\n"),
    }])
}

fn rust_breakpoint(
    name: &str,
    number: usize,
    expression: &Expression,
) -> Result<String, PatchError> {
    let item = rust_item(number);
    let mut text = format!(
        "\nstatic {item}: bohr_break::Breakpoint =\n    \
         bohr_break::Breakpoint::conflict(\"{name}-{}\")",
        number + 1
    );
    if expression.sides.len() > 2 {
        text += &format!(".sides({})", expression.sides.len());
    }
    let pause = milliseconds(expression.pause);
    text += &format!(".pause(std::time::Duration::from_millis({pause}))");
    if let Some(bound) = expression.at_most {
        text += &format!(".at_most({bound})");
    }
    let mut ignored_all = 0;
    for visit in visits(name, number, expression) {
        ignored_all += counting(&visit)?.ignored;
        if visit.sides.len() > 1 {
            let side = format!(
                "\nstatic {item}_SIDE: std::sync::atomic::AtomicUsize =\n    \
                 std::sync::atomic::AtomicUsize::new(0);"
            );
            text = side + &text;
        }
    }
    if ignored_all > 0 {
        text += &format!(".ignore_first({ignored_all})");
    }
    Ok(text + ";")
}

/// The line before which the header goes.
fn first_include(text: &str) -> u32 {
    let mut lines = text.lines();
    let found = lines.position(|line| line.trim_start().starts_with("#include"));
    found.unwrap_or(0) as u32 + 1
}

#[cfg(test)]
mod tests;
