//! What a log file holds.

use bohr_event::ThreadPath;
use serde::{Deserialize, Serialize};

/// What was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogKind {
    /// The path of every thread, and what came from outside.
    Path,
}

/// How the recorded run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// The program ended itself with this code.
    Exit(i32),
    /// A signal ended it.
    Signal {
        /// Its number.
        number: i32,
        /// The thread that raised it or faulted, as far as the program could tell.
        thread: Option<ThreadPath>,
        /// Where that thread was, as an offset into the recorded program.
        code: Option<u64>,
        /// The address that could not be accessed.
        address: Option<u64>,
    },
}

impl End {
    /// Whether the run failed: it did not end itself, or not with 0.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        *self != End::Exit(0)
    }
}

/// What a call brought in that cannot be computed again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// The function that calls, by its number in the model.
    pub function: u32,
    /// The calling instruction in it.
    pub instruction: u32,
    /// What it returned, as 64 bits.
    pub result: u64,
    /// What it wrote into memory that its arguments point to, in the order of
    /// these.
    pub written: Vec<Vec<u8>>,
}

/// What one thread did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadLog {
    /// Its place in the tree of threads.
    pub thread: ThreadPath,
    /// Its path, as words of the path code.
    pub path: Vec<u64>,
    /// What came from outside, in the order in which it came.
    pub inputs: Vec<Input>,
}

/// A recorded run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recording {
    /// Version of bohr that wrote it.
    pub writer: String,
    /// Hash of the bundle of the program, which names its model.
    pub bundle: [u8; 32],
    /// Where the program was.
    pub program: Vec<u8>,
    /// What it was started with, without its name.
    pub arguments: Vec<Vec<u8>>,
    /// Standard input, as far as bohr fed it.
    pub input: Vec<u8>,
    /// What was recorded.
    pub kind: LogKind,
    /// The threads, in the order in which they began to write.
    pub threads: Vec<ThreadLog>,
    /// How it ended.
    pub end: End,
    /// What the program said last on standard error.
    pub message: String,
}

impl Recording {
    /// The log of a thread.
    #[must_use]
    pub fn thread(&self, thread: &ThreadPath) -> Option<&ThreadLog> {
        self.threads.iter().find(|one| one.thread == *thread)
    }
}
