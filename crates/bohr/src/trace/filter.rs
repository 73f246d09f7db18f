//! One event on one line, and which of them are shown.

use super::aim::Aim;
use bohr_event::control::Step;
use bohr_event::{EventKind, Operation, PlaceNumber, ThreadIndex};
use bohr_explore::{Names, Spot};
use bohr_report::printable;
use bohr_trace::{Record, Sequence};
use serde::Serialize;
use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

/// An event in words.
#[derive(Serialize)]
pub struct Line {
    sequence: u64,
    thread: String,
    kind: String,
    verb: &'static str,
    variable: String,
    size: u32,
    value: Option<u64>,
    function: Option<String>,
    line: Option<String>,
}

/// What people call what events are about.
pub trait Naming {
    /// A thread's path.
    fn thread(&self, thread: ThreadIndex) -> String;
    /// Where in the source.
    fn spot(&mut self, place: PlaceNumber) -> Spot;
    /// What an operation is about.
    fn object(&mut self, operation: &Operation) -> String;
}

impl Naming for Names<'_> {
    fn thread(&self, thread: ThreadIndex) -> String {
        Names::thread(self, thread)
    }

    fn spot(&mut self, place: PlaceNumber) -> Spot {
        Names::spot(self, place)
    }

    fn object(&mut self, operation: &Operation) -> String {
        Names::object(self, operation)
    }
}

/// Turns events into lines, those that a filter admits. A long run is about few
/// places and variables, so each is named, and held against the filter, once.
pub struct Sieve<'f, 'n> {
    filter: &'f Filter,
    names: &'n mut dyn Naming,
    places: HashMap<PlaceNumber, (Spot, bool)>,
    variables: HashMap<(PlaceNumber, u64), (String, bool)>,
}

impl<'f, 'n> Sieve<'f, 'n> {
    /// Of this filter, with these names.
    pub fn new(filter: &'f Filter, names: &'n mut dyn Naming) -> Sieve<'f, 'n> {
        Sieve {
            filter,
            names,
            places: HashMap::new(),
            variables: HashMap::new(),
        }
    }

    /// Where the events of so many threads can be that are to be shown; `steps` has
    /// every place with every object that it touches.
    pub fn aim(&mut self, steps: &[Step], threads: usize) -> Aim {
        let filter = self.filter;
        let admits = |thread: &ThreadIndex| filter.admits_thread(&self.names.thread(*thread));
        let threads = filter.thread.as_ref().map(|_| {
            let all = (0..threads as u32).map(ThreadIndex);
            all.filter(admits).collect()
        });
        let objects = filter.variable.as_ref().map(|_| {
            let operations = steps.iter().map(|step| step.operation);
            operations
                .filter(|operation| self.variable(operation).1)
                .collect()
        });
        Aim::new(threads, objects)
    }

    /// The event in words, if it is to be shown.
    pub fn line(&mut self, sequence: Sequence, record: &Record) -> Option<Line> {
        let (filter, operation) = (self.filter, &record.operation);
        let admitted = filter.admits_kind(operation.kind)
            && self.place(operation.place).1
            && self.variable(operation).1;
        let thread = admitted.then(|| self.names.thread(record.thread))?;
        if !filter.admits_thread(&thread) {
            return None;
        }
        let variable = self.variable(operation).0.clone();
        let spot = self.place(operation.place).0.clone();
        Some(Line {
            sequence: sequence.0,
            thread,
            kind: operation.kind.to_string(),
            verb: operation.verb(),
            variable,
            size: operation.size,
            value: record.value,
            function: spot.function,
            line: spot.line,
        })
    }

    fn place(&mut self, place: PlaceNumber) -> &(Spot, bool) {
        self.places.entry(place).or_insert_with(|| {
            let spot = self.names.spot(place);
            let admitted = self
                .filter
                .admits_line(spot.line.as_deref().unwrap_or_default());
            (spot, admitted)
        })
    }

    fn variable(&mut self, operation: &Operation) -> &(String, bool) {
        let key = (operation.place, operation.object);
        self.variables.entry(key).or_insert_with(|| {
            let name = match operation.kind.takes_object() {
                true => self.names.object(operation),
                false => String::new(),
            };
            let admitted = self.filter.admits_variable(&name);
            (name, admitted)
        })
    }
}

