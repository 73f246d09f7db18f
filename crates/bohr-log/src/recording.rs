//! What a log file holds.

use bohr_event::ThreadPath;
use bohr_event::inputs::{self, ThreadInputs};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogKind {
    /// The path of every thread.
    Path,
    /// The path of every thread, and the order of synchronisation.
    PathAndSync,
    /// The order in which threads came by memory that may be shared, and the order
    /// of synchronisation.
    Order,
}

/// How the recorded run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// The program ended itself with this code.
    Exit(i32),
    /// All its threads waited for each other, and bohr ended it.
    Standstill,
    /// It was still busy when its time was over, and bohr ended it.
    Endless,
    /// A signal ended it.
    Signal {
        /// Its number.
        number: i32,
        /// The thread that raised it or faulted, as far as the program could tell.
        thread: Option<ThreadPath>,
        /// Where that thread was, as an address in the path profile.
        code: u64,
        /// The address that could not be accessed, of signals that have one.
        address: u64,
    },
}

/// What one thread did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadLog {
    /// Its place in the tree of threads.
    pub thread: ThreadPath,
    /// Its path, as words of the path code.
    pub path: Vec<u64>,
    /// Its places in the order of all, as words of the order code.
    pub order: Vec<u64>,
    /// What it got from outside, as words of the input code.
    pub inputs: Vec<u64>,
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
    /// Names and values; without those that look like secrets.
    pub environment: Vec<(Vec<u8>, Vec<u8>)>,
    /// Standard input; empty if there was none.
    pub input: Vec<u8>,
    /// Exit code of a good run.
    pub good_exit: i32,
    /// What was recorded.
    pub kind: LogKind,
    /// The threads, in the order in which they began to write.
    pub threads: Vec<ThreadLog>,
    /// How it ended.
    pub end: End,
    /// What the program said last on standard error.
    pub message: String,
}

impl LogKind {
    /// Whether the ways of the threads are there.
    #[must_use]
    pub fn has_paths(self) -> bool {
        self != LogKind::Order
    }
}

impl fmt::Display for LogKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            LogKind::Path => "path",
            LogKind::PathAndSync => "path+sync",
            LogKind::Order => "order",
        })
    }
}

impl ThreadLog {
    /// Bytes that the thread has written.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        (self.path.len() + self.order.len() + self.inputs.len()) as u64 * 8
    }
}

impl Recording {
    /// Bytes that all threads have written.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.threads.iter().map(ThreadLog::bytes).sum()
    }

    /// Bytes of those that tell what came from outside.
    #[must_use]
    pub fn input_bytes(&self) -> u64 {
        let words = self.threads.iter().map(|log| log.inputs.len() as u64);
        words.sum::<u64>() * 8
    }

    /// Of threads that did this, with nothing said about the program; for tests.
    #[cfg(test)]
    pub(crate) fn of_threads(kind: LogKind, threads: Vec<ThreadLog>, end: End) -> Recording {
        Recording {
            writer: String::new(),
            bundle: [0; 32],
            program: Vec::new(),
            arguments: Vec::new(),
            environment: Vec::new(),
            input: Vec::new(),
            good_exit: 0,
            kind,
            threads,
            end,
            message: String::new(),
        }
    }

    /// Whether the run failed: it did not end itself, or not as a good one does.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.end != End::Exit(self.good_exit)
    }

    /// What the threads got from outside; those that got nothing are left out.
    #[must_use]
    pub fn given(&self) -> Vec<ThreadInputs> {
        let threads = self.threads.iter().map(|log| ThreadInputs {
            thread: log.thread.clone(),
            inputs: inputs::read(&log.inputs),
        });
        threads.filter(|one| !one.inputs.is_empty()).collect()
    }

    /// The log of a thread.
    #[must_use]
    pub fn thread(&self, thread: &ThreadPath) -> Option<&ThreadLog> {
        self.threads.iter().find(|one| one.thread == *thread)
    }
}
