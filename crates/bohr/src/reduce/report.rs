//! What reduction came to, for people and for programs.

use super::size::Size;
use bohr_reduce::execution_reduction::Irrelevant;
use bohr_reduce::reduction::Stage;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

const NOT_EVALUATED: &str = "note: no good run comes by the place of the failure, so that \
nobody knows whether what is left fails for the same reason\n";

/// The figures before and after.
pub struct Report {
    pub before: Size,
    pub after: Size,
    pub stages: Vec<(Stage, Duration)>,
    /// Blocks of the program of which some pass was left out.
    pub blocks_redundant: u64,
    /// What the dependence graph of the run as it was found could do without.
    pub er: Irrelevant,
    /// Events of the result that matter for the failure, if a model tells.
    pub relevant: Option<u64>,
    /// Bytes of input before and after, if that was shrunk.
    pub input: Option<(u64, u64)>,
    /// Whether the failure needs no interleaving.
    pub sequential: bool,
    /// Whether good runs come by the place of the failure.
    pub evaluated: bool,
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
                "events_removed": stage.events_removed,
                "progress": stage.progress,
            })
        };
        let (before, after) = (&self.before, &self.after);
        json!({
            "threads_before": before.threads,
            "threads_after": after.threads,
            "threads_serial": after.serial,
            "events_before": before.events,
            "events_after": after.events,
            "bytes_before": before.bytes,
            "bytes_after": after.bytes,
            "switches_before": before.switches,
            "switches_after": after.switches,
            "iterations_before": before.iterations,
            "iterations_after": after.iterations,
            "replay_seconds_before": before.replay_seconds,
            "replay_seconds_after": after.replay_seconds,
            "stages": self.stages.iter().map(stage).collect::<Vec<_>>(),
            "blocks_found": before.blocks,
            "blocks_redundant": self.blocks_redundant,
            "er_events_removed": self.er.events,
            "events_relevant": self.relevant,
            "input_bytes_before": self.input.map(|input| input.0),
            "input_bytes_after": self.input.map(|input| input.1),
            "sequential": self.sequential,
            "verified": self.verified,
            "runs": self.runs,
            "bug_file": path,
        })
    }

    /// What each stage did in all its turns, and its share of what went.
    fn table_of_stages(&self) -> String {
        let mut sums: Vec<(&str, u64, f64, i64)> = Vec::new();
        for (stage, time) in &self.stages {
            let known = sums.iter().position(|sum| sum.0 == stage.name);
            let at = known.unwrap_or_else(|| {
                sums.push((stage.name, 0, 0.0, 0));
                sums.len() - 1
            });
            sums[at].1 += stage.rounds;
            sums[at].2 += time.as_secs_f64();
            sums[at].3 += stage.events_removed;
        }
        let all = (self.before.events as f64).max(1.0);
        let row = |(name, rounds, seconds, removed): &(&str, u64, f64, i64)| {
            let share = 100.0 * *removed as f64 / all;
            format!("  {name:11}{rounds:>9}{seconds:>8.1}s{removed:>9}{share:>8.1}%\n")
        };
        let heading = format!(
            "  {:11}{:>9}{:>9}{:>9}{:>9}\n",
            "stage", "rounds", "time", "events", "share"
        );
        heading + &sums.iter().map(row).collect::<String>()
    }

    pub fn as_text(&self, path: &Path) -> String {
        let (before, after) = (&self.before, &self.after);
        let row =
            |name: &str, before: u64, after: u64| format!("  {name:11}{before:>9}{after:>9}\n");
        let mut text = format!("  {:11}{:>9}{:>9}\n", "", "before", "after");
        text.push_str(&row("threads", before.threads, after.threads));
        text.push_str(&row("iterations", before.iterations, after.iterations));
        text.push_str(&row("events", before.events, after.events));
        text.push_str(&row("bytes", before.bytes, after.bytes));
        text.push_str(&row("switches", before.switches, after.switches));
        if let Some((before, after)) = self.input {
            text.push_str(&row("input bytes", before, after));
        }
        if let Some(relevant) = self.relevant {
            text.push_str(&format!(
                "{relevant} of the {} events that are left matter for the failure; `bohr trace --relevant` shows them\n",
                after.events
            ));
        }
        text.push_str(&format!(
            "  {:11}{:>7.1}ms{:>7.1}ms\n",
            "replay",
            1e3 * before.replay_seconds,
            1e3 * after.replay_seconds
        ));
        text.push_str(&self.table_of_stages());
        text.push_str(&format!(
            "{} of {} blocks have passes that could go\n",
            self.blocks_redundant, before.blocks
        ));
        let seconds: f64 = self.stages.iter().map(|stage| stage.1.as_secs_f64()).sum();
        text.push_str(&format!("{} runs in {seconds:.1} s\n", self.runs));
        text.push_str(&format!(
            "the dependence graph alone could do without {} of {} events\n",
            self.er.events, before.events
        ));
        if after.serial > 0 {
            text.push_str(&format!(
                "{} more threads cannot go and need not be interleaved: each runs in one piece\n",
                after.serial
            ));
        }
        if self.sequential {
            text.push_str("note: it fails also when the threads run one after the other\n");
        }
        if !self.evaluated {
            text.push_str(NOT_EVALUATED);
        }
        if !self.verified {
            text.push_str("note: the result did not replay every time; `bohr check` looks why\n");
        }
        let path = path.display();
        text.push_str(&format!("written to {path}\nnext: bohr simplify {path}\n"));
        text
    }
}
