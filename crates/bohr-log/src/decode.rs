//! What the threads of a recorded run did, block by block.
//!
//! A thread's path is walked through the program model as it was executed; the
//! bits of its log answer every question that the code alone leaves open
//! (`bohr_program::paths` says which, and in what form).

pub(crate) mod stops;
#[cfg(test)]
mod tests;
mod visits;
mod walk;

pub use visits::visits;

use crate::Recording;
use bohr_event::ThreadPath;
use bohr_program::paths::Paths;
use bohr_program::{BlockNumber, FunctionNumber, InstructionNumber, Program};
use walk::Listener;

/// One step of a thread through its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A function of the program begins with its first block: called by the
    /// instruction that the frame below stands at, or by code outside that this
    /// instruction called, or, with no frame below, by whoever runs the thread.
    Enter(FunctionNumber),
    /// The innermost function goes on with another block.
    Block(BlockNumber),
    /// The innermost function returns. If the frame below stands at an open
    /// call, code outside goes on, and may enter another function.
    Return,
    /// An exception, or a second return, ends the innermost functions; the next
    /// one goes on: with a landing pad, or behind a call that returned again.
    Land {
        /// How many functions end.
        ended: u32,
        /// Where the next one goes on.
        block: BlockNumber,
    },
}

/// A function that had not ended when the log did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The function.
    pub function: FunctionNumber,
    /// The block.
    pub block: BlockNumber,
    /// The instruction at which the log ends: a call, a choice, or the end of
    /// what can be told.
    pub instruction: InstructionNumber,
}

/// What a thread did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadExecution {
    /// Its place in the tree of threads.
    pub thread: ThreadPath,
    /// Its steps. Those behind [`ThreadExecution::certain`] follow from the code
    /// if the thread went on after the last thing it wrote.
    pub steps: Vec<Step>,
    /// How many of the steps were surely begun.
    pub certain: usize,
    /// The functions that had not ended, outermost first; none if it ended.
    pub stack: Vec<Frame>,
    /// How many choices of branches its path took.
    pub choices: u64,
}

/// What all threads did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// In the order of the recording.
    pub threads: Vec<ThreadExecution>,
}

/// Why a log does not fit its program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The log is of another build.
    #[error(
        "the log was recorded with another build of the program (bundle {}, this is {})",
        short(recorded),
        short(found)
    )]
    OtherProgram {
        /// The bundle that was recorded.
        recorded: [u8; 32],
        /// The bundle at hand.
        found: [u8; 32],
    },
    /// What a thread wrote makes no sense where it is.
    #[error("thread {thread}: at byte {byte} of its path, in {function}: {what}")]
    Senseless {
        /// The thread.
        thread: ThreadPath,
        /// The function that was being executed.
        function: String,
        /// Where in the thread's path.
        byte: u64,
        /// What is wrong.
        what: Senseless,
    },
}

/// What is wrong with a path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Senseless {
    /// A number that no function has, or one that does not announce itself.
    #[error("there is no function {0} that could have been entered")]
    NoFunction(u64),
    /// Another function was entered than the one that is called.
    #[error("{called} is called, but {entered} was entered")]
    OtherFunction {
        /// What the code says.
        called: String,
        /// What the log says.
        entered: String,
    },
    /// A choice that its branch does not have.
    #[error("a branch with {targets} targets took number {taken}")]
    NoTarget {
        /// What the log says.
        taken: u64,
        /// What the code says.
        targets: usize,
    },
    /// A call returned that nobody has made.
    #[error("a call returned that is not there")]
    NoCall,
    /// Nobody waits for an exception there.
    #[error("an exception landed in block {block} of {function}, which waits for none")]
    NoLanding {
        /// The function.
        function: String,
        /// The block.
        block: u64,
    },
    /// Code was executed that cannot be.
    #[error("code was reached that cannot be reached")]
    Unreachable,
}

fn short(hash: &[u8; 32]) -> String {
    hash[..4].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What the threads of a recording did.
///
/// # Errors
/// If the log is of another program, or a path makes no sense.
pub fn execution(program: &Program, recording: &Recording) -> Result<Execution, DecodeError> {
    let paths = plan(program, recording)?;
    let threads = recording.threads.iter().map(|log| {
        let mut steps = Steps::default();
        let walked = walk::thread(program, &paths, &log.thread, &log.path, &mut steps)?;
        let steps = steps.0;
        Ok(ThreadExecution { steps, ..walked })
    });
    Ok(Execution {
        threads: threads.collect::<Result<_, _>>()?,
    })
}

/// Keeps all steps.
#[derive(Default)]
struct Steps(Vec<Step>);

impl Listener for Steps {
    fn step(&mut self, step: Step) {
        self.0.push(step);
    }
}

/// Keeps nothing.
struct Nothing;

impl Listener for Nothing {
    fn step(&mut self, _: Step) {}
}

/// How many choices the threads of a recording made, without keeping any of them.
///
/// # Errors
/// As [`execution`].
pub fn choices(program: &Program, recording: &Recording) -> Result<u64, DecodeError> {
    let paths = plan(program, recording)?;
    let threads = recording.threads.iter();
    let walks = threads.map(|log| {
        walk::thread(program, &paths, &log.thread, &log.path, &mut Nothing)
            .map(|walked| walked.choices)
    });
    walks.sum()
}

/// What the threads of a program write, if it is the one that was recorded.
fn plan(program: &Program, recording: &Recording) -> Result<Paths, DecodeError> {
    if program.identity != recording.bundle {
        return Err(DecodeError::OtherProgram {
            recorded: recording.bundle,
            found: program.identity,
        });
    }
    Ok(Paths::of(program))
}
