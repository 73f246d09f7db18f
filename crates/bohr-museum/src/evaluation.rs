//! What many hunts of the museum came to: schedules and seconds to the first
//! bug, by strategy, in the form in which SURW and RFF report SCTBench; and the
//! papers' tables with our figures beside them. Pure: hunts in, tables out.

mod tables;

pub use tables::{markdown, of_papers};

use serde::{Deserialize, Serialize};

/// One hunt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Of which exhibit.
    pub exhibit: String,
    /// By which strategy.
    pub strategy: String,
    /// With which seed.
    pub seed: u64,
    /// Whether the bug was found, as the manifest describes it.
    pub found: bool,
    /// Runs up to the failing one, or all of them.
    pub runs: u64,
    /// Time they took.
    pub seconds: f64,
    /// Of the failing run.
    pub threads: Option<u64>,
    /// Of the failing run.
    pub events: Option<u64>,
    /// Of the failing run.
    pub switches: Option<u64>,
}

/// Everything that was measured, with what it takes to measure it again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// Processor and kernel.
    pub machine: String,
    /// The command that does it again.
    pub command: String,
    /// Longest time of a hunt, in seconds.
    pub seconds: u32,
    /// Every hunt.
    pub trials: Vec<Trial>,
}

/// A figure over several trials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quartiles {
    /// A quarter of the trials have at most this.
    pub lower: f64,
    /// Half of them.
    pub median: f64,
    /// Three quarters of them.
    pub upper: f64,
}

impl Quartiles {
    /// Of some values; `None` of none.
    ///
    /// ```
    /// use bohr_museum::Quartiles;
    /// let quartiles = Quartiles::of(vec![4.0, 1.0, 3.0, 2.0, 5.0]).unwrap();
    /// assert_eq!((quartiles.lower, quartiles.median, quartiles.upper), (2.0, 3.0, 4.0));
    /// ```
    #[must_use]
    pub fn of(mut values: Vec<f64>) -> Option<Quartiles> {
        values.sort_by(f64::total_cmp);
        // The least value that a share of all values does not exceed: one that
        // was measured, not one in between.
        let at = |share: f64| {
            let rank = (share * values.len() as f64).ceil() as usize;
            values.get(rank.max(1) - 1).copied()
        };
        Some(Quartiles {
            lower: at(0.25)?,
            median: at(0.5)?,
            upper: at(0.75)?,
        })
    }
}

/// The trials of one exhibit by one strategy.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// How many found the bug.
    pub found: usize,
    /// Of how many.
    pub trials: usize,
    /// Runs to the bug, of those that found it.
    pub runs: Option<Quartiles>,
    /// Seconds to the bug, of those that found it.
    pub seconds: Option<Quartiles>,
}

impl Evaluation {
    /// Sums up one exhibit and strategy.
    #[must_use]
    pub fn summary(&self, exhibit: &str, strategy: &str) -> Summary {
        let own: Vec<&Trial> = self
            .trials
            .iter()
            .filter(|trial| trial.exhibit == exhibit && trial.strategy == strategy)
            .collect();
        let found: Vec<&Trial> = own.iter().copied().filter(|trial| trial.found).collect();
        let figure = |of: fn(&Trial) -> f64| Quartiles::of(found.iter().map(|it| of(it)).collect());
        Summary {
            found: found.len(),
            trials: own.len(),
            runs: figure(|trial| trial.runs as f64),
            seconds: figure(|trial| trial.seconds),
        }
    }

    /// Exhibits in the order in which they were hunted.
    #[must_use]
    pub fn exhibits(&self) -> Vec<&str> {
        distinct(self.trials.iter().map(|trial| &*trial.exhibit))
    }

    /// Strategies in the order in which they were tried.
    #[must_use]
    pub fn strategies(&self) -> Vec<&str> {
        distinct(self.trials.iter().map(|trial| &*trial.strategy))
    }
}

fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub fn trial(exhibit: &str, strategy: &str, found: bool, runs: u64) -> Trial {
        Trial {
            exhibit: exhibit.to_string(),
            strategy: strategy.to_string(),
            seed: 0,
            found,
            runs,
            seconds: runs as f64 / 10.0,
            threads: found.then_some(3),
            events: found.then_some(100),
            switches: found.then_some(7),
        }
    }

    pub fn evaluation(trials: Vec<Trial>) -> Evaluation {
        Evaluation {
            machine: "a machine".to_string(),
            command: "cargo xtask eval".to_string(),
            seconds: 10,
            trials,
        }
    }

    #[test]
    fn only_hunts_that_found_it_count_towards_the_time_to_the_bug() {
        let evaluation = evaluation(vec![
            trial("account", "pct:3", true, 10),
            trial("account", "pct:3", false, 9_999),
            trial("account", "pct:3", true, 30),
            trial("account", "pos", false, 50),
        ]);
        let pct = evaluation.summary("account", "pct:3");
        assert_eq!((pct.found, pct.trials), (2, 3));
        assert_eq!(pct.runs.unwrap().median, 10.0);
        let pos = evaluation.summary("account", "pos");
        assert_eq!((pos.found, pos.trials, pos.runs), (0, 1, None));
    }

    proptest! {
        /// As many values lie below as a quartile says.
        #[test]
        fn quartiles_divide(values in prop::collection::vec(-1e6f64..1e6, 1..50)) {
            let quartiles = Quartiles::of(values.clone()).unwrap();
            let share = |bound: f64| {
                let below = values.iter().filter(|value| **value <= bound).count();
                below as f64 / values.len() as f64
            };
            prop_assert!(share(quartiles.lower) >= 0.25);
            prop_assert!(share(quartiles.median) >= 0.5);
            prop_assert!(share(quartiles.upper) >= 0.75);
            for bound in [quartiles.lower, quartiles.median, quartiles.upper] {
                prop_assert!(values.contains(&bound));
            }
            let less = values.iter().filter(|value| **value < quartiles.median).count();
            prop_assert!(less * 2 < values.len());
        }
    }
}
