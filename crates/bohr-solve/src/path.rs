//! What is known of a run: the way of every thread through the program, what came
//! from outside, and how it ended.

use bohr_event::ThreadPath;
use bohr_event::inputs::Input;
use bohr_program::{BlockNumber, FunctionNumber};

/// One step of a thread through its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A function of the program begins with its first block.
    Enter(FunctionNumber),
    /// The innermost function goes on with another block.
    Block(BlockNumber),
    /// The innermost function returns.
    Return,
    /// An exception ends the innermost functions, and the next goes on elsewhere.
    Land,
}

/// What one thread did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Way {
    /// Which thread.
    pub thread: ThreadPath,
    /// Its steps.
    pub steps: Vec<Step>,
    /// How many of them it surely began; the rest follows if it went on.
    pub certain: usize,
    /// What came from outside, in the order in which it asked.
    pub inputs: Vec<Input>,
}

/// How a run failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By `abort` or a failed assertion.
    Aborted,
    /// It touched memory that it does not have.
    Crashed,
    /// It ended itself with this code.
    Exited(i32),
}

/// The variables of a process's environment: names and values.
pub type Environment = Vec<(Vec<u8>, Vec<u8>)>;

/// A recorded run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// `argv`, the program's name first.
    pub arguments: Vec<Vec<u8>>,
    /// Its environment.
    pub environment: Environment,
    /// The threads, parents before their children; the main thread first.
    pub threads: Vec<Way>,
    /// The thread that failed, by its position in that list.
    pub failed: usize,
    /// How.
    pub ending: Ending,
}
