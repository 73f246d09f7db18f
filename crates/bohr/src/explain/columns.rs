//! The interleaving as a picture: a column per thread, time going down.

use super::Explanation;
use super::source::Sources;
use super::told::deed;
use bohr_event::{EventKind, ThreadPath};
use bohr_explain::Moment;
use bohr_explore::Names;
use std::collections::HashSet;
use std::fmt;

/// Rows of one segment that are shown at its beginning and its end.
const EDGE: usize = 2;

/// Width of a column.
const WIDTH: usize = 44;

/// One line of one column.
struct Row {
    column: usize,
    text: String,
    marked: bool,
}

/// See the module.
pub struct Columns {
    threads: Vec<ThreadPath>,
    rows: Vec<Row>,
}

impl Columns {
    pub fn new(explanation: &Explanation, names: &mut Names<'_>, sources: &mut Sources) -> Columns {
        let run = &explanation.run;
        let marked = culprits(explanation);
        let mut columns = Columns {
            threads: Vec::new(),
            rows: Vec::new(),
        };
        let mut event = 0;
        for segment in run.schedule.segments() {
            let end = (event + segment.events as usize).min(run.steps.len());
            let column = columns.column(&segment.thread);
            let shown = interesting(event, end, &marked);
            let mut last_shown = event;
            let mut last_text = String::new();
            for position in shown {
                columns.gap(column, position - last_shown);
                last_shown = position + 1;
                let operation = &run.steps[position].operation;
                let spot = names.spot(operation.place);
                let line = spot.line.as_deref().map(short).unwrap_or_default();
                let code = match operation.kind {
                    // No line of the source stands for these.
                    EventKind::Start | EventKind::Exit => None,
                    _ => sources.text(&spot),
                };
                let text = match code {
                    Some(code) => format!("{line} {code}"),
                    None => deed(operation, names),
                };
                let is_marked = marked.contains(&position);
                if text != last_text || is_marked {
                    columns.rows.push(Row {
                        column,
                        text: text.clone(),
                        marked: is_marked,
                    });
                }
                last_text = text;
            }
            columns.gap(column, end - last_shown.min(end));
            event = end;
        }
        columns
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
                column,
                text: format!("… {events} events"),
                marked: false,
            });
        }
    }
}

/// Positions of the events that the verdict names.
fn culprits(explanation: &Explanation) -> HashSet<usize> {
    let windows = explanation.windows.iter().flat_map(|window| {
        let edges = [&window.opens, &window.closes, &window.intrusion];
        let edges = edges.into_iter().flatten();
        let culprit = window.culprit.iter().flat_map(|culprit| {
            let around = [&culprit.before, &culprit.after].into_iter().flatten();
            around.chain([&culprit.between])
        });
        let named: Vec<&Moment> = match &window.culprit {
            Some(_) => culprit.collect(),
            None => edges.collect(),
        };
        named
    });
    let orders = explanation
        .orders
        .iter()
        .flat_map(|order| [&order.first, &order.second]);
    let run = &explanation.run;
    let position = |moment: &Moment| {
        let mut own = run.events_of(&moment.thread);
        own.nth(moment.number as usize).map(|event| event.0)
    };
    windows.chain(orders).filter_map(position).collect()
}

/// The events of a segment that are shown: its ends, and those that matter.
fn interesting(start: usize, end: usize, marked: &HashSet<usize>) -> Vec<usize> {
    let near_edge = |event: usize| event < start + EDGE || event + EDGE >= end;
    (start..end)
        .filter(|event| near_edge(*event) || marked.contains(event))
        .collect()
}

/// File name and line, without the folders.
fn short(line: &str) -> String {
    let name = line.rsplit('/').next().unwrap_or(line);
    name.to_string()
}

fn cut(text: &str, width: usize) -> String {
    match text.chars().count() > width {
        true => text.chars().take(width - 1).chain(['…']).collect(),
        false => text.to_string(),
    }
}

impl fmt::Display for Columns {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heads = self.threads.iter();
        let heads = heads.map(|thread| format!("{:WIDTH$}", format!("thread {thread}")));
        writeln!(out, "  {}", heads.collect::<String>().trim_end())?;
        for row in &self.rows {
            let indent = row.column * WIDTH;
            let mark = if row.marked { '▶' } else { ' ' };
            let text = cut(&row.text, WIDTH - 3);
            writeln!(out, "  {:indent$}{mark} {text}", "")?;
        }
        Ok(())
    }
}
