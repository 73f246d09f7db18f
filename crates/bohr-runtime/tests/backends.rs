//! Fibers and real threads that pass a baton are the same program: the same
//! seed gives the same run, event for event.

use crate::harness;

use bohr_event::control::{Backend, Outcome};
use bohr_schedule::{Plan, Rule};
use harness::{Program, Ran, Template, job, rules};

/// The runs of every strategy with one back end.
fn explore(program: &Program, backend: Backend, runs: u64) -> Vec<Ran> {
    let mut template = program.start();
    let mut reports = Vec::new();
    for rule in rules() {
        let mut job = job(&Plan::new(rule), runs);
        job.backend = backend;
        reports.extend(template.run(&job));
    }
    reports
}

/// Runs both and compares whole reports, addresses and outputs included.
fn agree(program: &Program, runs: u64) -> Vec<Ran> {
    let fibers = explore(program, Backend::Fibers, runs);
    let threads = explore(program, Backend::Threads, runs);
    for (fiber, thread) in fibers.iter().zip(&threads) {
        assert_eq!(fiber, thread, "seed {}", fiber.seed);
    }
    assert_eq!(fibers.len(), threads.len());
    threads
}

#[test]
fn a_failing_program_fails_alike() {
    let reports = agree(&Program::compile("lost_update.c"), 15);
    let failed = |report: &&Ran| matches!(report.outcome, Outcome::Failed(_));
    assert!(reports.iter().filter(failed).count() > 5);
}

#[test]
fn deadlocks_are_alike() {
    agree(&Program::compile("deadlock.c"), 15);
}

#[test]
fn primitives_are_alike() {
    for name in ["conditions.c", "locks.c", "mutexes.c"] {
        agree(&Program::compile(name), 5);
    }
}

/// Stacks, thread-local storage, handles and heap blocks of threads that follow
/// others lie at the same addresses, and so do the locks on them.
#[test]
fn threads_after_threads_are_alike() {
    let reports = agree(&Program::compile("rounds.c"), 6);
    for report in &reports {
        assert_eq!(report.outcome, Outcome::Exited { code: 0 });
    }
    assert!(reports.iter().all(|report| report.threads > 16));
}

#[test]
fn what_a_template_has_seen_moves_nothing() {
    let program = Program::compile("rounds.c");
    let one = |template: &mut Template, seed| {
        let mut job = job(&Plan::new(Rule::Random), 1);
        job.first_seed = seed;
        template.run(&job)
    };
    let mut experienced = program.start();
    for seed in 0..4 {
        let fresh = one(&mut program.start(), seed);
        assert_eq!(one(&mut experienced, seed), fresh, "seed {seed}");
    }
}

#[test]
fn real_threads_keep_all_promises() {
    let programs: [(&str, &[&str]); 6] = [
        ("endings.c", &[]),
        ("handler_stacks.c", &[]),
        ("standard.cpp", &["-std=c++20"]),
        ("standard.rs", &[]),
        ("signals.c", &[]),
        ("hidden.c", &[]),
    ];
    for (name, flags) in programs {
        for report in agree(&Program::compile_with(name, flags), 1) {
            assert_eq!(report.outcome, Outcome::Exited { code: 0 }, "{name}");
        }
    }
}
