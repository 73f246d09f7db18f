//! The serial part of a program is executed once where that changes nothing, and
//! in every run where it would.

use crate::harness;

use bohr_event::control::{Detailing, ForkPoint, Obstacle, Outcome};
use bohr_schedule::{Plan, Rule};
use harness::{Program, Ran, job, output};

/// Seeds `0..runs`, each in a process of its own, where the first job of a single
/// run without a trace begins at `main`.
fn one_by_one(program: &Program, plan: &Plan, runs: u64) -> Vec<Ran> {
    let run = |seed| {
        let mut template = program.start();
        let mut job = job(plan, 1);
        job.first_seed = seed;
        job.trace = Detailing::Never;
        let reports = template.run(&job);
        assert_eq!(template.point, Some(ForkPoint::Main(None)));
        reports.into_iter().next().expect("a report")
    };
    (0..runs).map(run).collect()
}

#[test]
fn runs_are_the_same_from_both_points() {
    let program = Program::compile("serial_part.c");
    let rules = [
        Rule::Random,
        Rule::Pct {
            depth: 3,
            length: 40,
        },
        Rule::Feedback {
            seed: 5,
            wishes: Vec::new(),
        },
    ];
    let mut template = program.start();
    for rule in rules {
        let plan = Plan::new(rule);
        let shared = template.run(&job(&plan, 6));
        assert_eq!(template.point, Some(ForkPoint::FirstQuestion));
        for (shared, single) in shared.iter().zip(one_by_one(&program, &plan, 6)) {
            assert_eq!(shared.outcome, single.outcome);
            assert_eq!((shared.events, shared.hash), (single.events, single.hash));
            assert_eq!(output(shared), output(&single));
        }
        for report in &shared {
            assert!(output(report).starts_with("before\n"), "{}", output(report));
            let detail = report.detail.as_ref().expect("asked for");
            assert_eq!(report.trace.len() as u64, report.events);
            // A replay of one run, too, follows the schedule from its beginning.
            let again = template.run(&job(&Plan::replay(detail.schedule.clone()), 2));
            assert_eq!(template.point, Some(ForkPoint::FirstQuestion));
            assert_eq!(again[1].hash, report.hash);
            assert_eq!(again[1].outcome, report.outcome);
        }
    }
}

/// A serial part with a trace serves jobs without, too, and not the reverse.
#[test]
fn jobs_with_and_without_traces_are_alike() {
    let program = Program::compile("serial_part.c");
    let mut template = program.start();
    let plan = Plan::new(Rule::Random);
    let mut other = job(&plan, 3);
    other.trace = Detailing::Never;
    let untraced = template.run(&other);
    let traced = template.run(&job(&plan, 3));
    assert_eq!(template.run(&other), untraced);
    assert_eq!(template.run(&job(&plan, 3)), traced);
    for (traced, untraced) in traced.iter().zip(&untraced) {
        assert_eq!(traced.hash, untraced.hash);
        assert!(untraced.trace.is_empty());
    }
}

#[test]
fn what_cannot_be_shared_is_done_in_every_run() {
    let program = Program::compile("serial_part.c");
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("file");
    let file = file.to_str().expect("a plain path");
    let unlink = Obstacle::SystemCall(87);
    let cases = [
        ("read", ForkPoint::FirstQuestion),
        ("pipe", ForkPoint::Main(Some(Obstacle::Stream))),
        ("file", ForkPoint::Main(Some(Obstacle::Writing))),
        ("shared", ForkPoint::Main(Some(Obstacle::SharedMemory))),
        ("process", ForkPoint::Main(Some(Obstacle::Process))),
        ("remove", ForkPoint::Main(Some(unlink))),
        ("alone", ForkPoint::Main(Some(Obstacle::NoThread))),
    ];
    for (what, point) in cases {
        let mut template = program.start_with(&[what, file]);
        for _ in 0..2 {
            let reports = template.run(&job(&Plan::new(Rule::Random), 4));
            assert_eq!(reports.len(), 4);
            for report in reports {
                assert_eq!(report.outcome, Outcome::Exited { code: 0 }, "{what}");
                assert!(output(&report).starts_with("before\n"), "{what}");
            }
            assert_eq!(template.point, Some(point), "{what}");
        }
    }
}
