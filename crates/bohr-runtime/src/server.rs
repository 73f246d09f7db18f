//! The fork server: the template stands at its fork point with its threads
//! parked, and clones a child for every run of a job.
//!
//! There are two fork points. The first is `main`, where the template waits for
//! its first job. For a job of many runs it clones a second template, which
//! executes the serial part of the program and stops where the strategy is first
//! asked anything ([`serial`](crate::serial)); runs are cloned from there.

use crate::{
    channel::Channel,
    child, hooks,
    ledger::Ledger,
    notices,
    objects::OBJECTS,
    obstacles,
    offspring::{self, End, TICK},
    output,
    pool::POOL,
    real,
    serial::{self, Serial},
    system, verdict,
};
use alloc::{
    boxed::Box,
    format,
    string::{String, ToString},
    vec::Vec,
};
use bohr_event::control::{
    Detailing, ForkPoint, Job, Obstacle, Outcome, Ready, Reply, Request, RunReport,
};
use bohr_schedule::Plan;
use core::{cell::Cell, ptr};

/// Threads parked before the first run.
const FIRST_PARKED: usize = 4;
/// The most that are parked ahead; programs with more create them in each run.
const MOST_PARKED: usize = 600;
/// Runs reported together.
const BATCH: usize = 64;

/// Serves jobs in the template. Returns in each run, where the program goes on.
pub fn serve(channel: Channel) {
    let prepared = POOL
        .fill(FIRST_PARKED)
        .map_err(|error| error.to_string())
        .and_then(|()| Ledger::new().map_err(|error| format!("no shared memory: error {error}")));
    real::find_all();
    OBJECTS.refresh();
    output::note_offsets();
    obstacles::note_beginning();
    offspring::start_ticking();
    channel.send(&Reply::Ready(Ready {
        objects: OBJECTS.list(),
        events: 0,
        notices: notices::list(),
    }));
    let ledger = match prepared {
        Ok(ledger) => ledger,
        Err(reason) => loop {
            channel.receive();
            channel.send(&Reply::Refused(reason.clone()));
        },
    };
    let mut template = Template {
        server: Server::new(channel, ledger),
        obstacle: None,
        last: None,
    };
    let mut handed = None;
    loop {
        let Request::Run(job) = handed.take().unwrap_or_else(|| channel.receive());
        match template.take(job) {
            Next::Job(request) => handed = request,
            Next::Run => return,
        }
    }
}

/// What all runs of a job need; lives until the job is done.
pub struct Task {
    /// As the explorer sent it.
    pub job: Job,
    /// Strategies borrow from it for as long as their process lives.
    pub plan: Plan,
    /// Where it lies, as it was given out: a reference is no leave to free.
    own: Cell<*mut Task>,
}

impl Task {
    /// The task of a job. Refusals are for the explorer.
    pub fn new(job: Job) -> Result<&'static Task, String> {
        let Some(plan) = Plan::from_bytes(&job.plan) else {
            return Err("the plan is not one of this version's".to_string());
        };
        let own = Cell::new(ptr::null_mut());
        let task = Box::into_raw(Box::new(Task { job, plan, own }));
        // SAFETY: just made; lives until `forget`.
        let task = unsafe {
            (*task).own.set(task);
            &*task
        };
        Ok(task)
    }

    /// Gives it back.
    fn forget(&'static self) {
        // SAFETY: made from a box in `new`; the runs that borrowed from it have
        // ended, and who calls this does not use it again.
        drop(unsafe { Box::from_raw(self.own.get()) });
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
        ..job.clone()
    }
}

