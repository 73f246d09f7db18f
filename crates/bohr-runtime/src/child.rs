//! The first steps of a run, right after a template has cloned it.

use crate::{
    arena, baton, buffers, clock::CLOCK, control, engine::ENGINE, gates, given, heap, hold, image,
    ledger::Ledger, lifecycle, omitted_stores, output, policy, probe, task::Task, trace::TRACER,
    verdict::REPORTING, watch,
};
use bohr_event::control::{Backend, ForkPoint};
use bohr_schedule::Position;

/// Turns a clone of the template at `point` into a controlled run.
/// Its trace, if it has one, lies from `trace` on in the job's file.
pub fn begin(task: &'static Task, seed: u64, ledger: Ledger, trace: u64, point: ForkPoint) {
    let memory = ENGINE.memory();
    match point {
        ForkPoint::Main(_) => begin_serial(task, ledger, trace),
        ForkPoint::FirstQuestion | ForkPoint::Turn(_) => resume(task, ledger, trace),
        ForkPoint::Image => return begin_from_image(task, seed, ledger, trace),
    }
    ENGINE.follow(match point {
        ForkPoint::Turn(turn) => task.plan.resume(seed, Position(turn), &memory),
        ForkPoint::Main(_) | ForkPoint::FirstQuestion | ForkPoint::Image => {
            task.plan.strategy(seed)
        }
    });
    image::begin(&task.job, seed);
}

/// A clone of the first template without a strategy: for the part in which there is nothing to decide.
pub fn begin_serial(task: &'static Task, ledger: Ledger, trace: u64) {
    let job = &task.job;
    arena::begin_run();
    output::redirect();
    heap::set_region(0);
    CLOCK.set_epoch(job.policy.clock);
    policy::set(job.policy);
    buffers::begin(job.policy.model);
    baton::use_for_run(job.backend == Backend::Threads);
    REPORTING.begin(job, ledger);
    TRACER.begin(job, task.store, trace);
    ENGINE.begin(job.limits.events);
    gates::begin(job.without.clone());
    omitted_stores::begin(&job.without);
    given::begin(job.given.clone());
    probe::begin(&job.probes);
    watch::begin(job.watch.as_ref());
    hold::set(job.hold);
    lifecycle::add_main_thread();
    control::begin();
}

/// For a clone of a process that was made from an image.
fn begin_from_image(task: &'static Task, seed: u64, ledger: Ledger, trace: u64) {
    resume(task, ledger, trace);
    TRACER.name_threads();
    probe::begin(&task.job.probes);
    watch::begin_from_image(task.job.watch.as_ref());
    hold::set(task.job.hold);
    if !image::goes_on(task, seed) {
        ENGINE.take_back_leave();
        ENGINE.follow(task.plan.strategy(seed));
    }
    image::begin(&task.job, seed);
}

/// For a clone that is in the middle of a run already.
fn resume(task: &'static Task, ledger: Ledger, trace: u64) {
    arena::begin_run();
    REPORTING.begin(&task.job, ledger);
    TRACER.begin(&task.job, task.store, trace);
    ENGINE.begin(task.job.limits.events);
    control::begin();
}
