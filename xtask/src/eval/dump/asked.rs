//! What all of it has to come to, and whether it does.

use super::super::measure::Measured;
use super::super::tables::Table;
use super::Programs;
use super::tables::{number, overheads};
use bohr_museum::Papers;

/// The tries within which a search that is guided by time should end.
pub const FEW_TRIES: u64 = 10;

/// A figure and its bound.
struct Figure {
    what: String,
    measured: Option<f64>,
    bound: Bound,
}

enum Bound {
    Least(f64),
    Most(f64),
}

impl Figure {
    fn least(what: impl Into<String>, measured: Option<f64>, bound: f64) -> Figure {
        Figure {
            what: what.into(),
            measured,
            bound: Bound::Least(bound),
        }
    }

    fn most(what: impl Into<String>, measured: Option<f64>, bound: f64) -> Figure {
        Figure {
            what: what.into(),
            measured,
            bound: Bound::Most(bound),
        }
    }

    /// Whether it is as it should be; nobody knows if it was not measured.
    fn is_met(&self) -> Option<bool> {
        let measured = self.measured?;
        Some(match self.bound {
            Bound::Least(bound) => measured >= bound,
            Bound::Most(bound) => measured <= bound,
        })
    }

    fn row(&self) -> Vec<String> {
        let bound = match self.bound {
            Bound::Least(bound) => format!("at least {bound}"),
            Bound::Most(bound) => format!("at most {bound}"),
        };
        let measured = self.measured.map(|measured| format!("{measured:.2}"));
        let verdict = match self.is_met() {
            Some(true) => "met",
            Some(false) => "MISSED",
            None => "not measured",
        };
        let measured = measured.unwrap_or_else(|| "-".into());
        vec![self.what.clone(), measured, bound, verdict.into()]
    }
}

/// All figures, and what is wrong with those that were measured. Bounds that are about
/// all of the paper's bugs are held against all of them only.
pub fn table(papers: &Papers, results: &[Measured], programs: &Programs) -> (Table, Vec<String>) {
    let figures = figures(papers, results, programs);
    let missed = { figures.iter() }.filter(|figure| figure.is_met() == Some(false));
    let missed = missed.map(|figure| format!("missed: {}", figure.row().join(", ")));
    let table = Table {
        title: "What is asked of all of it".into(),
        columns: ["figure", "measured", "asked", "verdict"]
            .map(String::from)
            .into(),
        rows: figures.iter().map(Figure::row).collect(),
        notes: vec![
            "An unguided search that was cut off counts with the tries that it had made, a lower \
             bound. Seconds are those of the whole command on this machine, as busy as it was."
                .into(),
        ],
    };
    (table, missed.collect())
}

