//! Replay: does a recorded schedule show the recorded failure, every time?

mod adapt;
mod divergence;
mod held;

pub use adapt::{Adaptation, adapt};
pub use divergence::explain;
pub use held::hold;
pub(crate) use held::watch as watch_stopped;

use crate::atlas::Atlas;
use crate::bug_file::{Bug, Races};
use crate::closer::{Closer, look_closer};
use crate::error::ExploreError;
use crate::ran::Ran;
use crate::server::{Server, Voice};
use crate::sources::{self, Source};
use crate::subject::Subject;
use crate::verdict::judge_against;
use bohr_event::control::{Detailing, Job, Outcome, Output, Step};
use bohr_event::{FailureKind, Signature};
use bohr_schedule::{Plan, Stop, read_report};
use std::ops::ControlFlow;

/// What a replayed run came to.
#[derive(Clone, Debug, PartialEq)]
pub enum Reproduction {
    /// The recorded failure at the recorded event.
    Same,
    /// The recorded failure at another event.
    OtherEvent {
        /// Where it was recorded.
        expected: u64,
        /// Where it came.
        found: u64,
    },
    /// Another failure.
    OtherFailure(Box<Signature>),
    /// The run was good, with this exit code.
    NoFailure {
        /// The code.
        code: i32,
    },
    /// The run left the schedule.
    Diverged(String),
}

/// The result of many replays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replays {
    /// Runs made.
    pub runs: u64,
    /// Those that showed the failure at its event.
    pub reproduced: u64,
    /// What the first of the others came to, and which it was.
    pub first_other: Option<(u64, Reproduction)>,
    /// Whether all runs had the same sequence of segments and choices.
    pub same_hash: bool,
    /// Hash of that of the first.
    pub hash: Option<u64>,
}

/// What a closer look at a bug shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    /// Whether it is there.
    pub reproduction: Reproduction,
    /// The places that the run comes by.
    pub sources: Vec<Source>,
    /// The last lines that it prints.
    pub printed: String,
    /// Hash of its events, each with thread, kind, size and place.
    pub event_hash: u64,
    /// Stacks within the run: of its data races, unless nobody wants to know, and
    /// of what was done before with a heap block that is misused.
    pub closer: Closer,
}

/// Bytes of output that are looked at, and lines that are kept.
const PRINTED: (u64, usize) = (1 << 20, 8);

/// Replays the bug once, in a fresh process, and looks at every place that it
/// comes by and at what it prints.
///
/// # Errors
/// If the program cannot be run.
pub fn once(subject: &Subject, bug: &Bug, go_on: &dyn Fn() -> bool) -> Result<Look, ExploreError> {
    let mut server = subject.serve(Voice::Muted, go_on)?;
    let mut atlas = subject.atlas(&server);
    let job = Job {
        trace: Detailing::Always,
        details: Detailing::Always,
        output: Output::Capture { limit: PRINTED.0 },
        ..job(subject, bug, &atlas, 1)
    };
    let report = subject.run_once(&mut server, job.clone(), go_on)?;
    let reproduction = compare(&report, bug, &mut atlas);
    let mut again = |probes| {
        let job = Job {
            probes,
            ..job.clone()
        };
        subject.run_once(&mut server, job, go_on)
    };
    let with_races = subject.oracle.races != Races::Ignored;
    let closer = look_closer(&report, with_races, &mut atlas, &mut again)?;
    Ok(Look {
        closer,
        reproduction,
        sources: sources::gather(report.steps(), &mut atlas),
        event_hash: event_hash(report.steps()),
        printed: last_lines(&report.into_detail().output),
    })
}

