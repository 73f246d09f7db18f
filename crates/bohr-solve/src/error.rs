//! Why a run cannot be executed symbolically, with the place.

use crate::event::Spot;
use crate::execute::Halt;
use bohr_program::Program;

/// Where in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whereabouts {
    /// The function.
    pub function: String,
    /// The block in it.
    pub block: String,
    /// `file:line`, if the debug information tells.
    pub line: Option<String>,
}

impl std::fmt::Display for Whereabouts {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "in {}, {}", self.function, self.block)?;
        match &self.line {
            Some(line) => write!(out, " ({line})"),
            None => Ok(()),
        }
    }
}

/// Why a run cannot be executed symbolically.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExecuteError {
    /// Code on the path that is not modelled.
    #[error("not modelled: {what}, {at}; `bohr solve --by execution` needs no model")]
    NotModelled {
        /// What.
        what: String,
        /// Where.
        at: Whereabouts,
    },
    /// The path does not fit the program.
    #[error(
        "the recorded path does not fit the program: {what}, {at}; was the log recorded with this build?"
    )]
    OffPath {
        /// What.
        what: String,
        /// Where.
        at: Whereabouts,
    },
    /// The program does what none may, before it fails.
    #[error("the recorded path does what no program may: {what}, {at}")]
    Undefined {
        /// What.
        what: String,
        /// Where.
        at: Whereabouts,
    },
    /// There is no function to begin with.
    #[error("the program has no function `main` to begin with")]
    NoMain,
    /// The thread that failed does not come to its failure.
    #[error(
        "the path of thread {thread} ends {at}, where nothing fails that could be put into a condition; `bohr solve --by execution` needs none"
    )]
    NoFailure {
        /// Which thread.
        thread: String,
        /// Where its path ends.
        at: Whereabouts,
    },
}

/// Where a spot is in the source.
#[must_use]
pub fn whereabouts(program: &Program, spot: Spot) -> Whereabouts {
    let function = &program.functions[spot.function];
    let body = function.body.as_ref();
    let instruction = body.map(|body| &body.instructions[spot.instruction]);
    let location = instruction.and_then(|instruction| instruction.location.expand());
    let line = location.and_then(|location| {
        let location = &program.locations[location];
        let file = program.scopes[location.scope].file.expand()?;
        let path = &program.texts[program.files[file].path];
        Some(format!("{path}:{}", location.line))
    });
    Whereabouts {
        function: program.texts[function.name].to_string(),
        block: body.map_or_else(String::new, |body| {
            body.block_of(spot.instruction).to_string()
        }),
        line,
    }
}

pub(crate) fn explain(program: &Program, spot: Option<Spot>, halt: Halt) -> ExecuteError {
    let at = match spot {
        Some(spot) => whereabouts(program, spot),
        None => Whereabouts {
            function: "the program".into(),
            block: "its beginning".into(),
            line: None,
        },
    };
    match halt {
        Halt::NotModelled(what) => ExecuteError::NotModelled { what, at },
        Halt::OffPath(what) => ExecuteError::OffPath { what, at },
        Halt::Undefined(what) => ExecuteError::Undefined { what, at },
        Halt::Fault(address) => {
            let what = format!("it touches {address:#x}, where it has no memory");
            ExecuteError::Undefined { what, at }
        }
        Halt::Blocked | Halt::Ended(_) => {
            let what = "it waits for itself".into();
            ExecuteError::Undefined { what, at }
        }
    }
}
