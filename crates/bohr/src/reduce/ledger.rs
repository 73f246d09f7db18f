//! What runs were made for, their events, and the time that they took.

use bohr_reduce::reduction::Spent;
use serde_json::{Map, Value, json};
use std::ops::AddAssign;
use std::time::{Duration, Instant};

/// What a run is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The schedule of the best run, without what a candidate leaves out.
    Following,
    /// Threads one after the other: condition II.
    InTurn,
    /// Other schedules, where following does not show the failure.
    Searching,
    /// A way to the failure with fewer events.
    Shortening,
    /// One with fewer switches.
    Calming,
    /// Whether it replays every time.
    Replaying,
}

const NAMES: [&str; 6] = [
    "following",
    "in_turn",
    "searching",
    "shortening",
    "calming",
    "replaying",
];

/// Runs and time by purpose. Times of examiners who work side by side add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ledger([(Spent, Duration); NAMES.len()]);

impl Ledger {
    /// Enters runs that have begun at `since`.
    pub fn enter(&mut self, purpose: Purpose, spent: Spent, since: Instant) {
        let entry = &mut self.0[purpose as usize];
        entry.0 += spent;
        entry.1 += since.elapsed();
    }

    pub fn as_json(&self) -> Value {
        let entries = NAMES.iter().zip(&self.0);
        let entries = entries.map(|(name, (spent, time))| {
            let entry = json!({
                "runs": spent.runs,
                "events": spent.events,
                "seconds": time.as_secs_f64(),
            });
            (name.to_string(), entry)
        });
        Value::Object(entries.collect::<Map<String, Value>>())
    }
}

impl AddAssign for Ledger {
    fn add_assign(&mut self, other: Ledger) {
        for (mine, others) in self.0.iter_mut().zip(other.0) {
            mine.0 += others.0;
            mine.1 += others.1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_add_up_by_purpose() {
        let mut one = Ledger::default();
        let spent = |runs, events| Spent { runs, events };
        one.enter(Purpose::Searching, spent(3, 70), Instant::now());
        let mut both = one;
        both.enter(Purpose::Replaying, spent(20, 400), Instant::now());
        both += one;
        let told = both.as_json();
        assert_eq!(told["searching"]["runs"], json!(6));
        assert_eq!(told["searching"]["events"], json!(140));
        assert_eq!(told["replaying"]["runs"], json!(20));
        assert_eq!(told["calming"]["runs"], json!(0));
    }
}
