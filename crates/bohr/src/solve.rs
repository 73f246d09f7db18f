//! `bohr solve`: from the log of a real run that failed to a schedule under which
//! the program fails the same way, every time.

mod asked;
mod counterparts;
mod execution;
mod failure;
mod first;
mod order;
mod vectors;

use crate::checked::At;
use crate::control::{
    Accesses, at_least_one, duration, environment, interruption, libraries, signature_tag, target,
};
use crate::outcome::{Failure, Outcome};
use bohr_event::{Diagnosis, Fault};
use bohr_explore::bug_file::{self, Bug, Invocation};
use bohr_explore::hunt::Shard;
use bohr_explore::{ExploreError, Subject, write_whole};
use bohr_log::{DecodeError, LogFileError, LogKind, OrderError, Recording};
use serde_json::json;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Which log, and how.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  bohr record --until-failure -o server.log -- ./server --test
  bohr solve server.log -o server.bohr
  bohr replay server.bohr
  bohr solve server.log --core core.1234   the failure that left this core
  bohr solve good.log --bug 'total != 200@sum.c:42'   could that have been?

The bug file is like any other: it replays, reduces, simplifies and explains.

Exit codes: 0 solved; 2 not solved, and the message says why.")]
pub struct Args {
    /// A log, as `bohr record` writes it.
    log: PathBuf,
    /// How the schedule is found.
    #[arg(long, value_enum, default_value = "any")]
    by: Solver,
    /// The memory model that the schedule may make use of.
    #[arg(long, value_name = "MODEL", default_value = "sc")]
    model: bohr_event::MemoryModel,
    /// The most preemptions, of the same; they use as few as they can in any case.
    #[arg(long, value_name = "N")]
    bound: Option<usize>,
    /// Which part of the schedules to try, as in 2/4, so that several machines share
    /// the work; of `execution` and `validate`.
    #[arg(long, value_name = "I/N", default_value = "1/1")]
    shard: Shard,
    /// Solve nothing, but write the constraints in this language, for other solvers;
    /// with --bound, those on the preemptions, too.
    #[arg(long, value_enum, value_name = "LANGUAGE")]
    emit: Option<Emitted>,
    /// Where to write the bug [default: the log's name with .bohr] or the constraints
    /// [default: with .smt2].
    #[arg(short, long, value_name = "BUG")]
    output: Option<PathBuf>,
    /// The failure is the one that left this core, whatever the log says of the end: of a
    /// run that hung and was killed, say.
    #[arg(long, value_name = "CORE")]
    core: Option<PathBuf>,
    /// Another failure than the recorded one, if there was any: a thread comes to this
    /// line while the condition holds, which is an expression in the program's own
    /// language. The program is built again with a check there; of `execution`.
    #[arg(
        long,
        value_name = "CONDITION@FILE:LINE",
        value_parser = At::of_condition,
        conflicts_with_all = ["core", "emit"]
    )]
    bug: Option<At>,
    /// The program, if it is not where it was.
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Give up after this time, as in 25s or 10m.
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    time: Duration,
    /// Workers [default: one per core].
    #[arg(short, long, value_name = "N", value_parser = at_least_one::<u32>)]
    workers: Option<u32>,
    /// Print one JSON object on standard output.
    #[arg(long)]
    json: bool,
}

/// Languages of other solvers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Emitted {
    /// SMT-LIB 2.
    Smt2,
}

/// How a schedule is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Solver {
    /// By all of these at once; the first that finds a schedule ends the others.
    Any,
    /// By runs under control, with more and more preemptions, in which every thread
    /// keeps to the way that it went; the first step aside ends a run.
    Execution,
    /// By constraints on the order of events, from a symbolic execution of every
    /// thread along the way that it went.
    Order,
    /// From the same symbolic execution, by trying orders with more and more
    /// preemptions.
    Validate,
}

