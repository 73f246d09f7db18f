//! What simplification came to, for people and for programs.

use crate::shell_word::as_word;
use bohr_event::ThreadPath;
use bohr_event::control::Recorded;
use bohr_reduce::Cost;
use serde_json::json;
use std::fmt::Write;
use std::path::Path;

/// The figures of both steps.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub events: u64,
    pub threads: u64,
    pub shared_variables: Option<u64>,
    pub graph_nodes: Option<u64>,
    /// Switches that every order of the same events has at least.
    pub fewest_possible: Option<u64>,
    pub optimal: bool,
    /// Why the events could not be reordered.
    pub static_refused: Option<String>,
    pub before: Cost,
    /// What an earlier call has left, if that is where this one began.
    pub earlier: Option<Cost>,
    pub after_static: Cost,
    pub after: Cost,
    pub seconds_static: f64,
    pub seconds_dynamic: f64,
    /// Whether what is written was executed and failed in the same way; where the
    /// events were reordered, also whether they came out the same.
    pub verified: bool,
    /// Whether all schedules with fewer preemptions were tried.
    pub fewest_preemptions: bool,
    pub runs: u64,
    /// Whether somebody ended it.
    pub interrupted: bool,
    /// Whether it was a bare trace, without a program to run.
    pub is_trace: bool,
    /// Whether it is known what threads were about to do at the end.
    pub pending_known: bool,
}

/// How many of these threads are no store buffers.
pub fn programs_own(threads: &[ThreadPath]) -> u64 {
    let own = threads.iter().filter(|path| path.buffer_of().is_none());
    own.count() as u64
}

impl Report {
    pub fn new(recorded: &Recorded, before: Cost) -> Report {
        Report {
            events: recorded.steps.len() as u64,
            threads: programs_own(&recorded.threads),
            verified: true,
            pending_known: true,
            before,
            after_static: before,
            after: before,
            ..Report::default()
        }
    }

    /// Begins with what an earlier call has left.
    pub fn go_on_from(&mut self, earlier: Cost) {
        self.earlier = Some(earlier);
        (self.after_static, self.after) = (earlier, earlier);
    }

    pub fn take_static(&mut self, report: &bohr_reduce::Report) {
        self.shared_variables = Some(report.shared_variables);
        self.graph_nodes = Some(report.graph_nodes);
        self.fewest_possible = Some(report.fewest_possible);
        self.optimal = report.optimal;
    }

    pub fn as_json(&self, path: &Path) -> serde_json::Value {
        json!({
            "events": self.events,
            "threads": self.threads,
            "shared_variables": self.shared_variables,
            "graph_nodes": self.graph_nodes,
            "switches_before": self.before.switches,
            "switches_earlier": self.earlier.map(|cost| cost.switches),
            "switches_static": self.after_static.switches,
            "switches_dynamic": self.after.switches,
            "preemptive_before": self.before.preemptive,
            "preemptive_earlier": self.earlier.map(|cost| cost.preemptive),
            "preemptive_static": self.after_static.preemptive,
            "preemptive_after": self.after.preemptive,
            "fewest_static": self.fewest_possible,
            "optimal_static": self.optimal,
            "static_refused": self.static_refused,
            "fewest_preemptions": self.fewest_preemptions,
            "seconds_static": self.seconds_static,
            "seconds_dynamic": self.seconds_dynamic,
            "runs": self.runs,
            "interrupted": self.interrupted,
            "verified": self.verified,
            "pending_known": self.pending_known,
            (if self.is_trace { "trace_file" } else { "bug_file" }): path,
        })
    }

    pub fn as_text(&self, path: &Path) -> String {
        let mut text = String::new();
        let mut line = |words: std::fmt::Arguments<'_>| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{words}");
        };
        line(format_args!(
            "{} events of {} threads: {}",
            self.events,
            self.threads,
            in_words(self.before)
        ));
        if let Some(earlier) = self.earlier {
            line(format_args!(
                "goes on from what an earlier call found: {}",
                in_words(earlier)
            ));
        }
        if self.fewest_possible.is_some() {
            let note = match (self.verified, self.optimal) {
                (false, _) => ", not reproduced and therefore not used".to_string(),
                (true, true) => ", the fewest possible".to_string(),
                (true, false) => format!(
                    ", every order has at least {}",
                    self.fewest_possible.unwrap_or(0)
                ),
            };
            line(format_args!(
                "same events reordered: {}{note} ({:.1} s)",
                in_words(self.after_static),
                self.seconds_static
            ));
        }
        if self.seconds_dynamic > 0.0 {
            let note = match self.fewest_preemptions {
                true => ", no schedule needs fewer preemptions",
                false => "",
            };
            line(format_args!(
                "after {} runs: {}{note} ({:.1} s)",
                self.runs,
                in_words(self.after),
                self.seconds_dynamic
            ));
        }
        if self.interrupted {
            line(format_args!("interrupted: this is the best until then"));
        }
        if !self.pending_known {
            line(format_args!(
                "the trace does not tell what threads were about to do at its end: who waited \
                 there may not wait any more, and preemptions of those who did nothing more \
                 are not counted"
            ));
        }
        line(format_args!("written to {}", path.display()));
        if !self.is_trace {
            line(format_args!("next: bohr explain {}", as_word(path)));
        }
        text
    }
}

fn in_words(cost: Cost) -> String {
    let s = if cost.switches == 1 { "" } else { "es" };
    format!(
        "{} switch{s}, {} of them preemptive",
        cost.switches, cost.preemptive
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_can_be_copied() {
        let word = |path: &str| as_word(Path::new(path));
        assert_eq!(word("/tmp/a-b/cache.bohr"), "/tmp/a-b/cache.bohr");
        assert_eq!(word("my bug.bohr"), "'my bug.bohr'");
        assert_eq!(word("it's"), r"'it'\''s'");
        assert_eq!(word("$HOME"), "'$HOME'");
    }
}
