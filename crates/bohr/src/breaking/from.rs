//! `bohr break from`: the fewest breakpoints with which a bug comes every time
//! (methodology I of the paper, made automatic).

use super::artefacts::{Case, draft};
use super::choices::{Words, choices, moments};
use super::laboratory::Laboratory;
use super::report::{Report, kind};
use super::search::{Ended, Found, Kept, LARGEST, Promising, further, search};
use super::tune::{Step, tune, verify};
use super::verified::Verified;
use crate::control::breakpoints::Finder;
use crate::control::{BugArgs, at_least_one, counter, duration, interruption};
use crate::explain::find_out;
use crate::explain::stacks::Stacks;
use crate::outcome::{Failure, Outcome};
use bohr_event::control::Omissions;
use bohr_event::{Diagnosis, FailureKind, Fault, MemoryModel};
use bohr_explain::Importance;
use bohr_explore::Trials;
use bohr_explore::bug_file::Bug;
use bohr_explore::native::Native;
use bohr_trigger::{Expression, demands, finding};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Which bug.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  bohr break from cache.bohr
  bohr break from cache.bohr --json | jq .breakpoints
  bohr break from cache.bohr --finding 2

The bug is simplified and explained first. Places at which its threads have to
meet are tried in runs under control, the best of them with real threads; pauses
and predicates are tuned until the failure is near certain. Exit codes: 0 done,
1 no set of breakpoints reproduces it in 99 of 100 runs, 2 bohr could not do it.")]
pub struct Args {
    #[command(flatten)]
    subject: BugArgs,
    /// Native runs that a set is verified by.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = at_least_one::<usize>)]
    runs: usize,
    /// Only the N-th of what `bohr explain BUG --json` lists as `findings`, then
    /// `races`, then `lock_cycles`; whether a failure comes of it or not, its threads have
    /// to meet, and where they then wait for each other, to deadlock.
    #[arg(long, value_name = "N", value_parser = at_least_one::<usize>)]
    finding: Option<usize>,
    /// Folder for the patch and the regression test.
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    output: PathBuf,
    /// Longest time for simplifying and for explaining, as in 10s or 5m.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    time: Duration,
}

/// A set is good enough if so many of its runs fail.
const ENOUGH: f64 = 0.99;

/// Longest time of a native run.
pub const LIMIT: Duration = Duration::from_secs(10);

/// Why there are no breakpoints.
#[derive(Debug, thiserror::Error)]
pub enum BreakError {
    /// Nothing that the explanation names is a site of the program.
    #[error("the explanation names no two places at which threads could be held up")]
    NoPlaces,
    /// It is the memory that keeps threads apart, not their order.
    #[error("the failure was found under --model {0}: no breakpoint keeps a store in its buffer")]
    Buffered(MemoryModel),
    /// There are not so many.
    #[error(
        "there is no finding {0}; they are counted from 1, races behind the others, \
         then lock orders"
    )]
    NoFinding(usize),
    /// Nothing worked.
    #[error("no set of at most three breakpoints showed the failure with real threads")]
    NothingWorks,
}

impl Diagnosis for BreakError {
    fn fault(&self) -> Fault {
        match self {
            BreakError::NoFinding(_) => Fault::Input,
            BreakError::NoPlaces | BreakError::Buffered(_) | BreakError::NothingWorks => {
                Fault::Unsupported
            }
        }
    }

    fn help(&self) -> Option<String> {
        Some("`bohr explain BUG` tells what the failure takes; `bohr replay BUG` shows it".into())
    }
}

pub fn run(args: &Args) -> Outcome {
    let (bug, subject) = args.subject.load()?;
    if bug.policy.model.has_buffers() {
        return Err(BreakError::Buffered(bug.policy.model).into());
    }
    let interrupted = interruption();
    let go_on = || !interrupted.load(Ordering::Relaxed);
    let finder = Finder::of(&subject)?;
    let native = Native::new(&subject)?.looking_for(&bug.signature.kind);
    let mut trials = Trials::start(&subject, &bug, &go_on)?;
    let sought = seek(args, &bug, &finder, &mut trials)?;
    // Real runs have all their threads.
    trials.leave_out(Omissions::default());
    let mut laboratory = Laboratory {
        trials: Some(&mut trials),
        finder: &finder,
        native: &native,
        kind: Some(sought.shown.clone()),
        is_beside: args.finding.is_some(),
        oracle: &bug.oracle,
        go_on: &go_on,
        limit: LIMIT,
    };
    let case = Case {
        program: Path::new(OsStr::from_bytes(&subject.target.identity.path)),
        folders: finder.folders(),
        invocation: &bug.invocation,
        oracle: &bug.oracle,
        kind: match &sought.shown {
            FailureKind::Deadlock => &sought.shown,
            _ => &bug.signature.kind,
        },
    };
    let mut steps = Vec::new();
    let best = best(
        &sought.choices,
        &case,
        &mut laboratory,
        args.runs,
        &mut steps,
    )?;
    let verified = best.ok_or(BreakError::NothingWorks)?;
    let harmless = laboratory.is_harmless();
    let report = Report::conclude(
        &case,
        &finder,
        sought.word,
        harmless,
        verified,
        steps,
        &args.output,
    )?;
    tell(args.subject.json, &report)
}

