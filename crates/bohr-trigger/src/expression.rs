//! A breakpoint as people write it. This is the grammar, whole:
//!
//! ```text
//! breakpoint = side "->" side { "->" side } [ "if" "same-object" ] { option }
//! side       = place [ ".." place ] [ "(" refinement { "," refinement } ")" ]
//! place      = FILE ":" LINE [ "#" N ]          the N-th site of a line; the first
//!            | FUNCTION "#" N                   the N-th site of a function
//! refinement = "ignore-first" N                 the first N visits pass, whoever comes
//!            | "nth" N                          only the N-th visit of each thread counts
//!            | "thread" N "of" N                of so many threads that come by, the N-th created
//!            | "holding" NAME                   a mutex that the thread holds
//!            | "within" FUNCTION                somewhere up its stack
//!            | NAME relation NUMBER             a global variable, compared
//! relation   = "<" | "<=" | "==" | "!=" | ">=" | ">"
//! option     = "at-most" N                      sleeps after N meetings
//!            | "pause" TIME                     longest time a thread is held up
//!            | "settle" TIME                    given to a statement without an end
//! TIME       = NUMBER ( "us" | "ms" | "s" )
//! ```
//!
//! A *site* is an access to memory that threads may share, or a call that other
//! threads notice. A thread is at a place when it is about to execute its site.
//! Threads at all sides meet; then they go on in the order of the sides. A side's
//! statement ends where `..` says, or is given a moment. `same-object` asks that
//! all are about to touch the same memory, lock or condition. Where the last side's
//! statement ends it is held up for a moment: whoever the statement has woken comes
//! first.

use crate::places::is_library;
use bohr_event::breakpoint::{Rank, Relation};
use std::fmt;
use std::time::Duration;

/// How long a thread is held up unless somebody says otherwise; the paper's.
pub const PAUSE: Duration = Duration::from_millis(100);

/// What a statement whose end is not known is given.
pub const SETTLE: Duration = Duration::from_micros(100);

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Expression {
    /// In the order in which they go on.
    pub sides: Vec<Side>,
    /// Whether all have to touch the same.
    pub same_object: bool,
    /// Meetings after which it sleeps.
    pub at_most: Option<u64>,
    /// How long a thread is held up.
    pub pause: Duration,
    /// What a statement without an end is given.
    pub settle: Duration,
}

/// Where one thread has to be.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Side {
    /// Before this.
    pub at: Place,
    /// Where its statement is over.
    pub until: Option<Place>,
    /// What else has to hold.
    pub refinements: Vec<Refinement>,
    /// The line of the author's own code at which the thread is then, where the
    /// place lies in a library. Not written down; for patches.
    pub source: Option<Place>,
}

impl Side {
    /// Just a place.
    #[must_use]
    pub fn at(at: Place) -> Side {
        Side {
            at,
            until: None,
            refinements: Vec::new(),
            source: None,
        }
    }
}

/// A site by a name that holds while the source does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// A site of a line, in every function that has a copy of it.
    Line {
        /// The end of the file's path.
        file: String,
        /// Counted from 1.
        line: u32,
        /// Which site, from 1.
        site: u32,
    },
    /// A site of a function.
    Function {
        /// As its author wrote it, or the end of that.
        name: String,
        /// Which site, from 1.
        site: u32,
    },
}

impl Place {
    /// Another site of the same line or function.
    #[must_use]
    pub fn with_site(&self, site: u32) -> Place {
        let mut other = self.clone();
        let (Place::Line { site: number, .. } | Place::Function { site: number, .. }) = &mut other;
        *number = site;
        other
    }
}

/// What has to hold of a thread at a place (section 6.3 of the paper).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Refinement {
    /// So many visits pass.
    IgnoreFirst(u64),
    /// Only this visit of each thread counts, from 1.
    Nth(u64),
    /// Only this one of several threads that run the same code.
    Thread(Rank),
    /// A global mutex that the thread has to hold.
    Holding(String),
    /// A function that it has to be called from.
    Within(String),
    /// Of a global variable.
    When(String, Relation, i64),
}

