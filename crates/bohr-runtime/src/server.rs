//! The fork server: clones a process for every run of a job, waits for it, and
//! reports how it went. Every template has one.

use crate::{
    channel::Channel,
    child, footprint, image,
    ledger::{Ledger, Summary},
    offspring::{self, End, TICK},
    outpost::{self, Candidate},
    output,
    pool::POOL,
    rewind, system,
    task::Task,
    trace, verdict,
};
use alloc::{format, string::String, vec::Vec};
use bohr_event::control::{
    Backend, Checkpoints, Detail, Detailing, ForkPoint, Job, Notice, Obstacle, Outcome, Reply,
    Request, RunReport,
};

/// The most threads that are parked ahead; programs with more create them in
/// each run.
const MOST_PARKED: usize = 600;
/// Runs reported together.
const BATCH: usize = 64;
/// After so many clones that could not undo a run, no more try.
const MOST_IN_VAIN: u32 = 16;

/// What a template does next.
pub enum Next {
    /// This job, or the one that comes.
    Job(Option<Request>),
    /// This is a clone: on into the program.
    Run,
}

/// What became of a clone.
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
pub enum Attended {
    /// It was a run, or several of which this is the last.
    Ran(RunReport),
    /// It was several runs, all undone.
    Rested,
    /// It was an outpost, and this request was not for it.
    Stood(Option<Request>),
}

/// See the module.
pub struct Server {
    channel: Channel,
    ledger: Ledger,
    /// How many templates this one descends from.
    depth: u32,
    /// Clones in a row that were to undo their runs and could not.
    in_vain: u32,
    /// Reports not yet sent.
    waiting: Vec<RunReport>,
    /// When the last were.
    sent: u64,
    /// Where the trace of the run begins that is under way.
    trace: Option<u64>,
}

impl Server {
    /// One that has not done anything yet.
    pub fn new(channel: Channel, ledger: Ledger, depth: u32) -> Server {
        Server {
            channel,
            ledger,
            depth,
            in_vain: 0,
            waiting: Vec::new(),
            sent: system::monotonic(),
            trace: None,
        }
    }

    /// Does the runs of a task from number `first` on, and tells the explorer
    /// that it is done. They begin here, at `point`.
    pub fn runs(&mut self, task: &'static Task, first: u64, point: ForkPoint) -> Next {
        let mut number = first;
        while number < task.job.runs {
            output::restore();
            let trace = self.clear(task);
            match system::clone_dependant() {
                Ok(0) => {
                    self.begin(task, number, trace, point);
                    return Next::Run;
                }
                Ok(child) => {
                    let attended = self.attend(child, task, number);
                    number += self.report_undone(task, number);
                    match attended {
                        Attended::Stood(request) => return Next::Job(request),
                        Attended::Rested => {}
                        Attended::Ran(report) => {
                            number += 1;
                            if self.report(report, &task.job) {
                                break;
                            }
                        }
                    }
                }
                Err(error) => {
                    let reason = format!("no process for a run: error {error}; see ulimit -u");
                    self.refuse(reason);
                    return Next::Job(None);
                }
            }
        }
        self.flush();
        self.channel.send(&Reply::Done(point));
        Next::Job(None)
    }

    /// Before a process is cloned for this task; where its trace begins.
    pub fn clear(&mut self, task: &Task) -> u64 {
        self.ledger.clear();
        self.trace = task.store.map(trace::end_of);
        self.trace.unwrap_or_default()
    }

    /// In a clone.
    fn begin(&self, task: &'static Task, number: u64, trace: u64, point: ForkPoint) {
        let job = &task.job;
        let hopeful = job.checkpoints != Checkpoints::Never && job.runs == 1;
        let begins_at_main = matches!(point, ForkPoint::Main(_));
        match hopeful && !begins_at_main && job.backend == Backend::Fibers {
            true => outpost::hope(self.candidate(task)),
            false => self.channel.close(),
        }
        let mut number = number;
        if self.rewinds(job, job.runs - number, point) {
            number += rewind::stand(self.ledger, job.runs - number);
        }
        child::begin(task, task.seed(number), self.ledger, trace, point);
        footprint::forget();
    }

    /// Whether a clone is to do several of the runs that are left, each undone
    /// before the next.
    fn rewinds(&self, job: &Job, left: u64, point: ForkPoint) -> bool {
        let begins_at_main = matches!(point, ForkPoint::Main(_));
        let quiet = job.details != Detailing::Always && job.trace == Detailing::Never;
        quiet
            && left > 1
            && !begins_at_main
            && job.backend == Backend::Fibers
            && job.rewind
            && self.in_vain < MOST_IN_VAIN
    }

    /// Reports the runs that the last clone has undone; how many.
    fn report_undone(&mut self, task: &Task, first: u64) -> u64 {
        let ledger = self.ledger;
        let mut threads = 0;
        for (number, summary) in (first..).zip(ledger.each_undone()) {
            threads = threads.max(summary.threads);
            let outcome = Outcome::Exited { code: 0 };
            let report = RunReport {
                rewound: true,
                ..told(task.seed(number), outcome, summary)
            };
            self.report(report, &task.job);
        }
        self.park(threads);
        ledger.undone()
    }

    /// In a clone: goes on from the image that the job names. Returns only if that is
    /// not possible, with the reason.
    pub fn begin_from_image(&self, task: &Task) -> String {
        image::begin_from(task, self.channel, self.ledger, self.depth)
    }

