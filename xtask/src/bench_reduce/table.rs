//! The tables of `bench reduce`: one row for ours, and one for the paper's.

use super::{Reduced, paper};
use bohr_museum::Papers;

/// Replays that a result has to pass.
const REPLAYS: f64 = 20.0;

/// LEAN's column, our fields, and how they are headed.
const COLUMNS: [(&str, &str, &str); 4] = [
    ("size", "bytes", "bytes"),
    ("threads", "threads", "threads"),
    ("switches", "switches", "switches"),
    ("replay time", "replay_seconds", "replay"),
];

pub fn heading() {
    print!("{:18}", "exhibit");
    for (_, _, name) in COLUMNS {
        print!(" {name:>26}");
    }
    println!(
        " {:>13} {:>17} {:>6} {:>7} {:>8} {:>4}",
        "iterations", "events", "rounds", "runs", "seconds", "min"
    );
}

/// What was removed, in per cent.
fn removed(before: f64, after: f64) -> f64 {
    100.0 * (1.0 - after / before.max(f64::MIN_POSITIVE))
}

fn cell(before: f64, after: f64, field: &str) -> String {
    let shown = |number: f64| match field {
        "replay_seconds" => format!("{:.1}ms", 1e3 * number),
        _ => format!("{number:.0}"),
    };
    let percent = removed(before, after);
    format!("{}>{} {percent:.1}%", shown(before), shown(after))
}

fn pair(reduced: &Reduced, field: &str) -> (f64, f64) {
    let number = |when: &str| reduced.number(&format!("{field}_{when}"));
    (number("before"), number("after"))
}

/// Our figures.
pub fn row(reduced: &Reduced) {
    print!("{:18}", reduced.name);
    for (_, field, _) in COLUMNS {
        let (before, after) = pair(reduced, field);
        print!(" {:>26}", cell(before, after, field));
    }
    let plain = |field: &str| {
        let (before, after) = pair(reduced, field);
        format!("{before:.0}>{after:.0}")
    };
    let serial = reduced.number("threads_serial");
    let reached = match reduced.reaches_minimum() {
        true if serial > 0.0 => format!("yes, {serial:.0} serial"),
        true => "yes".to_string(),
        false => "NO".to_string(),
    };
    let reached = match reduced.is_minimal() {
        true => reached,
        false => format!("{reached}, not 1-minimal"),
    };
    println!(
        " {:>13} {:>17} {:>6} {:>7} {:>8.2} {reached:>4}",
        plain("iterations"),
        plain("events"),
        reduced.rounds(),
        reduced.number("runs"),
        reduced.seconds,
    );
}

/// The paper's below them, where there are any.
pub fn paper_row(reduced: &Reduced, papers: &Papers) {
    let Some(row) = &reduced.mirrors else {
        return;
    };
    print!("  {row:16}");
    for (column, field, _) in COLUMNS {
        let simplified = paper(papers, row, &format!("simplified {column}"));
        let told = match (paper(papers, row, column), simplified) {
            (Some(before), Some(after)) => cell(before, after, field),
            _ => "-".to_string(),
        };
        print!(" {told:>26}");
    }
    println!();
}

/// The columns in which the paper removes more.
pub fn misses(reduced: &Reduced, papers: &Papers) -> Vec<String> {
    let Some(row) = &reduced.mirrors else {
        return Vec::new();
    };
    let missed = COLUMNS.iter().filter_map(|(column, field, name)| {
        let (before, after) = pair(reduced, field);
        let theirs = removed(
            paper(papers, row, column)?,
            paper(papers, row, &format!("simplified {column}"))?,
        );
        let ours = removed(before, after);
        (ours < theirs).then(|| {
            format!(
                "{}: {name} reduced by {ours:.1} %, the paper by {theirs:.1} %: {}",
                reduced.name,
                why_not(reduced, field, before, after),
            )
        })
    });
    missed.collect()
}