/// Why there is no schedule.
#[derive(Debug, thiserror::Error)]
pub enum SolveError {
    /// The file cannot be read.
    #[error("`{path}` cannot be read as a log")]
    Log {
        /// Which.
        path: PathBuf,
        /// Why.
        source: LogFileError,
    },
    /// The log does not fit the program.
    #[error("the log does not fit the program")]
    Undecodable(#[from] DecodeError),
    /// The recorded order is none.
    #[error("the recorded order cannot be followed")]
    Unordered(#[from] OrderError),
    /// There is nothing to solve.
    #[error("the recorded run was good")]
    NoFailure,
    /// The program carries no bundle.
    #[error("the program was not built with bohr")]
    NoModel,
    /// No thread of the log ends where the core says.
    #[error("no thread of the log ends where the core says that one failed: {wanted}")]
    OtherEnd {
        /// What the core says.
        wanted: String,
    },
    /// Code on the way is not modelled, or the way does not fit.
    #[error(transparent)]
    Execute(#[from] bohr_solve::ExecuteError),
    /// What the other language has no words for.
    #[error(transparent)]
    Emit(#[from] bohr_solve::smt::SmtError),
    /// A barrier that is not modelled.
    #[error(transparent)]
    Barrier(#[from] bohr_solve::order::OddBarrier),
    /// Runs are not searched for when stores leave their buffers.
    #[error("`--by execution` does not search for when stores become visible")]
    Buffers,
    /// No predicate is made of an expression.
    #[error("`--bug` is for `--by execution`")]
    Asked,
    /// There is nothing to search.
    #[error("an order log holds one order, and no other failure than its own")]
    OneOrder,
    /// There is no order.
    #[error(
        "no order of the recorded events shows the failure: these constraints contradict each other: {groups}"
    )]
    Contradiction {
        /// Which.
        groups: String,
    },
    /// None was found.
    #[error("no order of the recorded events was found that shows the failure")]
    Unsolved,
    /// The program did not follow.
    #[error(
        "an order of events was found that leads to {wanted}, but the program that followed {followed} of its {turns} turns did not show that: {came}"
    )]
    NotConfirmed {
        /// The failure.
        wanted: String,
        /// What came in its place.
        came: String,
        /// How far the program followed.
        followed: u64,
        /// How far it had to.
        turns: u64,
    },
    /// All schedules were tried.
    #[error(
        "no schedule along the recorded ways shows {wanted}: all {runs} were tried, and {others} failed otherwise"
    )]
    NoSchedule {
        /// The failure.
        wanted: String,
        /// How many.
        runs: u64,
        /// How many of them.
        others: u64,
    },
    /// There was not enough time.
    #[error(
        "{wanted} did not come in {runs} runs along the recorded ways; {others} failed otherwise"
    )]
    TooLong {
        /// The failure.
        wanted: String,
        /// How many.
        runs: u64,
        /// How many of them.
        others: u64,
    },
}

impl Diagnosis for SolveError {
    fn fault(&self) -> Fault {
        match self {
            SolveError::NoSchedule { .. }
            | SolveError::Buffers
            | SolveError::Asked
            | SolveError::OneOrder
            | SolveError::Execute(_)
            | SolveError::Emit(_)
            | SolveError::Barrier(_)
            | SolveError::Contradiction { .. }
            | SolveError::Unsolved
            | SolveError::NotConfirmed { .. } => Fault::Unsupported,
            _ => Fault::Input,
        }
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            SolveError::Log { .. } | SolveError::Unordered(_) => {
                "`bohr record -o LOG -- PROGRAM` writes one"
            }
            SolveError::Undecodable(_) | SolveError::NoModel => {
                "name the build that was recorded with `--program FILE`"
            }
            SolveError::NoFailure => {
                "`bohr record --until-failure` keeps a run that failed; `--core CORE` says which \
                 failure it was where the log does not"
            }
            SolveError::OtherEnd { .. } => {
                "see that log and core are of one run: `bohr core CORE` shows where its threads were"
            }
            SolveError::TooLong { .. } => "give it more --time",
            SolveError::Asked => "leave `--by` out",
            SolveError::OneOrder => "record with `--log path` or `--log path+sync`",
            SolveError::Buffers | SolveError::Emit(_) => "try `bohr solve --by order`",
            SolveError::Execute(_)
            | SolveError::Barrier(_)
            | SolveError::Contradiction { .. }
            | SolveError::Unsolved
            | SolveError::NotConfirmed { .. } => "try `bohr solve --by execution`",
            SolveError::NoSchedule { .. } => {
                "mapped files and the content of folders are not in the log: see that the \
                 program is told the same"
            }
        };
        Some(help.into())
    }
}

/// A schedule with what it took to find it.
struct Solved {
    /// In which way.
    by: Solver,
    bug: Bug,
    runs: u64,
    accesses: u64,
    seconds: f64,
    /// What else there is to tell.
    figures: serde_json::Map<String, serde_json::Value>,
}

