//! The interleaving as a picture: a column per thread, time going down.

use crate::told::Teller;
use bohr_event::{EventKind, ThreadPath};
use bohr_explain::{Explanation, Moment};
use std::collections::HashSet;
use std::fmt;

/// Rows of one segment that are shown at its beginning and its end.
const EDGE: usize = 2;

/// Width of a column.
const WIDTH: usize = 44;

/// One line of one column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Which column, from 0.
    pub column: usize,
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

impl Columns {
    /// The columns of an explanation's run.
    pub fn new(explanation: &Explanation, teller: &mut dyn Teller) -> Columns {
        let run = &explanation.run;
        let named = explanation.named();
        let marked: HashSet<usize> = named
            .iter()
            .filter_map(|moment| moment.position(run))
            .collect();
        let mut columns = Columns::default();
        let mut event = 0;
        for segment in run.schedule.segments() {
            let end = (event + segment.events as usize).min(run.steps.len());
            columns.segment(explanation, event..end, &segment.thread, &marked, teller);
            event = end;
        }
        columns
    }

    fn segment(
        &mut self,
        explanation: &Explanation,
        events: std::ops::Range<usize>,
        thread: &ThreadPath,
        marked: &HashSet<usize>,
        teller: &mut dyn Teller,
    ) {
        let column = self.column(thread);
        let mut last_shown = events.start;
        let mut last_text = String::new();
        for position in interesting(events.clone(), marked) {
            self.gap(column, position - last_shown);
            last_shown = position + 1;
            let text = text(&Moment::at(&explanation.run, position), teller);
            let is_marked = marked.contains(&position);
            if text != last_text || is_marked {
                self.rows.push(Row {
                    column,
                    text: text.clone(),
                    marked: is_marked,
                });
            }
            last_text = text;
        }
        self.gap(column, events.end - last_shown.min(events.end));
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

/// The events of a segment that are shown: its ends, and those that matter.
fn interesting(events: std::ops::Range<usize>, marked: &HashSet<usize>) -> Vec<usize> {
    let near_edge = |event: usize| event < events.start + EDGE || event + EDGE >= events.end;
    events
        .clone()
        .filter(|event| near_edge(*event) || marked.contains(event))
        .collect()
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