/// Whether a serial part of this shape is one for the job, too. One that was
/// traced serves also those that need no trace.
pub fn fits(shape: &Job, job: &Job) -> bool {
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

/// What the template does next.
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
enum Next {
    /// This job, or the one that comes.
    Job(Option<Request>),
    /// This is a clone: on into the program.
    Run,
}

/// The process at the first fork point.
struct Template {
    server: Server,
    /// Why runs begin at `main`.
    obstacle: Option<Obstacle>,
    /// Shape of the last job.
    last: Option<Job>,
}

impl Template {
    fn take(&mut self, job: Job) -> Next {
        let shares = self.shares(&job);
        let prepared = prepare(&job).and_then(|()| Task::new(job));
        let task = match prepared {
            Ok(task) => task,
            Err(reason) => {
                self.server.channel.send(&Reply::Refused(reason));
                return Next::Job(None);
            }
        };
        let mut first = 0;
        if shares {
            self.server.ledger.clear_fork();
            match system::clone_process() {
                Ok(0) => {
                    let (channel, ledger) = (self.server.channel, self.server.ledger);
                    serial::begin(Serial {
                        task,
                        channel,
                        ledger,
                    });
                    return Next::Run;
                }
                Ok(second) => match self.attend(second, task) {
                    Some(report) => {
                        first = 1;
                        if self.server.report(report, &task.job) {
                            first = task.job.runs;
                        }
                    }
                    None => {
                        task.forget();
                        return Next::Job(self.server.ledger.handed());
                    }
                },
                // The first run will say so.
                Err(_) => {}
            }
        }
        let point = ForkPoint::Main(self.obstacle);
        match self.server.runs(task, first, point, child::begin) {
            Side::Run => Next::Run,
            Side::Template => Next::Job(None),
        }
    }

    /// Whether a second template is worth it for this job, and possible.
    fn shares(&mut self, job: &Job) -> bool {
        let shape = shape(job);
        let again = self.last.as_ref() == Some(&shape);
        self.last = Some(shape);
        let worth_it = job.runs > 1 || job.trace != Detailing::Never || again;
        self.obstacle.is_none() && worth_it
    }

    /// Waits for the second template. It has done the whole job, and those after
    /// it that could share its serial part; or it was a run like any other, whose
    /// report comes back, since there was nothing to share.
    fn attend(&mut self, second: usize, task: &'static Task) -> Option<RunReport> {
        let ledger = self.server.ledger;
        let limit = task.job.limits.milliseconds;
        let end = offspring::wait_for(second, limit, || ledger.has_forked());
        if !ledger.has_forked() {
            self.obstacle = Some(ledger.obstacle().unwrap_or(Obstacle::NoThread));
            return Some(self.server.account(end, task.seed(0), &task.job));
        }
        // What its serial part wrote.
        output::reset();
        if end != End::Exited(0) {
            let reason = format!("the process that runs were cloned from is gone: {end:?}");
            self.server.channel.send(&Reply::Refused(reason));
        }
        None
    }
}

/// In which of the two processes one is after a clone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// In the one that clones.
    Template,
    /// In a run.
    Run,
}

/// Clones runs and reports how they went.
pub struct Server {
    channel: Channel,
    ledger: Ledger,
    /// Reports not yet sent.
    waiting: Vec<RunReport>,
    /// When the last were.
    sent: u64,
}

impl Server {
    /// One that has not done anything yet.
    pub fn new(channel: Channel, ledger: Ledger) -> Server {
        Server {
            channel,
            ledger,
            waiting: Vec::new(),
            sent: system::monotonic(),
        }
    }

    /// Does the runs of a task from number `first` on, and tells the explorer
    /// that it is done. `begin` is what a clone does first.
    pub fn runs(
        &mut self,
        task: &'static Task,
        first: u64,
        point: ForkPoint,
        begin: fn(&'static Task, u64, Ledger),
    ) -> Side {
        for number in first..task.job.runs {
            let seed = task.seed(number);
            output::restore_offsets();
            self.ledger.clear();
            match system::clone_process() {
                Ok(0) => {
                    self.channel.close();
                    begin(task, seed, self.ledger);
                    return Side::Run;
                }
                Ok(child) => {
                    let limit = task.job.limits.milliseconds;
                    let end = offspring::wait_for(child, limit, || false);
                    let report = self.account(end, seed, &task.job);
                    if self.report(report, &task.job) {
                        break;
                    }
                }
                Err(error) => {
                    let reason = format!("no process for a run: error {error}; see ulimit -u");
                    self.flush();
                    self.channel.send(&Reply::Refused(reason));
                    return Side::Template;
                }
            }
        }
        task.forget();
        self.flush();
        self.channel.send(&Reply::Done(point));
        Side::Template
    }

    /// How a run went, by its own word and the kernel's.
    fn account(&self, end: End, seed: u64, job: &Job) -> RunReport {
        let mut report = RunReport {
            seed,
            outcome: end.outcome(job.limits.milliseconds),
            events: 0,
            switches: 0,
            threads: 0,
            hash: 0,
            detail: None,
        };
        if let Some((summary, body)) = self.ledger.read() {
            report.events = summary.events;
            report.switches = summary.switches;
            report.threads = summary.threads;
            report.hash = summary.hash;
            if let Some((outcome, detail)) = body {
                report.outcome = outcome;
                report.detail = detail;
                verdict::attach_output(&mut report.detail);
            }
            // The next runs find parked threads for all that this one had.
            let wanted = (summary.threads as usize).min(MOST_PARKED);
            if POOL.fill(wanted).is_err() {
                // They will be created in the runs instead.
            }
        }
        output::reset();
        report
    }

    /// Reports a run, now or later; whether the job is to end with it.
    fn report(&mut self, report: RunReport, job: &Job) -> bool {
        let failed = !matches!(report.outcome, Outcome::Exited { code: 0 });
        self.waiting.push(report);
        let late = self.waiting.len() >= BATCH || system::monotonic() - self.sent > TICK;
        if failed || late {
            self.flush();
        }
        failed && job.stop_at_failure
    }

    fn flush(&mut self) {
        self.sent = system::monotonic();
        if !self.waiting.is_empty() {
            let runs = core::mem::take(&mut self.waiting);
            self.channel.send(&Reply::Runs(runs));
        }
    }
}

/// What has to be in place before the first run of a job.
fn prepare(job: &Job) -> Result<(), String> {
    output::prepare(job.output)
        .map_err(|error| format!("cannot redirect output: error {error}"))?;
    hooks::watch_freed(job.policy.watch_freed);
    Ok(())
}
