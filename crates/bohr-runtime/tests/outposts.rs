//! Where runs of a search are cloned from changes nothing but their speed.

use crate::harness;

use bohr_event::control::{Checkpoints, Detailing, ForkPoint, Job};
use bohr_schedule::Plan;
use bohr_schedule::search::{DepthFirst, Search};
use harness::{Program, Ran, Template, job};

/// Runs of a search that are compared.
const RUNS: usize = 150;

fn single(plan: &Plan, checkpoints: Checkpoints) -> Job {
    let mut job = job(plan, 1);
    job.trace = Detailing::Never;
    job.checkpoints = checkpoints;
    job
}

/// The first runs of a search, and where each began.
fn search(
    program: &Program,
    arguments: &[&str],
    mut search: DepthFirst,
    checkpoints: Checkpoints,
) -> Vec<(Ran, ForkPoint)> {
    let mut template = Template::start(&program.path, arguments);
    let mut runs = Vec::new();
    while let (Some(plan), true) = (search.next_plan(), runs.len() < RUNS) {
        let report = template.run(&single(&plan, checkpoints)).remove(0);
        search.learn(&report.detail.as_ref().expect("asked for").learnt);
        runs.push((report, template.point.expect("a job was done")));
    }
    runs
}

fn begun_at_turns(runs: &[(Ran, ForkPoint)]) -> usize {
    let at_turn = |run: &&(Ran, ForkPoint)| matches!(run.1, ForkPoint::Turn(_));
    runs.iter().filter(at_turn).count()
}

fn reports(runs: Vec<(Ran, ForkPoint)>) -> Vec<Ran> {
    runs.into_iter().map(|run| run.0).collect()
}

#[test]
fn a_search_sees_the_same_from_outposts() {
    let program = Program::compile("turns.c");
    for kind in [DepthFirst::exhaustive, DepthFirst::bounded] {
        let plain = search(&program, &[], kind(), Checkpoints::Never);
        assert_eq!(begun_at_turns(&plain), 0);
        // An outpost at every turn, and one now and then.
        for way in [0, 40_000] {
            let quick = search(&program, &[], kind(), Checkpoints::Every(way));
            let begun = begun_at_turns(&quick);
            assert!(way > 0 || begun > RUNS / 2, "{begun} of {RUNS}");
            assert!(reports(quick) == reports(plain.clone()), "every {way} ns");
        }
        let different = plain.iter().filter(|run| run.0.hash != plain[0].0.hash);
        assert!(different.count() > 10);
    }
}

#[test]
fn what_cannot_be_shared_is_not() {
    let program = Program::compile("turns.c");
    let plain = search(
        &program,
        &["pipe"],
        DepthFirst::bounded(),
        Checkpoints::Never,
    );
    let careful = search(
        &program,
        &["pipe"],
        DepthFirst::bounded(),
        Checkpoints::Every(0),
    );
    assert!(reports(careful.clone()) == reports(plain), "other runs");
    let deepest = careful.iter().filter_map(|run| match run.1 {
        ForkPoint::Turn(turn) => Some(turn),
        _ => None,
    });
    let longest = careful.iter().map(|run| run.0.events).max();
    assert!(u64::from(deepest.max().unwrap_or(0)) < longest.unwrap_or(0) / 2);
}

#[test]
fn an_outpost_tells_what_a_clone_costs() {
    let program = Program::compile("turns.c");
    let mut template = program.start();
    let plan = harness::first_turns(4);
    for _ in 0..2 {
        template.run(&single(&plan, Checkpoints::At(1)));
    }
    assert!(template.point == Some(ForkPoint::Turn(1)));
    assert!(template.clone_idly(10) > 0);
    // It serves on.
    assert_eq!(template.run(&single(&plan, Checkpoints::At(1))).len(), 1);
}
