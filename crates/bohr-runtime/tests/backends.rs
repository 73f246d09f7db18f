//! Fibers and real threads that pass a baton are the same program: the same
//! seed gives the same run, event for event.

mod harness;

use bohr_event::control::{Backend, Outcome, RunReport};
use bohr_schedule::Plan;
use harness::{Program, job, rules};

/// The runs of every strategy with one back end.
fn explore(program: &Program, backend: Backend, runs: u64) -> Vec<RunReport> {
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
fn agree(program: &Program, runs: u64) -> Vec<RunReport> {
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
    let failed = |report: &&RunReport| matches!(report.outcome, Outcome::Failed(_));
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

/// Locks on the stacks of threads have other addresses, so only what the
/// program sees is compared.
#[test]
fn real_threads_keep_all_promises() {
    let programs: [(&str, &[&str]); 5] = [
        ("endings.c", &[]),
        ("standard.cpp", &["-std=c++20"]),
        ("standard.rs", &[]),
        ("signals.c", &[]),
        ("hidden.c", &[]),
    ];
    for (name, flags) in programs {
        let program = Program::compile_with(name, flags);
        let figures = |report: &RunReport| (report.events, report.switches, report.hash);
        let fibers = explore(&program, Backend::Fibers, 1);
        for (thread, fiber) in explore(&program, Backend::Threads, 1).iter().zip(&fibers) {
            assert_eq!(thread.outcome, Outcome::Exited { code: 0 }, "{name}");
            assert_eq!(figures(thread), figures(fiber), "{name}");
        }
    }
}