/// Equal for equal sequences of events, wherever in memory their objects lie: that
/// of a program's arguments depends on the size of its environment.
fn event_hash(trace: &[Step]) -> u64 {
    let mut hasher = blake3::Hasher::new();
    for step in trace {
        let operation = &step.operation;
        hasher.update(&step.thread.0.to_le_bytes());
        hasher.update(&[operation.kind as u8, operation.order as u8]);
        hasher.update(&operation.size.to_le_bytes());
        hasher.update(&operation.place.0.to_le_bytes());
    }
    let bytes = hasher.finalize();
    u64::from_le_bytes(bytes.as_bytes()[..8].try_into().unwrap_or_default())
}

/// What the report of a sanitizer has in its first line.
const REPORT: [&str; 2] = ["ERROR: ", "Sanitizer: "];

/// The lines before a Rust backtrace say more than those in it, and the first ones of a
/// sanitizer's report more than its last.
fn last_lines(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let said = text.lines().take_while(|line| *line != "stack backtrace:");
    let lines: Vec<&str> = said.collect();
    let begins = |line: &&str| REPORT.iter().all(|part| line.contains(part));
    let report = lines.iter().rposition(begins);
    let first = report.unwrap_or(lines.len().saturating_sub(PRINTED.1));
    let shown = lines[first..].iter().take(PRINTED.1);
    shown.copied().collect::<Vec<_>>().join("\n")
}

/// Replays the bug `times` times; each in a fresh process if `fresh`. `show` is
/// told how many are done.
///
/// # Errors
/// If the program cannot be run.
pub fn replay(
    subject: &Subject,
    bug: &Bug,
    times: u64,
    fresh: bool,
    go_on: &dyn Fn() -> bool,
    show: &mut dyn FnMut(u64),
) -> Result<Replays, ExploreError> {
    let mut replays = Counting::default();
    let batch = if fresh { 1 } else { times };
    while replays.result.runs < times {
        let mut server = subject.serve(Voice::Muted, go_on)?;
        let mut atlas = subject.atlas(&server);
        let job = job(subject, bug, &atlas, batch);
        let before = replays.result.runs;
        repeat(&mut server, job, go_on, |report| {
            replays.take(report, bug, &mut atlas)?;
            show(replays.result.runs);
            Ok(())
        })?;
        if replays.result.runs == before {
            return Err(ExploreError::NoReport);
        }
    }
    Ok(replays.result)
}

/// The bug as a run of its best schedule shows it; as it was found if that is the
/// schedule, or the run does not fail.
///
/// # Errors
/// If the program cannot be run.
pub fn as_it_is_now(
    subject: &Subject,
    bug: &Bug,
    go_on: &dyn Fn() -> bool,
) -> Result<Bug, ExploreError> {
    if std::ptr::eq(bug.best_schedule(), &raw const bug.schedule) {
        return Ok(bug.clone());
    }
    let mut server = subject.serve(Voice::Muted, go_on)?;
    let mut atlas = subject.atlas(&server);
    let job = Job {
        details: Detailing::Always,
        ..job(subject, bug, &atlas, 1)
    };
    let report = subject.run_once(&mut server, job, go_on)?;
    let verdict = judge_against(&report, bug, &mut atlas);
    let same = verdict.filter(|verdict| verdict.signature == bug.signature);
    Ok(same.map_or_else(|| bug.clone(), |verdict| verdict.shown_of(bug)))
}

fn job(subject: &Subject, bug: &Bug, atlas: &Atlas, runs: u64) -> Job {
    let plan = Plan::replay(atlas.inward(bug.best_schedule()));
    let job = subject.job(&plan);
    Job {
        runs,
        stride: 0,
        first_seed: bug.seed,
        without: bug.without(),
        stop_at_failure: false,
        details: match subject.oracle.looks_at_good_runs() {
            true => Detailing::Always,
            false => Detailing::Never,
        },
        ..job
    }
}

/// Has a job done and hands over its reports one by one.
pub(crate) fn repeat(
    server: &mut Server,
    job: Job,
    go_on: &dyn Fn() -> bool,
    mut take: impl FnMut(&Ran) -> Result<(), ExploreError>,
) -> Result<(), ExploreError> {
    let mut failure = None;
    let end = server.run(job, go_on, |reports| {
        match reports.iter().try_for_each(&mut take) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failure = Some(error);
                ControlFlow::Break(())
            }
        }
    });
    match failure {
        Some(error) => Err(error),
        None => Ok(end?),
    }
}

