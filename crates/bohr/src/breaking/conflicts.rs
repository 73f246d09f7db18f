//! `bohr break conflicts`: which conflict is to blame for a failure that nobody
//! has caught (methodology II of the paper, made automatic). Conflict states are
//! read off controlled runs; each is resolved both ways, many times, with real
//! threads; where failures and hits come together in one order and failures stay
//! away in the other, that is the one.

use super::choices::name;
use super::measured::Measured;
use crate::control::breakpoints::Finder;
use crate::control::{ProgramArgs, counter, interruption};
use crate::outcome::{Failure, Outcome};
use bohr_event::control::{Detailing, Job, LoadedObject, Recorded};
use bohr_explore::native::{Native, failure_of};
use bohr_explore::{Subject, Voice};
use bohr_schedule::{Plan, Rule};
use bohr_trigger::{Conflict, Contention, Expression, Places, Side, conflicts};
use serde_json::{Value, json};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// What is looked at.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  bohr break conflicts -- ./appender 2 10
  bohr break conflicts --runs 100 --most 12 --json -- ./appender

Exit codes: 0 no conflict is suspicious, 1 one is, 2 bohr could not do it.")]
pub struct Args {
    /// Controlled runs that conflicts are looked for in.
    #[arg(long, value_name = "N", default_value_t = 20)]
    look: u64,
    /// Conflicts that are tried, those seen most often first.
    #[arg(long, value_name = "N", default_value_t = 8)]
    most: usize,
    /// Native runs of each order of each conflict.
    #[arg(long, value_name = "N", default_value_t = 20)]
    runs: u32,
    /// Print one JSON object on standard output.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    program: ProgramArgs,
}

/// Longest time of a native run.
const LIMIT: Duration = Duration::from_secs(5);

/// A share of runs that is frequent; less than the rest of it is rare.
const FREQUENT: f64 = 0.8;

/// A conflict that was resolved both ways.
struct Resolved {
    contention: Contention,
    seen: u32,
    orders: [(Expression, Measured); 2],
}

pub fn run(args: &Args) -> Outcome {
    let interrupted = interruption();
    let go_on = || !interrupted.load(Ordering::Relaxed);
    let subject = args.program.subject()?;
    let finder = Finder::of(&subject)?;
    let native = Native::new(&subject)?;
    let (runs, objects) = watched(&subject, args.look, &go_on)?;
    let places = finder.places();
    let bar = counter("native runs");
    let mut all = Vec::new();
    let mut pairs = Vec::new();
    for conflict in conflicts(&runs) {
        let orders = orders(&conflict, &places, &objects);
        if let Some(orders) = orders.filter(|orders| !pairs.contains(orders)) {
            pairs.push(orders.clone());
            // Two places under one lock never meet.
            if finder.find(&orders).is_err() {
                continue;
            }
            let [one, other] = orders;
            let measure = |order: &Expression| -> Result<Measured, Failure> {
                let found = finder.find(std::slice::from_ref(order))?;
                let mut measured = Measured::default();
                for _ in 0..args.runs {
                    let run = native.run(&found, Voice::Muted, LIMIT)?;
                    measured.add(&run, failure_of(&run, &subject.oracle).is_some());
                    bar.inc(1);
                }
                Ok(measured)
            };
            let measured = [measure(&one)?, measure(&other)?];
            let [first, second] = measured;
            all.push(Resolved {
                contention: conflict.contention,
                seen: conflict.runs,
                orders: [(one, first), (other, second)],
            });
        }
        if all.len() >= args.most || !go_on() {
            break;
        }
    }
    bar.finish_and_clear();
    let suspect = suspect(&all);
    match args.json {
        true => println!("{}", as_json(&all, suspect)),
        false => print!("{}", as_text(&all, suspect)),
    }
    Ok(ExitCode::from(u8::from(suspect.is_some())))
}

