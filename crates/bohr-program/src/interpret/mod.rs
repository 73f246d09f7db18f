//! A plain interpreter of the model, for programs with one thread. It proves
//! the lowering: a program that it runs gives the same output and exit code as
//! the native one. What it does not model, it refuses by name.
//!
//! One concern per file: `memory` and `heap` hold bytes, `encode` moves values
//! in and out of them, `integer`, `wide` and `float` compute, `constants` places
//! globals, `execute` steps through instructions (`access`, `lanes` and `convert`
//! are kinds of them), `call` enters and leaves functions, `unwind` handles
//! exceptions, `intrinsic` stands for LLVM's and `library` for C's functions.

mod access;
pub mod arithmetic;
mod bits;
mod call;
mod constants;
mod convert;
mod datum;
mod encode;
mod execute;
mod float;
mod heap;
mod integer;
mod intrinsic;
mod lanes;
mod library;
mod machine;
mod memory;
mod unwind;
mod wide;

use crate::program::Program;
use thiserror::Error;

/// What a run is given.
#[derive(Clone, Debug)]
pub struct Settings<'a> {
    /// `argv`, the program's name first.
    pub arguments: &'a [&'a str],
    /// How many instructions it may execute.
    pub steps: u64,
}

impl Default for Settings<'_> {
    fn default() -> Self {
        Settings {
            arguments: &["program"],
            steps: u64::MAX,
        }
    }
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// With this exit code.
    Exited(i32),
    /// By `abort`, a failed assertion or an exception that nobody caught.
    Aborted,
}

/// What a program did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// How it ended.
    pub status: Status,
    /// What it wrote to descriptor 1.
    pub output: Vec<u8>,
    /// What it wrote to descriptor 2.
    pub errors: Vec<u8>,
    /// How many instructions it executed.
    pub steps: u64,
}

/// Why a program was not run to its end.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Stop {
    /// Something that the interpreter does not model.
    #[error("not modelled: {what} (in {function})")]
    NotModelled {
        /// What it is.
        what: String,
        /// The function that needed it.
        function: String,
    },
    /// The program touched memory that it does not have.
    #[error(
        "the program touches {length} bytes at {address:#x}, which it does not have (in {function})"
    )]
    Fault {
        /// Where.
        address: u64,
        /// How much.
        length: u64,
        /// The function that did.
        function: String,
    },
    /// The program did what no program may: divided by zero, reached the unreachable.
    #[error("the program's behaviour is undefined: {what} (in {function})")]
    Undefined {
        /// What it did.
        what: String,
        /// The function that did.
        function: String,
    },
    /// The allowed number of instructions was executed.
    #[error("the program did not end within {steps} instructions; give it more, or less to do")]
    Steps {
        /// How many.
        steps: u64,
    },
    /// There is no function to begin with.
    #[error("the program has no function `main` to begin with")]
    NoMain,
}

/// Runs a program from its constructors through `main` to its exit handlers.
///
/// # Errors
/// If the program does something that is not modelled or not allowed.
pub fn interpret(program: &Program, settings: &Settings<'_>) -> Result<Finished, Stop> {
    machine::Machine::new(program, settings).run(settings)
}

/// Why execution does not go on, before it is known where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    NotModelled(String),
    Fault {
        address: u64,
        length: u64,
    },
    Undefined(&'static str),
    Steps(u64),
    /// The program ended by itself.
    Ended(Status),
}

/// What every step gives.
pub(crate) type Step<T> = Result<T, Halt>;

/// Something that is not modelled.
pub(crate) fn not_modelled<T>(what: impl Into<String>) -> Step<T> {
    Err(Halt::NotModelled(what.into()))
}
