//! What the numbers in a page's columns stand for. Both runs of a page share one
//! set: what they have in common has one number.

use crate::lexicon::{Lexicon, Whereabouts};
use crate::page::Run;
use bohr_event::{EventKind, MemoryOrder, Operation, PlaceNumber, ThreadPath};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::hash::Hash;

/// Things by number, each once.
struct Numbered<T> {
    items: Vec<T>,
    numbers: HashMap<T, u64>,
}

impl<T: Clone + Eq + Hash> Numbered<T> {
    fn new() -> Numbered<T> {
        Numbered {
            items: Vec::new(),
            numbers: HashMap::new(),
        }
    }

    fn number(&mut self, item: T) -> u64 {
        let next = self.items.len() as u64;
        *self.numbers.entry(item).or_insert_with_key(|item| {
            self.items.push(item.clone());
            next
        })
    }
}

/// What is done where: all of an event but its thread, its object and its value.
type Deed = (EventKind, MemoryOrder, PlaceNumber);

/// See the module.
pub struct Tables {
    threads: Numbered<ThreadPath>,
    deeds: Numbered<Deed>,
    /// Where each deed is done: file, line, function; 0 is unknown.
    places: Vec<[u64; 3]>,
    files: Numbered<String>,
    functions: Numbered<String>,
    /// Variables by address: what lies at one address has one name, and what has one
    /// name is one.
    variables: HashMap<u64, u64>,
    names: Numbered<String>,
}

impl Tables {
    /// Of these runs.
    pub fn new(runs: &[Run<'_>], lexicon: &mut dyn Lexicon) -> Tables {
        let mut tables = Tables {
            threads: Numbered::new(),
            deeds: Numbered::new(),
            places: Vec::new(),
            files: Numbered::new(),
            functions: Numbered::new(),
            variables: HashMap::new(),
            names: Numbered::new(),
        };
        for run in runs {
            for path in run.threads {
                tables.threads.number(path.clone());
            }
            for step in run.steps {
                tables.add(&step.operation, lexicon);
            }
        }
        tables
    }

    fn add(&mut self, operation: &Operation, lexicon: &mut dyn Lexicon) {
        if operation.kind.takes_object() && !self.variables.contains_key(&operation.object) {
            let name = self.names.number(lexicon.variable(operation));
            self.variables.insert(operation.object, name);
        }
        let number = self.deeds.number(deed(operation));
        if number as usize == self.places.len() {
            let place = self.place(lexicon.whereabouts(operation.place));
            self.places.push(place);
        }
    }

    fn place(&mut self, whereabouts: Whereabouts) -> [u64; 3] {
        let (file, line) = match whereabouts.line {
            Some((file, line)) => (1 + self.files.number(file), u64::from(line)),
            None => (0, 0),
        };
        let function = whereabouts.function;
        let function = function.map_or(0, |function| 1 + self.functions.number(function));
        [file, line, function]
    }

    /// The number of a thread.
    pub fn thread(&self, path: &ThreadPath) -> u64 {
        self.threads.numbers[path]
    }

    /// The number of what is done where.
    pub fn deed(&self, operation: &Operation) -> u64 {
        self.deeds.numbers[&deed(operation)]
    }

    /// The number of the variable, if there is one.
    pub fn variable(&self, operation: &Operation) -> Option<u64> {
        let object = operation.kind.takes_object().then_some(operation.object)?;
        self.variables.get(&object).copied()
    }

    /// The lines that events are at, by file.
    pub fn lines(&self) -> Vec<(&str, Vec<u32>)> {
        let mut lines = vec![Vec::new(); self.files.items.len()];
        for [file, line, _] in &self.places {
            if let Some(here) = file.checked_sub(1) {
                lines[here as usize].push(*line as u32);
            }
        }
        let files = self.files.items.iter().map(String::as_str);
        files.zip(lines).collect()
    }

    /// For the page's script.
    pub fn as_json(&self) -> Value {
        let kinds = EventKind::ALL.map(|kind| {
            json!([
                kind.to_string(),
                kind.verb(),
                kind.takes_object(),
                class(kind)
            ])
        });
        let deeds = self.deeds.items.iter().zip(&self.places);
        let deeds = deeds.map(|(&(kind, order, _), [file, line, function])| {
            json!([kind as u8, order as u8, file, line, function])
        });
        json!({
            "threads": self.threads.items.iter().map(ThreadPath::to_string).collect::<Vec<_>>(),
            "kinds": kinds,
            "deeds": deeds.collect::<Vec<_>>(),
            "files": self.files.items,
            "functions": self.functions.items,
            "variables": self.names.items,
        })
    }
}

fn deed(operation: &Operation) -> Deed {
    (operation.kind, operation.order, operation.place)
}

/// How a kind of event is drawn.
fn class(kind: EventKind) -> &'static str {
    use EventKind::*;
    match kind {
        Read => "read",
        Write | Update | Store => "write",
        Alloc | Free => "memory",
        Start | Exit | Fork | Join => "life",
        Fence | Yield | Sleep | Handle | External => "other",
        Acquire | AcquireShared | Release | ReleaseShared | Wait | Signal | Broadcast | Send
        | Receive | Arrive | Depart | Look => "sync",
    }
}