/// Counts replays. Finding lines, frames and races is slow, so a report that equals
/// one that was judged is not judged again.
#[derive(Default)]
struct Counting {
    result: Replays,
    judged: Option<(Outcome, Evidence, Reproduction)>,
}

/// What a run is judged by, besides its outcome.
#[derive(Clone, Debug, PartialEq)]
struct Evidence {
    events: u64,
    trace: Vec<Step>,
    output: Vec<u8>,
}

impl Evidence {
    fn of(report: &Ran) -> Evidence {
        let output = report.detail.as_ref().map(|detail| detail.output.clone());
        Evidence {
            events: report.events,
            trace: report.steps().to_vec(),
            output: output.unwrap_or_default(),
        }
    }
}

impl Counting {
    fn take(&mut self, report: &Ran, bug: &Bug, atlas: &mut Atlas) -> Result<(), ExploreError> {
        ExploreError::if_broken(report)?;
        let evidence = Evidence::of(report);
        let known = match &self.judged {
            Some((outcome, before, known)) if *outcome == report.outcome && *before == evidence => {
                known.clone()
            }
            _ => compare(report, bug, atlas),
        };
        self.judged = Some((report.outcome.clone(), evidence, known.clone()));
        let first = *self.result.hash.get_or_insert(report.hash);
        self.result.same_hash =
            first == report.hash && (self.result.runs == 0 || self.result.same_hash);
        self.result.runs += 1;
        match known {
            Reproduction::Same => self.result.reproduced += 1,
            other if self.result.first_other.is_none() => {
                self.result.first_other = Some((self.result.runs, other));
            }
            _ => {}
        }
        Ok(())
    }
}

/// Holds a run against the bug.
fn compare(report: &Ran, bug: &Bug, atlas: &mut Atlas) -> Reproduction {
    if let Outcome::Stopped(bytes) = &report.outcome {
        return Reproduction::Diverged(match read_report(bytes) {
            Some(Stop::Diverged(divergence)) => explain(&divergence, atlas),
            _ => "the run was stopped".to_string(),
        });
    }
    match judge_against(report, bug, atlas) {
        None => Reproduction::NoFailure {
            code: match report.outcome {
                Outcome::Exited { code } => code,
                _ => 0,
            },
        },
        Some(verdict) if verdict.signature != bug.signature => {
            Reproduction::OtherFailure(Box::new(verdict.signature))
        }
        // Where a run is when its time is up depends on the clock on the wall.
        Some(verdict) if verdict.signature.kind == FailureKind::TimeLimit => Reproduction::Same,
        Some(_) if report.events == bug.failing_event() => Reproduction::Same,
        Some(_) => Reproduction::OtherEvent {
            expected: bug.failing_event(),
            found: report.events,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::last_lines;

    #[test]
    fn a_report_is_shown_from_its_beginning() {
        let legend = "  Shadow byte legend\n".repeat(20);
        let error = "==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x1";
        let output = format!("begins\n{error}\nWRITE of size 4\n{legend}");
        let shown = last_lines(output.as_bytes());
        let mut lines = shown.lines();
        assert_eq!(lines.next(), Some(error));
        assert_eq!(lines.next(), Some("WRITE of size 4"));
        assert_eq!(lines.count(), super::PRINTED.1 - 2);
    }

    #[test]
    fn what_was_said_last_is_shown_before_a_backtrace() {
        let said: Vec<String> = (0..20).map(|number| number.to_string()).collect();
        let output = format!("{}\nstack backtrace:\n0: main", said.join("\n"));
        assert_eq!(
            last_lines(output.as_bytes()),
            said[20 - super::PRINTED.1..].join("\n")
        );
    }
}
