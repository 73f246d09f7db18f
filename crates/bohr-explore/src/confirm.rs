//! An order of events that was computed and not executed: the program follows it,
//! and what the run did becomes a bug file like any other.

use crate::atlas::Atlas;
use crate::bug_file::Bug;
use crate::error::ExploreError;
use crate::ran::Ran;
use crate::server::Voice;
use crate::subject::Subject;
use crate::verdict::{Verdict, judge};
use bohr_event::control::{Detailing, Job, LoadedObject};
use bohr_schedule::{Followed, Plan, Rule, Turns, read_report};

/// What became of it.
#[derive(Debug)]
pub struct Confirmation {
    /// The failure, if it is the right one.
    pub bug: Option<Bug>,
    /// What the run failed with otherwise.
    pub instead: Option<Verdict>,
    /// How far the order was followed.
    pub followed: Followed,
}

/// Runs the program along an order, then on without preemption; what it fails with,
/// if that `fits`.
///
/// # Errors
/// If the program cannot be run.
pub fn confirm(
    subject: &Subject,
    turns: Turns,
    by: &str,
    fits: &dyn Fn(&Verdict) -> bool,
    go_on: &dyn Fn() -> bool,
) -> Result<Confirmation, ExploreError> {
    let mut server = subject.serve(Voice::Muted, go_on)?;
    let mut atlas = subject.atlas(&server);
    let object = subject.program_model().map_or(0, |model| {
        object_of_sites(&server.ready().objects, &model.identity)
    });
    let plan = Plan::new(Rule::Ordered(Turns { object, ..turns }));
    let job = Job {
        details: Detailing::Always,
        trace: Detailing::Always,
        ..subject.job(&plan)
    };
    let report = subject.run_once(&mut server, job, go_on)?;
    let detail = report.detail.as_ref();
    let followed = detail.and_then(|detail| read_report(&detail.learnt));
    let followed = followed.unwrap_or_default();
    let verdict = judge(&report, &subject.oracle, &mut atlas);
    let (right, instead) = match verdict {
        Some(verdict) if fits(&verdict) => (Some(verdict), None),
        other => (None, other),
    };
    Ok(Confirmation {
        bug: right.map(|verdict| Bug::of_run(subject, &atlas, by, &report, verdict)),
        instead,
        followed,
    })
}

/// The number of the loaded object that a program's sites are in.
#[must_use]
pub fn object_of_sites(objects: &[LoadedObject], program: &[u8; 32]) -> u16 {
    let is_it = |object: &LoadedObject| matches!(object, LoadedObject::Sites { program: one, .. } if one == program);
    objects.iter().position(is_it).unwrap_or(0) as u16
}

impl Bug {
    /// The bug that a run showed.
    pub(crate) fn of_run(
        subject: &Subject,
        atlas: &Atlas,
        strategy: &str,
        report: &Ran,
        verdict: Verdict,
    ) -> Bug {
        Bug {
            writer: env!("CARGO_PKG_VERSION").to_string(),
            program: subject.target.identity.clone(),
            invocation: subject.invocation.without_secrets(),
            oracle: subject.oracle.clone(),
            policy: subject.policy,
            limits: subject.limits,
            strategy: strategy.to_string(),
            seed: report.seed,
            signature: verdict.signature,
            message: verdict.message,
            printed: String::new(),
            threads: verdict.threads,
            thread_count: report.threads,
            events: report.events,
            schedule: atlas.outward(&report.schedule()),
            sources: Vec::new(),
            reduced: None,
            provisional: None,
            simplified: None,
        }
    }
}
