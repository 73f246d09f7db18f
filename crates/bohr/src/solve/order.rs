//! Solving by constraints: each thread is executed symbolically along its recorded
//! way, a solver finds an order of the events, and the program follows it once.

use super::vectors::{self, Demand};
use super::{Args, SolveError, Solved, Solver, failure};
use crate::control::interruption;
use crate::outcome::{Failure, Outcome};
use bohr_event::ThreadPath;
use bohr_explore::native::hooked_sites;
use bohr_explore::{ExploreError, Subject, confirm, write_whole};
use bohr_log::{Execution, LogKind, Recording, execution};
use bohr_program::SiteNumber;
use bohr_solve::check::{Turn, preemptions};
use bohr_solve::event::{Problem, Spot};
use bohr_solve::order::{self, Answer};
use bohr_solve::path::{Ending, Environment, Run, Step, Way};
use bohr_solve::schedule::turns;
use bohr_solve::validate::{self, Limits};
use bohr_solve::{smt, symbolic};
use serde_json::{Map, Value, json};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// What was asked for, and since when.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    pub args: &'a Args,
    pub recording: &'a Recording,
    pub subject: &'a Subject,
    pub begun: Instant,
    /// Whether nobody wants to wait any more.
    pub stopped: &'a AtomicBool,
}

/// Computes an order and has the program follow it.
pub fn solve(args: &Args, recording: &Recording, subject: &Subject) -> Result<Solved, Failure> {
    let task = Task {
        args,
        recording,
        subject,
        begun: Instant::now(),
        stopped: interruption(),
    };
    let problem = problem(args, recording, subject)?;
    let seconds = task.begun.elapsed().as_secs_f64();
    order_of(task, args.by, problem, seconds)
}

/// The same of what took so many seconds to execute symbolically.
pub fn order_of(
    task: Task<'_>,
    by: Solver,
    mut problem: Problem,
    seconds_symbolic: f64,
) -> Result<Solved, Failure> {
    let Task {
        args,
        recording,
        subject,
        begun,
        stopped,
    } = task;
    let go_on = || !stopped.load(Ordering::Relaxed) && begun.elapsed() < args.time;
    let program = &subject.models[0];
    let wanted = failure::wanted(args, program, recording)?;
    let mut figures = figures(&problem);
    figures.insert("seconds_symbolic".into(), json!(seconds_symbolic));
    let solving = Instant::now();
    let found = match by {
        Solver::Validate => by_trying(args, &problem, &go_on, &mut figures)?,
        _ => by_constraints(args, &mut problem, &go_on, &mut figures)?,
    };
    let seconds = solving.elapsed().as_secs_f64();
    let preemptive = preemptions(&problem, args.model, &found);
    figures.insert("preemptive".into(), json!(preemptive));
    let hooked = hooked_sites(&subject.target.executable)?;
    let is_hooked = |site: SiteNumber| hooked.contains(&site.as_u32());
    let computed = turns(program, &problem, args.model, &found, &is_hooked);
    let fits = |verdict: &_| wanted.fits(verdict);
    let confirmed = confirm(subject, computed, &super::name(by), &fits, &go_on)?;
    let followed = confirmed.followed;
    let bug = confirmed.bug.ok_or_else(|| SolveError::NotConfirmed {
        wanted: wanted.to_string(),
        came: match confirmed.instead {
            Some(verdict) => format!("it showed {}", verdict.signature.kind_name()),
            None => "it did not fail".to_string(),
        },
        followed: followed.matched,
        turns: followed.matched + followed.skipped,
    })?;
    Ok(Solved {
        by,
        bug,
        runs: 1,
        accesses: problem.accesses() as u64,
        seconds,
        figures,
    })
}

/// What the solvers get.
pub fn problem(args: &Args, recording: &Recording, subject: &Subject) -> Result<Problem, Failure> {
    let program = &subject.models[0];
    let execution = execution(program, recording).map_err(SolveError::from)?;
    let end = failure::ending(args, program, recording, &execution)?;
    let environment = subject.invocation.environment.clone();
    let run = run(recording, environment, &execution, end);
    let hooked = hooked_sites(&subject.target.executable)?;
    let sees = |spot: Spot| {
        let site = program.site_at(spot.function, spot.instruction);
        site.is_some_and(|site| hooked.contains(&site.as_u32()))
    };
    let sees: Option<&dyn Fn(Spot) -> bool> = args.model.has_buffers().then_some(&sees);
    let mut problem = symbolic::execute(program, &run, sees).map_err(SolveError::from)?;
    if recording.kind == LogKind::PathAndSync {
        let turns = vectors::turns(recording, Demand::Synchronisation)?.turns;
        problem.keep_to(turns.into_iter().map(|turn| (turn.thread, turn.steps)));
    }
    Ok(problem)
}

