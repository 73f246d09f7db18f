//! What reduction came to, for people and for programs.

use super::criterion::Refusals;
use super::input::Shrunk;
use super::ledger::Ledger;
use super::size::Size;
use super::stores::OmittedStores;
use crate::shell_word::as_word;
use bohr_event::control::OmittedPasses;
use bohr_reduce::execution_reduction::Irrelevant;
use bohr_reduce::reduction::{Cut, Spent, Stage};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

/// Why a reduction went no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All was tried that is worth it.
    ByItself,
    /// The user wanted it.
    Interrupted,
    /// There was no time left.
    OutOfTime,
}

const INTERRUPTED: &str = "interrupted: this is the best until then; the same command goes on \
from here, with --resume where it has -o";

const OUT_OF_TIME: &str = "time was over (--time) before all was tried; the same command goes on \
from here, with --resume where it has -o";

const TOO_MANY: &str = "not each pass that is left was tried by itself: they are too many for a run \
of that length";

const NOT_EVALUATED: &str = "note: no good run comes by the place of the failure, so that \
nobody knows whether what is left fails for the same reason";

const SEQUENTIAL: &str = "note: it fails also when the threads run one after the other, so that only \
the failure itself was asked of each candidate";

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
    /// The smaller input, if one was asked for.
    pub input: Option<Shrunk>,
    /// Whether the failure needs no interleaving.
    pub sequential: bool,
    /// Whether good runs come by the place of the failure.
    pub evaluated: bool,
    /// Where these are.
    pub evaluated_places: Vec<String>,
    /// Stores that do not happen any more, since nothing comes of them.
    pub stores_left_out: Vec<OmittedStores>,
    /// Why candidates were refused.
    pub refusals: Refusals,
    /// Whether each thread and pass that is left was tried by itself.
    pub minimal: bool,
    /// Why it went no further.
    pub ended: Ended,
    /// What is left out.
    pub cut: Cut,
    /// What all runs took.
    pub spent: Spent,
    /// What they were made for.
    pub ledger: Ledger,
    /// Seconds of a run in which next to nothing happens.
    pub least_run: f64,
    /// Seconds that no stage took, by what they were spent on.
    pub elsewhere: Value,
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
                "runs": stage.spent.runs,
                "events_run": stage.spent.events,
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
            "input_bytes_before": self.input.as_ref().map(|input| input.before),
            "input_bytes_after": self.input.as_ref().map(|input| input.after),
            "input_file": self.input.as_ref().and_then(|input| Some(input.file.as_ref()?.to_string_lossy())),
            "sequential": self.sequential,
            "evaluated": self.evaluated_places,
            "refused": {
                "lost": self.refusals.lost,
                "sequential": self.refusals.sequential,
                "unevaluated": self.refusals.unevaluated,
                "unjoined": self.refusals.unjoined,
                "unsteady": self.refusals.unsteady,
                "restless": self.refusals.restless,
            },
            "minimal": self.minimal,
            "interrupted": self.ended == Ended::Interrupted,
            "without_threads": self.cut.without.threads.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "without_iterations": self.cut.without.iterations.iter().filter_map(passes).collect::<Vec<_>>(),
            "calls_left_out": after.calls_left_out,
            "stores_left_out": after.stores_left_out,
            "without_stores": self.stores_left_out.iter().map(store).collect::<Vec<_>>(),
            // What does not replay every time is no result.
            "verified": true,
            "runs": self.spent.runs,
            "events_run": self.spent.events,
            "runs_for": self.ledger.as_json(),
            "run_seconds_least": self.least_run,
            "seconds_elsewhere": self.elsewhere,
            "bug_file": path.to_string_lossy(),
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
        let text = self.table_of_sizes() + &self.table_of_stages();
        let word = as_word(path);
        let end = format!(
            "written to {}\nnext: bohr simplify {word}\n",
            path.display()
        );
        text + &self.remarks() + &end
    }

    /// The run before and after.
    fn table_of_sizes(&self) -> String {
        let (before, after) = (&self.before, &self.after);
        let removed = |before: f64, after: f64| match before > 0.0 {
            true => 100.0 * (1.0 - after / before),
            false => 0.0,
        };
        let row = |name: &str, before: u64, after: u64| {
            let removed = removed(before as f64, after as f64);
            format!("  {name:11}{before:>9}{after:>9}{removed:>8.1}%\n")
        };
        let mut text = format!("  {:11}{:>9}{:>9}{:>9}\n", "", "before", "after", "removed");
        text.push_str(&row("threads", before.threads, after.threads));
        text.push_str(&row("iterations", before.iterations, after.iterations));
        text.push_str(&row("events", before.events, after.events));
        text.push_str(&row("bytes", before.bytes, after.bytes));
        text.push_str(&row("switches", before.switches, after.switches));
        if let Some(input) = &self.input {
            text.push_str(&row("input bytes", input.before, input.after));
        }
        let (from, to) = (before.replay_seconds, after.replay_seconds);
        text.push_str(&format!(
            "  {:11}{:>7.1}ms{:>7.1}ms{:>8.1}%\n",
            "replay",
            1e3 * from,
            1e3 * to,
            removed(from, to)
        ));
        text
    }

    /// What the tables do not tell.
    fn remarks(&self) -> String {
        let (before, after) = (&self.before, &self.after);
        let mut text = String::new();
        let mut line = |words: String| text.push_str(&(words + "\n"));
        let file = self.input.as_ref().and_then(|input| input.file.as_ref());
        if let Some(file) = file {
            line(format!("the smaller input is {}", file.display()));
        }
        if let Some(relevant) = self.relevant {
            let events = after.events;
            line(format!(
                "{relevant} of the {events} events that are left matter for the failure; `bohr trace --relevant` shows them"
            ));
        }
        text_of_left_out(self).into_iter().for_each(&mut line);
        let (redundant, blocks) = (self.blocks_redundant, before.blocks);
        line(format!(
            "{redundant} of {blocks} blocks have passes that could go"
        ));
        let seconds: f64 = self.stages.iter().map(|stage| stage.1.as_secs_f64()).sum();
        line(format!("{} runs in {seconds:.1} s", self.spent.runs));
        let er = self.er.events;
        line(format!(
            "the dependence graph alone could do without {er} of {} events",
            before.events
        ));
        if after.serial > 0 {
            let serial = after.serial;
            line(format!(
                "{serial} more threads cannot go and need not be interleaved: each runs in one piece"
            ));
        }
        line(self.refused());
        line(
            match (self.minimal, self.ended) {
                (true, _) => "each thread and pass that is left was tried: none can go by itself",
                (false, Ended::Interrupted) => INTERRUPTED,
                (false, Ended::OutOfTime) => OUT_OF_TIME,
                (false, Ended::ByItself) => TOO_MANY,
            }
            .to_string(),
        );
        match self.evaluated_places.is_empty() {
            false if !self.sequential => line(format!(
                "in turn, threads come by {} and do not fail there",
                self.evaluated_places.join(" and ")
            )),
            _ if self.sequential => line(SEQUENTIAL.to_string()),
            _ if !self.evaluated => line(NOT_EVALUATED.to_string()),
            _ => {}
        }
        text
    }

    /// What was refused, by the condition that it does not meet.
    fn refused(&self) -> String {
        let Refusals {
            lost,
            sequential,
            unevaluated,
            unjoined,
            unsteady,
            restless,
        } = self.refusals;
        let all = lost + sequential + unevaluated + unjoined + unsteady + restless;
        format!(
            "{all} candidates refused: {lost} lose the failure, {sequential} fail in turn as well, {unevaluated} never come to it in turn, {unjoined} do not wait for a thread that is there, {unsteady} do not replay every time, {restless} take more switches than were found"
        )
    }
}

