//! The first template: the process stands at `main` with its threads parked, and
//! waits for jobs.
//!
//! For a job of many runs it clones a second template, an
//! [outpost](crate::outpost) at the end of the serial part, which runs are cloned
//! from.

use crate::{
    channel::Channel,
    hooks,
    ledger::Ledger,
    notices,
    objects::OBJECTS,
    obstacles, offspring, outpost, output,
    pool::POOL,
    real,
    server::{Attended, Next, Server},
    streams, system,
    task::{self, Task},
};
use alloc::{
    boxed::Box,
    format,
    string::{String, ToString},
};
use bohr_event::control::{Detailing, ForkPoint, Job, Obstacle, Outcome, Ready, Reply, Request};

/// Threads parked before the first run.
const FIRST_PARKED: usize = 4;

/// Serves jobs in the template. Returns in each run, where the program goes on.
pub fn serve(channel: Channel) {
    let prepared = POOL
        .fill(FIRST_PARKED)
        .map_err(|error| error.to_string())
        .and_then(|()| Ledger::new().map_err(|error| format!("no shared memory: error {error}")));
    real::find_all();
    streams::watch();
    OBJECTS.refresh();
    output::note();
    obstacles::note_beginning();
    offspring::adopt();
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
        server: Server::new(channel, ledger, 0),
        obstacle: None,
        last: None,
    };
    let mut handed = None;
    loop {
        match handed.take().unwrap_or_else(|| channel.receive()) {
            Request::Clone(count) => template.server.clone_idly(count),
            Request::Run(job) => match template.take(job) {
                Next::Job(request) => handed = request,
                Next::Run => return,
            },
        }
    }
}

/// How a process ends that has told what there is to tell.
const GOOD: Outcome = Outcome::Exited { code: 0 };

/// The process at `main`.
struct Template {
    server: Server,
    /// Why runs begin here.
    obstacle: Option<Obstacle>,
    /// Shape of the last job.
    last: Option<Job>,
}

impl Template {
    fn take(&mut self, job: Box<Job>) -> Next {
        if !job.from.is_empty() {
            return self.take_from_image(job);
        }
        let shares = self.shares(&job);
        let task = match prepare(&job).and_then(|()| Task::new(job)) {
            Ok(task) => task,
            Err(reason) => {
                self.server.refuse(reason);
                return Next::Job(None);
            }
        };
        let mut first = 0;
        if shares {
            match self.send_ahead(task) {
                Ahead::Here => return Next::Run,
                Ahead::Done(request) => return Next::Job(request),
                Ahead::Ran(runs) => first = runs,
            }
        }
        let point = ForkPoint::Main(self.obstacle);
        let next = self.server.runs(task, first, point);
        if matches!(next, Next::Job(_)) {
            task.forget();
        }
        next
    }

    /// Has a clone go on from an image. It does the job and those after it that can
    /// begin there, too.
    fn take_from_image(&mut self, job: Box<Job>) -> Next {
        let task = match prepare(&job).and_then(|()| Task::new(job)) {
            Ok(task) => task,
            Err(reason) => {
                self.server.refuse(reason);
                return Next::Job(None);
            }
        };
        self.server.clear(task);
        let second = match system::clone_dependant() {
            Ok(0) => {
                let reason = self.server.begin_from_image(task);
                self.server.refuse(reason);
                system::exit(0);
            }
            Ok(second) => second,
            Err(error) => {
                self.server
                    .refuse(format!("no process for an image: error {error}"));
                return Next::Job(None);
            }
        };
        let request = match self.server.attend(second, task, 0) {
            Attended::Stood(request) => request,
            Attended::Ran(report) if report.outcome != GOOD => {
                let reason = "the kernel refuses to make the memory that is in the image";
                self.server.refuse(reason.to_string());
                None
            }
            // It has told why not.
            Attended::Rested | Attended::Ran(_) => None,
        };
        task.forget();
        Next::Job(request)
    }

    /// Whether a second template is worth it for this job, and possible.
    fn shares(&mut self, job: &Job) -> bool {
        let shape = task::shape(job);
        let again = self.last.as_ref() == Some(&shape);
        self.last = Some(shape);
        let worth_it = job.runs > 1 || job.trace != Detailing::Never || again;
        self.obstacle.is_none() && worth_it
    }

    /// Has a clone execute the serial part. It does the whole job and those after
    /// it that can share its serial part; or it is a run like any other, since
    /// there is nothing to share.
    fn send_ahead(&mut self, task: &'static Task) -> Ahead {
        // The last one has read its input, at an offset that it shares with us.
        output::restore();
        let trace = self.server.clear(task);
        let second = match system::clone_dependant() {
            Ok(0) => {
                outpost::begin_serial(self.server.candidate(task), trace);
                return Ahead::Here;
            }
            Ok(second) => second,
            // The first run will say so.
            Err(_) => return Ahead::Ran(0),
        };
        match self.server.attend(second, task, 0) {
            Attended::Stood(request) => {
                task.forget();
                Ahead::Done(request)
            }
            Attended::Rested => Ahead::Ran(0),
            Attended::Ran(report) => {
                self.obstacle = Some(self.server.obstacle().unwrap_or(Obstacle::NoThread));
                Ahead::Ran(match self.server.report(report, &task.job) {
                    true => task.job.runs,
                    false => 1,
                })
            }
        }
    }
}

/// What became of a clone that was to be the second template.
enum Ahead {
    /// This is it.
    Here,
    /// It has done the job, and found this request not for it.
    Done(Option<Request>),
    /// So many runs of the job are done with.
    Ran(u64),
}

/// What has to be in place before the first run of a job.
fn prepare(job: &Job) -> Result<(), String> {
    output::prepare(job.output)
        .map_err(|error| format!("cannot redirect output: error {error}"))?;
    hooks::watch_freed(job.policy.watch_freed);
    Ok(())
}
