//! Does anything uncontrolled leak into a run? The same schedule is executed
//! again and again, in clones of one process and in fresh processes, and every
//! event is compared, and so is what the program prints: a value that changes
//! need not change what happens. Then it is executed as a hunt does it, each run
//! undone before the next; of these the number of events, the schedule and the end
//! are compared.

use crate::atlas::Atlas;
use crate::error::ExploreError;
use crate::ran::Ran;
use crate::replay::repeat;
use crate::server::Voice;
use crate::subject::Subject;
use bohr_event::control::{Detail, Detailing, Job, Notice, Outcome, Output, RunReport, Step};
use bohr_schedule::Plan;
use std::collections::BTreeSet;

/// Bytes of output that are compared.
const PRINTED: u64 = 1 << 20;

/// How runs are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// In clones of one process.
    Cloned,
    /// Each in a process of its own.
    Fresh,
    /// In one process, which is put back in between.
    Undone,
}

/// The first difference between two runs of one schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leak {
    /// Which run differs from the first, counted from 1.
    pub run: u64,
    /// Where it ran.
    pub way: Way,
    /// The first event that differs, counted from 0; `None` if only the end does.
    pub event: Option<u64>,
    /// What the first run did.
    pub expected: String,
    /// What this one did.
    pub found: String,
}

/// What a check came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Check {
    /// Runs compared.
    pub runs: u64,
    /// Events of each.
    pub events: u64,
    /// The first difference, if there is one.
    pub leak: Option<Leak>,
    /// What the runtime noticed.
    pub notices: BTreeSet<Notice>,
}

/// Executes `plan` with `seed` `times` times in each [`Way`].
///
/// # Errors
/// If the program cannot be run.
pub fn check(
    subject: &Subject,
    plan: &Plan,
    seed: u64,
    times: u64,
    go_on: &dyn Fn() -> bool,
    show: &mut dyn FnMut(u64),
) -> Result<Check, ExploreError> {
    let mut comparison = Comparison::default();
    for (way, servers, runs) in [
        (Way::Cloned, 1, times),
        (Way::Fresh, times, 1),
        (Way::Undone, 1, times),
    ] {
        for _ in 0..servers {
            let mut server = subject.serve(Voice::Muted, go_on)?;
            let mut atlas = subject.atlas(&server);
            comparison.check.notices.extend(&server.ready().notices);
            let unseen = Job {
                first_seed: seed,
                stride: 0,
                runs,
                stop_at_failure: false,
                ..subject.job(plan)
            };
            let job = match way {
                // As in a hunt: what is traced is not undone.
                Way::Undone => Job {
                    rewind: true,
                    ..unseen
                },
                Way::Cloned | Way::Fresh => Job {
                    trace: Detailing::Always,
                    details: Detailing::Always,
                    output: Output::Capture { limit: PRINTED },
                    ..unseen
                },
            };
            repeat(&mut server, job, go_on, |report| {
                ExploreError::if_broken(report)?;
                comparison.take(report, way, &mut atlas);
                show(comparison.check.runs);
                Ok(())
            })?;
            if comparison.check.leak.is_some() {
                return Ok(comparison.check);
            }
        }
    }
    Ok(comparison.check)
}

#[derive(Default)]
struct Comparison {
    check: Check,
    first: Option<(RunReport, Vec<Step>)>,
}

impl Comparison {
    fn take(&mut self, report: &Ran, way: Way, atlas: &mut Atlas) {
        self.check.runs += 1;
        if let Some(detail) = &report.detail {
            self.check.notices.extend(&detail.notices);
            atlas.update(&detail.objects);
        }
        let Some((first, steps)) = &self.first else {
            self.check.events = report.events;
            self.first = Some(((**report).clone(), report.steps().to_vec()));
            return;
        };
        if self.check.leak.is_none() {
            let number = self.check.runs;
            let nothing = Detail::default();
            let [one, other] =
                [first, report].map(|report| report.detail.as_ref().unwrap_or(&nothing));
            let seen = match way {
                Way::Undone => None,
                Way::Cloned | Way::Fresh => difference(steps, report.steps(), way, atlas)
                    .or_else(|| other_output(&one.output, &other.output)),
            };
            self.check.leak = seen
                .or_else(|| other_end(first, report))
                .or_else(|| other_way(first, report))
                .map(|(event, expected, found)| Leak {
                    run: number,
                    way,
                    event,
                    expected,
                    found,
                });
        }
    }
}

