//! How the time of solving grows with the shared accesses of the recorded run: a bounded
//! buffer, a queue and accounts, with more and more to do. A failing run is as long as
//! its failure lets it be, so longer runs are had by longer time slices.

use super::recorded::{Case, TIME};
use super::{first_line, save_part, write};
use crate::eval::tables::Table;
use crate::plot::{Axis, Curve, curves, page_head};
use bohr_museum::Exhibit;
use serde_json::{Value, json};
use std::path::Path;

/// A bounded buffer, a queue, accounts.
const EXHIBITS: [&str; 3] = ["bounded-buffer", "idle-workers", "account"];

/// Shared accesses that the runs should have.
const SIZES: [u64; 7] = [100, 300, 1_000, 3_000, 10_000, 30_000, 100_000];

/// Time slices in a run of the wanted size, on average.
const SLICES: u64 = 20;

/// Fewest events of a slice.
const SHORTEST_SLICE: u64 = 5;

/// Runs of a size, of which the one nearest to it is solved.
const TRIES: u64 = 5;

const WAYS: [&str; 3] = ["order", "validate", "execution"];

/// One solved run.
#[derive(Clone, Debug, PartialEq)]
struct Point {
    accesses: f64,
    seconds: f64,
}

/// One way of solving one exhibit.
struct Line {
    exhibit: String,
    way: &'static str,
    points: Vec<Point>,
    /// At which size it ended, and why.
    end: Option<(u64, String)>,
}

impl Line {
    fn name(&self) -> String {
        format!("{} by {}", self.exhibit, self.way)
    }

    /// What came of a run of a size. The first one that is not solved is the last.
    fn add(&mut self, size: u64, outcome: Result<Value, String>) {
        let told = match outcome {
            Ok(told) => told,
            Err(why) => {
                self.end = Some((size, first_line(&why).to_string()));
                return;
            }
        };
        let figure = |field: &str| told[field].as_f64().unwrap_or(0.0);
        self.points.push(Point {
            accesses: figure("shared_accesses"),
            seconds: figure("seconds_symbolic") + figure("seconds_solve"),
        });
    }

    /// The largest run that was solved.
    fn largest(&self) -> Option<&Point> {
        let points = self.points.iter();
        points.max_by(|one, other| one.accesses.total_cmp(&other.accesses))
    }
}

/// Measures, prints and draws; what does not replay.
pub fn evaluate(bohr: &Path, exhibits: &[Exhibit]) -> Result<Vec<String>, String> {
    let mut lines: Vec<Line> = Vec::new();
    let mut wrong = Vec::new();
    let mut text = String::new();
    for name in EXHIBITS {
        let exhibit = exhibits.iter().find(|one| one.manifest.name == name);
        let exhibit = exhibit.ok_or_else(|| format!("there is no exhibit {name}"))?;
        let mut case = Case::new(bohr, exhibit)?;
        let first = lines.len();
        lines.extend(WAYS.map(|way| Line {
            exhibit: name.to_string(),
            way,
            points: Vec::new(),
            end: None,
        }));
        for size in SIZES {
            if lines[first..].iter().all(|line| line.end.is_some()) {
                break;
            }
            let recorded = record(&mut case, size);
            for line in lines[first..].iter_mut().filter(|line| line.end.is_none()) {
                let way = ["--by", line.way];
                let solved = recorded.clone().and_then(|()| case.solve(&way, TIME, "1"));
                if solved.as_ref().is_ok_and(|told| told["replayed"] != 1) {
                    wrong.push(format!("{}, {size}: it does not replay", line.name()));
                }
                line.add(size, solved);
                println!("{:28} {size:7}  {}", line.name(), latest(line));
            }
            text = save(&lines)?;
        }
    }
    println!(
        "\n{text}\nwritten to eval/results/clap-growth.md, clap-growth.json and clap-growth.html"
    );
    Ok(wrong)
}

