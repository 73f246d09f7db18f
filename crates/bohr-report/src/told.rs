//! What happened, in words.

use bohr_event::spoken;
use bohr_explain::Moment;
use serde::Serialize;

/// Somebody who knows what people call the things in a run.
pub trait Teller {
    /// The moment in words.
    fn tell(&mut self, moment: &Moment) -> Told;

    /// The text of a line (`file:line`) of the source, if it is at hand.
    fn source(&mut self, line: &str) -> Option<String>;

    /// Whether the program's author wrote what happens there, and not a library.
    fn is_written(&mut self, moment: &Moment) -> bool;
}

/// A moment, as people read it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Told {
    /// Who.
    pub thread: String,
    /// Which of its events, counted from 0.
    pub number: u64,
    /// What it does: a verb.
    pub kind: String,
    /// To what: a variable, a lock, a thread.
    pub object: String,
    /// Whether the verb wants the object.
    #[serde(skip)]
    pub takes_object: bool,
    /// In which function.
    pub function: Option<String>,
    /// File and line.
    pub line: Option<String>,
    /// The lines of the calls that led there, innermost first.
    pub lines: Vec<String>,
}

impl Told {
    /// Who, as a sentence says it.
    #[must_use]
    pub fn who(&self) -> String {
        spoken(&self.thread)
    }

    /// Where it was.
    #[must_use]
    pub fn place(&self) -> &str {
        let known = self.line.as_deref().or(self.function.as_deref());
        known.unwrap_or("?")
    }

    /// What happened, without who did it and where.
    #[must_use]
    pub fn deed(&self) -> String {
        match self.takes_object {
            true => format!("{} {}", self.kind, self.object),
            false => self.kind.clone(),
        }
    }

    /// What happened, without who did it.
    #[must_use]
    pub fn act(&self) -> String {
        match self.line.is_none() && self.function.is_none() {
            true => self.deed(),
            false => format!("{} at {}", self.deed(), self.place()),
        }
    }
}
