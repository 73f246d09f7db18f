//! Threads are named by their path in the tree of creations, so that the same
//! thread has the same name in every run, whatever the schedule (LEAN, 3.1).

use alloc::{format, string::String, vec::Vec};
use core::{fmt, str::FromStr};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smallvec::SmallVec;

/// The path of a thread: `0` is the main thread, `0:2` its second child,
/// `0:2:1` the first child of that one. A store buffer counts as a child of the
/// thread whose stores wait in it: `0:2:buffer`, and, where each address has a
/// queue of its own, `0:2:buffer2` and so on.
///
/// Children are numbered from 1 in the order in which their parent creates
/// them. A creation that is suppressed still consumes its number, so removing
/// one thread renames no other.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadPath {
    /// Child numbers below the main thread; empty for the main thread. Never holds 0.
    steps: Steps,
}

/// Paths are copied all the time and seldom long: four steps take no memory of their own.
type Steps = SmallVec<[u32; 4]>;

impl ThreadPath {
    /// The thread that runs `main`.
    pub const MAIN: ThreadPath = ThreadPath {
        steps: SmallVec::new_const(),
    };

    /// The `number`-th child, counted from 1.
    ///
    /// # Panics
    /// If `number` is 0: no thread is its parent's zeroth child.
    #[must_use]
    pub fn child(&self, number: u32) -> ThreadPath {
        assert!(number > 0, "children are numbered from 1");
        let mut steps = self.steps.clone();
        steps.push(number);
        ThreadPath { steps }
    }

    /// The thread at the end of these child numbers; `None` if one of them is 0.
    #[must_use]
    pub fn from_steps(steps: Vec<u32>) -> Option<ThreadPath> {
        (!steps.contains(&0)).then(|| ThreadPath {
            steps: steps.into(),
        })
    }

    /// The thread that created this one; `None` for the main thread.
    #[must_use]
    pub fn parent(&self) -> Option<ThreadPath> {
        let (_, above) = self.steps.split_last()?;
        Some(ThreadPath {
            steps: above.into(),
        })
    }

    /// The `queue`-th queue of this thread's store buffer, counted from 0.
    ///
    /// # Panics
    /// If no store buffer has so many queues.
    #[must_use]
    pub fn buffer(&self, queue: u32) -> ThreadPath {
        assert!(queue < MOST_QUEUES, "a store buffer has no such queue");
        self.child(u32::MAX - queue)
    }

    /// The thread whose store buffer this is; `None` for a thread of the program.
    ///
    /// ```
    /// use bohr_event::ThreadPath;
    /// let worker: ThreadPath = "0:2".parse().unwrap();
    /// assert_eq!(worker.buffer(0).to_string(), "0:2:buffer");
    /// assert_eq!(worker.buffer(1).buffer_of(), Some(worker.clone()));
    /// assert_eq!(worker.buffer_of(), None);
    /// ```
    #[must_use]
    pub fn buffer_of(&self) -> Option<ThreadPath> {
        queue(*self.steps.last()?)?;
        self.parent()
    }

    /// What a sentence calls it: `thread 0:2`, `the store buffer of thread 0:2`.
    #[must_use]
    pub fn spoken(&self) -> String {
        match self.buffer_of() {
            None => format!("thread {self}"),
            Some(owner) => format!("the store buffer of thread {owner}"),
        }
    }

    /// The child numbers on the way down from the main thread.
    #[must_use]
    pub fn steps(&self) -> &[u32] {
        &self.steps
    }

    /// How many creations lie between the main thread and this one.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.steps.len()
    }

    /// Whether this thread is `other` or was created below it.
    #[must_use]
    pub fn is_within(&self, other: &ThreadPath) -> bool {
        self.steps.starts_with(&other.steps)
    }
}

/// What a sentence calls the thread, or store buffer, whose path is written so.
#[must_use]
pub fn spoken(path: &str) -> String {
    match path.parse::<ThreadPath>() {
        Ok(path) => path.spoken(),
        Err(_) => format!("thread {path}"),
    }
}

