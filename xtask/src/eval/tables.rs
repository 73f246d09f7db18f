//! The results as tables, ours beside the papers'.

use super::Settings;
use super::measure::Measured;
use super::statistics::Summary;
use bohr_museum::{Cell, Papers};

/// A table as it is printed.
pub struct Table {
    pub title: String,
    pub columns: Vec<String>,
    pub rows: Vec<Vec<String>>,
    pub notes: Vec<String>,
}

/// Every table that there is something to say about.
pub fn all(settings: &Settings, results: &[Measured]) -> Result<Vec<Table>, String> {
    let papers = Papers::load().map_err(|error| error.to_string())?;
    let schedules = "Schedules to the first bug: median (quartiles), share of trials that found it";
    let seconds = "Seconds to the first bug: median (quartiles), share of trials that found it";
    Ok(vec![
        by_strategy(schedules, settings, results, 0, |hunts| {
            hunts.runs_summary()
        }),
        by_strategy(seconds, settings, results, 3, |hunts| {
            hunts.seconds_summary()
        }),
        simplified(results),
        simtrace(&papers, results)?,
    ])
}

fn by_strategy(
    title: &str,
    settings: &Settings,
    results: &[Measured],
    digits: usize,
    summary: impl Fn(&super::measure::Hunts) -> Summary,
) -> Table {
    let names = settings.strategies.iter().map(|name| name.to_string());
    Table {
        title: title.to_string(),
        columns: std::iter::once("exhibit".to_string())
            .chain(names)
            .collect(),
        rows: results
            .iter()
            .map(|measured| {
                let cells = measured
                    .hunts
                    .iter()
                    .map(|hunts| cell(&summary(hunts), digits));
                std::iter::once(measured.name.clone())
                    .chain(cells)
                    .collect()
            })
            .collect(),
        notes: vec![format!(
            "{} trials with different seeds, at most {} s each; a trial that found nothing counts as longest.",
            settings.trials, settings.seconds
        )],
    }
}

fn cell(summary: &Summary, digits: usize) -> String {
    let [low, middle, high] = summary
        .quartiles
        .map(|value| value.map_or("-".to_string(), |value| format!("{value:.digits$}")));
    let share = summary.success * 100.0;
    format!("{middle} ({low}, {high}), {share:.0} %")
}

/// What simplification did, and what the manifests know.
fn simplified(results: &[Measured]) -> Table {
    let columns = [
        "exhibit",
        "threads",
        "events",
        "switches",
        "reordered",
        "rerun",
        "preemptions left",
        "known minimum",
        "proven",
        "replays",
    ];
    let row = |measured: &Measured| {
        let report = measured.simplified.as_ref()?;
        let field = |name: &str| report[name].to_string();
        let (reproduced, replays) = measured.replays?;
        Some(vec![
            measured.name.clone(),
            field("threads"),
            field("events"),
            field("switches_before"),
            field("switches_static"),
            field("switches_dynamic"),
            field("preemptive_after"),
            measured.fewest_preemptions.to_string(),
            field("fewest_preemptions"),
            format!("{reproduced} of {replays}"),
        ])
    };
    let met = results.iter().filter(|measured| {
        let report = measured.simplified.as_ref();
        let left = report.and_then(|report| report["preemptive_after"].as_u64());
        left.is_some_and(|left| left <= measured.fewest_preemptions)
    });
    Table {
        title: "Simplification".to_string(),
        columns: columns.map(String::from).to_vec(),
        notes: vec![format!(
            "{} of {} exhibits come down to the known minimum of preemptions.",
            met.count(),
            results.len()
        )],
        rows: results.iter().filter_map(row).collect(),
    }
}

/// SimTrace's Table 1, for the exhibits that mirror its rows.
fn simtrace(papers: &Papers, results: &[Measured]) -> Result<Table, String> {
    let name = ("simtrace", "1");
    let table = papers
        .table(name.0, name.1)
        .ok_or("papers.toml has no Table 1 of SimTrace")?;
    let paper = papers.paper(name.0).ok_or("papers.toml has no SimTrace")?;
    let mut rows = Vec::new();
    for measured in results {
        let mirrors = measured.mirrors.iter();
        let mirrored =
            mirrors.filter(|mirror| (mirror.paper.as_str(), mirror.table.as_str()) == name);
        for mirror in mirrored {
            let theirs = |column: &str| table.cell(&mirror.row, column);
            rows.extend(beside(measured, &mirror.row, theirs));
        }
    }
    let columns = [
        "subject",
        "exhibit",
        "threads",
        "events",
        "switches",
        "simplified",
        "reduction %",
        "seconds",
        "events of theirs per one of ours",
    ];
    Ok(Table {
        title: format!(
            "{}, Table {} ({}; theirs / ours)",
            paper.title, table.table, paper.venue
        ),
        columns: columns.map(String::from).to_vec(),
        rows,
        notes: vec![
            format!("Theirs was measured on: {}.", paper.machine),
            "Simplified by reordering alone, as theirs is.".to_string(),
        ],
    })
}

fn beside<'a>(
    measured: &Measured,
    subject: &str,
    theirs: impl Fn(&str) -> Option<&'a Cell>,
) -> Option<Vec<String>> {
    let report = measured.simplified.as_ref()?;
    let ours = |name: &str| report[name].as_f64();
    let (before, after) = (ours("switches_before")?, ours("switches_static")?);
    let reduction = 100.0 * (1.0 - after / before.max(1.0));
    let text = |column: &str| theirs(column).map_or("-".to_string(), ToString::to_string);
    let pair = |column: &str, ours: String| format!("{} / {ours}", text(column));
    let number = |column: &str| match theirs(column) {
        Some(Cell::Integer(number)) => Some(*number as f64),
        _ => None,
    };
    let factor = number("events")? / ours("events")?.max(1.0);
    Some(vec![
        subject.to_string(),
        measured.name.clone(),
        pair("threads", report["threads"].to_string()),
        pair("events", report["events"].to_string()),
        pair("switches", report["switches_before"].to_string()),
        pair("simplified switches", report["switches_static"].to_string()),
        pair("reduction %", format!("{reduction:.0}")),
        pair("time", format!("{:.3}", ours("seconds_static")?)),
        format!("{factor:.1}"),
    ])
}
