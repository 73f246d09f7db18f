//! Every way to fail is told as what it is.

use crate::harness;

use bohr_event::{
    FailureKind, ThreadIndex,
    control::{Failure, LoadedObject, Outcome},
};
use bohr_schedule::{Plan, Rule};
use harness::{Program, job, output};

/// The outcome of one run with this argument.
fn outcome(program: &Program, way: &str) -> Outcome {
    let mut job = job(&Plan::new(Rule::Random), 1);
    job.limits.events = 10_000;
    job.limits.milliseconds = 300;
    let mut reports = program.start_with(&[way]).run(&job);
    reports.remove(0).report.outcome
}

fn failure(program: &Program, way: &str) -> Failure {
    match outcome(program, way) {
        Outcome::Failed(failure) => failure,
        other => panic!("{way}: {other:?}"),
    }
}

#[test]
fn ways_to_fail() {
    let program = Program::compile("failures.c");
    let expected = [
        ("crash", FailureKind::Crash { signal: 11 }),
        ("overflow", FailureKind::Crash { signal: 11 }),
        ("overflow-in-call", FailureKind::Crash { signal: 11 }),
        ("divide", FailureKind::Crash { signal: 8 }),
        ("abort", FailureKind::Abort),
        ("assert", FailureKind::Assertion),
        ("spin", FailureKind::Livelock),
        ("hang", FailureKind::TimeLimit),
        ("bad-lock", FailureKind::Crash { signal: 11 }),
        ("double-free", FailureKind::DoubleFree),
        ("bad-free", FailureKind::Abort),
        ("self-lock", FailureKind::Deadlock),
        ("read-dup", FailureKind::Deadlock),
        ("read-dup3", FailureKind::Deadlock),
        ("read-fcntl", FailureKind::Deadlock),
        ("await-poll", FailureKind::Deadlock),
        ("await-select", FailureKind::Deadlock),
        ("await-epoll", FailureKind::Deadlock),
        ("await-epolls", FailureKind::Deadlock),
        ("await-outside", FailureKind::TimeLimit),
        ("await-epoll-outside", FailureKind::TimeLimit),
    ];
    for (way, kind) in expected {
        let failure = failure(&program, way);
        assert_eq!(failure.kind, kind, "{way}: {}", failure.message);
        assert_eq!(failure.thread, ThreadIndex(1), "{way}");
        let state = failure
            .states
            .iter()
            .find(|state| state.thread == ThreadIndex(1));
        let frames = &state.expect("the failing thread is told").frames;
        assert!(!frames.is_empty(), "{way}");
    }
    assert_eq!(outcome(&program, "exit"), Outcome::Exited { code: 3 });
    assert_eq!(outcome(&program, "_exit"), Outcome::Exited { code: 4 });
    assert_eq!(outcome(&program, "fine"), Outcome::Exited { code: 0 });
}

#[test]
fn a_lone_thread_in_a_loop_is_told() {
    let program = Program::compile("failures.c");
    let told = failure(&program, "look-again");
    assert_eq!(told.kind, FailureKind::Livelock);
    assert!(
        told.message.contains("waited in a loop"),
        "{}",
        told.message
    );
}

/// Threads that are still there see what the process does last.
#[test]
fn threads_that_outlive_destructors_are_seen() {
    let program = Program::compile("last_words.c");
    let mut template = program.start();
    let reports = template.run(&job(&Plan::new(Rule::Random), 50));
    let fails = |report: &&harness::Ran| matches!(&report.outcome, Outcome::Failed(failure) if failure.kind == FailureKind::Abort);
    let failing = reports.iter().filter(fails).count();
    assert!(0 < failing && failing < reports.len(), "{failing}");
}

/// The limit of events is met at the same event by whoever decides, also where a
/// thread gives way just then.
#[test]
fn runs_without_end_replay() {
    let program = Program::compile("failures.c");
    for (way, limit) in [
        ("spin", 200),
        ("spin-in-turns", 200),
        ("spin-in-turns", 201),
    ] {
        let mut template = program.start_with(&[way]);
        let mut hunt = job(&Plan::new(Rule::Random), 3);
        hunt.limits.events = limit;
        for report in template.run(&hunt) {
            let schedule = report.detail.clone().expect("asked for").schedule;
            let mut replay = job(&Plan::replay(schedule), 1);
            replay.limits.events = limit;
            let replayed = template.run(&replay).remove(0);
            assert_eq!(replayed.outcome, report.outcome, "{way}");
            assert_eq!(replayed.events, report.events, "{way}");
        }
    }
}

#[test]
fn the_failing_place_is_in_the_program() {
    let program = Program::compile("failures.c");
    let mut template = program.start_with(&["crash"]);
    let report = template.run(&job(&Plan::new(Rule::Random), 1)).remove(0);
    let Outcome::Failed(failure) = report.report.outcome else {
        panic!("it crashes")
    };
    let place = failure.place.expect("a crash has a place");
    let object = &template.ready.objects[usize::from(place.object())];
    let LoadedObject::Code { path, .. } = object else {
        panic!("code: {object:?}")
    };
    assert_eq!(path, program.path.to_str().expect("a plain path"));
}

#[test]
fn a_panic_is_a_failure_though_somebody_catches_it() {
    let program = Program::compile("panics.rs");
    let mut template = program.start();
    let mut job = job(&Plan::new(Rule::Random), 1);
    let report = template.run(&job).remove(0);
    let Outcome::Failed(failure) = &report.outcome else {
        panic!("{:?}", report.outcome)
    };
    assert_eq!(failure.kind, FailureKind::Panic);
    assert!(
        output(&report).contains("on purpose"),
        "{}",
        output(&report)
    );
    job.policy.panics_fail = false;
    let report = template.run(&job).remove(0);
    assert_eq!(report.outcome, Outcome::Exited { code: 0 });
}
