//! What can be wrong with a breakpoint, and what was perhaps meant.

use bohr_event::breakpoint::MOST_ALIKE;
use bohr_event::{Diagnosis, Fault};

/// Text that is not a breakpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionError {
    /// A breakpoint has at least two sides.
    #[error("`{0}` has one side; a breakpoint is `PLACE -> PLACE`")]
    OneSide(String),
    /// And not more than these.
    #[error("`{text}` has {sides} sides; at most {most} threads can meet")]
    TooManySides {
        /// The breakpoint.
        text: String,
        /// How many it has.
        sides: usize,
        /// How many it may have.
        most: usize,
    },
    /// Not a place.
    #[error("`{0}` is not a place; expected FILE:LINE, FILE:LINE#N or FUNCTION#N")]
    Place(String),
    /// Not a refinement.
    #[error(
        "`{0}` is not a refinement; expected ignore-first N, nth N, thread N of N, holding MUTEX, within FUNCTION or VARIABLE >= NUMBER"
    )]
    Refinement(String),
    /// Not an option.
    #[error(
        "`{0}` is not understood; expected if same-object, at-most N, pause TIME or settle TIME"
    )]
    Option(String),
    /// Not a number.
    #[error("`{0}` is not a whole number")]
    Number(String),
    /// Not one of several threads.
    #[error("`thread {0}` is not one of 2 to {MOST_ALIKE} threads; expected thread N of N")]
    Rank(String),
    /// Not a time.
    #[error("`{0}` is not a time like 100ms, 1s or 500us")]
    Time(String),
    /// A bracket that is not closed.
    #[error("`{0}` has no `)`")]
    Bracket(String),
}

/// A breakpoint that is not in the program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// No source file of the program is called that.
    #[error("the program has no source file `{file}` with code that threads share")]
    UnknownFile {
        /// As it was written.
        file: String,
        /// Files that it has.
        known: Vec<String>,
    },
    /// Nothing happens in this line that another thread could notice.
    #[error("`{file}:{line}` has no code that another thread could notice")]
    NoCode {
        /// The file.
        file: String,
        /// The line.
        line: u32,
        /// The closest places that are valid.
        nearest: Vec<String>,
    },
    /// There are not so many sites.
    #[error("`{place}` does not exist: sites there: {count}")]
    NoSuchSite {
        /// As it was written.
        place: String,
        /// How many there are.
        count: u32,
        /// The closest one that is valid.
        nearest: String,
    },
    /// No function is called that.
    #[error("the program has no function `{name}` with code that threads share")]
    UnknownFunction {
        /// As it was written.
        name: String,
        /// Functions with similar names.
        similar: Vec<String>,
    },
    /// No variable is called that.
    #[error("the program has no global variable `{name}`")]
    UnknownVariable {
        /// As it was written.
        name: String,
        /// Variables with similar names.
        similar: Vec<String>,
    },
    /// A variable that is no number.
    #[error("`{name}` has {size} bytes; a number has 1, 2, 4 or 8")]
    NotANumber {
        /// As it was written.
        name: String,
        /// Its size.
        size: u64,
    },
    /// Whoever is at one place keeps everybody away from the other.
    #[error("no two threads can be at `{one}` and `{other}` at once: both hold `{lock}` there")]
    NeverMeet {
        /// A side.
        one: String,
        /// The other.
        other: String,
        /// The mutex.
        lock: String,
        /// Where it is taken, for either side.
        taken: [String; 2],
    },
    /// One thread cannot be at two sides at once.
    #[error("`{one}` and `{other}` are for the same thread, which does not meet itself")]
    SameThread {
        /// A side.
        one: String,
        /// The other.
        other: String,
    },
    /// Threads there are never at the same object.
    #[error("`{one}` and `{other}` are never at the same object: {} and {}", about[0], about[1])]
    NeverSame {
        /// A side.
        one: String,
        /// The other.
        other: String,
        /// What each is about.
        about: [String; 2],
    },
}

impl Diagnosis for ExpressionError {
    fn fault(&self) -> Fault {
        Fault::Input
    }

    fn help(&self) -> Option<String> {
        let example = "--break 'a.c:15 -> b.c:20 (ignore-first 7) if same-object pause 1s'";
        Some(format!(
            "for example {example}; docs/breakpoints.md has the grammar"
        ))
    }
}

impl Diagnosis for PlaceError {
    fn fault(&self) -> Fault {
        Fault::Input
    }

    fn help(&self) -> Option<String> {
        let list = |what: &str, names: &[String]| {
            (!names.is_empty()).then(|| format!("{what}: {}", names.join(", ")))
        };
        match self {
            PlaceError::UnknownFile { known, .. } => list("it has", known),
            PlaceError::NoCode { nearest, .. } => list("nearest places", nearest),
            PlaceError::UnknownFunction { similar, .. } => list("similar names", similar),
            PlaceError::UnknownVariable { similar, .. } => list("similar names", similar),
            PlaceError::NeverMeet { taken, .. } => Some(format!(
                "break where the lock is taken: `{} -> {}`",
                taken[0], taken[1]
            )),
            PlaceError::NeverSame { one, other, .. } => Some(format!(
                "leave out `if same-object` if they are to meet all the same: `{one} -> {other}`"
            )),
            PlaceError::NoSuchSite { nearest, .. } => Some(format!("the nearest is `{nearest}`")),
            PlaceError::SameThread { .. } => {
                Some("give each side a thread of its own: `thread 1 of 2`, `thread 2 of 2`".into())
            }
            PlaceError::NotANumber { .. } => None,
        }
    }
}
