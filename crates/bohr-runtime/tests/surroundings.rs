//! What is around a program's threads: libraries that they load, stacks of any
//! size, sources of chance, beginnings and ends, output without end.

use crate::harness;

use bohr_event::FailureKind;
use bohr_event::control::{Detailing, Job, Notice, Outcome, Output};
use bohr_schedule::{Plan, Rule};
use harness::{Program, Ran, job, output, rules};
use std::path::PathBuf;

/// Runs of every strategy, with these arguments.
fn explore(program: &Program, arguments: &[&str], runs: u64) -> Vec<Ran> {
    let mut template = program.start_with(arguments);
    let jobs = rules().into_iter().map(|rule| job(&Plan::new(rule), runs));
    jobs.flat_map(|job| template.run(&job)).collect()
}

fn succeed(reports: &[Ran]) {
    for report in reports {
        let code = Outcome::Exited { code: 0 };
        assert_eq!(report.outcome, code, "{}", output(report));
    }
}

/// A failure that follows from it would be bohr's, not the program's.
#[test]
fn memory_that_only_bohr_refuses_is_told() {
    let program = Program::compile("refused_memory.c");
    let ran = |gibibytes: &str| {
        let job = Job {
            details: Detailing::Always,
            ..job(&Plan::new(Rule::Sequential), 1)
        };
        let ran = program.start_with(&[gibibytes]).run(&job).remove(0);
        let told = ran.report.detail.as_ref().expect("asked for");
        (output(&ran), told.notices.contains(&Notice::HeapLimit))
    };
    assert_eq!(ran("1"), ("got\n".to_string(), false));
    assert_eq!(ran("3"), ("refused\n".to_string(), true));
    // The system refuses it as well.
    assert_eq!(ran("1000000"), ("refused\n".to_string(), false));
}

#[test]
fn primitives_for_several_processes() {
    Program::compile("process_shared.c").always_succeeds(10);
}

/// A thread that runs where another has run finds its variables untouched.
#[test]
fn variables_of_libraries_that_threads_load() {
    let library = Program::compile_with("loads.c", &["-DLIBRARY", "-shared", "-fPIC"]);
    let path: &PathBuf = &library.path;
    let program = Program::compile("loads.c");
    let path = path.to_str().expect("a plain path");
    succeed(&explore(&program, &[path], 5));
}

/// What a program prints, which must be the same from process to process.
fn equal_output(program: &str) -> Vec<String> {
    let program = Program::compile(program);
    let one = || {
        let reports = explore(&program, &[], 2);
        succeed(&reports);
        reports.iter().map(output).collect::<Vec<_>>()
    };
    let first = one();
    assert_eq!(first, one());
    first
}

#[test]
fn chance_is_the_same_in_every_process() {
    let first = equal_output("sources_of_chance.c");
    // Whoever asks again gets something else.
    let mut lines: Vec<&str> = first[0].lines().collect();
    assert_eq!(lines.len(), 19);
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.len(), 19, "{}", first[0]);
}

/// The processor has random numbers, too.
#[test]
fn chance_of_cpp_is_the_same_in_every_process() {
    let first = equal_output("random_device.cpp");
    let mut numbers: Vec<&str> = first[0].split_whitespace().collect();
    assert_eq!(numbers.len(), 6);
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), 6, "{}", first[0]);
}

#[test]
fn accounts_are_the_same_in_every_process() {
    let first = equal_output("accounts.c");
    assert!(first[0].lines().count() == 2, "{}", first[0]);
}

#[test]
fn a_program_may_limit_its_memory() {
    Program::compile("limits.c").always_succeeds(3);
}

#[test]
fn children_that_a_thread_lets_go_on() {
    Program::compile("children.c").always_succeeds(5);
}

#[test]
fn stacks_of_any_size() {
    let program = Program::compile("recursion.c");
    succeed(&explore(&program, &[], 2));
    for report in explore(&program, &["deeper"], 1) {
        let Outcome::Failed(failure) = &report.outcome else {
            panic!("an endless descent ends: {:?}", report.outcome)
        };
        let crash = FailureKind::Crash {
            signal: libc::SIGSEGV,
        };
        assert_eq!(failure.kind, crash);
    }
}

#[test]
fn beginnings_and_ends_of_programs_and_threads() {
    let program = Program::compile_with("lives.cpp", &["-std=c++20"]);
    let reports = explore(&program, &[], 5);
    succeed(&reports);
    let order = "atexit two\natexit one\n-second\n-first\n";
    assert!(reports.iter().all(|report| output(report).ends_with(order)));
    for report in explore(&program, &["throws"], 1) {
        let Outcome::Failed(failure) = &report.outcome else {
            panic!("nobody catches it: {:?}", report.outcome)
        };
        assert_eq!(failure.kind, FailureKind::Abort);
        assert!(output(&report).contains("nobody catches this"));
    }
}

/// The output of a run is kept up to a limit. The program looks itself how much
/// memory it takes.
#[test]
fn output_without_end_is_not_kept() {
    const LIMIT: u64 = 4 << 20;
    let program = Program::compile("verbose.c");
    let mut template = program.start();
    let mut verbose = job(&Plan::new(Rule::Random), 1);
    verbose.output = Output::Capture { limit: LIMIT };
    let reports = template.run(&verbose);
    succeed(&reports);
    let text = output(&reports[0]);
    assert!(text.starts_with("first line\nxxx"));
    assert_eq!(text.len() as u64, LIMIT);
}
