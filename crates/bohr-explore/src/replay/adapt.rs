//! Replay of a bug in a changed program: follow the old schedule by its
//! anchors as far as it goes, then search close to it.

use super::repeat;
use crate::atlas::Atlas;
use crate::bug_file::Bug;
use crate::error::ExploreError;
use crate::ran::Ran;
use crate::server::{Server, Voice};
use crate::sources::{self, Source};
use crate::subject::Subject;
use crate::verdict::{Verdict, judge};
use bohr_event::control::{Detailing, Job};
use bohr_event::{PlaceNumber, Schedule};
use bohr_schedule::{Fidelity, Follow, Followed, Plan, Rule, read_report};

/// Events that a segment may have more than recorded.
const SLACK: u64 = 64;

/// Runs with each length of the part that is followed.
const RUNS_PER_CUT: u64 = 200;

/// Runs that survey the changed program.
const SURVEY: u64 = 10;

/// How the search goes away from the old schedule: the share that is followed.
const SHARES: [f64; 6] = [1.0, 0.95, 0.85, 0.7, 0.5, 0.25];

/// What became of an old bug in a changed program.
#[derive(Clone, Debug)]
pub struct Adaptation {
    /// Segments of the old schedule.
    pub segments: u64,
    /// How many of them could be followed when all were tried.
    pub followed: Followed,
    /// Runs made.
    pub runs: u64,
    /// The failure, if it was found again, as a bug of the changed program.
    pub bug: Option<Bug>,
    /// Whether it fails in the same functions; otherwise only the same way.
    pub same: bool,
}

/// Looks for an old bug in a program that has changed since.
///
/// # Errors
/// If the program cannot be run.
pub fn adapt(
    subject: &Subject,
    bug: &Bug,
    go_on: &dyn Fn() -> bool,
) -> Result<Adaptation, ExploreError> {
    let mut server = subject.serve(Voice::Muted, go_on)?;
    let mut atlas = subject.atlas(&server);
    let present = places(subject, &mut server, &mut atlas, go_on)?;
    let carried = sources::carry_over(&bug.sources, &present);
    let old = bug.best_schedule().with_places(|place| {
        let now = carried.get(place)?;
        atlas.number(now)
    });
    let mut result = Adaptation {
        segments: old.segments().len() as u64,
        followed: Followed::default(),
        runs: 0,
        bug: None,
        same: false,
    };
    for (number, share) in SHARES.into_iter().enumerate() {
        let plan = plan(&old, share, number);
        let job = Job {
            runs: if number == 0 { 1 } else { RUNS_PER_CUT },
            stop_at_failure: false,
            details: Detailing::Always,
            ..subject.job(&plan)
        };
        repeat(&mut server, job, go_on, |report| {
            result.runs += 1;
            if result.runs == 1 {
                let learnt = report
                    .detail
                    .as_ref()
                    .map_or(&[][..], |detail| &detail.learnt);
                result.followed = read_report(learnt).unwrap_or_default();
            }
            ExploreError::if_broken(report)?;
            if let Some(verdict) = judge(report, &bug.oracle, &mut atlas) {
                consider(
                    &mut result,
                    bug,
                    subject,
                    report,
                    verdict,
                    (&atlas, &present),
                );
            }
            Ok(())
        })?;
        if result.same {
            break;
        }
    }
    Ok(result)
}

/// The places that some runs of the changed program come by.
fn places(
    subject: &Subject,
    server: &mut Server,
    atlas: &mut Atlas,
    go_on: &dyn Fn() -> bool,
) -> Result<Vec<Source>, ExploreError> {
    let mut trace = Vec::new();
    let job = Job {
        runs: SURVEY,
        stop_at_failure: false,
        trace: Detailing::Always,
        details: Detailing::Always,
        ..subject.job(&Plan::new(Rule::Random))
    };
    repeat(server, job, go_on, |report| {
        if let Some(detail) = &report.detail {
            atlas.update(&detail.objects);
            trace.extend(report.steps());
        }
        Ok(())
    })?;
    Ok(sources::gather(&trace, atlas))
}

/// Follows a share of the old schedule; the whole of it sequentially to its
/// end, shorter parts by chance.
fn plan(old: &Schedule<PlaceNumber>, share: f64, number: usize) -> Plan {
    let keep = (old.segments().len() as f64 * share).ceil() as usize;
    let mut schedule: Schedule<PlaceNumber> = old.segments()[..keep].iter().cloned().collect();
    old.choices()
        .iter()
        .for_each(|choice| schedule.choose(choice.clone()));
    let rule = if number == 0 {
        Rule::Sequential
    } else {
        Rule::Random
    };
    Plan {
        follow: Some(Follow {
            schedule,
            fidelity: Fidelity::Tolerant { slack: SLACK },
            then_rule: true,
        }),
        ..Plan::new(rule)
    }
}

/// The same functions are best; a failure of the same kind is better than none.
fn consider(
    result: &mut Adaptation,
    old: &Bug,
    subject: &Subject,
    report: &Ran,
    verdict: Verdict,
    (atlas, present): (&Atlas, &[Source]),
) {
    let same = verdict.signature.resembles(&old.signature);
    let related = verdict.signature.kind == old.signature.kind;
    if result.same || !same && (result.bug.is_some() || !related) {
        return;
    }
    result.same = same;
    result.bug = Some(Bug {
        writer: old.writer.clone(),
        invocation: old.invocation.clone(),
        oracle: old.oracle.clone(),
        policy: old.policy,
        limits: old.limits,
        sources: present.to_vec(),
        ..Bug::of_run(subject, atlas, "adapt", report, verdict)
    });
}