/// Controlled runs with all their events.
fn watched(
    subject: &Subject,
    count: u64,
    go_on: &dyn Fn() -> bool,
) -> Result<(Vec<Recorded>, Vec<LoadedObject>), Failure> {
    let mut server = subject.serve(Voice::Muted, go_on)?;
    let mut runs = Vec::new();
    for seed in 0..count {
        let job = Job {
            first_seed: seed,
            details: Detailing::Always,
            trace: Detailing::Always,
            stop_at_failure: false,
            ..subject.job(&Plan::new(Rule::Random))
        };
        let report = subject.run_once(&mut server, job, go_on)?;
        let schedule = report.schedule();
        let (report, steps, _) = report.into_parts();
        runs.push(Recorded {
            threads: report.detail.unwrap_or_default().threads,
            schedule,
            steps,
            pending: Vec::new(),
        });
    }
    Ok((runs, server.ready().objects.clone()))
}

/// Both resolutions of a conflict, if its places have names.
fn orders(
    conflict: &Conflict,
    places: &Places<'_>,
    objects: &[LoadedObject],
) -> Option<[Expression; 2]> {
    let side = |number| name(number, places, objects).map(Side::at);
    let [one, other] = conflict.places;
    let (one, other) = (side(one)?, side(other)?);
    let order = |sides: Vec<Side>| Expression {
        at_most: Some(1),
        ..Expression::new(sides, true)
    };
    Some([
        order(vec![one.clone(), other.clone()]),
        order(vec![other, one]),
    ])
}

/// The order in which failures and hits are frequent, while failures are rare in
/// the other.
fn suspect(all: &[Resolved]) -> Option<(usize, usize)> {
    let mut found: Vec<(f64, (usize, usize))> = Vec::new();
    for (number, resolved) in all.iter().enumerate() {
        for order in 0..2 {
            let (_, own) = &resolved.orders[order];
            let (_, other) = &resolved.orders[1 - order];
            let frequent = own.probability() >= FREQUENT && own.hit_share() >= FREQUENT;
            let difference = own.probability() - other.probability();
            let same_place = resolved.orders[0].0 == resolved.orders[1].0;
            if frequent && (same_place || other.probability() <= 1.0 - FREQUENT) {
                found.push((difference, (number, order)));
            }
        }
    }
    found.sort_by(|one, other| other.0.total_cmp(&one.0));
    found.first().map(|(_, position)| *position)
}

fn as_text(all: &[Resolved], suspect: Option<(usize, usize)>) -> String {
    let mut text = format!(
        "{:64} {:>10} {:>8}\n",
        "Conflict resolve order", "failure %", "BP hit %"
    );
    for (number, resolved) in all.iter().enumerate() {
        for (order, (expression, measured)) in resolved.orders.iter().enumerate() {
            let mark = match suspect == Some((number, order)) {
                true => "  <- suspicious",
                false if elsewhere(measured) => "  another conflict is to blame",
                false => "",
            };
            let sides: Vec<String> = expression.sides.iter().map(ToString::to_string).collect();
            text += &format!(
                "{:64} {:>10.0} {:>8.0}{mark}\n",
                sides.join(" -> "),
                measured.probability() * 100.0,
                measured.hit_share() * 100.0,
            );
        }
    }
    text += &match suspect {
        Some((number, order)) => {
            let (expression, _) = &all[number].orders[order];
            format!("suspicious: {expression}\n")
        }
        None => "no conflict is suspicious\n".to_string(),
    };
    text
}

/// Many failures with few hits: holding threads up there disturbs the program, and
/// something else fails.
fn elsewhere(measured: &Measured) -> bool {
    measured.probability() >= FREQUENT && measured.hit_share() <= 1.0 - FREQUENT
}

fn as_json(all: &[Resolved], suspect: Option<(usize, usize)>) -> Value {
    let conflict = |(number, resolved): (usize, &Resolved)| {
        let order = |(order, (expression, measured)): (usize, &(Expression, Measured))| {
            json!({
                "breakpoint": expression.to_string(),
                "runs": measured.runs,
                "failures": measured.probability(),
                "hits": measured.hit_share(),
                "suspicious": suspect == Some((number, order)),
                "another_conflict": elsewhere(measured),
            })
        };
        json!({
            "contention": resolved.contention,
            "seen_in_runs": resolved.seen,
            "orders": resolved.orders.iter().enumerate().map(order).collect::<Vec<_>>(),
        })
    };
    let suspicious = suspect.map(|(number, order)| all[number].orders[order].0.to_string());
    json!({
        "conflicts": all.iter().enumerate().map(conflict).collect::<Vec<_>>(),
        "suspicious": suspicious,
    })
}
