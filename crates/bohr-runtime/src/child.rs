//! The first steps of a run, right after the template has cloned it.

use crate::{
    arena, baton, clock::CLOCK, control, engine::ENGINE, faults, gates, heap, ledger::Ledger,
    lifecycle, output, policy, record::RECORD, system, verdict::REPORTING,
};
use bohr_event::control::{Backend, Detailing, Job};
use bohr_schedule::Plan;

/// Turns the clone into a controlled run.
pub fn begin(job: Job, plan: &'static Plan, seed: u64, ledger: Ledger) {
    system::die_with_parent();
    arena::begin_run();
    faults::set_action(libc::SIGALRM, libc::SIG_DFL, 0);
    output::redirect();
    heap::set_region(0);
    CLOCK.set_epoch(job.policy.clock);
    policy::set(job.policy);
    let tracing = job.trace != Detailing::Never;
    baton::use_for_run(job.backend == Backend::Threads);
    RECORD.begin(if tracing { job.trace_limit } else { 0 });
    ENGINE.begin(plan.strategy(seed), job.limits.events, tracing);
    gates::begin(job.without.clone());
    REPORTING.begin(job, ledger);
    lifecycle::add_main_thread();
    control::begin();
}
