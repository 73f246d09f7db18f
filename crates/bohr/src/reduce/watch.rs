//! Where the time goes that no stage takes.

use serde_json::{Map, Value, json};
use std::time::{Duration, Instant};

/// Tells pieces of work apart by when they end.
#[derive(Clone, Debug)]
pub struct Watch {
    since: Instant,
    taken: Vec<(&'static str, Duration)>,
}

impl Watch {
    pub fn start() -> Watch {
        Watch {
            since: Instant::now(),
            taken: Vec::new(),
        }
    }

    /// Forgets the time since the last piece ended.
    pub fn go_on(&mut self) {
        self.since = Instant::now();
    }

    /// A piece of work has ended.
    pub fn ended(&mut self, work: &'static str) {
        let time = self.since.elapsed();
        match self.taken.iter_mut().find(|known| known.0 == work) {
            Some(known) => known.1 += time,
            None => self.taken.push((work, time)),
        }
        self.go_on();
    }

    /// Seconds by piece of work.
    pub fn as_json(&self) -> Value {
        let taken = self.taken.iter();
        let taken = taken.map(|(work, time)| (work.to_string(), json!(time.as_secs_f64())));
        Value::Object(taken.collect::<Map<String, Value>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_added_up_by_name() {
        let mut watch = Watch::start();
        watch.ended("replays");
        watch.ended("report");
        watch.since -= Duration::from_secs(7);
        watch.ended("replays");
        watch.since -= Duration::from_secs(9);
        watch.go_on();
        watch.ended("report");
        let taken = watch.as_json();
        assert_eq!(taken.as_object().map(Map::len), Some(2));
        assert!(taken["replays"].as_f64() >= Some(7.0), "{taken}");
        assert!(taken["report"].as_f64() < Some(7.0), "{taken}");
    }
}