/// Writes the constraints for other solvers.
pub fn emit(args: &Args, recording: &Recording, subject: &Subject) -> Outcome {
    let problem = problem(args, recording, subject)?;
    let text = smt::script(&problem, args.model, args.bound).map_err(SolveError::from)?;
    let output = args.output.clone();
    let output = output.unwrap_or_else(|| args.log.with_extension("smt2"));
    write_whole(&output, text.as_bytes()).map_err(|source| ExploreError::File {
        path: output.clone(),
        source,
    })?;
    if args.json {
        let told = json!({ "solved": false, "emitted": output, "bytes": text.len() });
        println!("{told}");
    }
    eprintln!("bohr: constraints written to {}", output.display());
    Ok(ExitCode::SUCCESS)
}

fn by_constraints(
    args: &Args,
    problem: &mut Problem,
    go_on: &dyn Fn() -> bool,
    figures: &mut Map<String, Value>,
) -> Result<Vec<Turn>, Failure> {
    let solved = order::solve(problem, args.model, args.bound, go_on).map_err(SolveError::from)?;
    figures.insert("constraints".into(), json!(solved.constraints));
    figures.insert("variables".into(), json!(solved.variables));
    figures.insert("conflicts".into(), json!(solved.conflicts));
    figures.insert("bound".into(), json!(solved.bound));
    match solved.answer {
        Answer::Order(order) => Ok(order),
        Answer::None(groups) => {
            let groups: Vec<String> = groups.iter().map(ToString::to_string).collect();
            let groups = groups.join(", ");
            Err(SolveError::Contradiction { groups }.into())
        }
        Answer::Unknown => Err(SolveError::Unsolved.into()),
    }
}

fn by_trying(
    args: &Args,
    problem: &Problem,
    go_on: &(dyn Fn() -> bool + Sync),
    figures: &mut Map<String, Value>,
) -> Result<Vec<Turn>, Failure> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let limits = Limits {
        bound: args.bound.unwrap_or(MOST_PREEMPTIONS),
        workers: args.workers.map_or(cores, |workers| workers as usize),
        shard: (args.shard.index as usize, args.shard.count as usize),
        schedules: u64::MAX,
        go_on,
    };
    let searched = validate::search(problem, args.model, &limits);
    figures.insert("schedules_generated".into(), json!(searched.generated));
    figures.insert("schedules_good".into(), json!(searched.good));
    figures.insert("bound".into(), json!(searched.bound));
    searched.order.ok_or_else(|| SolveError::Unsolved.into())
}

/// Preemptions that trying goes up to by itself.
const MOST_PREEMPTIONS: usize = 5;

/// What the problem is like.
fn figures(problem: &Problem) -> Map<String, Value> {
    let told = json!({
        "instructions": problem.instructions,
        "branches": problem.branches,
        "shared_variables": problem.variables(),
        "schedules_worst": format!("10^{:.0}", validate::worst(problem)),
    });
    match told {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// What was recorded, in the solver's words.
fn run(
    recording: &Recording,
    environment: Environment,
    execution: &Execution,
    (ending, failed): (Ending, Option<ThreadPath>),
) -> Run {
    let logs = execution.threads.iter().zip(&recording.threads);
    let mut threads: Vec<Way> = logs.map(|(did, log)| way(did, log)).collect();
    threads.sort_by(|one, other| one.thread.cmp(&other.thread));
    let is_failed = |way: &Way| Some(&way.thread) == failed.as_ref();
    let failed = threads.iter().position(is_failed).unwrap_or(0);
    let name = std::iter::once(recording.program.clone());
    Run {
        arguments: name.chain(recording.arguments.iter().cloned()).collect(),
        environment,
        threads,
        failed,
        ending,
    }
}

fn way(thread: &bohr_log::ThreadExecution, log: &bohr_log::ThreadLog) -> Way {
    let step = |step: &bohr_log::Step| match *step {
        bohr_log::Step::Enter(function) => Step::Enter(function),
        bohr_log::Step::Block(block) => Step::Block(block),
        bohr_log::Step::Return => Step::Return,
        bohr_log::Step::Land { .. } => Step::Land,
    };
    Way {
        thread: thread.thread.clone(),
        steps: thread.steps.iter().map(step).collect(),
        certain: thread.certain,
        inputs: bohr_event::inputs::read(&log.inputs),
    }
}