/// Places that are named in one line.
const SHOWN: usize = 4;

/// The calls and stores that do not happen any more.
fn text_of_left_out(report: &Report) -> Option<String> {
    let (calls, stores) = (report.after.calls_left_out, report.after.stores_left_out);
    let all = [(calls, "calls"), (stores, "stores")].into_iter();
    let counts: Vec<String> = all
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    if counts.is_empty() {
        return None;
    }
    let places = report.stores_left_out.iter().map(|one| one.place.as_str());
    let places: BTreeSet<&str> = places.collect();
    let shown: Vec<&str> = places.iter().copied().take(SHOWN).collect();
    let more = places.len() - shown.len();
    let places = match (shown.is_empty(), more) {
        (true, _) => String::new(),
        (false, 0) => format!(": stores in {}", shown.join(", ")),
        (false, more) => format!(": stores in {} and {more} more places", shown.join(", ")),
    };
    let counts = counts.join(" and ");
    Some(format!(
        "{counts} were left out, of which nothing comes that matters{places}"
    ))
}

fn store(one: &OmittedStores) -> Value {
    json!({
        "place": one.place,
        "thread": one.passes.thread.to_string(),
        "numbers": numbers(&one.passes),
    })
}

/// Passes that are left out, as `bohr run --without-iteration` takes them.
fn passes(one: &OmittedPasses) -> Option<String> {
    let (gate, thread, numbers) = (one.gate.number, &one.thread, numbers(one));
    (!numbers.is_empty()).then(|| format!("{gate}@{thread}={numbers}"))
}

/// Which passes those are.
fn numbers(one: &OmittedPasses) -> String {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for &number in &one.numbers {
        match ranges.last_mut() {
            Some(last) if last.1 + 1 == number => last.1 = number,
            _ => ranges.push((number, number)),
        }
    }
    let range = |(first, last): &(u64, u64)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    let beyond = one.beyond.map(|first| format!("{first}-"));
    let ranges: Vec<String> = ranges.iter().map(range).chain(beyond).collect();
    ranges.join(",")
}