fn figures(papers: &Papers, results: &[Measured], programs: &Programs) -> Vec<Figure> {
    let bugs = papers
        .table("dumps", "2")
        .map_or(0, |table| table.names().count());
    let each = |measurement: &'static str, field: &'static str| {
        let all = { results.iter() }.map(move |it| number(it, measurement, field));
        all.collect::<Option<Vec<f64>>>()
            .filter(|all| !all.is_empty())
    };
    let largest = |all: Vec<f64>| all.into_iter().fold(f64::NEG_INFINITY, f64::max);
    let smallest = |all: Vec<f64>| all.into_iter().fold(f64::INFINITY, f64::min);
    let sum = |all: Vec<f64>| all.iter().sum::<f64>();
    let is_whole = results.len() == bugs;
    let reproduced = |most: Option<u64>| {
        let within = results.iter().filter(|it| {
            let told = it.dumped.get("temporal");
            told.is_some_and(|told| {
                let tries = told["tries"].as_u64();
                told["reproduced"] == true && most.is_none_or(|most| tries <= Some(most))
            })
        });
        is_whole.then(|| within.count() as f64)
    };
    let fewer = || {
        let fewer = sum(each("none", "tries")?) / sum(each("temporal", "tries")?).max(1.0);
        is_whole.then_some(fewer)
    };
    let overheads = overheads(results, programs);
    let mean = sum(overheads.clone()) / overheads.len() as f64;
    let measured = |figure: f64| (!overheads.is_empty()).then_some(figure);
    let read = |field: &str, unit: f64| Some(programs.reading.as_ref()?[field].as_f64()? / unit);
    let time = |guide: &'static str| each(guide, "seconds").map(largest);
    vec![
        Figure::least(
            "million instructions before the failure, the shortest",
            each("length", "instructions").map(|all| smallest(all) / 1e6),
            100.0,
        ),
        Figure::least(
            "bugs reproduced, guided by time",
            reproduced(None),
            bugs as f64,
        ),
        Figure::least(
            format!("bugs reproduced within {FEW_TRIES} tries, guided by time"),
            reproduced(Some(FEW_TRIES)),
            bugs.saturating_sub(1) as f64,
        ),
        Figure::least(
            "tries of plain CHESS over those guided by time",
            fewer(),
            20.0,
        ),
        Figure::most(
            "seconds of the command, guided by time, the longest",
            time("temporal"),
            60.0,
        ),
        Figure::most(
            "seconds of the command, guided by dependence, the longest",
            time("dependence"),
            60.0,
        ),
        Figure::most(
            "overhead of production builds in percent, mean",
            measured(mean),
            1.0,
        ),
        Figure::most(
            "overhead of production builds in percent, worst",
            measured(largest(overheads.clone())),
            2.5,
        ),
        Figure::least("million bytes of a large core", read("bytes", 1e6), 150.0),
        Figure::most("seconds to read it", read("seconds", 1.0), 2.0),
        Figure::most(
            "million bytes of memory for that",
            read("peak_bytes", 1e6),
            500.0,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn measured(tries: u64, unguided: u64) -> Measured {
        let told = |tries: u64| json!({ "reproduced": true, "tries": tries, "seconds": 5.0 });
        let mut measured = Measured::default();
        let all = [
            ("temporal", told(tries)),
            ("dependence", told(tries)),
            ("none", told(unguided)),
            ("length", json!({ "instructions": 2e8, "overhead": 0.5 })),
        ];
        let all = all.map(|(name, told)| (name.to_string(), told));
        measured.dumped = all.into_iter().collect();
        measured
    }

    fn verdict(table: &Table, what: &str) -> String {
        let row = table.rows.iter().find(|row| row[0].starts_with(what));
        row.expect(what)[3].clone()
    }

    #[test]
    fn every_bound_is_held_against_what_was_measured() {
        let papers = Papers::load().expect("papers");
        let bugs = papers.table("dumps", "2").expect("a table").names().count();
        let mut results: Vec<Measured> = (0..bugs).map(|_| measured(1, 100)).collect();
        let mut programs = Programs::default();
        let (told, missed) = table(&papers, &results, &programs);
        assert!(missed.is_empty(), "{missed:?}");
        assert_eq!(verdict(&told, "seconds to read"), "not measured");
        assert_eq!(verdict(&told, "tries of plain CHESS"), "met");
        // One bug may take longer, two may not.
        results[0] = measured(11, 300);
        assert!(table(&papers, &results, &programs).1.is_empty());
        results[1] = measured(11, 300);
        programs.overheads = vec![("zstd".into(), json!({ "overhead": 2.6 }))];
        programs.reading = Some(json!({ "bytes": 150e6, "seconds": 1.0, "peak_bytes": 501e6 }));
        let (told, missed) = table(&papers, &results, &programs);
        assert_eq!(missed.len(), 3, "{missed:?}");
        assert_eq!(verdict(&told, "bugs reproduced within"), "MISSED");
        assert_eq!(verdict(&told, "million bytes of memory"), "MISSED");
        // Of one exhibit nothing is said of all.
        let (told, _) = table(&papers, &results[..1], &Programs::default());
        assert_eq!(verdict(&told, "bugs reproduced within"), "not measured");
        assert_eq!(verdict(&told, "million instructions"), "met");
    }
}