pub fn run(args: &Args) -> Outcome {
    let recording = load(&args.log)?;
    if args.core.is_none() && args.bug.is_none() && !recording.failed() {
        return Err(SolveError::NoFailure.into());
    }
    if args.bug.is_some() && !matches!(args.by, Solver::Any | Solver::Execution) {
        return Err(SolveError::Asked.into());
    }
    let executes = match args.by {
        Solver::Execution => true,
        Solver::Any => args.bug.is_some() || recording.kind == LogKind::Order,
        Solver::Order | Solver::Validate => false,
    };
    if executes && args.model.has_buffers() && args.emit.is_none() {
        return Err(SolveError::Buffers.into());
    }
    let output = args.output.clone();
    let output = output.unwrap_or_else(|| args.log.with_extension("bohr"));
    let subject = subject(args, &recording, &program(args, &recording))?;
    let (subject, asked) = asked::prepare(args, &recording, subject, &output)?;
    if args.emit.is_some() {
        return order::emit(args, &recording, &subject);
    }
    let solved = match (recording.kind, args.by) {
        (LogKind::Order, _) => vectors::solve(args, &recording, &subject)?,
        (_, Solver::Any) if asked.is_none() => first::solve(args, &recording, &subject)?,
        (_, Solver::Any | Solver::Execution) => {
            execution::solve(args, &recording, &subject, asked.as_ref(), interruption())?
        }
        (_, Solver::Order | Solver::Validate) => order::solve(args, &recording, &subject)?,
    };
    let bytes = bug_file::write(&solved.bug);
    write_whole(&output, &bytes).map_err(|source| ExploreError::File {
        path: output.clone(),
        source,
    })?;
    tell(args, &recording, &solved, &output);
    Ok(ExitCode::SUCCESS)
}

fn load(path: &Path) -> Result<Recording, Failure> {
    let bytes = std::fs::read(path).map_err(|source| ExploreError::File {
        path: path.to_path_buf(),
        source,
    })?;
    let recording = bohr_log::read(&bytes).map_err(|source| SolveError::Log {
        path: path.to_path_buf(),
        source,
    })?;
    Ok(recording)
}

/// The program that was recorded.
fn program(args: &Args, recording: &Recording) -> PathBuf {
    let recorded = Path::new(OsStr::from_bytes(&recording.program));
    args.program.as_deref().unwrap_or(recorded).to_path_buf()
}

/// A program as it is run under control, with what the recorded one was given.
fn subject(args: &Args, recording: &Recording, program: &Path) -> Result<Subject, Failure> {
    libraries::note_left_out(program, &environment(), "what it does is in no log");
    let (target, models) = target(program, Accesses::OfProgram)?;
    let invocation = Invocation {
        arguments: recording.arguments.clone(),
        environment: recording.environment.clone(),
        input: recording.input.clone(),
        given: recording.given(),
    };
    let mut subject = Subject::new(target, invocation.with_secrets_of(&environment()));
    if models.is_empty() {
        return Err(SolveError::NoModel.into());
    }
    subject.models = models;
    subject.policy.model = args.model;
    subject.oracle.exit_code = recording.good_exit;
    Ok(subject)
}

/// A solver as it is called.
fn name(solver: Solver) -> String {
    let value = clap::ValueEnum::to_possible_value(&solver);
    value.map_or_else(String::new, |value| value.get_name().to_string())
}

fn tell(args: &Args, recording: &Recording, solved: &Solved, output: &Path) {
    let schedule = &solved.bug.schedule;
    if args.json {
        let mut told = json!({
            "solved": true,
            "by": name(solved.by),
            "model": args.model.name(),
            "threads": recording.threads.len(),
            "shared_accesses": solved.accesses,
            "schedules_generated": solved.runs,
            "seconds_solve": solved.seconds,
            "switches": schedule.switches(),
            "kind": solved.bug.signature.kind_name(),
            "signature": signature_tag(&solved.bug.signature),
            "bug_file": output,
        });
        if let Some(at) = &args.bug {
            told["bug"] = json!(at.to_string());
            told["program"] = json!(crate::checked::beside(output, "program"));
        }
        if let Some(told) = told.as_object_mut() {
            told.extend(solved.figures.clone());
        }
        println!("{told}");
    }
    eprintln!(
        "bohr: {} after {} runs along the recorded ways, {:.1} s: {} switches; written to {}",
        solved.bug.signature.kind_name(),
        solved.runs,
        solved.seconds,
        schedule.switches(),
        output.display()
    );
}
