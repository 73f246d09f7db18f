//! The results as tables, ours beside the papers'.

use super::measure::{Hunts, Measured};
use super::settings::Settings;
use super::statistics::Summary;
use super::{btrigger, lean, simtrace};
use bohr_museum::Papers;

/// A table as it is printed.
pub struct Table {
    pub title: String,
    pub columns: Vec<String>,
    pub rows: Vec<Vec<String>>,
    pub notes: Vec<String>,
}

/// Every table that there is something to say about.
pub fn all(
    settings: &Settings,
    papers: &Papers,
    results: &[Measured],
) -> Result<Vec<Table>, String> {
    let schedules = "Schedules to the first bug: median (quartiles), share of trials that found it";
    let seconds = "Seconds to the first bug: median (quartiles), share of trials that found it";
    Ok(vec![
        errors(results),
        by_strategy(schedules, settings, results, 0, |hunts| {
            hunts.runs_summary()
        }),
        by_strategy(seconds, settings, results, 3, |hunts| {
            hunts.seconds_summary()
        }),
        simplified(results),
        simtrace::simplified(papers, results)?,
        lean::subjects(papers, results)?,
        lean::effect(papers, results)?,
        lean::components(papers, results)?,
        lean::effort(papers, results)?,
        lean::against_graph(papers, results)?,
        btrigger::all(results),
        btrigger::probability(papers, results)?,
        btrigger::time_to_error(papers, results)?,
    ])
}

/// What went wrong, exhibit by exhibit.
pub fn errors(results: &[Measured]) -> Table {
    let of_one = |measured: &Measured| -> Vec<Vec<String>> {
        let errors = measured.errors.iter();
        let row = |(part, error): (&String, &String)| {
            vec![
                measured.name.clone(),
                part.clone(),
                error.replace('\n', " "),
            ]
        };
        errors.map(row).collect()
    };
    Table {
        title: "Not what they say".to_string(),
        columns: ["exhibit", "part", "what is wrong"]
            .map(String::from)
            .to_vec(),
        rows: results.iter().flat_map(of_one).collect(),
        notes: Vec::new(),
    }
}

fn by_strategy(
    title: &str,
    settings: &Settings,
    results: &[Measured],
    digits: usize,
    summary: impl Fn(&Hunts) -> Summary,
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
                let hunts = |name: &&str| measured.hunts.iter().find(|it| it.strategy == **name);
                let cells = { settings.strategies.iter() }.map(|name| match hunts(name) {
                    Some(hunts) => cell(&summary(hunts), digits),
                    None => String::new(),
                });
                std::iter::once(measured.name.clone())
                    .chain(cells)
                    .collect()
            })
            .collect(),
        notes: vec![format!(
            "{} trials with different seeds, at most {} s each; a trial that found nothing counts as longest, and a strategy that found nothing in five gets no more.",
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
        let replays = measured
            .replays
            .map_or("-".to_string(), |(reproduced, replays)| {
                format!("{reproduced} of {replays}")
            });
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
            replays,
        ])
    };
    let met = results.iter().filter(|measured| {
        let left = measured.simplified("preemptive_after");
        left.is_some_and(|left| left <= measured.fewest_preemptions as f64)
    });
    Table {
        title: "Simplification".to_string(),
        columns: columns.map(String::from).to_vec(),
        notes: vec![format!(
            "{} of {} exhibits come down to the known minimum of preemptions.",
            met.count(),
            { results.iter() }
                .filter(|measured| measured.simplified.is_some())
                .count()
        )],
        rows: results.iter().filter_map(row).collect(),
    }
}
