//! `bohr break conflicts`: which conflict is to blame for a failure that nobody
//! has caught (methodology II of the paper, made automatic). Conflict states are
//! read off controlled runs; each is resolved both ways, many times, with real
//! threads; where failures and hits come together in one order and failures stay
//! away in the other, that is the one.

use super::choices::name;
use super::from::tell_step;
use super::laboratory::Laboratory;
use super::measured::Measured;
use super::search::Found;
use super::tune::{Step, tune};
use crate::control::breakpoints::Finder;
use crate::control::{ProgramArgs, at_least_one, counter, interruption};
use crate::outcome::{Failure, Outcome};
use bohr_event::control::{Detailing, Job, LoadedObject, Recorded};
use bohr_explore::native::Native;
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
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = at_least_one::<u64>)]
    look: u64,
    /// Conflicts that are tried, those seen most often first.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = at_least_one::<usize>)]
    most: usize,
    /// Native runs of each order of each conflict.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = at_least_one::<u32>)]
    runs: u32,
    /// Print one JSON object on standard output.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    program: ProgramArgs,
}

/// Longest time of a native run.
const LIMIT: Duration = Duration::from_secs(15);

/// A share of runs that is frequent; less than the rest of it is rare.
const FREQUENT: f64 = 0.8;

/// A conflict that was resolved both ways.
struct Resolved {
    contention: Contention,
    seen: u32,
    orders: [Order; 2],
}

/// One way to resolve a conflict.
struct Order {
    expression: Expression,
    measured: Measured,
    /// What was changed about it, if it was worth it.
    steps: Vec<Step>,
}

impl Order {
    /// Failures and hits come together.
    fn is_frequent(&self) -> bool {
        self.measured.probability() >= FREQUENT && self.measured.hit_share() >= FREQUENT
    }

    /// Many failures with few hits: holding threads up there disturbs the program,
    /// and something else fails.
    fn is_elsewhere(&self) -> bool {
        self.measured.probability() >= FREQUENT && self.measured.hit_share() <= 1.0 - FREQUENT
    }
}

pub fn run(args: &Args) -> Outcome {
    let interrupted = interruption();
    let go_on = || !interrupted.load(Ordering::Relaxed);
    let subject = args.program.subject()?;
    let finder = Finder::of(&subject)?;
    let native = Native::new(&subject)?;
    let (runs, objects) = watched(&subject, args.look, &go_on)?;
    let laboratory = Laboratory {
        trials: None,
        finder: &finder,
        native: &native,
        kind: None,
        is_beside: false,
        oracle: &subject.oracle,
        go_on: &go_on,
        limit: LIMIT,
    };
    let usual = laboratory.native(&[], args.runs as usize, true)?;
    let mut all = resolved(&conflicts(&runs), &objects, &laboratory, args)?;
    for order in all.iter_mut().flat_map(|resolved| &mut resolved.orders) {
        tune_if_worth_it(order, &usual, &laboratory)?;
    }
    let suspect = suspect(&all);
    match args.json {
        true => println!("{}", as_json(&all, suspect, &usual)),
        false => print!("{}", as_text(&all, suspect, &usual)),
    }
    Ok(ExitCode::from(u8::from(suspect.is_some())))
}

/// Resolves conflicts both ways, those first that were seen most often.
fn resolved(
    conflicts: &[Conflict],
    objects: &[LoadedObject],
    laboratory: &Laboratory<'_, '_>,
    args: &Args,
) -> Result<Vec<Resolved>, Failure> {
    let places = laboratory.finder.places();
    let bar = counter("native runs");
    let mut all = Vec::new();
    let mut pairs: Vec<[Expression; 2]> = Vec::new();
    for conflict in conflicts {
        if all.len() >= args.most || !(laboratory.go_on)() {
            break;
        }
        let orders = orders(conflict, &places, objects);
        let Some(orders) = orders.filter(|orders| !pairs.contains(orders)) else {
            continue;
        };
        pairs.push(orders.clone());
        // Two places under one lock never meet.
        if laboratory.finder.find(&orders).is_err() {
            continue;
        }
        let measure = |expression: Expression| -> Result<Order, Failure> {
            let set = std::slice::from_ref(&expression);
            let measured = laboratory.native(set, args.runs as usize, true)?;
            bar.inc(u64::from(args.runs));
            Ok(Order {
                expression,
                measured,
                steps: Vec::new(),
            })
        };
        let [one, other] = orders;
        all.push(Resolved {
            contention: conflict.contention,
            seen: conflict.runs,
            orders: [measure(one)?, measure(other)?],
        });
    }
    bar.finish_and_clear();
    Ok(all)
}

