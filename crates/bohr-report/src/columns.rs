//! The interleaving as a picture: a column per thread, time going down. It is to
//! fit on two screens: of many threads, those that matter have columns, and of a
//! long run, what matters has lines.

use crate::told::Teller;
use bohr_event::{EventKind, ThreadPath};
use bohr_explain::{Explanation, Moment};
use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

/// Lines that are shown, if less detail can help.
const MOST_ROWS: usize = 64;

/// Threads up to which each has a column.
const MOST_COLUMNS: usize = 4;

/// Letters of all columns together, if they can be so narrow.
const TOTAL_WIDTH: usize = 150;

/// Letters of a column.
const WIDTHS: Range<usize> = 28..45;

/// Events from the ends of a segment among which those of the author's are looked for.
const REACH: usize = 256;

/// Threads that are named where they are only told by the way.
const NAMED: usize = 3;

/// How much is shown of a segment.
#[derive(Clone, Copy)]
struct Detail {
    /// Events at its beginning and its end.
    edge: usize,
    /// Whether segments in which nothing matters are told together.
    together: bool,
}

/// From much to little.
const DETAILS: [Detail; 3] = [
    Detail {
        edge: 2,
        together: false,
    },
    Detail {
        edge: 1,
        together: false,
    },
    Detail {
        edge: 0,
        together: true,
    },
];

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// In which column, from 0; `None` if it is about threads that have none.
    pub column: Option<usize>,
    /// What stands there.
    pub text: String,
    /// Whether the verdict names it.
    pub marked: bool,
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// Who has which column.
    pub threads: Vec<ThreadPath>,
    /// From the first to the last.
    pub rows: Vec<Row>,
}

/// A segment of a run.
struct Part<'a> {
    thread: &'a ThreadPath,
    events: Range<usize>,
    /// Whether the verdict names an event of it.
    marked: bool,
}

impl Columns {
    /// The columns of an explanation's run.
    pub fn new(explanation: &Explanation, teller: &mut dyn Teller) -> Columns {
        let run = &explanation.run;
        let named = explanation.named();
        let marked: HashSet<usize> = named
            .iter()
            .filter_map(|moment| moment.position(run))
            .collect();
        let parts = parts(explanation, &marked);
        let shown = shown_threads(&parts);
        let mut columns = Columns::default();
        for detail in DETAILS {
            columns = Columns::default();
            columns.fill(explanation, &parts, &shown, detail, &marked, teller);
            columns.waits(explanation, teller);
            if columns.rows.len() <= MOST_ROWS {
                break;
            }
        }
        columns
    }

    fn fill(
        &mut self,
        explanation: &Explanation,
        parts: &[Part<'_>],
        shown: &HashSet<&ThreadPath>,
        detail: Detail,
        marked: &HashSet<usize>,
        teller: &mut dyn Teller,
    ) {
        let by_the_way =
            |part: &Part<'_>| !shown.contains(part.thread) || detail.together && !part.marked;
        for group in parts.chunk_by(|one, two| by_the_way(one) && by_the_way(two)) {
            match by_the_way(&group[0]) {
                true => self.rows.push(aside(group)),
                false => self.segment(explanation, &group[0], detail.edge, marked, teller),
            }
        }
    }

    fn segment(
        &mut self,
        explanation: &Explanation,
        part: &Part<'_>,
        edge: usize,
        marked: &HashSet<usize>,
        teller: &mut dyn Teller,
    ) {
        let column = self.column(part.thread);
        let events = part.events.clone();
        let mut last_shown = events.start;
        let mut last_text = String::new();
        for position in interesting(explanation, events.clone(), edge, marked, teller) {
            let text = text(&Moment::at(&explanation.run, position), teller);
            let is_marked = marked.contains(&position);
            let follows = position == last_shown;
            if text == last_text && (follows || !is_marked) {
                // The same line once more; unless it follows at once, it is counted.
                last_shown += usize::from(follows);
                let before = self.rows.last_mut().filter(|_| follows && is_marked);
                if let Some(row) = before {
                    row.marked = true;
                }
                continue;
            }
            self.gap(column, position - last_shown);
            last_shown = position + 1;
            self.rows.push(Row {
                column: Some(column),
                text: text.clone(),
                marked: is_marked,
            });
            last_text = text;
        }
        self.gap(column, events.end - last_shown.min(events.end));
    }

    /// At the end, what the threads wait for in vain that the verdict names.
    fn waits(&mut self, explanation: &Explanation, teller: &mut dyn Teller) {
        let circle = explanation.circle.iter().map(|link| &link.waits);
        let unheard = explanation.telling_unheard().map(|one| &one.waits);
        let misdirected = explanation.misdirected.iter().map(|one| &one.waits);
        let mut told: Vec<&ThreadPath> = Vec::new();
        for moment in circle.chain(unheard).chain(misdirected) {
            let column = self.threads.iter().position(|it| *it == moment.thread);
            let new = !told.contains(&&moment.thread);
            let waits = moment.position(&explanation.run).is_none();
            if let (Some(column), true, true) = (column, new, waits) {
                told.push(&moment.thread);
                self.rows.push(Row {
                    column: Some(column),
                    text: format!("waits at {}", text(moment, teller)),
                    marked: true,
                });
            }
        }
    }

    fn column(&mut self, thread: &ThreadPath) -> usize {
        let known = self.threads.iter().position(|other| other == thread);
        known.unwrap_or_else(|| {
            self.threads.push(thread.clone());
            self.threads.len() - 1
        })
    }

    fn gap(&mut self, column: usize, events: usize) {
        if events > 0 {
            self.rows.push(Row {
                column: Some(column),
                text: format!("… {}", counted(events, "event", "s")),
                marked: false,
            });
        }
    }
}

fn parts<'a>(explanation: &'a Explanation, marked: &HashSet<usize>) -> Vec<Part<'a>> {
    let run = &explanation.run;
    let mut start = 0;
    let part = |segment: &'a bohr_event::Segment<_>| {
        let end = (start + segment.events as usize).min(run.steps.len());
        let events = std::mem::replace(&mut start, end)..end;
        Part {
            thread: &segment.thread,
            marked: events.clone().any(|event| marked.contains(&event)),
            events,
        }
    };
    run.schedule.segments().iter().map(part).collect()
}

