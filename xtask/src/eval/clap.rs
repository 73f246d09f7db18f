//! CLAP's Tables 1 and 3: the exhibits that mirror their rows, recorded until they fail
//! (natively, or under control), solved in every way, and replayed; then failing runs of
//! the whole museum; then how the time of solving grows.

mod growth;
mod recorded;
mod soundness;

use super::measure::Measured;
use super::papers::{Column, add_factor, compared, seconds};
use super::tables::Table;
use crate::shell;
use bohr_museum::{Exhibit, Papers};
use recorded::{Case, REPLAYS, TIME};
use serde_json::{Value, json};
use std::path::Path;

/// Ways of solving: what they are called here, and what `bohr solve` is told.
const WAYS: [(&str, &[&str]); 4] = [
    ("order", &["--by", "order"]),
    ("parallel", &["--by", "validate"]),
    ("sequential", &["--by", "validate", "--workers", "1"]),
    ("execution", &["--by", "execution"]),
];

/// What can be evaluated by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Tables,
    Soundness,
    Growth,
}

/// All of them, as they are called.
const PARTS: [(&str, Part); 3] = [
    ("tables", Part::Tables),
    ("soundness", Part::Soundness),
    ("growth", Part::Growth),
];

/// The parts of these names; all if there are none.
pub fn parts(names: &[String]) -> Result<Vec<Part>, String> {
    if names.is_empty() {
        return Ok(PARTS.map(|(_, part)| part).to_vec());
    }
    let part = |name: &String| {
        let found = PARTS.iter().find(|(known, _)| known == name);
        found.map(|(_, part)| *part).ok_or_else(|| {
            let known = PARTS.map(|(known, _)| known).join(", ");
            format!("there is no part `{name}` of clap: {known}")
        })
    };
    names.iter().map(part).collect()
}

/// Evaluates parts, each to its end; what is wrong with one does not keep the others
/// from being measured.
pub fn evaluate(bohr: &Path, parts: &[Part]) -> Result<(), String> {
    let (exhibits, damaged) = super::whole_and_damaged()?;
    let mut wrong = Vec::new();
    for part in parts {
        let found = match part {
            Part::Tables => tables(bohr, &exhibits)?,
            Part::Soundness => soundness::evaluate(bohr, &exhibits)?,
            Part::Growth => growth::evaluate(bohr, &exhibits)?,
        };
        wrong.extend(found);
    }
    match wrong.is_empty() {
        true => super::none_damaged(&damaged),
        false => Err(format!("wrong:\n  {}", wrong.join("\n  "))),
    }
}

/// Measures every exhibit that mirrors a row, and writes the tables; what does not
/// replay.
fn tables(bohr: &Path, exhibits: &[Exhibit]) -> Result<Vec<String>, String> {
    let papers = Papers::load().map_err(|error| error.to_string())?;
    let mirrors = |exhibit: &Exhibit| {
        let mut mirrors = exhibit.manifest.mirrors.iter();
        mirrors.any(|mirror| mirror.paper == "clap")
    };
    let mut results = Vec::new();
    let mut text = String::new();
    for exhibit in exhibits.iter().filter(|exhibit| mirrors(exhibit)) {
        let mut measured = Measured::of(exhibit);
        let solved = solved(bohr, &papers, exhibit);
        let solved = solved.unwrap_or_else(|why| json!({ "why": why }));
        println!("{:18} {}", measured.name, line(&solved));
        measured.solved = Some(solved);
        results.push(measured);
        text = save(&papers, &results)?;
    }
    println!("\n{text}\nwritten to eval/results/clap.md and clap.json");
    Ok(unfaithful(&results))
}

/// Writes what a part found to files of its own, and gives back the text.
fn save_part(name: &str, title: &str, table: Table, data: &Value) -> Result<String, String> {
    let machine = bohr_museum::machine_facts();
    let command = name.trim_start_matches("clap-");
    let origin = format!("By `cargo xtask eval --only clap {command}`, on {machine}.");
    let sections = super::page::sections(&[table], &origin);
    let text = format!("# {title}\n{sections}");
    write(&format!("{name}.md"), &text)?;
    write(&format!("{name}.json"), &format!("{data:#}\n"))?;
    Ok(text)
}

