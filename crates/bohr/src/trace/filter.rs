//! One event on one line, and which of them are shown.

use bohr_explain::Moment;
use bohr_explore::Names;
use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// An event in words.
#[derive(Serialize)]
pub struct Line {
    sequence: usize,
    thread: String,
    kind: String,
    verb: &'static str,
    variable: String,
    size: u32,
    function: Option<String>,
    line: Option<String>,
}

impl Line {
    /// The event at this position of a run.
    pub fn of(sequence: usize, moment: &Moment, names: &mut Names<'_>) -> Line {
        let operation = &moment.operation;
        let spot = names.spot(operation.place);
        Line {
            sequence,
            thread: moment.thread.to_string(),
            kind: operation.kind.to_string(),
            verb: operation.kind.verb(),
            variable: match operation.kind.takes_object() {
                true => names.object(operation),
                false => String::new(),
            },
            size: operation.size,
            function: spot.function,
            line: spot.line,
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let thread = format!("thread {}", self.thread);
        let deed = format!("{} {}", self.verb, self.variable);
        let place = self.line.as_deref().or(self.function.as_deref());
        let place = place.unwrap_or("?");
        write!(out, "{:>8}  {thread:12}  {deed:40}  {place}", self.sequence)
    }
}

/// What has to hold for an event to be shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    thread: Option<String>,
    kind: Option<String>,
    variable: Option<String>,
    line: Option<String>,
}

impl Filter {
    /// Whether all of it holds.
    pub fn admits(&self, line: &Line) -> bool {
        let is = |wanted: &Option<String>, found: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted == found)
        };
        let place = line.line.as_deref().unwrap_or_default();
        let variable = self.variable.as_deref();
        is(&self.thread, &line.thread)
            && is(&self.kind, &line.kind)
            && variable.is_none_or(|wanted| has_word(&line.variable, wanted))
            && self
                .line
                .as_deref()
                .is_none_or(|wanted| is_at(place, wanted))
    }
}

/// Whether a name is this, or has it among its parts.
fn has_word(name: &str, wanted: &str) -> bool {
    let mut parts = name.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    name == wanted || parts.any(|part| part == wanted)
}

/// Whether a line is this one; folders may be left out, and so may the file.
fn is_at(place: &str, wanted: &str) -> bool {
    let rest = place.strip_suffix(wanted);
    rest.is_some_and(|rest| rest.is_empty() || rest.ends_with(['/', ':']))
}

impl FromStr for Filter {
    type Err = String;

    fn from_str(text: &str) -> Result<Filter, String> {
        let mut filter = Filter::default();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let field = match key {
                "thread" => &mut filter.thread,
                "kind" => &mut filter.kind,
                "variable" => &mut filter.variable,
                "line" => &mut filter.line,
                _ => return Err(format!("`{key}` is not thread, kind, variable or line")),
            };
            if value.is_empty() || field.is_some() {
                return Err(format!("`{key}` wants one value, as in {key}=VALUE"));
            }
            *field = Some(value.to_string());
        }
        Ok(filter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(thread: &str, kind: &str, variable: &str, place: &str) -> Line {
        Line {
            sequence: 3,
            thread: thread.to_string(),
            kind: kind.to_string(),
            verb: "reads",
            variable: variable.to_string(),
            size: 4,
            function: None,
            line: Some(place.to_string()),
        }
    }

    #[test]
    fn all_of_a_filter_has_to_hold() {
        let event = line("0:2", "read", "account.balance", "src/bank.c:43");
        for (text, admits) in [
            ("", true),
            ("thread=0:2", true),
            ("thread=0:21", false),
            ("variable=balance,kind=read", true),
            ("variable=account.balance", true),
            ("variable=lance", false),
            ("line=bank.c:43", true),
            ("line=43", true),
            ("line=ank.c:43", false),
            ("line=bank.c:4", false),
            ("thread=0:2,kind=write", false),
        ] {
            let filter: Filter = text.parse().unwrap();
            assert_eq!(filter.admits(&event), admits, "{text}");
        }
    }

    #[test]
    fn words_that_are_no_filter_are_refused() {
        for text in ["tread=0", "thread", "thread=", "line=1,line=2"] {
            assert!(text.parse::<Filter>().is_err(), "{text}");
        }
    }
}
