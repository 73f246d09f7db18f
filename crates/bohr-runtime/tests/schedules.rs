//! Schedules are found, reported and replayed.

use crate::harness;

use bohr_event::{
    EventKind, FailureKind, ThreadIndex,
    control::{Detailing, Outcome},
};
use bohr_schedule::{Plan, Rule};
use harness::{Program, Ran, job};
use std::collections::BTreeSet;

fn failure(report: &Ran) -> Option<&FailureKind> {
    match &report.outcome {
        Outcome::Failed(failure) => Some(&failure.kind),
        _ => None,
    }
}

#[test]
fn a_lost_update_is_found_and_replayed() {
    let program = Program::compile("lost_update.c");
    let mut template = program.start();
    let reports = template.run(&job(&Plan::new(Rule::Random), 60));
    assert_eq!(reports.len(), 60);
    let failing: Vec<_> = reports
        .iter()
        .filter(|report| failure(report) == Some(&FailureKind::Assertion))
        .collect();
    assert!(
        !failing.is_empty() && failing.len() < 60,
        "{}",
        failing.len()
    );
    let first = failing[0];
    let detail = first.detail.as_ref().expect("asked for");
    assert_eq!(detail.schedule.events(), first.events);
    assert_eq!(first.trace.len() as u64, first.events);
    let replayed = template.run(&job(&Plan::replay(detail.schedule.clone()), 20));
    for report in &replayed {
        assert_eq!(report.outcome, first.outcome, "replay is exact");
        assert_eq!((report.events, report.hash), (first.events, first.hash));
        assert_eq!(report.trace, first.trace);
    }
}

#[test]
fn a_seed_names_a_run() {
    let program = Program::compile("lost_update.c");
    let mut template = program.start();
    let plan = job(&Plan::new(Rule::Random), 30);
    let first = template.run(&plan);
    assert_eq!(first, template.run(&plan));
    drop(template);
    assert_eq!(first, program.start().run(&plan), "in a fresh process");
}

/// Events tell addresses of globals, stacks and heap blocks, so equal reports
/// mean equal addresses.
#[test]
fn the_size_of_the_environment_does_not_matter() {
    let program = Program::compile("addresses.c");
    let plan = job(&Plan::new(Rule::Random), 5);
    let plain = program.start().run(&plan);
    assert!(
        plain
            .iter()
            .all(|report| !harness::output(report).is_empty())
    );
    let mut command = std::process::Command::new(&program.path);
    command.env("SOMETHING", "long".repeat(5000));
    command.stdin(std::process::Stdio::null());
    let other = harness::Template::start_command(command).run(&plan);
    assert_eq!(plain, other);
}

#[test]
fn tracing_does_not_change_the_run() {
    let program = Program::compile("lost_update.c");
    let mut template = program.start();
    for rule in harness::rules() {
        let mut plan = job(&Plan::new(rule), 30);
        let traced = template.run(&plan);
        plan.trace = Detailing::Never;
        plan.details = Detailing::Never;
        let plain = template.run(&plan);
        let figures = |reports: &[Ran]| -> Vec<_> {
            let figure = |r: &Ran| (r.events, r.switches, r.hash, r.threads);
            reports.iter().map(figure).collect()
        };
        assert_eq!(figures(&traced), figures(&plain));
    }
}

#[test]
fn a_deadlock_is_found_with_its_cycle() {
    let program = Program::compile("deadlock.c");
    let mut template = program.start();
    let reports = template.run(&job(&Plan::new(Rule::Random), 60));
    let stuck = reports
        .iter()
        .find(|report| failure(report) == Some(&FailureKind::Deadlock))
        .expect("sixty runs show it");
    let Outcome::Failed(failure) = &stuck.outcome else {
        unreachable!()
    };
    let waiting: Vec<_> = failure
        .states
        .iter()
        .filter(|state| state.operation.kind == EventKind::Acquire)
        .collect();
    assert_eq!(waiting.len(), 2);
    assert_eq!(waiting[0].holder, Some(waiting[1].thread));
    assert_eq!(waiting[1].holder, Some(waiting[0].thread));
    for state in waiting {
        assert!(!state.enabled);
        assert!(state.frames.len() >= 2, "{:?}", state.frames);
    }
}

#[test]
fn threads_are_named_alike_by_whoever_creates_starts_ends_and_joins_them() {
    let program = Program::compile("joins.c");
    let reports = program.always_succeeds(20);
    let mut looks = 0;
    for report in &reports {
        let trace = &report.trace;
        let named = |kind: EventKind| {
            let steps = trace.iter().filter(move |step| step.operation.kind == kind);
            steps.map(|step| (step.thread, ThreadIndex::from_object(step.operation.object)))
        };
        for kind in [EventKind::Start, EventKind::Exit] {
            assert!(named(kind).all(|(thread, object)| object == Some(thread)));
        }
        for kind in [EventKind::Fork, EventKind::Join] {
            let children: BTreeSet<_> = named(kind).map(|(_, object)| object).collect();
            assert_eq!(named(kind).count(), 2, "a failed attempt is no join");
            assert!(
                children
                    .into_iter()
                    .eq([1, 2].map(|index| Some(ThreadIndex(index))))
            );
        }
        looks += named(EventKind::Look).count();
    }
    assert!(looks > 0, "some attempts to join come too early");
}
