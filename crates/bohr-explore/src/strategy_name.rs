//! The names under which strategies are asked for, and the plans they become.

use crate::knowledge::Knowledge;
use bohr_schedule::search::{DepthFirst, FeedbackSearch, Search};
use bohr_schedule::{Plan, Rule};
use std::fmt;
use std::str::FromStr;

/// Length that PCT assumes of runs before one has been seen.
const UNKNOWN_LENGTH: u64 = 1_000;

/// A strategy, as the user names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StrategyName {
    /// All that need only a seed, in turns.
    Mixed,
    /// Random walk.
    Random,
    /// Probabilistic concurrency testing of this depth.
    Pct(u32),
    /// Partial order sampling.
    Pos,
    /// Selectively uniform random walk.
    Surw,
    /// Reads-from feedback.
    Feedback,
    /// Depth first, by number of preemptions.
    Bounded,
    /// Depth first, all of it.
    Exhaustive,
    /// No preemption.
    Sequential,
    /// Time slices of so many events on average.
    Slices(u64),
    /// Preemptions that a core file suggests; cannot be asked for by this name.
    Guided,
}

/// What each name means, in the order in which help lists them.
pub const STRATEGIES: [(&str, &str); 10] = [
    ("mixed", "the seeded ones in turns (default)"),
    ("random", "any enabled thread at every event"),
    (
        "pct[:DEPTH]",
        "random priorities with DEPTH - 1 changes (default 3)",
    ),
    (
        "pos",
        "random priorities of events, drawn anew after a conflict",
    ),
    ("surw", "every order of conflicting events equally likely"),
    (
        "feedback",
        "keeps and mutates schedules that show a new reads-from pair",
    ),
    ("bounded", "every schedule with 0, 1, 2, ... preemptions"),
    (
        "exhaustive",
        "every schedule, one of each equivalence class",
    ),
    ("sequential", "one thread after the other"),
    (
        "slices[:EVENTS]",
        "a random thread for EVENTS events on average, as an operating system would (default 100)",
    ),
];

impl fmt::Display for StrategyName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StrategyName::Pct(depth) => write!(out, "pct:{depth}"),
            StrategyName::Slices(mean) => write!(out, "slices:{mean}"),
            other => out.write_str(match other {
                StrategyName::Mixed => "mixed",
                StrategyName::Random => "random",
                StrategyName::Pos => "pos",
                StrategyName::Surw => "surw",
                StrategyName::Feedback => "feedback",
                StrategyName::Bounded => "bounded",
                StrategyName::Exhaustive => "exhaustive",
                StrategyName::Guided => "guided",
                _ => "sequential",
            }),
        }
    }
}

/// No strategy has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no strategy `{0}`; there are mixed, random, pct[:DEPTH], pos, surw, feedback, bounded, exhaustive, sequential and slices[:EVENTS]"
)]
pub struct NoSuchStrategy(String);

impl FromStr for StrategyName {
    type Err = NoSuchStrategy;

    fn from_str(text: &str) -> Result<StrategyName, NoSuchStrategy> {
        let unknown = || NoSuchStrategy(text.to_string());
        Ok(match text {
            "mixed" => StrategyName::Mixed,
            "random" => StrategyName::Random,
            "pct" => StrategyName::Pct(3),
            "pos" => StrategyName::Pos,
            "surw" => StrategyName::Surw,
            "feedback" => StrategyName::Feedback,
            "bounded" => StrategyName::Bounded,
            "exhaustive" => StrategyName::Exhaustive,
            "sequential" => StrategyName::Sequential,
            "slices" => StrategyName::Slices(100),
            other => with_number(other).ok_or_else(unknown)?,
        })
    }
}

/// A strategy that is asked for with a number.
fn with_number(text: &str) -> Option<StrategyName> {
    let (name, number) = text.split_once(':')?;
    let number: u32 = number.parse().ok()?;
    match (name, number) {
        ("pct", 1..=64) => Some(StrategyName::Pct(number)),
        ("slices", 1..) => Some(StrategyName::Slices(u64::from(number))),
        _ => None,
    }
}

/// What the mixed strategy consists of. A batch in two preempts only at places
/// that are known to conflict, the other anywhere, in case some are not known.
const MIX: [(StrategyName, bool); 8] = [
    (StrategyName::Random, false),
    (StrategyName::Surw, true),
    (StrategyName::Pos, false),
    (StrategyName::Pct(3), true),
    (StrategyName::Random, true),
    (StrategyName::Pct(2), false),
    (StrategyName::Pos, true),
    (StrategyName::Pct(5), true),
];

impl StrategyName {
    /// Which strategy the `batch`-th batch of seeds runs by, and whether it
    /// preempts at known conflicts only.
    #[must_use]
    pub fn in_batch(self, batch: u64) -> (StrategyName, bool) {
        match self {
            StrategyName::Mixed => MIX[(batch % MIX.len() as u64) as usize],
            other => (other, false),
        }
    }

    /// The plan of one batch; `None` for those that plan every run by itself.
    #[must_use]
    pub fn plan(self, knowledge: &Knowledge, restricted: bool) -> Option<Plan> {
        let length = match knowledge.length {
            0 => UNKNOWN_LENGTH,
            length => length,
        };
        let rule = match self {
            StrategyName::Mixed | StrategyName::Random => Rule::Random,
            StrategyName::Pct(depth) => Rule::Pct { depth, length },
            StrategyName::Pos => Rule::Pos,
            StrategyName::Surw => Rule::Surw(knowledge.profile()),
            StrategyName::Sequential => Rule::Sequential,
            StrategyName::Slices(mean) => Rule::Slices { mean },
            StrategyName::Feedback
            | StrategyName::Bounded
            | StrategyName::Exhaustive
            | StrategyName::Guided => {
                return None;
            }
        };
        let conflicting = knowledge.conflicting();
        Some(Plan {
            points: (restricted && !conflicting.is_empty()).then_some(conflicting),
            ..Plan::new(rule)
        })
    }

    /// The search of a strategy that plans every run by itself.
    #[must_use]
    pub fn search(self, seed: u64) -> Option<Box<dyn Search + Send>> {
        Some(match self {
            StrategyName::Feedback => Box::new(FeedbackSearch::new(seed)),
            StrategyName::Bounded => Box::new(DepthFirst::bounded()),
            StrategyName::Exhaustive => Box::new(DepthFirst::exhaustive()),
            _ => return None,
        })
    }

    /// Whether several workers can share the work.
    #[must_use]
    pub fn is_parallel(self) -> bool {
        self != StrategyName::Sequential
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for (name, _) in STRATEGIES {
            let plain = name.split('[').next().unwrap();
            let strategy: StrategyName = plain.parse().unwrap();
            assert_eq!(strategy.to_string().parse(), Ok(strategy));
            let planned = strategy.plan(&Knowledge::default(), false).is_some();
            assert_eq!(planned, strategy.search(1).is_none(), "{name}");
        }
        assert_eq!("pct:5".parse(), Ok(StrategyName::Pct(5)));
        assert_eq!("slices:7".parse(), Ok(StrategyName::Slices(7)));
        for wrong in ["", "pct:", "pct:0", "pct:x", "slices:0", "pos:1", "chess"] {
            assert!(wrong.parse::<StrategyName>().is_err(), "{wrong}");
        }
    }
}