    /// What a clone needs to become a template itself.
    pub fn candidate(&self, task: &'static Task) -> Candidate {
        Candidate {
            task,
            channel: self.channel,
            ledger: self.ledger,
            depth: self.depth,
            since: system::ticks(),
        }
    }

    /// Waits for a clone. The limit of time does not hold for one that serves.
    pub fn attend(&mut self, child: usize, task: &Task, number: u64) -> Attended {
        let (ledger, depth) = (self.ledger, self.depth);
        let limit = task.job.limits.milliseconds;
        let learnt = ledger.learnt_count();
        let runs = || (ledger.depth() <= depth).then(|| ledger.undone());
        let end = offspring::wait_for(child, limit, runs, || ledger.is_closing());
        if ledger.depth() <= depth {
            let fruitless = ledger.undone() == 0 && ledger.learnt_count() == learnt;
            self.in_vain = if fruitless { self.in_vain + 1 } else { 0 };
            if ledger.has_rested() {
                output::reset();
                return Attended::Rested;
            }
            let seed = task.seed(number + ledger.undone());
            return Attended::Ran(self.account(end, seed, &task.job));
        }
        ledger.set_depth(depth);
        // What it wrote on its way.
        output::reset();
        let handed = ledger.handed();
        if handed.is_none() {
            let story = ledger.read().and_then(|(_, story)| story);
            let word = match &story {
                Some((Outcome::Broken(message), _)) => message,
                Some((Outcome::Failed(failure), _)) => &failure.message,
                _ => "no word of its own",
            };
            // An explorer that is gone does not hear it.
            self.refuse(format!(
                "the process that runs were cloned from is gone: {end:?} ({word})"
            ));
        }
        Attended::Stood(handed)
    }

    /// Why a clone that was to be an outpost is none.
    pub fn obstacle(&self) -> Option<Obstacle> {
        self.ledger.obstacle()
    }

    /// Clones processes that end at once, and tells how long that took.
    pub fn clone_idly(&self, count: u32) {
        let begun = system::monotonic();
        for _ in 0..count {
            match system::clone_process() {
                Ok(0) => system::exit(0),
                Ok(child) => drop(offspring::wait_for(child, 0, || None, || false)),
                Err(error) => {
                    let reason = format!("no process for a clone: error {error}; see ulimit -u");
                    self.channel.send(&Reply::Refused(reason));
                    return;
                }
            }
        }
        let elapsed = system::monotonic() - begun;
        self.channel.send(&Reply::Cloned(elapsed));
    }

    /// How a run went, by its own word and the kernel's.
    fn account(&self, end: End, seed: u64, job: &Job) -> RunReport {
        let outcome = end.outcome(job.limits.milliseconds);
        let Some((summary, body)) = self.ledger.read() else {
            let detail = self.detail_of_the_replaced(&outcome, job);
            output::reset();
            // What a run that was killed had done is in its trace.
            return RunReport {
                trace: self.trace.filter(|_| job.trace != Detailing::Never),
                detail,
                ..told(seed, outcome, Summary::default())
            };
        };
        let mut report = told(seed, outcome, summary);
        if let Some((outcome, detail)) = body {
            report.outcome = outcome;
            report.detail = detail;
            verdict::attach_output(&mut report.detail);
        }
        self.park(summary.threads);
        output::reset();
        let failed = !matches!(report.outcome, Outcome::Exited { code: 0 });
        report.trace = self.trace.filter(|_| job.trace.covers(failed));
        report
    }

    /// Only a run that has become another program (`exec`) ends in good order
    /// without a word of its own.
    fn detail_of_the_replaced(&self, outcome: &Outcome, job: &Job) -> Option<Detail> {
        let is_good = matches!(outcome, Outcome::Exited { code: 0 });
        let mut detail = (is_good && job.details.covers(false)).then(|| Detail {
            notices: alloc::vec![Notice::Process],
            ..Detail::default()
        });
        verdict::attach_output(&mut detail);
        detail
    }

    /// The next runs find parked threads for all that a run had. At a turn of a
    /// plan the pool is in use.
    fn park(&self, threads: u32) {
        let wanted = (threads as usize).min(MOST_PARKED);
        if self.depth <= 1 && POOL.fill(wanted).is_err() {
            // They will be created in the runs instead.
        }
    }

    /// Reports a run, now or later; whether the job is to end with it.
    pub fn report(&mut self, report: RunReport, job: &Job) -> bool {
        let failed = !matches!(report.outcome, Outcome::Exited { code: 0 });
        self.waiting.push(report);
        let late = self.waiting.len() >= BATCH || system::monotonic() - self.sent > TICK;
        if failed || late {
            self.flush();
        }
        failed && job.stop_at_failure
    }

    /// Tells the explorer why its job is not done.
    pub fn refuse(&mut self, reason: String) {
        self.flush();
        self.channel.send(&Reply::Refused(reason));
    }

    fn flush(&mut self) {
        self.sent = system::monotonic();
        if !self.waiting.is_empty() {
            let runs = core::mem::take(&mut self.waiting);
            self.channel.send(&Reply::Runs(runs));
        }
    }
}

fn told(seed: u64, outcome: Outcome, summary: Summary) -> RunReport {
    RunReport {
        seed,
        outcome,
        events: summary.events,
        begun: summary.begun,
        switches: summary.switches,
        threads: summary.threads,
        hash: summary.hash,
        rewound: false,
        detail: None,
        trace: None,
    }
}
