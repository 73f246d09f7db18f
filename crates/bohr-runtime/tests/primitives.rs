//! Every primitive keeps its promises under every strategy: the programs check
//! themselves and end with 0.

use crate::harness;

use bohr_event::{EventKind, control::Outcome};
use bohr_schedule::Plan;
use harness::{Program, job};

#[test]
fn mutexes() {
    Program::compile("mutexes.c").always_succeeds(15);
}

#[test]
fn conditions() {
    Program::compile("conditions.c").always_succeeds(15);
}

#[test]
fn other_locks() {
    Program::compile("locks.c").always_succeeds(15);
}

#[test]
fn the_last_thread_ends_the_process_in_good_order() {
    let program = Program::compile("last_thread.c");
    for arguments in [&[][..], &["main"]] {
        let mut template = program.start_with(arguments);
        for rule in harness::rules() {
            for report in template.run(&job(&Plan::new(rule), 10)) {
                assert_eq!(report.outcome, Outcome::Exited { code: 0 });
                let output = harness::output(&report);
                assert_eq!(output, "worker 1\nworker 2\nworker 3\n3 workers\n");
            }
        }
    }
}

#[test]
fn endings_of_threads() {
    Program::compile("endings.c").always_succeeds(15);
}

#[test]
fn c11_threads() {
    Program::compile_with("threads_h.c", &["-std=c11"]).always_succeeds(15);
}

#[test]
fn the_cpp_standard_library() {
    Program::compile_with("standard.cpp", &["-std=c++20"]).always_succeeds(10);
}

/// Each execution of what is to be done once says that others may go on, also one that
/// an exception ends: what it did is known to the next one.
#[test]
fn what_is_done_once_is_given_back_by_whoever_leaves_it() {
    for report in Program::compile("once_throws.cpp").always_succeeds(10) {
        let counted = |kind| {
            let kinds = report.trace.iter().map(|event| event.operation.kind);
            kinds.filter(|it| *it == kind).count()
        };
        let (taken, given) = (counted(EventKind::Acquire), counted(EventKind::Release));
        assert!(
            taken >= 2 && taken == given,
            "{taken} taken, {given} given back"
        );
    }
}

#[test]
fn the_rust_standard_library() {
    Program::compile("standard.rs").always_succeeds(10);
}

#[test]
fn threads_that_are_called_away() {
    Program::compile("called_away.c").always_succeeds(40);
}

#[test]
fn raw_futexes() {
    Program::compile("futexes.c").always_succeeds(15);
}

#[test]
fn futexes_with_owners() {
    Program::compile("owned_futexes.c").always_succeeds(15);
}

#[test]
fn pipes_with_names() {
    Program::compile("named_pipes.c").always_succeeds(15);
}

#[test]
fn asynchronous_input_and_output() {
    Program::compile("asynchronous.c").always_succeeds(15);
}

#[test]
fn five_hundred_threads() {
    let reports = Program::compile("crowd.c").always_succeeds(1);
    assert!(reports.iter().all(|report| report.threads == 501));
}

#[test]
fn pipes_and_sockets() {
    Program::compile("streams.c").always_succeeds(5);
}

#[test]
fn more_than_pipes_and_sockets_hold() {
    Program::compile("long_transfers.c").always_succeeds(5);
}

#[test]
fn signals() {
    Program::compile("signals.c").always_succeeds(10);
}

#[test]
fn signals_that_are_sent_to_the_process() {
    Program::compile("signals_for_all.c").always_succeeds(20);
}

#[test]
fn jumps_out_of_handlers_and_old_names() {
    Program::compile("jumps.c").always_succeeds(10);
}

#[test]
fn handlers_on_stacks_of_their_own() {
    Program::compile("handler_stacks.c").always_succeeds(10);
}

#[test]
fn stacks_names_and_clocks_of_threads() {
    Program::compile("attributes.c").always_succeeds(10);
}

#[test]
fn waits_that_only_the_kernel_knows() {
    Program::compile("kernel_waits.c").always_succeeds(5);
}

#[test]
fn handlers_interrupt_waits_or_let_them_go_on() {
    Program::compile("interruptions.c").always_succeeds(10);
}

#[test]
fn timers_in_virtual_time() {
    Program::compile("timers.c").always_succeeds(10);
}

#[test]
fn waits_inside_the_c_library() {
    let whole_lines = "whole line\n".repeat(9);
    for report in Program::compile("hidden.c").always_succeeds(10) {
        assert_eq!(harness::output(&report), whole_lines);
    }
}

/// Whoever spins is told to the strategy, and no longer once another has run.
#[test]
fn threads_that_spin_for_each_other() {
    for report in Program::compile("mutual_spinning.c").always_succeeds(15) {
        assert!(report.events < 50_000, "{} events", report.events);
    }
}
