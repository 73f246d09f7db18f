//! What reduction came to, for people and for programs.

use super::workshop::Size;
use bohr_reduce::reduction::Stage;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// The figures before and after.
pub struct Report {
    pub before: Size,
    pub after: Size,
    pub stages: Vec<(Stage, Duration)>,
    /// Whether the failure needs no interleaving.
    pub sequential: bool,
    /// Whether the result replayed every time.
    pub verified: bool,
    pub runs: u64,
}

impl Report {
    pub fn as_json(&self, path: &Path) -> Value {
        let stage = |(stage, time): &(Stage, Duration)| {
            json!({
                "name": stage.name,
                "rounds": stage.rounds,
                "seconds": time.as_secs_f64(),
                "progress": stage.progress,
            })
        };
        let (before, after) = (&self.before, &self.after);
        json!({
            "threads_before": before.threads,
            "threads_after": after.threads,
            "events_before": before.events,
            "events_after": after.events,
            "switches_before": before.switches,
            "switches_after": after.switches,
            "iterations_before": before.iterations,
            "iterations_after": after.iterations,
            "replay_seconds_before": before.replay_seconds,
            "replay_seconds_after": after.replay_seconds,
            "stages": self.stages.iter().map(stage).collect::<Vec<_>>(),
            "blocks_found": before.blocks,
            "sequential": self.sequential,
            "verified": self.verified,
            "runs": self.runs,
            "bug_file": path,
        })
    }

    pub fn as_text(&self, path: &Path) -> String {
        let (before, after) = (&self.before, &self.after);
        let row =
            |name: &str, before: u64, after: u64| format!("  {name:11}{before:>9}{after:>9}\n");
        let mut text = format!("  {:11}{:>9}{:>9}\n", "", "before", "after");
        text.push_str(&row("threads", before.threads, after.threads));
        text.push_str(&row("iterations", before.iterations, after.iterations));
        text.push_str(&row("events", before.events, after.events));
        text.push_str(&row("switches", before.switches, after.switches));
        let seconds: f64 = self.stages.iter().map(|stage| stage.1.as_secs_f64()).sum();
        text.push_str(&format!("{} runs in {seconds:.1} s\n", self.runs));
        if self.sequential {
            text.push_str("note: it fails also when the threads run one after the other\n");
        }
        if !self.verified {
            text.push_str("note: the result did not replay every time; `bohr check` looks why\n");
        }
        let path = path.display();
        text.push_str(&format!("written to {path}\nnext: bohr simplify {path}\n"));
        text
    }
}
