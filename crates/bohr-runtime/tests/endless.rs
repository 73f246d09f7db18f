//! Runs that do not end: those that go round in a circle are told early, those that get
//! anywhere are left alone, and what is told can be made again.

use crate::harness;

use bohr_event::{
    FailureKind,
    control::{Backend, Failure, Job, Outcome},
};
use bohr_schedule::{Plan, Rule};
use harness::{Program, Ran, job};

/// More events than it takes to tell a circle, and fewer than anybody gives a run.
const MANY: u64 = 1_200_000;

fn long(plan: &Plan) -> Job {
    let mut job = job(plan, 1);
    job.limits.events = MANY;
    job.limits.milliseconds = 60_000;
    job
}

fn failure(report: &Ran) -> &Failure {
    match &report.outcome {
        Outcome::Failed(failure) => failure,
        other => panic!("{other:?}"),
    }
}

fn is_circle(failure: &Failure) -> bool {
    failure.kind == FailureKind::Livelock && failure.message.contains("round in a circle")
}

#[test]
fn circles_are_told_early_and_replay() {
    let program = Program::compile("circles.c");
    // Threads that are never called off are no circle of all of them.
    let in_turns = [Rule::Random, Rule::Sequential];
    let by_chance = [Rule::Random];
    for (way, rules) in [
        ("yields", &in_turns[..]),
        ("sleeps", &in_turns),
        ("locks", &by_chance),
    ] {
        for rule in rules.iter().cloned() {
            let mut template = program.start_with(&[way]);
            let report = template.run(&long(&Plan::new(rule))).remove(0);
            assert!(is_circle(failure(&report)), "{way}: {:?}", report.outcome);
            assert!(report.events < 600_000, "{way}: {} events", report.events);
            let schedule = report.detail.clone().expect("asked for").schedule;
            for backend in [Backend::Fibers, Backend::Threads] {
                let mut again = long(&Plan::replay(schedule.clone()));
                again.backend = backend;
                let again = template.run(&again).remove(0);
                assert_eq!(again.events, report.events, "{way}");
                assert_eq!(failure(&again).message, failure(&report).message, "{way}");
            }
        }
    }
}

/// Whoever counts is never twice in the same state, nor whoever asks the system.
#[test]
fn loops_that_get_somewhere_are_no_circles() {
    let program = Program::compile("circles.c");
    for way in ["gives-up", "reads"] {
        let mut template = program.start_with(&[way]);
        let report = template.run(&long(&Plan::new(Rule::Random))).remove(0);
        assert_eq!(report.outcome, Outcome::Exited { code: 0 }, "{way}");
        assert!(report.events > 600_000, "{} events", report.events);
    }
    for way in ["counts", "polls"] {
        let mut template = program.start_with(&[way]);
        let report = template.run(&long(&Plan::new(Rule::Random))).remove(0);
        let message = &failure(&report).message;
        assert!(message.contains("its limit of events"), "{way}: {message}");
    }
}

/// Wherever in its loop it is seen to wait, also while it has what the other one needs.
#[test]
fn whoever_waits_in_a_loop_lets_others_have_their_turn() {
    let program = Program::compile("circles.c");
    for way in ["asks", "asks-later"] {
        let mut template = program.start_with(&[way]);
        let report = template.run(&long(&Plan::new(Rule::Sequential))).remove(0);
        assert_eq!(report.outcome, Outcome::Exited { code: 0 }, "{way}");
    }
}

/// A schedule of millions of switches takes longer to write down than a run has to answer
/// that is out of time.
#[test]
fn a_long_schedule_is_told_and_not_cut_off() {
    let program = Program::compile("circles.c");
    let mut template = program.start_with(&["counts"]);
    let mut job = long(&Plan::new(Rule::Random));
    job.limits.events = 40_000_000;
    job.limits.milliseconds = 9_000;
    let report = template.run(&job).remove(0);
    let failure = failure(&report);
    assert!(
        !failure.message.contains("did not answer"),
        "{}",
        failure.message
    );
    let detail = report.detail.as_ref().expect("asked for");
    assert_eq!(detail.schedule.events(), report.events);
    assert_eq!(detail.segments_lost, 0);
}