/// Queues that a store buffer can have; as many child numbers, the highest, stand
/// for them.
const MOST_QUEUES: u32 = 64;

/// Which queue of a store buffer this child number stands for.
fn queue(step: u32) -> Option<u32> {
    let queue = u32::MAX - step;
    (queue < MOST_QUEUES).then_some(queue)
}

impl fmt::Display for ThreadPath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("0")?;
        self.steps.iter().try_for_each(|&step| match queue(step) {
            None => write!(out, ":{step}"),
            Some(0) => out.write_str(":buffer"),
            Some(queue) => write!(out, ":buffer{}", queue + 1),
        })
    }
}

impl fmt::Debug for ThreadPath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

/// Why a text is not a thread path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParsePathError {
    /// The path does not begin with `0`, the main thread.
    NotFromMain,
    /// A step is not a number from 1 on.
    BadStep,
}

impl fmt::Display for ParsePathError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            ParsePathError::NotFromMain => "a thread path begins with 0, the main thread (0:2:1)",
            ParsePathError::BadStep => "each step of a thread path is a number from 1 on (0:2:1)",
        })
    }
}

impl core::error::Error for ParsePathError {}

fn parse_step(text: &str) -> Option<u32> {
    let number = match text.strip_prefix("buffer") {
        None => text
            .parse()
            .ok()
            .filter(|&number| queue(number).is_none())?,
        Some("") => u32::MAX,
        Some(queue) => {
            let position = queue.parse::<u32>().ok()?.checked_sub(1)?;
            (1..MOST_QUEUES)
                .contains(&position)
                .then_some(u32::MAX - position)?
        }
    };
    (number > 0).then_some(number)
}

impl FromStr for ThreadPath {
    type Err = ParsePathError;

    fn from_str(text: &str) -> Result<ThreadPath, ParsePathError> {
        let mut parts = text.split(':');
        if parts.next() != Some("0") {
            return Err(ParsePathError::NotFromMain);
        }
        let steps = parts
            .map(|step| parse_step(step).ok_or(ParsePathError::BadStep))
            .collect::<Result<Steps, _>>()?;
        Ok(ThreadPath { steps })
    }
}

// Written as text: a path is read by people in every JSON that bohr prints.
impl Serialize for ThreadPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ThreadPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ThreadPath, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn text_round_trips(steps in prop::collection::vec(1u32.., 0..6)) {
            let path = steps.iter().fold(ThreadPath::MAIN, |path, step| path.child(*step));
            prop_assert_eq!(path.to_string().parse::<ThreadPath>(), Ok(path.clone()));
            prop_assert!(path.is_within(&ThreadPath::MAIN));
            prop_assert_eq!(path.parent().is_none(), steps.is_empty());
            prop_assert_eq!(ThreadPath::from_steps(steps), Some(path));
        }

        #[test]
        fn any_text_is_refused_or_read(text in ".{0,12}") {
            if let Ok(path) = text.parse::<ThreadPath>() {
                prop_assert_eq!(path.to_string().parse(), Ok(path));
            }
        }
    }

    #[test]
    fn buffers_are_named_once() {
        let worker = ThreadPath::MAIN.child(2);
        for queue in 0..MOST_QUEUES {
            let buffer = worker.buffer(queue);
            assert_eq!(buffer.to_string().parse(), Ok(buffer.clone()));
            assert_eq!(buffer.buffer_of(), Some(worker.clone()));
        }
        for other in ["0:2:buffer0", "0:2:buffer1", "0:2:buffer65", "0:4294967295"] {
            assert_eq!(other.parse::<ThreadPath>(), Err(ParsePathError::BadStep));
        }
    }

    #[test]
    fn refusals_say_why() {
        assert_eq!(
            "1:2".parse::<ThreadPath>(),
            Err(ParsePathError::NotFromMain)
        );
        assert_eq!("0:0".parse::<ThreadPath>(), Err(ParsePathError::BadStep));
        assert_eq!("0:".parse::<ThreadPath>(), Err(ParsePathError::BadStep));
    }
}