/// The threads that have columns: all if they are few, or else those that the
/// verdict names, and the one that the run ends with.
fn shown_threads<'a>(parts: &[Part<'a>]) -> HashSet<&'a ThreadPath> {
    let all: HashSet<&ThreadPath> = parts.iter().map(|part| part.thread).collect();
    if all.len() <= MOST_COLUMNS {
        return all;
    }
    let named = parts.iter().filter(|part| part.marked);
    named.chain(parts.last()).map(|part| part.thread).collect()
}

/// Segments in which nothing matters, in one line.
fn aside(parts: &[Part<'_>]) -> Row {
    let mut threads: Vec<&ThreadPath> = Vec::new();
    for part in parts {
        if !threads.contains(&part.thread) {
            threads.push(part.thread);
        }
    }
    let mut names: Vec<String> = threads.iter().map(ToString::to_string).collect();
    if names.len() > NAMED + 1 {
        let rest = names.split_off(NAMED).len();
        names.push(format!("{rest} more"));
    }
    let events: usize = parts.iter().map(|part| part.events.len()).sum();
    let s = if threads.len() == 1 { "" } else { "s" };
    Row {
        column: None,
        text: format!(
            "… thread{s} {}: {}",
            names.join(", "),
            counted(events, "event", "s")
        ),
        marked: false,
    }
}

/// So many things, with what makes their name one of several.
pub(crate) fn counted(number: usize, what: &str, several: &str) -> String {
    let several = if number == 1 { "" } else { several };
    format!("{number} {what}{several}")
}

/// The line of the source, or what happens if there is none.
fn text(moment: &Moment, teller: &mut dyn Teller) -> String {
    let told = teller.tell(moment);
    let line = told.line.as_deref().unwrap_or_default();
    let code = match moment.operation.kind {
        // No line of the source stands for these.
        EventKind::Start | EventKind::Exit => None,
        _ => teller.source(line),
    };
    match code {
        Some(code) => format!("{} {code}", short(line)),
        None => told.deed(),
    }
}

/// The events of a segment that are shown: those that matter, and at its ends those
/// that the author wrote. What a library does there says nothing.
fn interesting(
    explanation: &Explanation,
    events: Range<usize>,
    edge: usize,
    marked: &HashSet<usize>,
    teller: &mut dyn Teller,
) -> Vec<usize> {
    let mut is_shown = |event: &usize| {
        let kind = explanation.run.steps[*event].operation.kind;
        let moment = || Moment {
            thread: explanation.run.path(*event).clone(),
            number: 0,
            operation: explanation.run.steps[*event].operation,
        };
        matches!(kind, EventKind::Start | EventKind::Exit) || teller.is_written(&moment())
    };
    let first = events.clone().take(REACH).filter(&mut is_shown);
    let mut found: Vec<usize> = first.take(edge).collect();
    let last = events.clone().rev().take(REACH).filter(&mut is_shown);
    found.extend(last.take(edge));
    found.extend(events.filter(|event| marked.contains(event)));
    found.sort_unstable();
    found.dedup();
    found
}

/// File name and line, without the folders.
fn short(line: &str) -> &str {
    line.rsplit('/').next().unwrap_or(line)
}

fn cut(text: &str, width: usize) -> String {
    match text.chars().count() > width {
        true => text.chars().take(width - 1).chain(['…']).collect(),
        false => text.to_string(),
    }
}

impl fmt::Display for Columns {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fair = TOTAL_WIDTH / self.threads.len().max(1);
        let width = fair.clamp(WIDTHS.start, WIDTHS.end - 1);
        let heads = self.threads.iter();
        let heads = heads.map(|thread| format!("{:width$}", format!("thread {thread}")));
        writeln!(out, "  {}", heads.collect::<String>().trim_end())?;
        for row in &self.rows {
            let mark = if row.marked { '▶' } else { ' ' };
            match row.column {
                Some(column) => {
                    let indent = column * width;
                    let text = cut(&row.text, width - 3);
                    writeln!(out, "  {:indent$}{mark} {text}", "")?;
                }
                None => writeln!(out, "  {mark} {}", row.text)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
