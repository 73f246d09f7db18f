//! The results as tables, ours beside the papers'.

use super::measure::{Hunts, Measured};
use super::settings::Settings;
use super::statistics::Summary;
use super::{btrigger, lean, simtrace, twin};
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
        reduced(settings, results),
        simplified(settings, results),
        simtrace::simplified(papers, results)?,
        lean::subjects(papers, results)?,
        lean::effect(papers, results)?,
        lean::components(papers, results)?,
        lean::effort(papers, results)?,
        lean::against_graph(papers, results)?,
        btrigger::all(results),
        btrigger::probability(papers, results)?,
        btrigger::time_to_error(papers, results)?,
        twin::table(settings, results),
    ])
}

/// What went wrong, exhibit by exhibit.
pub fn errors(results: &[Measured]) -> Table {
    let of_one = |measured: &Measured| -> Vec<Vec<String>> {
        let errors = measured.errors.iter();
        let row = |(part, error): (&String, &String)| {
            vec![measured.name.clone(), part.clone(), told(error)]
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

/// What a cell has room for: the first line, and the first that names an error.
fn told(error: &str) -> String {
    let mut lines = { error.lines() }
        .map(str::trim)
        .filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let named = lines.find(|line| line.contains("error"));
    named.map_or(first.to_string(), |named| format!("{first} {named}"))
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
                    Some(hunts) => {
                        let cell = cell(&summary(hunts), digits);
                        let trials = hunts.runs.len();
                        match trials as u64 == settings.trials_of(name) {
                            true => cell,
                            false => format!("{cell} of {trials}"),
                        }
                    }
                    None => String::new(),
                });
                std::iter::once(measured.name.clone())
                    .chain(cells)
                    .collect()
            })
            .collect(),
        notes: vec![format!(
            "{}; a trial that found nothing counts as longest. Where there were fewer, since the exhibit had been hunted for {} s, their number stands behind the share.",
            settings.trials_told(),
            settings.hunting
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

/// Of which size the minima are that manifests know, where that is not the size that ran.
fn minima_told(settings: &Settings) -> &'static str {
    match settings.full_size {
        true => "",
        false => " The known minimum is that of the default size, which was not run.",
    }
}

/// Which threads reduction leaves, and what the manifests know.
fn reduced(settings: &Settings, results: &[Measured]) -> Table {
    let columns = [
        "exhibit",
        "bug of",
        "threads",
        "left",
        "of these in one piece",
        "known minimum",
    ];
    let row = |measured: &Measured| {
        Some(vec![
            measured.name.clone(),
            origin(measured),
            measured.reduced("threads_before")?.to_string(),
            measured.threads_left()?.to_string(),
            measured.reduced("threads_serial")?.to_string(),
            measured.fewest_threads.to_string(),
        ])
    };
    let left = results
        .iter()
        .filter_map(|it| Some((it.threads_left()?, it.fewest_threads)));
    let left: Vec<(f64, u64)> = left.collect();
    let met = left.iter().filter(|(left, least)| *left == *least as f64);
    Table {
        title: "Threads left by reduction".to_string(),
        columns: columns.map(String::from).to_vec(),
        notes: vec![format!(
            "{} of {} exhibits come down to the known minimum of threads.{}",
            met.count(),
            left.len(),
            minima_told(settings)
        )],
        rows: results.iter().filter_map(row).collect(),
    }
}

/// Which hunt the bug comes from that was taken further.
fn origin(measured: &Measured) -> String {
    let bug = measured.bug.as_ref();
    bug.map_or("-".to_string(), |bug| {
        format!("{}, trial {}", bug.strategy, bug.trial)
    })
}

/// What simplification did, and what the manifests know.
fn simplified(settings: &Settings, results: &[Measured]) -> Table {
    let columns = [
        "exhibit",
        "bug of",
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
            origin(measured),
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
        left == Some(measured.fewest_preemptions as f64)
    });
    Table {
        title: "Simplification".to_string(),
        columns: columns.map(String::from).to_vec(),
        notes: vec![format!(
            "{} of {} exhibits come down to the known minimum of preemptions.{}",
            met.count(),
            { results.iter() }
                .filter(|measured| measured.simplified.is_some())
                .count(),
            minima_told(settings)
        )],
        rows: results.iter().filter_map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_long_error_is_told_in_short() {
        let error = "x does not build:\nmain.c:3:1: error: expected ';'\n  3 | int\n";
        assert_eq!(
            told(error),
            "x does not build: main.c:3:1: error: expected ';'"
        );
        assert_eq!(told("not found in 3 runs"), "not found in 3 runs");
    }

    #[test]
    fn threads_in_one_piece_are_left_and_less_than_the_minimum_is_not_it() {
        let of = |after: u64, serial: u64, least: u64| Measured {
            reduced: Some(json!({
                "threads_before": 5, "threads_after": after, "threads_serial": serial,
            })),
            fewest_threads: least,
            ..Measured::default()
        };
        let table = reduced(&Settings::full(), &[of(2, 1, 3), of(2, 0, 3)]);
        assert_eq!(table.rows[0][2..], ["5", "3", "1", "3"].map(String::from));
        assert!(table.notes[0].starts_with("1 of 2"), "{}", table.notes[0]);
    }

    #[test]
    fn fewer_trials_than_asked_for_are_told() {
        let hunts = |trials: usize| Measured {
            hunts: vec![Hunts {
                strategy: "random".to_string(),
                runs: vec![Some(3.0); trials],
                seconds: vec![Some(0.1); trials],
                elapsed: 0.0,
            }],
            ..Measured::default()
        };
        let settings = Settings::full();
        let results = [hunts(20), hunts(5)];
        let table = by_strategy("", &settings, &results, 0, Hunts::runs_summary);
        assert_eq!(table.rows[0][2], "3 (3, 3), 100 %");
        assert_eq!(table.rows[1][2], "3 (3, 3), 100 % of 5");
    }
}
