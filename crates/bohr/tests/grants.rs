//! Leave for many events at once is worth as many single ones: a run is the same
//! whether its hooks count down or every event is announced, as tracing has it.

use crate::controlled;

use bohr_event::FailureKind;
use bohr_event::control::{Detailing, Job, Outcome};
use bohr_explore::{Ran, Subject, Voice};
use bohr_schedule::{Plan, Rule};
use controlled::Folder;
use std::ops::ControlFlow;

fn subject(folder: &Folder, length: &str) -> Subject {
    folder.build("phases", &[]);
    folder.subject(length)
}

/// The runs of `seeds` seeds by this plan, traced or not.
fn runs(subject: &Subject, plan: &Plan, seeds: u64, trace: Detailing) -> Vec<Ran> {
    let go_on = || true;
    let mut server = subject.serve(Voice::Muted, &go_on).expect("a server");
    let job = Job {
        runs: seeds,
        stop_at_failure: false,
        trace,
        details: Detailing::Always,
        ..subject.job(plan)
    };
    let mut reports = Vec::new();
    let done = server.run(job, &go_on, |more| {
        reports.extend(more);
        ControlFlow::Continue(())
    });
    done.expect("the job is done");
    reports
}

/// What must not depend on how events are counted. Anchors count visits, which
/// only a trace can tell.
fn essence(report: &Ran) -> (Outcome, u64, u64, Vec<(String, u64)>) {
    let detail = report.detail.as_ref().expect("asked for");
    let segments = detail.schedule.segments().iter();
    let lengths = segments.map(|segment| (segment.thread.to_string(), segment.events));
    let mut outcome = report.outcome.clone();
    if let Outcome::Failed(failure) = &mut outcome {
        // Without a trace, the last operation of a thread has no address.
        failure.states.clear();
    }
    (outcome, report.events, report.hash, lengths.collect())
}

#[test]
fn counted_and_announced_runs_are_equal() {
    let folder = Folder::empty();
    let subject = subject(&folder, "20000");
    let rules = [
        Rule::Random,
        Rule::Pos,
        Rule::Sequential,
        Rule::Slices { mean: 40 },
        Rule::Pct {
            depth: 3,
            length: 6_000,
        },
    ];
    let mut freed_early = 0;
    for rule in rules {
        let plan = Plan::new(rule);
        let traced = runs(&subject, &plan, 8, Detailing::Always);
        let counted = runs(&subject, &plan, 8, Detailing::Never);
        for (traced, counted) in traced.iter().zip(&counted) {
            assert_eq!(essence(traced), essence(counted));
            assert_eq!(traced.steps().len() as u64, traced.events);
            // Exact replay checks the place at which every segment ends.
            let plan = Plan::replay(traced.schedule());
            for trace in [Detailing::Never, Detailing::Always] {
                let replayed = &runs(&subject, &plan, 1, trace)[0];
                assert_eq!(essence(replayed), essence(traced));
                if trace == Detailing::Always {
                    assert_eq!(replayed.steps(), traced.steps());
                }
            }
            freed_early += usize::from(matches!(
                &traced.outcome,
                Outcome::Failed(failure) if failure.kind == FailureKind::UseAfterFree
            ));
        }
    }
    assert!(freed_early > 0, "some replays check freed memory");
}

/// More events than a run may have, by far, while there is nobody else.
#[test]
fn a_long_serial_phase_is_no_livelock() {
    let folder = Folder::empty();
    let subject = subject(&folder, "41000000");
    for rule in [Rule::Random, Rule::Pos] {
        let report = &runs(&subject, &Plan::new(rule), 1, Detailing::Never)[0];
        assert!(report.events > 41_000_000, "{}", report.events);
        let ended = !matches!(
            &report.outcome,
            Outcome::Failed(failure)
                if matches!(failure.kind, FailureKind::TimeLimit | FailureKind::Livelock)
        );
        assert!(ended, "{:?}", report.outcome);
    }
}
