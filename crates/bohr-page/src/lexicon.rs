//! What a page has to be told about the program.

use bohr_event::{Operation, PlaceNumber};

/// Where a place is in the source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Whereabouts {
    /// File and line, if they are known.
    pub line: Option<(String, u32)>,
    /// The function, if it is known.
    pub function: Option<String>,
}

/// What a source file holds now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceText {
    /// All of it.
    pub text: String,
    /// It was changed after the program was built: its lines may not be those that ran.
    pub is_newer: bool,
}

/// Somebody who knows what people call the things in a run, and has its sources.
pub trait Lexicon {
    /// The variable, lock or thread that an operation is about.
    fn variable(&mut self, operation: &Operation) -> String;

    /// Where a place is.
    fn whereabouts(&mut self, place: PlaceNumber) -> Whereabouts;

    /// The text of a file; `None` if it is not at hand.
    fn source(&mut self, file: &str) -> Option<SourceText>;
}
