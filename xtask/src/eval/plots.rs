//! The results as pictures.

use super::measure::Measured;
use super::settings::Settings;
use crate::plot::{Axis, Curve, Dot, Row, curves, rows};

/// A picture and what it shows.
pub struct Plot {
    pub title: &'static str,
    pub caption: String,
    pub drawing: String,
}

/// Every picture that there is something to see in.
pub fn all(settings: &Settings, results: &[Measured]) -> Vec<Plot> {
    let plots = [
        schedules(settings, results),
        found_within(settings, results),
        reduction(results),
        switches(results),
        breakpoints(results),
    ];
    plots.into_iter().flatten().collect()
}

fn names(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| word.to_string()).collect()
}

/// Rows of exhibits; those without dots are left out. No picture without rows.
fn by_exhibit(
    results: &[Measured],
    axis: &Axis,
    series: &[String],
    dots: impl Fn(&Measured) -> Vec<Dot>,
) -> Option<String> {
    let all = results.iter().map(|measured| Row {
        name: measured.name.clone(),
        dots: dots(measured),
    });
    let shown: Vec<Row> = all.filter(|row| !row.dots.is_empty()).collect();
    (!shown.is_empty()).then(|| rows(axis, series, &shown))
}

/// Medians and quartiles by strategy.
fn schedules(settings: &Settings, results: &[Measured]) -> Option<Plot> {
    let dots = |measured: &Measured| {
        let dots = measured.hunts.iter().filter_map(|hunts| {
            let [low, median, high] = hunts.runs_summary().quartiles;
            Some(Dot {
                series: { settings.strategies.iter() }.position(|name| *name == hunts.strategy)?,
                value: median?,
                spread: low.zip(high),
            })
        });
        dots.collect()
    };
    let axis = Axis::by_factors("schedules to the first bug");
    Some(Plot {
        title: "Schedules to the first bug",
        caption: format!(
            "Median and quartiles of up to {} hunts with different seeds; a strategy that finds the bug in less than half of them has no dot.",
            settings.trials
        ),
        drawing: by_exhibit(results, &axis, &names(settings.strategies), dots)?,
    })
}

/// What share of all hunts had found their bug after so many schedules.
fn found_within(settings: &Settings, results: &[Measured]) -> Option<Plot> {
    let curve = |strategy: &&str| {
        let hunts = || {
            let all = results.iter().flat_map(|measured| &measured.hunts);
            all.filter(|hunts| hunts.strategy == **strategy)
        };
        // One exhibit counts as much as any other, however many trials it had.
        let exhibits = hunts().count().max(1) as f64;
        let mut found: Vec<(f64, f64)> = hunts()
            .flat_map(|hunts| {
                let weight = 1.0 / (exhibits * hunts.runs.len() as f64);
                hunts.runs.iter().flatten().map(move |&runs| (runs, weight))
            })
            .collect();
        found.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut share = 0.0;
        let points = found.iter().flat_map(|&(runs, weight)| {
            let before = (runs, share);
            share += weight;
            [before, (runs, share)]
        });
        Curve {
            name: strategy.to_string(),
            points: points.collect(),
        }
    };
    let mut all: Vec<Curve> = settings.strategies.iter().map(curve).collect();
    let points = all.iter().flat_map(|curve| &curve.points);
    let furthest = points.map(|point| point.0).fold(1.0, f64::max);
    for curve in &mut all {
        // What was never found stays so to the end.
        let last = curve.points.last().map_or(0.0, |point| point.1);
        curve.points.push((furthest, last));
    }
    all.iter().any(|curve| curve.points.len() > 1).then(|| Plot {
        title: "Found within so many schedules",
        caption: "Share of hunts that had found their bug after so many schedules; every exhibit weighs the same.".to_string(),
        drawing: curves(&Axis::by_factors("schedules"), &Axis::even("share of hunts"), &all),
    })
}

/// Dots for figures that are there, in the order of the series.
fn figures(values: &[Option<f64>]) -> Vec<Dot> {
    let known = values.iter().enumerate().filter_map(|(series, value)| {
        Some(Dot {
            series,
            value: (*value)?,
            spread: None,
        })
    });
    known.collect()
}

fn reduction(results: &[Measured]) -> Option<Plot> {
    let axis = Axis::by_factors("events");
    let series = names(&["as found", "reduced"]);
    let dots = |it: &Measured| figures(&[it.reduced("events_before"), it.reduced("events_after")]);
    Some(Plot {
        title: "What is left of a failing execution",
        caption: "Events of the failing run, as it was found and with the threads and passes left out that the failure does not need.".to_string(),
        drawing: by_exhibit(results, &axis, &series, dots)?,
    })
}

fn switches(results: &[Measured]) -> Option<Plot> {
    let axis = Axis::by_factors("switches");
    let series = names(&["as found", "reordered", "run again"]);
    let dots = |it: &Measured| {
        figures(&[
            it.simplified("switches_before"),
            it.simplified("switches_static"),
            it.simplified("switches_dynamic"),
        ])
    };
    Some(Plot {
        title: "Switches",
        caption: "From thread to thread: as found, after reordering the same events, after running the program with simpler schedules.".to_string(),
        drawing: by_exhibit(results, &axis, &series, dots)?,
    })
}

fn breakpoints(results: &[Measured]) -> Option<Plot> {
    let axis = Axis::even("share of native runs that fail");
    let series = names(&["as it is", "with breakpoints"]);
    let dots = |it: &Measured| match it.broken("probability") {
        Some(share) => figures(&[
            it.native_per_thousand.map(|rate| rate / 1000.0),
            Some(share),
        ]),
        None => Vec::new(),
    };
    Some(Plot {
        title: "A Heisenbug becomes a Bohrbug",
        caption: "Share of runs with real threads that fail: of the program as it is, as its manifest has it, and with the breakpoints that were made from the bug.".to_string(),
        drawing: by_exhibit(results, &axis, &series, dots)?,
    })
}

#[cfg(test)]
mod tests {
    use super::super::measure::Hunts;
    use super::*;

    #[test]
    fn only_what_was_measured_is_drawn() {
        let settings = Settings::quick();
        assert!(all(&settings, &[Measured::default()]).is_empty());
        let hunts = Hunts {
            strategy: "random".to_string(),
            runs: vec![Some(4.0), None, Some(2.0)],
            seconds: vec![Some(0.1), None, Some(0.1)],
            elapsed: 0.0,
        };
        let measured = Measured {
            name: "account".to_string(),
            hunts: vec![hunts],
            ..Measured::default()
        };
        let plots = all(&settings, &[measured]);
        let titles: Vec<&str> = plots.iter().map(|plot| plot.title).collect();
        assert_eq!(
            titles,
            [
                "Schedules to the first bug",
                "Found within so many schedules"
            ]
        );
        assert!(plots[0].drawing.contains("<title>random: 4</title>"));
    }
}
