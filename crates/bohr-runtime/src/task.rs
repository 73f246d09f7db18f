//! A job with its plan unpacked, and which jobs can begin where another one has
//! brought a process.

use crate::{image, trace};
use alloc::{
    boxed::Box,
    format,
    string::{String, ToString},
    vec::Vec,
};
use bohr_event::control::{Checkpoints, Detailing, ForkPoint, Job, Limits};
use bohr_schedule::{Plan, Position};
use core::{cell::Cell, ptr};

/// What all runs of a job need; lives until the job is done.
pub struct Task {
    /// As the explorer sent it.
    pub job: Box<Job>,
    /// Strategies borrow from it for as long as their process lives.
    pub plan: Plan,
    /// The file that traces go to, if there are any.
    pub store: Option<i32>,
    /// Where it lies, as it was given out: a reference is no leave to free.
    own: Cell<*mut Task>,
}

impl Task {
    /// The task of a job. Refusals are for the explorer.
    pub fn new(job: Box<Job>) -> Result<&'static Task, String> {
        let Some(plan) = Plan::from_bytes(&job.plan) else {
            return Err("the plan is not one of this version's".to_string());
        };
        let plan = image::behind(plan)?;
        let store = match job.trace {
            Detailing::Never => None,
            Detailing::Failing | Detailing::Always => Some(
                trace::open(&job.store)
                    .map_err(|error| format!("cannot open the file for traces: error {error}"))?,
            ),
        };
        let own = Cell::new(ptr::null_mut());
        let task = Box::into_raw(Box::new(Task {
            job,
            plan,
            store,
            own,
        }));
        // SAFETY: just made; lives until `forget`.
        let task = unsafe {
            (*task).own.set(task);
            &*task
        };
        Ok(task)
    }

    /// Gives it back.
    pub fn forget(&'static self) {
        if let Some(store) = self.store {
            trace::close(store);
        }
        // SAFETY: made from a box in `new`; the runs that borrowed from it have
        // ended, and who calls this does not use it again.
        drop(unsafe { Box::from_raw(self.own.get()) });
    }

    /// Whether the other's runs can begin where a run of this one has come to.
    pub fn leads_to(&self, other: &Task, point: ForkPoint) -> bool {
        let same_way = match point {
            ForkPoint::Turn(turn) => self.plan.agrees(&other.plan, Position(turn)),
            ForkPoint::FirstQuestion | ForkPoint::Main(_) | ForkPoint::Image => true,
        };
        same_way && fits(&shape(&self.job), &other.job)
    }

    /// The seed of the run with this number.
    pub fn seed(&self, number: u64) -> u64 {
        let distance = self.job.stride.wrapping_mul(number);
        self.job.first_seed.wrapping_add(distance)
    }
}

/// What of a job is in force before the strategy is asked anything: jobs that
/// agree in it can share their serial part.
pub fn shape(job: &Job) -> Job {
    Job {
        first_seed: 0,
        stride: 0,
        runs: 0,
        plan: Vec::new(),
        stop_at_failure: false,
        details: Detailing::Never,
        checkpoints: Checkpoints::Never,
        store: String::new(),
        rewind: false,
        // A serial part that has come to its end is none that goes on for ever.
        limits: Limits {
            events: 0,
            ..job.limits
        },
        ..job.clone()
    }
}

/// Whether a serial part of this shape is one for the job, too. One that was
/// traced serves also those that need no trace.
fn fits(shape: &Job, job: &Job) -> bool {
    let wanted = self::shape(job);
    let untraced = |job: &Job| Job {
        trace: Detailing::Never,
        trace_limit: 0,
        ..job.clone()
    };
    let traced = |job: &Job| (job.trace != Detailing::Never).then_some(job.trace_limit);
    untraced(&wanted) == untraced(shape)
        && (traced(&wanted).is_none() || traced(&wanted) == traced(shape))
}
