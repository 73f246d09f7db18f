//! Threads are named by their path in the tree of creations, so that the same
//! thread has the same name in every run, whatever the schedule (LEAN, 3.1).

use alloc::vec::Vec;
use core::{fmt, str::FromStr};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The path of a thread: `0` is the main thread, `0:2` its second child,
/// `0:2:1` the first child of that one.
///
/// Children are numbered from 1 in the order in which their parent creates
/// them. A creation that is suppressed still consumes its number, so removing
/// one thread renames no other.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadPath {
    /// Child numbers below the main thread; empty for the main thread. Never holds 0.
    steps: Vec<u32>,
}

impl ThreadPath {
    /// The thread that runs `main`.
    pub const MAIN: ThreadPath = ThreadPath { steps: Vec::new() };

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
        (!steps.contains(&0)).then_some(ThreadPath { steps })
    }

    /// The thread that created this one; `None` for the main thread.
    #[must_use]
    pub fn parent(&self) -> Option<ThreadPath> {
        let (_, above) = self.steps.split_last()?;
        Some(ThreadPath {
            steps: above.to_vec(),
        })
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

impl fmt::Display for ThreadPath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("0")?;
        self.steps
            .iter()
            .try_for_each(|step| write!(out, ":{step}"))
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

impl FromStr for ThreadPath {
    type Err = ParsePathError;

    fn from_str(text: &str) -> Result<ThreadPath, ParsePathError> {
        let mut parts = text.split(':');
        if parts.next() != Some("0") {
            return Err(ParsePathError::NotFromMain);
        }
        let steps = parts
            .map(|step| match step.parse::<u32>() {
                Ok(number) if number > 0 => Ok(number),
                _ => Err(ParsePathError::BadStep),
            })
            .collect::<Result<Vec<u32>, _>>()?;
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
        let text = alloc::string::String::deserialize(deserializer)?;
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
    fn refusals_say_why() {
        assert_eq!(
            "1:2".parse::<ThreadPath>(),
            Err(ParsePathError::NotFromMain)
        );
        assert_eq!("0:0".parse::<ThreadPath>(), Err(ParsePathError::BadStep));
        assert_eq!("0:".parse::<ThreadPath>(), Err(ParsePathError::BadStep));
    }
}