/// Where the failure comes more often than without any breakpoint, but not with
/// every hit, longer pauses and finer predicates are tried.
fn tune_if_worth_it(
    order: &mut Order,
    usual: &Measured,
    laboratory: &Laboratory<'_, '_>,
) -> Result<(), Failure> {
    let more = order.measured.probability() > usual.probability();
    if !more || order.is_frequent() || order.is_elsewhere() {
        return Ok(());
    }
    let found = Found {
        set: vec![order.expression.clone()],
        measured: order.measured.clone(),
    };
    eprintln!("bohr: tuning {}", order.expression);
    let (mut found, steps) = tune(found, laboratory, &mut tell_step)?;
    if let Some(expression) = found.set.pop() {
        order.expression = expression;
        order.measured = found.measured;
    }
    order.steps = steps;
    Ok(())
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
            let own = &resolved.orders[order];
            let other = resolved.orders[1 - order].measured.probability();
            let difference = own.measured.probability() - other;
            let [one, two] = &resolved.orders;
            let same_place = one.expression == two.expression;
            if own.is_frequent() && (same_place || other <= 1.0 - FREQUENT) {
                found.push((difference, (number, order)));
            }
        }
    }
    found.sort_by(|one, other| other.0.total_cmp(&one.0));
    found.first().map(|(_, position)| *position)
}

fn as_text(all: &[Resolved], suspect: Option<(usize, usize)>, usual: &Measured) -> String {
    let mut text = format!(
        "{:64} {:>10} {:>8}\n",
        "Conflict resolve order", "failure %", "BP hit %"
    );
    for (number, resolved) in all.iter().enumerate() {
        // At one place there is one order: whoever comes first goes first.
        let [one, other] = &resolved.orders;
        let orders = if one.expression == other.expression {
            1
        } else {
            2
        };
        for (position, order) in resolved.orders.iter().take(orders).enumerate() {
            let mark = match suspect == Some((number, position)) {
                true => "  <- suspicious",
                false if order.is_elsewhere() => "  another conflict is to blame",
                false => "",
            };
            let sides = order.expression.sides.iter();
            let sides: Vec<String> = sides.map(ToString::to_string).collect();
            text += &format!(
                "{:64} {:>10.0} {:>8.0}{mark}\n",
                sides.join(" -> "),
                order.measured.probability() * 100.0,
                order.measured.hit_share() * 100.0,
            );
        }
    }
    let without = usual.probability() * 100.0;
    text += &format!("without breakpoints {without:.0} % of runs fail\n");
    text += &match suspect {
        Some((number, order)) => {
            let expression = &all[number].orders[order].expression;
            format!("suspicious: {expression}\n")
        }
        None => "no conflict is suspicious\n".to_string(),
    };
    text
}

fn as_json(all: &[Resolved], suspect: Option<(usize, usize)>, usual: &Measured) -> Value {
    let conflict = |(number, resolved): (usize, &Resolved)| {
        let order = |(position, order): (usize, &Order)| {
            json!({
                "breakpoint": order.expression.to_string(),
                "runs": order.measured.runs,
                "failures": order.measured.probability(),
                "hits": order.measured.hit_share(),
                "suspicious": suspect == Some((number, position)),
                "another_conflict": order.is_elsewhere(),
                "steps": order.steps.iter().map(Step::as_json).collect::<Vec<_>>(),
            })
        };
        json!({
            "contention": resolved.contention,
            "seen_in_runs": resolved.seen,
            "orders": resolved.orders.iter().enumerate().map(order).collect::<Vec<_>>(),
        })
    };
    let expression =
        |(number, order): (usize, usize)| all[number].orders[order].expression.to_string();
    json!({
        "conflicts": all.iter().enumerate().map(conflict).collect::<Vec<_>>(),
        "failures_without": usual.probability(),
        "suspicious": suspect.map(expression),
    })
}
