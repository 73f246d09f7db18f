//! Recorded failing runs by the hundred: every schedule that the solver returns has to
//! replay, and what it does not solve is told with the reason.

use super::recorded::Case;
use crate::eval::tables::Table;
use bohr_museum::Exhibit;
use std::collections::BTreeMap;
use std::path::Path;

/// Runs over all exhibits.
const RUNS: usize = 1000;

/// The environment's say in that, for a shorter evaluation.
const VARIABLE: &str = "BOHR_EVAL_RUNS";

/// What came of the runs of one exhibit.
#[derive(Default)]
struct Counts {
    recorded: usize,
    solved: usize,
    replayed: usize,
    reasons: BTreeMap<String, usize>,
}

/// How many failing runs there are to be.
fn wanted() -> usize {
    let told = std::env::var(VARIABLE).ok();
    told.and_then(|told| told.parse().ok()).unwrap_or(RUNS)
}

/// Records failing runs of all exhibits under control, with seeds of their own, solves
/// and replays them; the table, and what does not replay.
pub fn evaluate(bohr: &Path, exhibits: &[Exhibit]) -> (Table, Vec<String>) {
    let share = wanted().div_ceil(exhibits.len().max(1));
    let mut rows = Vec::new();
    let mut wrong = Vec::new();
    let mut total = Counts::default();
    for exhibit in exhibits {
        let name = &exhibit.manifest.name;
        let counts = runs(bohr, exhibit, share);
        println!("{name:24} {}", counts.cells().join(", "));
        if counts.replayed < counts.solved {
            wrong.push(format!("{name}: a schedule does not replay"));
        }
        total.add(&counts);
        rows.push([vec![name.clone()], counts.cells()].concat());
    }
    rows.push([vec!["all".to_string()], total.cells()].concat());
    let columns = [
        "exhibit",
        "recorded",
        "solved",
        "replayed",
        "not solved because",
    ];
    let table = Table {
        title: "Failing runs, recorded, solved by constraints and replayed".to_string(),
        columns: columns.map(String::from).to_vec(),
        rows,
        notes: vec![format!(
            "Recorded under control, with time slices that a seed gives. {VARIABLE} says how many."
        )],
    };
    (table, wrong)
}

fn runs(bohr: &Path, exhibit: &Exhibit, share: usize) -> Counts {
    let mut counts = Counts::default();
    let case = match Case::new(bohr, exhibit) {
        Ok(case) => case,
        Err(why) => {
            counts.note(&why);
            return counts;
        }
    };
    let mut seed = 0;
    for _ in 0..share {
        match case.record_under_control(seed) {
            Ok(told) => seed += told["runs"].as_u64().unwrap_or(1),
            Err(why) => {
                counts.note(&why);
                break;
            }
        }
        counts.recorded += 1;
        match case.solve(&["--by", "order"], "1") {
            Ok(told) => {
                counts.solved += 1;
                counts.replayed += usize::from(told["replayed"].as_u64() == Some(1));
            }
            Err(why) => counts.note(&why),
        }
    }
    counts
}

impl Counts {
    fn note(&mut self, why: &str) {
        let first = why.lines().next().unwrap_or_default().replace('|', "/");
        *self.reasons.entry(first).or_default() += 1;
    }

    fn add(&mut self, other: &Counts) {
        self.recorded += other.recorded;
        self.solved += other.solved;
        self.replayed += other.replayed;
    }

    fn cells(&self) -> Vec<String> {
        let reasons = self.reasons.iter();
        let reasons: Vec<String> = reasons
            .map(|(why, times)| format!("{times}: {why}"))
            .collect();
        let numbers = [self.recorded, self.solved, self.replayed];
        let numbers = numbers.iter().map(ToString::to_string);
        numbers.chain([reasons.join("; ")]).collect()
    }
}