impl Expression {
    /// Threads at two places or more, with the ordinary options.
    #[must_use]
    pub fn new(sides: Vec<Side>, same_object: bool) -> Expression {
        Expression {
            sides,
            same_object,
            at_most: None,
            pause: PAUSE,
            settle: SETTLE,
        }
    }
}

impl Side {
    /// The place in the author's own code, if there is one.
    #[must_use]
    pub fn own_place(&self) -> &Place {
        self.source.as_ref().unwrap_or(&self.at)
    }

    /// Visits of a library's place are counted otherwise than those of the line
    /// that called it.
    pub(crate) fn counts_elsewhere(&self) -> bool {
        let counted = |refinement: &Refinement| {
            matches!(refinement, Refinement::Nth(_) | Refinement::IgnoreFirst(_))
        };
        self.source.is_some() && self.refinements.iter().any(counted)
    }

    /// How much of it a call before the statement does not say.
    fn lost_in_patch(&self) -> usize {
        let own = matches!(self.own_place(), Place::Line { file, .. } if !is_library(file));
        match own {
            false => 1000,
            true => {
                let first = matches!(self.own_place(), Place::Line { site: 1, .. });
                usize::from(!first) + usize::from(self.counts_elsewhere())
            }
        }
    }
}

impl Expression {
    /// How much of it is lost if it is made a part of its author's sources: nothing
    /// is best, a thousand and more cannot be.
    #[must_use]
    pub fn lost_in_patch(&self) -> usize {
        let before_last = self.sides.iter().rev().skip(1);
        let ends = before_last.filter(|side| side.until.is_some()).count();
        ends + self.sides.iter().map(Side::lost_in_patch).sum::<usize>()
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, side) in self.sides.iter().enumerate() {
            let arrow = if position > 0 { " -> " } else { "" };
            write!(out, "{arrow}{side}")?;
        }
        if self.same_object {
            out.write_str(" if same-object")?;
        }
        if let Some(bound) = self.at_most {
            write!(out, " at-most {bound}")?;
        }
        for (word, time, usual) in [
            ("pause", self.pause, PAUSE),
            ("settle", self.settle, SETTLE),
        ] {
            if time != usual {
                write!(out, " {word} {}", Time(time))?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Side {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.at)?;
        if let Some(until) = &self.until {
            write!(out, "..{until}")?;
        }
        if !self.refinements.is_empty() {
            let all: Vec<String> = self.refinements.iter().map(Refinement::to_string).collect();
            write!(out, " ({})", all.join(", "))?;
        }
        Ok(())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line {
                file,
                line,
                site: 1,
            } => write!(out, "{file}:{line}"),
            Place::Line { file, line, site } => write!(out, "{file}:{line}#{site}"),
            Place::Function { name, site } => write!(out, "{name}#{site}"),
        }
    }
}

impl fmt::Display for Refinement {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refinement::IgnoreFirst(count) => write!(out, "ignore-first {count}"),
            Refinement::Nth(number) => write!(out, "nth {number}"),
            Refinement::Thread(rank) => write!(out, "thread {} of {}", rank.number, rank.of),
            Refinement::Holding(lock) => write!(out, "holding {lock}"),
            Refinement::Within(function) => write!(out, "within {function}"),
            Refinement::When(name, relation, value) => {
                write!(out, "{name} {} {value}", relation.sign())
            }
        }
    }
}

/// A time in the largest unit that it is a whole number of.
struct Time(Duration);

impl fmt::Display for Time {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_micros() {
            all if all.is_multiple_of(1_000_000) => write!(out, "{}s", all / 1_000_000),
            all if all.is_multiple_of(1_000) => write!(out, "{}ms", all / 1_000),
            all => write!(out, "{all}us"),
        }
    }
}
