//! Where a thread was when the program failed, or what it had done before: a line of a
//! report, with a stack.

use serde::{Deserialize, Serialize};

/// One thread at the moment of failure, for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadLine {
    /// Its path.
    pub thread: String,
    /// What it was doing: `writes`, `waits for the lock held by 0:2`, …
    pub doing: String,
    /// Its stack, innermost first: function and file:line where known.
    pub stack: Vec<String>,
}

/// With this word begins what a thread had done before the moment of failure.
const EARLIER: &str = "had ";

impl ThreadLine {
    /// What a thread had done before.
    #[must_use]
    pub fn earlier(thread: String, done: &str, stack: Vec<String>) -> ThreadLine {
        ThreadLine {
            thread,
            doing: format!("{EARLIER}{done}"),
            stack,
        }
    }

    /// Whether it tells of what was done before the moment of failure, not of where
    /// the thread is then.
    #[must_use]
    pub fn is_earlier(&self) -> bool {
        self.doing.starts_with(EARLIER)
    }
}
