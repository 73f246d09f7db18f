//! Both steps on what a hunt finds in the museum: how near the optimum the
//! static step comes, and whether the dynamic step reaches the fewest
//! preemptions that the manifest knows of.

use crate::museum::{build_bohr, chosen, hunt};
use crate::paper_size::object;
use bohr_museum::{Exhibit, MemoryModel, Variant};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Time of each step. Far more than most take, and on a busy machine what some need.
const TIME: &str = "30s";

/// Seconds per hunt.
const SECONDS: u32 = 20;

/// The share of exhibits that have to come down to their known minimum.
const SHARE: f64 = 0.9;

/// How far from the optimum the static step may be, on average, where the
/// optimum is known.
const MOST_DISTANCE: f64 = 5.0;

/// Prints the table; what misses its target.
pub fn run(names: &[String]) -> Result<Vec<String>, String> {
    let bohr = build_bohr()?;
    println!(
        "the museum as hunts find it; targets: the known minimum of preemptions for {:.0} %, {MOST_DISTANCE} % from the optimum on average\n",
        100.0 * SHARE
    );
    println!(
        "{:18} {:>7} {:>7} {:>8} {:>9} {:>6} {:>7} {:>6} {:>11} {:>6} {:>6} {:>8} {:>8}",
        "exhibit",
        "threads",
        "events",
        "switches",
        "reordered",
        "bound",
        "optimal",
        "rerun",
        "preemptions",
        "known",
        "proven",
        "static s",
        "dynamic s"
    );
    let mut missed = Vec::new();
    let mut simplified = Vec::new();
    for exhibit in chosen(names)? {
        if exhibit.manifest.memory_model != MemoryModel::Sc {
            continue;
        }
        let name = &exhibit.manifest.name;
        let known = u64::from(exhibit.manifest.minimum.preemptions);
        match simplify(&exhibit, &bohr) {
            Ok(told) => {
                tell(name, &told, known);
                simplified.push((known, told));
            }
            Err(error) => {
                println!("{name:18} {}", error.lines().next().unwrap_or_default());
                missed.push(format!("{name}: {error}"));
            }
        }
    }
    missed.extend(judged(&simplified));
    Ok(missed)
}

fn simplify(exhibit: &Exhibit, bohr: &Path) -> Result<Value, String> {
    let arguments = &exhibit.manifest.arguments.default;
    let hunted = hunt(exhibit, Variant::Buggy, arguments, bohr, SECONDS);
    let (report, bug) = hunted.map_err(|error| error.to_string())?;
    bohr_museum::judge(exhibit, &report)?;
    let mut command = Command::new(bohr);
    command.args(["simplify", "--json", "--time", TIME, "--output"]);
    object(command.arg(bug.with_extension("simple.bohr")).arg(&bug))
}

fn tell(name: &str, told: &Value, known: u64) {
    let seconds = |field: &str| told[field].as_f64().unwrap_or(f64::NAN);
    let text = |field: &str| told[field].to_string();
    println!(
        "{name:18} {:>7} {:>7} {:>8} {:>9} {:>6} {:>7} {:>6} {:>11} {known:>6} {:>6} {:>8.2} {:>8.2}{}",
        text("threads"),
        text("events"),
        text("switches_before"),
        text("switches_static"),
        text("fewest_static"),
        text("optimal_static"),
        text("switches_dynamic"),
        text("preemptive_after"),
        text("fewest_preemptions"),
        seconds("seconds_static"),
        seconds("seconds_dynamic"),
        if reached(told, known) { "" } else { "  MORE" },
    );
}

fn reached(told: &Value, known: u64) -> bool {
    told["preemptive_after"]
        .as_u64()
        .is_some_and(|left| left <= known)
}

/// How many per cent more switches than an order must have; of an order that is
/// not proven to be optimal this is a bound.
fn distance(told: &Value) -> Option<f64> {
    let after = told["switches_static"].as_f64()?;
    let fewest = told["fewest_static"].as_f64()?;
    Some(100.0 * (after / fewest.max(1.0) - 1.0))
}

fn judged(simplified: &[(u64, Value)]) -> Vec<String> {
    let mut missed = Vec::new();
    let count = simplified.len() as f64;
    let met = simplified
        .iter()
        .filter(|(known, told)| reached(told, *known));
    let met = met.count();
    let line = format!("the known minimum of preemptions: {met} of {count}");
    println!("\n{line}");
    if (met as f64) < SHARE * count {
        missed.push(line);
    }
    let fewer = simplified.iter().filter(|(known, told)| {
        told["preemptive_after"]
            .as_u64()
            .is_some_and(|left| left < *known)
    });
    println!("fewer than the manifest knows of: {}", fewer.count());
    let distances: Vec<f64> = simplified
        .iter()
        .filter_map(|(_, told)| distance(told))
        .collect();
    let optimal = simplified
        .iter()
        .filter(|(_, told)| told["optimal_static"] == true);
    let mean = distances.iter().sum::<f64>() / distances.len().max(1) as f64;
    let line = format!(
        "reordered within {mean:.1} % of the lower bound on average; {} of {count} proven optimal",
        optimal.count()
    );
    println!("{line}");
    if mean > MOST_DISTANCE {
        missed.push(line);
    }
    missed
}
