//! Recorded failing runs by the hundred: every schedule that the solver returns has to
//! replay, and what it does not solve is told with the reason.

use super::recorded::{Case, SLICE};
use super::save_part;
use crate::eval::tables::Table;
use bohr_museum::Exhibit;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Runs over all exhibits.
const RUNS: usize = 1000;

/// The environment's say in that, for a shorter evaluation.
const VARIABLE: &str = "BOHR_EVAL_RUNS";

/// Longest time of one way of solving one of them.
const TIME: &str = "10s";

/// Ways of solving; the next one gets what those before it did not solve.
const WAYS: [&str; 2] = ["order", "execution"];

/// The runs of one exhibit, and what came of them.
struct Series<'a> {
    name: String,
    case: Option<Case<'a>>,
    /// Where the next runs begin.
    seed: u64,
    counts: Counts,
}

/// What came of runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Counts {
    recorded: usize,
    /// By way.
    solved: [usize; WAYS.len()],
    replayed: usize,
    reasons: BTreeMap<String, usize>,
}

/// How many failing runs there are to be.
fn wanted() -> Result<usize, String> {
    match std::env::var(VARIABLE) {
        Ok(told) => told
            .parse()
            .map_err(|_| format!("{VARIABLE} is a number of runs, not `{told}`")),
        Err(_) => Ok(RUNS),
    }
}

/// Records failing runs of all exhibits under control, by turns, with seeds of their
/// own, solves and replays them; what does not replay.
pub fn evaluate(bohr: &Path, exhibits: &[Exhibit]) -> Result<Vec<String>, String> {
    let wanted = wanted()?;
    let mut all: Vec<Series> = exhibits.iter().map(|one| Series::of(bohr, one)).collect();
    let mut text = save(&all)?;
    while total(&all).recorded < wanted && all.iter().any(|one| one.case.is_some()) {
        let mut left = wanted - total(&all).recorded;
        for series in &mut all {
            if left > 0 && series.case.is_some() {
                let before = series.counts.recorded;
                series.one_more();
                left -= series.counts.recorded - before;
                println!("{:24} {}", series.name, series.counts.cells().join(", "));
            }
        }
        text = save(&all)?;
    }
    println!("\n{text}\nwritten to eval/results/clap-soundness.md and clap-soundness.json");
    let wrong = all.iter().filter(|one| !one.counts.is_sound());
    let wrong = wrong.map(|one| format!("{}: a schedule does not replay", one.name));
    let mut wrong: Vec<String> = wrong.collect();
    let recorded = total(&all).recorded;
    if recorded < wanted {
        wrong.push(format!(
            "only {recorded} of {wanted} failing runs could be recorded"
        ));
    }
    Ok(wrong)
}

impl<'a> Series<'a> {
    fn of(bohr: &'a Path, exhibit: &Exhibit) -> Series<'a> {
        let mut counts = Counts::default();
        let case = Case::new(bohr, exhibit);
        let case = case.map_err(|why| counts.note(&why)).ok();
        Series {
            name: exhibit.manifest.name.clone(),
            case,
            seed: 0,
            counts,
        }
    }

    /// One more failing run; an exhibit that does not fail any more is left out.
    fn one_more(&mut self) {
        let Some(case) = &self.case else { return };
        match case.record_under_control(self.seed, SLICE) {
            Ok(told) => self.seed += told["runs"].as_u64().unwrap_or(1),
            Err(why) => {
                self.counts.note(&why);
                self.case = None;
                return;
            }
        }
        let ways = WAYS.map(|way| ["--by", way]);
        let outcomes = ways.iter().map(|way| case.solve(way, TIME, "1"));
        self.counts.add_run(outcomes);
    }
}

impl Counts {
    /// A recorded run, and what the ways made of it, asked one after the other until
    /// one has a schedule.
    fn add_run(&mut self, outcomes: impl Iterator<Item = Result<Value, String>>) {
        self.recorded += 1;
        let mut reasons = Vec::new();
        for (way, outcome) in outcomes.enumerate() {
            match outcome {
                Ok(told) => {
                    self.solved[way] += 1;
                    self.replayed += usize::from(told["replayed"].as_u64() == Some(1));
                    return;
                }
                Err(why) => reasons.push(format!("{}: {}", WAYS[way], first_line(&why))),
            }
        }
        self.note(&reasons.join(", "));
    }

    fn note(&mut self, why: &str) {
        let first = first_line(why).replace('|', "/");
        *self.reasons.entry(first).or_default() += 1;
    }

    /// Whether everything that was solved replays.
    fn is_sound(&self) -> bool {
        self.replayed == self.solved.iter().sum::<usize>()
    }

    fn add(&mut self, other: &Counts) {
        self.recorded += other.recorded;
        self.replayed += other.replayed;
        for (sum, more) in self.solved.iter_mut().zip(other.solved) {
            *sum += more;
        }
    }

    fn cells(&self) -> Vec<String> {
        let reasons = self.reasons.iter();
        let reasons: Vec<String> = reasons
            .map(|(why, times)| format!("{times}: {why}"))
            .collect();
        let numbers = [&[self.recorded], &self.solved[..], &[self.replayed]].concat();
        let numbers = numbers.iter().map(ToString::to_string);
        numbers.chain([reasons.join("; ")]).collect()
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn total(all: &[Series]) -> Counts {
    let mut total = Counts::default();
    all.iter().for_each(|one| total.add(&one.counts));
    total
}

/// After every turn, so that whoever interrupts has what was counted.
fn save(all: &[Series]) -> Result<String, String> {
    let row = |name: &str, counts: &Counts| [vec![name.to_string()], counts.cells()].concat();
    let mut rows: Vec<Vec<String>> = all.iter().map(|one| row(&one.name, &one.counts)).collect();
    rows.push(row("all", &total(all)));
    let columns = [
        "exhibit",
        "recorded",
        "solved by constraints",
        "else by execution",
        "replayed",
        "not solved because",
    ];
    let table = Table {
        title: "Failing runs, recorded, solved and replayed".to_string(),
        columns: columns.map(String::from).to_vec(),
        rows,
        notes: vec![format!(
            "Recorded under control, by turns, with time slices of {SLICE} events on average that a seed gives; each way of solving has {TIME}. {VARIABLE} says how many runs."
        )],
    };
    let data: Vec<Value> = all.iter().map(as_json).collect();
    save_part("clap-soundness", "Recorded failures", table, &json!(data))
}

fn as_json(one: &Series) -> Value {
    json!({
        "exhibit": one.name,
        "recorded": one.counts.recorded,
        "solved_by_order": one.counts.solved[0],
        "solved_by_execution": one.counts.solved[1],
        "replayed": one.counts.replayed,
        "not_solved": one.counts.reasons,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_counts_for_the_first_way_that_solves_it_and_reasons_are_kept() {
        let mut counts = Counts::default();
        let solved = |replayed: u64| Ok(json!({ "replayed": replayed }));
        counts.add_run([solved(1), Err("unasked".to_string())].into_iter());
        counts.add_run([Err("too hard\nhelp".to_string()), solved(1)].into_iter());
        counts.add_run([Err("no".to_string()), Err("nor that".to_string())].into_iter());
        assert_eq!(
            (counts.recorded, counts.solved, counts.replayed),
            (3, [1, 1], 2)
        );
        assert!(counts.is_sound());
        let reasons: Vec<_> = counts.reasons.keys().collect();
        assert_eq!(reasons, ["order: no, execution: nor that"]);
        counts.add_run([solved(0)].into_iter());
        assert!(!counts.is_sound());
    }
}
