//! `bohr break tsan`: breakpoints from a report of ThreadSanitizer. The report says
//! which lines meet, not how the program was started; the program has to be built
//! with bohr, and need not be the build that made the report.

use super::artefacts::Case;
use super::from::{BreakError, LIMIT, best, tell};
use super::laboratory::Laboratory;
use super::report::Report;
use crate::control::breakpoints::Finder;
use crate::control::{ProgramArgs, at_least_one, interruption};
use crate::outcome::{Failure, Outcome};
use bohr_event::{Diagnosis, FailureKind, Fault};
use bohr_explore::ExploreError;
use bohr_explore::native::Native;
use bohr_trigger::{Warning, warnings};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// Which report, and of what.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  TSAN_OPTIONS=log_path=race ./program-with-tsan; bohr break tsan race.7 -- ./program
  bohr break tsan race.7 --warning 2 -- ./program 4

Threads are made to meet where the report says that nothing orders them, or where
they take locks in a circle; a run counts in which they do, or which fails. Exit
codes: 0 done, 1 they meet in less than 99 of 100 runs, 2 bohr could not do it.")]
pub struct Args {
    /// What ThreadSanitizer printed.
    report: PathBuf,
    /// Which of its warnings, from 1.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = at_least_one::<usize>)]
    warning: usize,
    /// Native runs that a breakpoint is verified by.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = at_least_one::<usize>)]
    runs: usize,
    /// Folder for the patch and the regression test.
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    output: PathBuf,
    /// Print one JSON object on standard output.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    program: ProgramArgs,
}

/// What is wrong with a report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// Something else.
    #[error("`{0}` is no report of ThreadSanitizer")]
    NotAReport(PathBuf),
    /// There are not so many.
    #[error("the report has {known} warnings that name two lines of the program, no {wanted}.")]
    NoWarning {
        /// How many there are.
        known: usize,
        /// Which one was asked for.
        wanted: usize,
    },
}

impl Diagnosis for ReportError {
    fn fault(&self) -> Fault {
        Fault::Input
    }

    fn help(&self) -> Option<String> {
        let how = "build with -g -fsanitize=thread and run with TSAN_OPTIONS=log_path=FILE";
        Some(how.to_string())
    }
}

pub fn run(args: &Args) -> Outcome {
    let warning = warning(args)?;
    let interrupted = interruption();
    let go_on = || !interrupted.load(Ordering::Relaxed);
    let subject = args.program.subject()?;
    let finder = Finder::of(&subject)?;
    let native = Native::new(&subject)?;
    let kind = match warning.is_inversion {
        true => FailureKind::Deadlock,
        false => FailureKind::DataRace,
    };
    // A line that is not in the program is told at once.
    let choices = vec![warning.expressions()];
    for expression in &choices[0] {
        finder.find(std::slice::from_ref(expression))?;
    }
    let mut laboratory = Laboratory {
        trials: None,
        finder: &finder,
        native: &native,
        kind: Some(kind.clone()),
        is_beside: false,
        oracle: &subject.oracle,
        go_on: &go_on,
        limit: LIMIT,
    };
    let program = Path::new(OsStr::from_bytes(&subject.target.identity.path));
    let case = Case {
        program,
        folders: finder.folders(),
        invocation: &subject.invocation,
        oracle: &subject.oracle,
        kind: &kind,
    };
    let mut steps = Vec::new();
    let best = best(&choices, &case, &mut laboratory, args.runs, &mut steps)?;
    let verified = best.ok_or(BreakError::NothingWorks)?;
    let word = if warning.is_inversion {
        "deadlock"
    } else {
        "race"
    };
    let harmless = laboratory.is_harmless();
    let report = Report::conclude(
        &case,
        &finder,
        word,
        harmless,
        verified,
        steps,
        &args.output,
    )?;
    tell(args.json, &report)
}

fn warning(args: &Args) -> Result<Warning, Failure> {
    let text = std::fs::read_to_string(&args.report).map_err(|source| ExploreError::File {
        path: args.report.clone(),
        source,
    })?;
    let all = warnings(&text).ok_or_else(|| ReportError::NotAReport(args.report.clone()))?;
    let known = all.len();
    let wanted = args.warning;
    let found = wanted.checked_sub(1).and_then(|at| all.into_iter().nth(at));
    Ok(found.ok_or(ReportError::NoWarning { known, wanted })?)
}