/// What a column came to that is missed, and the least that it could.
fn why_not(reduced: &Reduced, field: &str, before: f64, after: f64) -> String {
    let told = match field {
        "replay_seconds" => format!("{:.2} ms of {:.2} ms", 1e3 * after, 1e3 * before),
        _ => format!("{after:.0} of {before:.0}"),
    };
    let least = match field {
        "replay_seconds" => {
            let least = reduced.number("run_seconds_least");
            format!(
                "a run that ends at its first event takes {:.2} ms",
                1e3 * least
            )
        }
        // Each has to begin, and somebody is interrupted or it would fail in turn.
        "switches" => {
            let threads = reduced.number("threads_after");
            format!(
                "{threads:.0} threads that begin take {:.0} switches",
                threads - 1.0
            )
        }
        _ => return told,
    };
    format!("{told}; {least}")
}

/// Where the time went.
pub fn profile(reduced: &Reduced) {
    let replay = reduced.number("replay_seconds_before");
    let stages = reduced.report["stages"].as_array();
    let mut profile: Vec<(String, u64, f64)> = Vec::new();
    for stage in stages.into_iter().flatten() {
        let name = stage["name"].as_str().unwrap_or_default();
        let rounds = stage["rounds"].as_u64().unwrap_or(0);
        let seconds = stage["seconds"].as_f64().unwrap_or(0.0);
        match profile.iter_mut().find(|(known, _, _)| known == name) {
            Some(known) => {
                known.1 += rounds;
                known.2 += seconds;
            }
            None => profile.push((name.to_string(), rounds, seconds)),
        }
    }
    let profile: Vec<String> = profile
        .iter()
        .map(|(name, rounds, seconds)| format!("{name} {rounds} in {seconds:.2} s"))
        .collect();
    let stages = reduced.stage_seconds();
    println!(
        "  {stages:.2} s of stages are {:.1} replays: {}",
        stages / replay.max(f64::MIN_POSITIVE),
        profile.join(", ")
    );
    let rest = reduced.seconds - stages;
    let pieces = reduced.report["seconds_elsewhere"].as_object();
    let pieces: Vec<String> = { pieces.into_iter().flatten() }
        .map(|(name, seconds)| {
            let seconds = seconds.as_f64().unwrap_or(0.0);
            format!("{} {seconds:.2} s", name.replace('_', " "))
        })
        .collect();
    println!(
        "  the rest of the command, {rest:.2} s: {}; {:.0} MB",
        pieces.join(", "),
        reduced.megabytes
    );
    let purposes = reduced.report["runs_for"].as_object();
    let purposes: Vec<String> = { purposes.into_iter().flatten() }
        .filter(|(_, made)| made["runs"] != 0)
        .map(|(name, made)| {
            let seconds = made["seconds"].as_f64().unwrap_or(0.0);
            format!(
                "{} {} in {seconds:.2} s",
                name.replace('_', " "),
                made["runs"]
            )
        })
        .collect();
    println!("  runs by what they were for: {}", purposes.join(", "));
    let of_stages = reduced.report["stages"].as_array();
    let events: f64 = { of_stages.into_iter().flatten() }
        .filter_map(|one| one["events_run"].as_f64())
        .sum();
    println!(
        "  the runs of the stages have {:.2} times the events of the run as it was found",
        events / reduced.number("events_before").max(1.0)
    );
    proof(reduced, replay);
    let (runs, least) = (reduced.number("runs"), reduced.number("run_seconds_least"));
    println!(
        "  {runs:.0} runs, {:.2} ms of the stages for each; one that ends at its first event takes {:.2} ms, as many of them {:.2} s or {:.1} replays",
        1e3 * stages / runs.max(1.0),
        1e3 * least,
        runs * least,
        runs * least / replay.max(f64::MIN_POSITIVE),
    );
}

/// What it takes at least to say of a result that it is one: so many replays, and a run
/// without each thread and each pass that is left, none of them longer than to its first
/// event. Nobody who is told the result beforehand can do with less.
fn proof(reduced: &Reduced, replay: f64) {
    let least = reduced.number("run_seconds_least");
    let threads = reduced.number("threads_after") - 1.0;
    let runs = REPLAYS + threads + reduced.number("iterations_after");
    println!(
        "  to prove the result alone takes {runs:.0} runs, {:.1} replays or more; {:.0} runs were made",
        runs * least / replay.max(f64::MIN_POSITIVE),
        reduced.number("runs"),
    );
}
