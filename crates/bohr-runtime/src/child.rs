//! The first steps of a run, right after a template has cloned it.

use crate::{
    arena, baton, clock::CLOCK, control, engine::ENGINE, gates, heap, hold, ledger::Ledger,
    lifecycle, output, policy, probe, record::RECORD, server::Task, system, verdict::REPORTING,
};
use bohr_event::control::{Backend, Detailing, Job};

/// Turns a clone of the first template into a controlled run.
pub fn begin(task: &'static Task, seed: u64, ledger: Ledger) {
    begin_serial(task, ledger);
    ENGINE.follow(task.plan.strategy(seed));
}

/// The same without a strategy: for the part in which there is nothing to decide.
pub fn begin_serial(task: &'static Task, ledger: Ledger) {
    let job = &task.job;
    system::die_with_parent();
    arena::begin_run();
    output::redirect();
    heap::set_region(0);
    CLOCK.set_epoch(job.policy.clock);
    policy::set(job.policy);
    baton::use_for_run(job.backend == Backend::Threads);
    trace(job);
    ENGINE.begin(job.limits.events);
    gates::begin(job.without.clone());
    probe::begin(&job.probes);
    hold::set(job.hold);
    REPORTING.begin(job, ledger);
    lifecycle::add_main_thread();
    control::begin();
}

/// Turns a clone of the second template into a run.
pub fn resume(task: &'static Task, seed: u64, ledger: Ledger) {
    system::die_with_parent();
    arena::begin_run();
    trace(&task.job);
    REPORTING.begin(&task.job, ledger);
    ENGINE.follow(task.plan.strategy(seed));
    control::begin();
}

/// Records events, if the job wants them.
fn trace(job: &Job) {
    let tracing = job.trace != Detailing::Never;
    RECORD.begin(if tracing { job.trace_limit } else { 0 });
    ENGINE.trace(tracing);
}