impl fmt::Display for Line {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let thread = format!("thread {}", self.thread);
        let value = self.value.map(written).unwrap_or_default();
        let deed = format!("{} {}{value}", self.verb, self.variable);
        let place = self.line.as_deref().or(self.function.as_deref());
        let place = place.unwrap_or("?");
        let words = format!("{thread:12}  {deed:40}  {place}");
        write!(out, "{:>8}  {}", self.sequence, printable(&words))
    }
}

/// A value, as people write numbers or addresses.
fn written(value: u64) -> String {
    match u32::try_from(value) {
        Ok(number) => format!(" = {number}"),
        Err(_) => format!(" = {value:#x}"),
    }
}

/// What has to hold for an event to be shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    thread: Option<String>,
    kind: Option<EventKind>,
    variable: Option<String>,
    line: Option<String>,
}

impl Filter {
    fn admits_thread(&self, thread: &str) -> bool {
        self.thread.as_deref().is_none_or(|wanted| wanted == thread)
    }

    fn admits_kind(&self, kind: EventKind) -> bool {
        self.kind.is_none_or(|wanted| wanted == kind)
    }

    fn admits_variable(&self, name: &str) -> bool {
        let wanted = self.variable.as_deref();
        wanted.is_none_or(|wanted| has_word(name, wanted))
    }

    fn admits_line(&self, place: &str) -> bool {
        let wanted = self.line.as_deref();
        wanted.is_none_or(|wanted| is_at(place, wanted))
    }
}

/// Whether a name is this, or has it among its parts.
fn has_word(name: &str, wanted: &str) -> bool {
    let mut parts = name.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    name == wanted || parts.any(|part| part == wanted)
}

/// Whether a line is this one; folders may be left out, and so may the file. Of the
/// folders of a whole path the compiler may not have been told.
fn is_at(place: &str, wanted: &str) -> bool {
    let rest = place.strip_suffix(wanted);
    let whole = wanted.strip_suffix(place).filter(|_| !place.is_empty());
    rest.is_some_and(|rest| rest.is_empty() || rest.ends_with(['/', ':']))
        || whole.is_some_and(|folder| folder.starts_with('/') && folder.ends_with('/'))
}

impl FromStr for Filter {
    type Err = String;

    fn from_str(text: &str) -> Result<Filter, String> {
        let mut filter = Filter::default();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let told_before = match key {
                "thread" => filter.thread.replace(value.to_string()).is_some(),
                "kind" => filter.kind.replace(kind(value)?).is_some(),
                "variable" => filter.variable.replace(value.to_string()).is_some(),
                "line" => filter.line.replace(value.to_string()).is_some(),
                _ => return Err(format!("`{key}` is not thread, kind, variable or line")),
            };
            if value.is_empty() || told_before {
                return Err(format!("`{key}` wants one value, as in {key}=VALUE"));
            }
        }
        Ok(filter)
    }
}

/// The kind of event with this name.
fn kind(word: &str) -> Result<EventKind, String> {
    let named = |kind: &EventKind| kind.to_string() == word;
    EventKind::ALL.into_iter().find(named).ok_or_else(|| {
        let names = EventKind::ALL.map(|kind| kind.to_string()).join(", ");
        format!("there is no kind of event `{word}`; there are {names}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_a_filter_has_to_hold() {
        for (text, admits) in [
            ("", true),
            ("thread=0:2", true),
            ("thread=0:21", false),
            ("variable=balance,kind=read", true),
            ("variable=account.balance", true),
            ("variable=lance", false),
            ("line=bank.c:43", true),
            ("line=43", true),
            ("line=/home/bank/src/bank.c:43", true),
            ("line=/home/other.c:43", false),
            ("line=ank.c:43", false),
            ("line=bank.c:4", false),
            ("thread=0:2,kind=write", false),
        ] {
            let filter: Filter = text.parse().unwrap();
            let admitted = filter.admits_thread("0:2")
                && filter.admits_kind(EventKind::Read)
                && filter.admits_variable("account.balance")
                && filter.admits_line("src/bank.c:43");
            assert_eq!(admitted, admits, "{text}");
        }
    }

    #[test]
    fn values_are_numbers_or_addresses() {
        assert_eq!(written(17), " = 17");
        assert_eq!(written(0x2000_0000_0040), " = 0x200000000040");
    }

    #[test]
    fn words_that_are_no_filter_are_refused() {
        for text in ["tread=0", "thread", "thread=", "line=1,line=2", "kind=writ"] {
            assert!(text.parse::<Filter>().is_err(), "{text}");
        }
    }
}