type Difference = (Option<u64>, String, String);

/// Addresses may differ between processes, everything else may not.
fn difference(
    expected: &[Step],
    found: &[Step],
    way: Way,
    atlas: &mut Atlas,
) -> Option<Difference> {
    let same = |a: &Step, b: &Step| {
        a.thread == b.thread
            && a.operation.kind == b.operation.kind
            && a.operation.place == b.operation.place
            && (way == Way::Fresh || a.operation.object == b.operation.object)
    };
    let mut pairs = expected.iter().zip(found);
    let first = pairs.position(|(a, b)| !same(a, b));
    let event =
        first.or((expected.len() != found.len()).then_some(expected.len().min(found.len())))?;
    let mut tell = |trace: &[Step]| match trace.get(event) {
        Some(step) => format!(
            "thread #{} {} {:#x} in {}",
            step.thread.0,
            step.operation.kind,
            step.operation.object,
            atlas.spot(step.operation.place)
        ),
        None => "nothing: the run was over".to_string(),
    };
    let (mut one, mut other) = (tell(expected), tell(found));
    if one == other {
        let place = |trace: &[Step]| trace.get(event).map_or(0, |step| step.operation.place.0);
        one += &format!(", place {:#x}", place(expected));
        other += &format!(", place {:#x}", place(found));
    }
    Some((Some(event as u64), one, other))
}

fn other_end(first: &RunReport, report: &RunReport) -> Option<Difference> {
    let end = |outcome: &Outcome| match outcome {
        Outcome::Exited { code } => format!("ended with exit code {code}"),
        Outcome::Failed(failure) => format!("failed: {:?} {}", failure.kind, failure.message),
        Outcome::Stopped(_) => "was stopped".to_string(),
        Outcome::NoRoom => "had no room for its trace".to_string(),
        Outcome::Unsupported(message) | Outcome::Broken(message) => message.clone(),
    };
    let (expected, found) = (end(&first.outcome), end(&report.outcome));
    (expected != found).then_some((None, expected, found))
}

/// Where traces are full, the number of events and the schedule still tell.
fn other_way(first: &RunReport, report: &RunReport) -> Option<Difference> {
    let way =
        |report: &RunReport| format!("{} events, schedule {:016x}", report.events, report.hash);
    let (expected, found) = (way(first), way(report));
    (expected != found).then_some((None, expected, found))
}

/// The first line that differs.
fn other_output(expected: &[u8], found: &[u8]) -> Option<Difference> {
    let lines = |output: &'_ [u8]| -> Vec<String> {
        let text = String::from_utf8_lossy(output);
        text.lines()
            .map(|line| format!("the output `{line}`"))
            .collect()
    };
    if expected == found {
        return None;
    }
    let (expected, found) = (lines(expected), lines(found));
    let line = expected
        .iter()
        .zip(&found)
        .take_while(|(one, other)| one == other)
        .count();
    let tell = |lines: &[String]| {
        let line = lines.get(line).cloned();
        line.unwrap_or_else(|| "no more output".to_string())
    };
    Some((None, tell(&expected), tell(&found)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_other_line_is_told() {
        let told = other_output(b"same\n1\n", b"same\n2\n");
        let lines = ["the output `1`".to_string(), "the output `2`".to_string()];
        assert_eq!(told, Some((None, lines[0].clone(), lines[1].clone())));
        let told = other_output(b"same\n", b"same\nmore\n").map(|told| (told.1, told.2));
        let lines = [
            "no more output".to_string(),
            "the output `more`".to_string(),
        ];
        assert_eq!(told, Some((lines[0].clone(), lines[1].clone())));
        assert_eq!(other_output(b"same", b"same"), None);
    }
}