/// What breakpoints are looked for.
struct Sought {
    /// For each demand of the failure, the breakpoints that may meet it.
    choices: Vec<Vec<Expression>>,
    /// What a run has to show.
    shown: FailureKind,
    /// What the paper calls it.
    word: &'static str,
}

/// Explains the bug, or takes one of its findings, and puts in words what it takes.
fn seek(
    args: &Args,
    bug: &Bug,
    finder: &Finder,
    trials: &mut Trials<'_>,
) -> Result<Sought, Failure> {
    let mut explained = find_out(bug, trials, false, args.time)?;
    let mut shown = bug.signature.kind.clone();
    if let Some(number) = args.finding {
        let one = finding(&explained.explanation, number);
        explained.explanation = one.ok_or(BreakError::NoFinding(number))?;
        // Threads that meet at the locks of an order that can deadlock do deadlock; of
        // other findings it is not known that harm comes.
        let deadlocks = !explained.explanation.circle.is_empty();
        shown = match deadlocks {
            true => FailureKind::Deadlock,
            false => FailureKind::DataRace,
        };
    }
    let demands = {
        let vocabulary = &explained.vocabulary;
        let is_lock = |operation: &_| vocabulary.importance(operation) == Importance::Lock;
        demands(&explained.explanation, &is_lock, args.finding.is_none())
    };
    let stacks = Stacks::of(
        moments(&demands),
        &explained.explanation,
        explained.failure.as_ref(),
        trials,
        bug.seed,
    )?;
    let mut words = Words {
        explanation: &explained.explanation,
        places: finder.places(),
        stacks: &stacks,
        atlas: trials.atlas_mut(),
    };
    let choices = choices(&demands, &mut words);
    match choices.is_empty() {
        true => Err(BreakError::NoPlaces.into()),
        false => Ok(Sought {
            choices,
            shown,
            word: kind(&explained.explanation),
        }),
    }
}

/// Times that the search for sets of a size is taken up again, because one that looked
/// ideal in a few runs was not in many, or sources could not keep it.
const RESUMED: usize = 3;

/// The smallest set that shows the bug in nearly every one of many runs; more than
/// one is looked at while they cost much.
pub fn best(
    choices: &[Vec<Expression>],
    case: &Case<'_>,
    laboratory: &mut Laboratory<'_, '_>,
    runs: usize,
    steps: &mut Vec<Step>,
) -> Result<Option<Verified>, Failure> {
    let mut best: Option<Verified> = None;
    let mut promising = Promising::default();
    let kept = |set: &[Expression]| draft(set, case, false).is_ok();
    for size in 1..=LARGEST.min(choices.len()) {
        let mut resumed = 0;
        loop {
            let bar = counter("sets of breakpoints tried");
            let mut told = |step: Step| {
                bar.suspend(|| tell_step(&step));
                steps.push(step);
            };
            let told: (Kept<'_>, &mut dyn FnMut(Step)) = (&kept, &mut told);
            let (found, ended) = match resumed {
                0 => search(choices, size, &mut promising, laboratory, &bar, told)?,
                _ => further(&mut promising, laboratory, &bar, told)?,
            };
            bar.finish_and_clear();
            for found in found {
                let verified = verified(found, case, laboratory, runs, steps)?;
                let better = |best: &Verified| verified.is_better_than(best, ENOUGH);
                if best.as_ref().is_none_or(better) {
                    best = Some(verified);
                }
                if best.as_ref().is_some_and(|best| best.is_fine(ENOUGH)) {
                    return Ok(best);
                }
            }
            resumed += 1;
            if ended == Ended::Exhausted || resumed > RESUMED {
                break;
            }
        }
        if best.as_ref().is_some_and(|best| best.is_certain(ENOUGH)) {
            return Ok(best);
        }
    }
    if let Some(best) = best.as_mut().filter(|best| !best.is_certain(ENOUGH)) {
        best.compared = laboratory.compared(&best.set, runs, 0)?;
        best.try_patch(case, laboratory)?;
    }
    Ok(best)
}

/// Tunes a set, makes many runs with it, and tries its patch if they nearly all fail.
fn verified(
    found: Found,
    case: &Case<'_>,
    laboratory: &Laboratory<'_, '_>,
    runs: usize,
    steps: &mut Vec<Step>,
) -> Result<Verified, Failure> {
    let (found, tuned) = tune(found, laboratory, &mut tell_step)?;
    let (mut verified, further) = verify(found.set, runs, ENOUGH, laboratory, &mut tell_step)?;
    steps.extend(tuned.into_iter().chain(further));
    if verified.is_certain(ENOUGH) {
        verified.try_patch(case, laboratory)?;
    }
    Ok(verified)
}

/// Says what came of a step, while others are under way.
pub fn tell_step(step: &Step) {
    eprintln!(
        "bohr: {}: fails in {:.0} % of runs, {:.4} s each{}",
        step.what,
        step.probability * 100.0,
        step.seconds,
        if step.kept { "" } else { ", not kept" }
    );
}

/// Prints the report, and says by the exit code whether the set is good enough.
pub fn tell(json: bool, report: &Report) -> Result<ExitCode, Failure> {
    match json {
        true => println!("{}", report.as_json()),
        false => print!("{}", report.as_text()),
    }
    let enough = report.compared.with.probability() >= ENOUGH;
    Ok(ExitCode::from(u8::from(!enough)))
}
