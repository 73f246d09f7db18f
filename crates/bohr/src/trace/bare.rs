//! A trace in a file of its own: its events with the names that it carries, without
//! the program.

use super::filter::Naming;
use crate::outcome::Failure;
use bohr_event::control::Step;
use bohr_event::{Operation, PlaceNumber, ThreadIndex, ThreadPath};
use bohr_explore::{Spot, spoken_stream};
use bohr_trace::{Labels, Table, Trace};
use std::io::Read;
use std::path::Path;

/// Whether a file begins as a trace does.
pub fn is_trace(path: &Path) -> bool {
    let mut start = [0; 8];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == *b"bohr-trc"
}

/// Paths by thread index.
pub fn threads(trace: &Trace<'_>) -> Result<Vec<ThreadPath>, Failure> {
    let named = trace.threads()?;
    // Indices are dense: one beyond all that were named is no index of a run.
    let count = named.len() + 1;
    let mut threads = vec![ThreadPath::MAIN];
    for (_, index, path) in named {
        let position = index.position();
        if position < count {
            threads.resize(threads.len().max(position + 1), ThreadPath::MAIN);
            threads[position] = path;
        }
    }
    Ok(threads)
}

/// What the threads of a trace were about to do at its end, if it tells.
pub fn pending(trace: &Trace<'_>) -> Result<Option<Vec<Step>>, Failure> {
    let pending = |table| match table {
        Table::Pending(steps) => Some(steps),
        _ => None,
    };
    Ok(trace.tables()?.into_iter().filter_map(pending).next_back())
}

/// The names that a trace carries.
pub struct Carried {
    threads: Vec<ThreadPath>,
    labels: Labels,
}

impl Carried {
    /// Of a trace. Events are worth seeing without names, too.
    pub fn of(trace: &Trace<'_>) -> Result<Carried, Failure> {
        let tables = trace.tables().unwrap_or_else(|_| {
            eprintln!(
                "bohr: note: the names in the trace are damaged: addresses are shown instead"
            );
            Vec::new()
        });
        let mut labels = tables.into_iter().filter_map(|table| match table {
            Table::Labels(labels) => Some(labels),
            _ => None,
        });
        Ok(Carried {
            threads: threads(trace)?,
            labels: labels.next_back().unwrap_or_default(),
        })
    }
}

impl Naming for Carried {
    fn thread(&self, thread: ThreadIndex) -> String {
        match self.threads.get(thread.position()) {
            Some(path) => path.to_string(),
            None => format!("#{}", thread.0),
        }
    }

    fn spot(&mut self, place: PlaceNumber) -> Spot {
        let label = self.labels.places.get(&place).map_or("", String::as_str);
        let (function, line) = match label.rsplit_once(" at ") {
            Some((function, line)) => (Some(function.to_string()), line),
            None => (None, label),
        };
        let line = (!line.is_empty()).then(|| line.to_string());
        Spot { function, line }
    }

    fn object(&mut self, operation: &Operation) -> String {
        if let Some(thread) = ThreadIndex::from_object(operation.object) {
            return format!("thread {}", self.thread(thread));
        }
        if let Some(stream) = spoken_stream(operation) {
            return stream;
        }
        let label = self.labels.variables.get(&operation.object);
        label.map_or_else(|| format!("{:#x}", operation.object), String::clone)
    }
}