fn write(name: &str, text: &str) -> Result<(), String> {
    let folder = shell::root().join("eval/results");
    let path = folder.join(name);
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(&path, text))
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// A recorded failure of the paper's size, solved in every way; or why there is none.
fn solved(bohr: &Path, papers: &Papers, exhibit: &Exhibit) -> Result<Value, String> {
    let mut case = Case::new(bohr, exhibit)?;
    let mut mirrors = exhibit.manifest.mirrors.iter();
    let row = mirrors.find(|mirror| mirror.paper == "clap");
    let row = row.map_or("", |mirror| mirror.row.as_str());
    let mut told = json!({ "recorded": case.at_paper_size(papers, row)? });
    for (name, words) in WAYS {
        let solved = case.solve(words, TIME, REPLAYS);
        told[name] = solved.unwrap_or_else(|why| json!({ "why": why }));
    }
    Ok(told)
}

fn line(solved: &Value) -> String {
    let why = |value: &Value| {
        Some(format!(
            "not solved: {}",
            first_line(value["why"].as_str()?)
        ))
    };
    if let Some(why) = why(solved) {
        return why;
    }
    let ways = WAYS.map(|(name, _)| {
        let told = &solved[name];
        let came = why(told).unwrap_or_else(|| {
            let seconds = told["seconds_solve"].as_f64().unwrap_or(0.0);
            format!("{seconds:.3} s, {} of {REPLAYS} replays", told["replayed"])
        });
        format!("{name}: {came}")
    });
    ways.join("; ")
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// A figure of one way of solving.
fn figure(measured: &Measured, way: &str, field: &str) -> Option<f64> {
    measured.solved.as_ref()?[way][field].as_f64()
}

/// A figure of solving by constraints, or by trying if that found nothing.
fn order(measured: &Measured, field: &str) -> Option<f64> {
    let found = figure(measured, "order", "seconds_solve").is_some();
    figure(measured, if found { "order" } else { "parallel" }, field)
}

/// A figure of solving by constraints alone.
fn constrained(measured: &Measured, field: &str) -> Option<f64> {
    figure(measured, "order", field)
}

/// A figure of solving by trying.
fn tried(measured: &Measured, field: &str) -> Option<f64> {
    figure(measured, "parallel", field)
}

/// Whether a schedule was returned that fails in every replay.
fn success(measured: &Measured) -> Option<String> {
    measured.solved.as_ref()?;
    let replayed = order(measured, "replayed");
    let all = replayed.is_some() && replayed == REPLAYS.parse().ok();
    Some(if all { "Y" } else { "N" }.to_string())
}

fn overall(papers: &Papers, results: &[Measured]) -> Result<Table, String> {
    let columns = [
        Column::new("lines", "LOC", |it| Some(it.lines.to_string())),
        Column::counted("threads", "threads", order, "threads"),
        Column::counted(
            "shared variables",
            "shared variables",
            order,
            "shared_variables",
        ),
        Column::counted("instructions", "instructions", order, "instructions"),
        Column::counted("branches", "branches", order, "branches"),
        Column::counted(
            "shared accesses",
            "shared accesses",
            order,
            "shared_accesses",
        ),
        Column::counted("constraints", "constraints", order, "constraints"),
        Column::counted("variables", "variables", order, "variables"),
        Column::timed("s symbolic", "symbolic time", order, "seconds_symbolic"),
        Column::timed("s solving", "solving time", order, "seconds_solve"),
        Column::counted("preemptive switches", "switches", order, "preemptive"),
        Column::new("success", "success", success),
    ];
    let mut table = compared(papers, ("clap", "1"), &columns, results)?;
    let subject = ("clap", "1", "shared accesses");
    let ours = |it: &Measured| order(it, "shared_accesses");
    add_factor(papers, &mut table, subject, results, ours);
    let note = "Ours are the accesses that remain after what only one thread can notice was left out, on the recorded paths up to the failure.";
    table.notes.push(note.to_string());
    table.notes.extend(results.iter().filter_map(origin));
    table.notes.extend(reasons(results));
    Ok(table)
}

fn parallel(papers: &Papers, results: &[Measured]) -> Result<Table, String> {
    let columns = [
        Column::new("worst schedules", "worst schedules", |it| {
            let told = &it.solved.as_ref()?["parallel"]["schedules_worst"];
            Some(told.as_str()?.to_string())
        }),
        Column::counted("generated", "generated", tried, "schedules_generated"),
        Column::counted("switches", "switches", tried, "bound"),
        Column::counted("correct", "correct", tried, "schedules_good"),
        Column::timed("s parallel", "parallel time", tried, "seconds_solve"),
        Column::timed(
            "s sequential",
            "sequential time",
            constrained,
            "seconds_solve",
        ),
    ];
    let mut table = compared(papers, ("clap", "3"), &columns, results)?;
    table.columns.push("s with one worker".to_string());
    for row in &mut table.rows {
        let measured = results.iter().find(|measured| measured.name == row[1]);
        let one = measured.and_then(|it| figure(it, "sequential", "seconds_solve"));
        row.push(one.map_or("-".to_string(), seconds));
    }
    let note = "Sequential is the solver of Table 1, as in the paper. The search stops at its first schedule that fails; a schedule is given up at the first event that does not fit.";
    table.notes.push(note.to_string());
    Ok(table)
}

/// Every recorded failure in every way, with the replays of what was returned.
fn replays(results: &[Measured]) -> Table {
    let cell = |told: &Value| match told["why"].as_str() {
        Some(why) => first_line(why).replace('|', "/"),
        None => format!("{} of {REPLAYS}", told["replayed"]),
    };
    let row = |measured: &Measured| {
        let solved = measured.solved.as_ref()?;
        solved["recorded"]["failed"].as_bool()?;
        let ways = WAYS.iter().map(|(name, _)| cell(&solved[*name]));
        Some(std::iter::once(measured.name.clone()).chain(ways).collect())
    };
    let names = WAYS.iter().map(|(name, _)| name.to_string());
    Table {
        title: "Recorded failures: replays of the schedule that each way returned".to_string(),
        columns: std::iter::once("exhibit".to_string())
            .chain(names)
            .collect(),
        rows: results.iter().filter_map(row).collect(),
        notes: Vec::new(),
    }
}

/// How the log of an exhibit came to be.
fn origin(measured: &Measured) -> Option<String> {
    let recorded = &measured.solved.as_ref()?["recorded"];
    let runs = recorded["runs"].as_u64()?;
    let how = match recorded["controlled"].as_bool() {
        Some(true) => "under control",
        _ => "with real threads",
    };
    let larger = recorded["no_larger"].as_str().map(first_line);
    let larger = larger.map_or(String::new(), |why| format!("; a larger one failed: {why}"));
    Some(format!(
        "{} {}: recorded {how}, in run {runs}{larger}.",
        measured.name, recorded["arguments"]
    ))
}

fn reasons(results: &[Measured]) -> impl Iterator<Item = String> {
    results.iter().filter_map(|measured| {
        let solved = measured.solved.as_ref()?;
        let why = solved["why"].as_str().or(solved["order"]["why"].as_str())?;
        let how = match tried(measured, "seconds_solve") {
            Some(_) => "by constraints, so its figures are those of trying",
            None => "by constraints or by trying",
        };
        let why = first_line(why);
        Some(format!("{} is not solved {how}: {why}", measured.name))
    })
}

fn save(papers: &Papers, results: &[Measured]) -> Result<String, String> {
    let tables = [
        overall(papers, results)?,
        parallel(papers, results)?,
        replays(results),
    ];
    let told: Vec<Value> = results
        .iter()
        .map(|it| json!({ "exhibit": it.name, "solved": it.solved }))
        .collect();
    let machine = bohr_museum::machine_facts();
    let origin = format!("By `cargo xtask eval --only clap tables`, on {machine}.");
    let sections = super::page::sections(&tables, &origin);
    let text = format!("# Recorded and solved\n{sections}");
    write("clap.md", &text)?;
    write("clap.json", &format!("{:#}\n", Value::from(told)))?;
    Ok(text)
}

/// Schedules that were returned and do not replay.
fn unfaithful(results: &[Measured]) -> Vec<String> {
    let replays: Option<f64> = REPLAYS.parse().ok();
    let of_one = |measured: &Measured| {
        let ways = WAYS.map(|(way, _)| (way, figure(measured, way, "replayed")));
        let wrong = ways
            .into_iter()
            .filter(|(_, it)| it.is_some() && *it != replays);
        let told = wrong
            .map(|(way, _)| format!("{}: the schedule by {way} does not replay", measured.name));
        told.collect::<Vec<_>>()
    };
    results.iter().flat_map(of_one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_chosen_by_name() {
        let chosen =
            |names: &[&str]| parts(&names.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(chosen(&["growth"]), Ok(vec![Part::Growth]));
        assert_eq!(chosen(&[]).map(|parts| parts.len()), Ok(PARTS.len()));
        let why = chosen(&["sound"]).expect_err("no such part");
        assert!(
            why.contains("`sound`") && why.contains("soundness"),
            "{why}"
        );
    }
}