/// Records a failing run, of those with a few seeds the one with the most branches:
/// the failure cuts most of them short.
fn record(case: &mut Case, size: u64) -> Result<(), String> {
    if let Some(work) = case.arguments.last_mut() {
        *work = size;
    }
    let slice = (size / SLICES).max(SHORTEST_SLICE);
    let mut longest = (0, 0);
    let mut seed = 0;
    for _ in 0..TRIES {
        let told = case.record_under_control(seed, slice)?;
        let found = seed + told["runs"].as_u64().unwrap_or(1) - 1;
        longest = longest.max((told["branches"].as_u64().unwrap_or(0), found));
        seed = found + 1;
    }
    case.record_under_control(longest.1, slice).map(drop)
}

fn latest(line: &Line) -> String {
    match (&line.end, line.points.last()) {
        (Some((_, why)), _) => format!("not solved: {why}"),
        (None, Some(point)) => format!("{} accesses, {:.3} s", point.accesses, point.seconds),
        (None, None) => String::new(),
    }
}

fn save(lines: &[Line]) -> Result<String, String> {
    let data: Vec<Value> = lines.iter().map(as_json).collect();
    let text = save_part(
        "clap-growth",
        "Growth of solving",
        table(lines),
        &json!(data),
    )?;
    write("clap-growth.html", &page(lines))?;
    Ok(text)
}

fn table(lines: &[Line]) -> Table {
    let row = |line: &Line| {
        let largest = line.largest();
        let largest = largest.map_or(["-".to_string(), "-".to_string()], |point| {
            [point.accesses.to_string(), format!("{:.3}", point.seconds)]
        });
        let end = line.end.as_ref();
        let end = end.map_or("-".to_string(), |(size, why)| format!("{size}: {why}"));
        [vec![line.name()], largest.to_vec(), vec![end]].concat()
    };
    let columns = ["", "largest run solved, shared accesses", "s", "not solved"];
    Table {
        title: "Time of solving against shared accesses".to_string(),
        columns: columns.map(String::from).to_vec(),
        rows: lines.iter().map(row).collect(),
        notes: vec![format!(
            "Symbolic execution and solving together; each way has {TIME} a run. Runs of about {SIZES:?} shared accesses were asked for; a way ends at the first that it does not solve. By execution, accesses that only one thread can notice count as well."
        )],
    }
}

fn as_json(line: &Line) -> Value {
    let points = line.points.iter();
    let points: Vec<Value> = points
        .map(|it| json!({ "shared_accesses": it.accesses, "seconds": it.seconds }))
        .collect();
    let end = line.end.as_ref();
    json!({
        "exhibit": line.exhibit,
        "by": line.way,
        "points": points,
        "not_solved": end.map(|(size, why)| json!({ "asked_for": size, "why": why })),
    })
}

fn page(lines: &[Line]) -> String {
    let curve = |line: &Line| Curve {
        name: line.name(),
        points: line
            .points
            .iter()
            .map(|it| (it.accesses, it.seconds))
            .collect(),
    };
    let drawn: Vec<Curve> = lines.iter().map(curve).collect();
    let axes = ["shared accesses", "seconds"].map(Axis::by_factors);
    format!(
        "{}<h2>Solving: time against shared accesses</h2>{}\
         <p>Measured by <code>cargo xtask eval --only clap growth</code> on {}.</p>",
        page_head("growth of solving"),
        curves(&axes[0], &axes[1], &drawn),
        bohr_museum::machine_facts()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> Line {
        Line {
            exhibit: "queue".to_string(),
            way: "order",
            points: Vec::new(),
            end: None,
        }
    }

    #[test]
    fn a_line_ends_with_what_is_not_solved_and_its_reason_is_told() {
        let mut line = line();
        let told = json!({ "shared_accesses": 90, "seconds_symbolic": 0.25, "seconds_solve": 0.5 });
        line.add(100, Ok(told));
        let point = Point {
            accesses: 90.0,
            seconds: 0.75,
        };
        assert_eq!(line.largest(), Some(&point));
        line.add(300, Err("too hard\nhelp".to_string()));
        assert_eq!(line.end, Some((300, "too hard".to_string())));
        let row = &table(std::slice::from_ref(&line)).rows[0];
        assert_eq!(row[..], ["queue by order", "90", "0.750", "300: too hard"]);
        assert!(page(&[line]).contains("queue by order"));
    }
}
