//! A run whose memory was put back is as if it had not been: the runs after it are
//! those of fresh processes.

use crate::harness;

use bohr_event::control::{Detailing, Job, RunReport};
use bohr_schedule::{Plan, Rule};
use harness::{Program, Ran, job};

/// Runs without details, as most of a hunt's are.
fn quiet(plan: &Plan, runs: u64, rewind: bool) -> Job {
    Job {
        trace: Detailing::Never,
        details: Detailing::Failing,
        rewind,
        ..job(plan, runs)
    }
}

/// All that is told of runs in both ways, and how many were undone.
fn compare(program: &Program, runs: u64) -> usize {
    compare_with(program, &[], runs)
}

fn compare_with(program: &Program, arguments: &[&str], runs: u64) -> usize {
    let mut rewound = 0;
    for rule in harness::rules() {
        let plan = Plan::new(rule);
        let told = |rewind| {
            let mut template = program.start_with(arguments);
            let reports = template.run(&quiet(&plan, runs, rewind));
            (template.point, reports)
        };
        let (point, alone) = told(false);
        let (same_point, together) = told(true);
        assert_eq!(point, same_point);
        assert!(alone.iter().all(|ran| !ran.report.rewound));
        rewound += together.iter().filter(|ran| ran.report.rewound).count();
        let figures = |ran: &Ran| RunReport {
            rewound: false,
            ..ran.report.clone()
        };
        let alone: Vec<RunReport> = alone.iter().map(figures).collect();
        let together: Vec<RunReport> = together.iter().map(figures).collect();
        assert_eq!(alone, together);
    }
    rewound
}

/// Whether the kernel tells what was written to: Linux 6.7.
fn is_possible() -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("a release");
    let mut numbers = release.split('.').map(|number| number.parse::<u32>());
    let mut next = || numbers.next().and_then(Result::ok).unwrap_or(0);
    (next(), next()) >= (6, 7)
}

/// Programs that make all their kernel state before their threads, or none.
const SIMPLE: &[&str] = &[
    "fifty_events.c",
    "prints.c",
    "locks.c",
    "mutexes.c",
    "conditions.c",
    "futexes.c",
    "joins.c",
    "threads_h.c",
    "lives.cpp",
    "standard.cpp",
    "standard.rs",
];

#[test]
fn simple_programs_are_undone() {
    for name in SIMPLE {
        let flags: &[&str] = match name.ends_with(".cpp") {
            true => &["-std=c++20"],
            false => &[],
        };
        let program = Program::compile_with(name, flags);
        let rewound = compare(&program, 60);
        assert!(rewound > 100 || !is_possible(), "{name}: {rewound} of 240");
    }
}

/// The fiber that undoes runs borrows the main thread, and is not what its
/// `pthread_exit` ends.
#[test]
fn a_main_thread_that_leaves_is_undone_with_all_others() {
    let program = Program::compile("last_thread.c");
    for arguments in [&[][..], &["main"]] {
        let rewound = compare_with(&program, arguments, 60);
        assert!(rewound > 0 || !is_possible(), "{arguments:?}");
    }
}

/// Programs that open files, start processes, change attributes, or fail.
#[test]
fn lasting_effects_end_the_process() {
    for name in [
        "streams.c",
        "timers.c",
        "signals.c",
        "lost_update.c",
        "hidden.c",
        "rounds.c",
        "called_away.c",
    ] {
        compare(&Program::compile(name), 30);
    }
}

/// What runs print that are undone is not seen in those that are looked at.
#[test]
fn output_is_that_of_one_run() {
    let program = Program::compile("prints.c");
    let mut template = program.start();
    let plan = Plan::new(Rule::Random);
    let before = template.run(&job(&plan, 2));
    let between = template.run(&quiet(&plan, 60, true));
    let after = template.run(&job(&plan, 2));
    assert_eq!(before, after);
    assert!(between.iter().any(|ran| ran.report.rewound) || !is_possible());
    assert!(!harness::output(&before[0]).is_empty());
}

/// Memory that was there when runs began is there again for the next, and a run
/// that has given it back cannot tell.
#[test]
fn memory_given_back_is_there_again() {
    let program = Program::compile("maps.c");
    for arguments in [&["give"], &["stay"]] {
        let rewound = compare_with(&program, arguments, 60);
        assert!(rewound > 100 || !is_possible(), "{rewound} of 240");
    }
    for arguments in [&["touch"], &["again"]] {
        assert_eq!(compare_with(&program, arguments, 30), 0, "{arguments:?}");
    }
}
