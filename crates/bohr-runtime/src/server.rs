//! The fork server: the template stands at its fork point with its threads
//! parked, and clones a child for every run of a job.

use crate::{
    channel::Channel,
    child,
    faults::{self, WATCHDOG},
    hooks,
    ledger::Ledger,
    notices,
    objects::OBJECTS,
    output,
    pool::POOL,
    real, system, verdict,
};
use alloc::{boxed::Box, format, string::ToString, vec::Vec};
use bohr_event::{
    FailureKind, ThreadIndex,
    control::{Failure, Job, Outcome, Ready, Reply, Request, RunReport},
};
use bohr_schedule::Plan;

/// Threads parked before the first run.
const FIRST_PARKED: usize = 4;
/// The most that are parked ahead; programs with more create them in each run.
const MOST_PARKED: usize = 600;
/// Runs reported together.
const BATCH: usize = 64;
/// Time after which waiting reports are sent, and between looks at the clock.
const TICK: u64 = 50_000_000;
/// How long an overdue run may take to tell where it is.
const LAST_WORDS: u64 = 2_000_000_000;

/// Serves jobs in the template. Returns in each run, where the program goes on.
pub fn serve(channel: Channel) {
    let prepared = POOL
        .fill(FIRST_PARKED)
        .map_err(|error| error.to_string())
        .and_then(|()| Ledger::new().map_err(|error| format!("no shared memory: error {error}")));
    real::find_all();
    OBJECTS.refresh();
    output::note_offsets();
    channel.send(&Reply::Ready(Ready {
        objects: OBJECTS.list(),
        events: 0,
        notices: notices::list(),
    }));
    loop {
        let Request::Run(job) = channel.receive();
        match &prepared {
            Ok(ledger) => {
                let done = Server {
                    channel,
                    ledger: *ledger,
                    waiting: Vec::new(),
                    sent: system::monotonic(),
                }
                .run(job);
                if done == Side::Run {
                    return;
                }
            }
            Err(reason) => channel.send(&Reply::Refused(reason.clone())),
        }
    }
}

/// In which of the two processes one is after a clone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Template,
    Run,
}

struct Server {
    channel: Channel,
    ledger: Ledger,
    /// Reports not yet sent.
    waiting: Vec<RunReport>,
    /// When the last were.
    sent: u64,
}

impl Server {
    fn run(mut self, job: Job) -> Side {
        let plan: Plan = match prepare(&job) {
            Ok(plan) => plan,
            Err(reason) => {
                self.channel.send(&Reply::Refused(reason));
                return Side::Template;
            }
        };
        // Strategies borrow from the plan for as long as their process lives.
        let plan: &'static Plan = Box::leak(Box::new(plan));
        start_ticking();
        for number in 0..job.runs {
            let seed = job.first_seed.wrapping_add(job.stride.wrapping_mul(number));
            output::restore_offsets();
            self.ledger.clear();
            match system::clone_process() {
                Ok(0) => {
                    self.channel.close();
                    child::begin(job, plan, seed, self.ledger);
                    return Side::Run;
                }
                Ok(child) => {
                    let report = self.wait(child, seed, &job);
                    let failed = !matches!(report.outcome, Outcome::Exited { code: 0 });
                    self.report(report, failed);
                    if failed && job.stop_at_failure {
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
        self.flush();
        // SAFETY: made from a box above; the runs that borrowed from it have ended.
        drop(unsafe { Box::from_raw(core::ptr::from_ref(plan).cast_mut()) });
        self.channel.send(&Reply::Done);
        Side::Template
    }

    /// Waits for the end of a run and tells how it went.
    fn wait(&self, child: usize, seed: u64, job: &Job) -> RunReport {
        let status = wait_for(child, job.limits.milliseconds);
        let mut report = RunReport {
            seed,
            outcome: outcome_of(status, job.limits.milliseconds),
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

    fn report(&mut self, report: RunReport, urgent: bool) {
        self.waiting.push(report);
        let late = self.waiting.len() >= BATCH || system::monotonic() - self.sent > TICK;
        if urgent || late {
            self.flush();
        }
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
fn prepare(job: &Job) -> Result<Plan, alloc::string::String> {
    output::prepare(job.output)
        .map_err(|error| format!("cannot redirect output: error {error}"))?;
    hooks::watch_freed(job.policy.watch_freed);
    postcard::from_bytes(&job.plan).map_err(|_| "the plan is not one of this version's".to_string())
}

/// The outcome by the word of the kernel, for a run that left none of its own.
fn outcome_of(status: End, milliseconds: u32) -> Outcome {
    match status {
        End::Exited(code) => Outcome::Exited { code },
        End::Killed(signal) => Outcome::Failed(Failure {
            kind: FailureKind::Crash { signal },
            thread: ThreadIndex::MAIN,
            place: None,
            address: 0,
            message: format!("killed by signal {signal}"),
            states: Vec::new(),
        }),
        End::Overdue => Outcome::Failed(Failure {
            kind: FailureKind::TimeLimit,
            thread: ThreadIndex::MAIN,
            place: None,
            address: 0,
            message: format!("did not answer after {milliseconds} ms"),
            states: Vec::new(),
        }),
    }
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Exited(i32),
    Killed(i32),
    /// Killed by us: too late, and no answer to the watchdog.
    Overdue,
}

/// Waits for a child. The clock is looked at when the tick interrupts the wait,
/// so a short run costs one system call here.
fn wait_for(child: usize, milliseconds: u32) -> End {
    let limit = u64::from(milliseconds) * 1_000_000;
    let begin = system::monotonic();
    let mut asked = false;
    let mut killed = false;
    loop {
        let mut status = 0i32;
        let arguments = [child, &raw mut status as usize, 0, 0, 0, 0];
        // SAFETY: writes the status.
        if unsafe { system::try_call(libc::SYS_wait4, arguments) }.is_ok() {
            return match (libc::WIFEXITED(status), killed) {
                (_, true) => End::Overdue,
                (true, _) => End::Exited(libc::WEXITSTATUS(status)),
                (false, _) => End::Killed(libc::WTERMSIG(status)),
            };
        }
        let elapsed = system::monotonic() - begin;
        if limit > 0 && elapsed > limit && !asked {
            asked = true;
            send_signal(child, WATCHDOG);
        } else if asked && elapsed > limit + LAST_WORDS {
            killed = true;
            send_signal(child, libc::SIGKILL);
        }
    }
}

fn send_signal(process: usize, signal: i32) {
    // SAFETY: the process is our child and has not been waited for.
    unsafe { system::call(libc::SYS_kill, [process, signal as usize, 0, 0, 0, 0]) };
}

/// Makes a signal interrupt waits regularly. Children do not inherit the timer.
fn start_ticking() {
    extern "C" fn tick(_: i32) {}
    faults::set_action(libc::SIGALRM, tick as *const () as usize, 0);
    let interval = libc::timeval {
        tv_sec: 0,
        tv_usec: (TICK / 1000) as i64,
    };
    let timer = libc::itimerval {
        it_interval: interval,
        it_value: interval,
    };
    let arguments = [
        libc::ITIMER_REAL as usize,
        &raw const timer as usize,
        0,
        0,
        0,
        0,
    ];
    // SAFETY: sets a timer of this process.
    unsafe { system::call(libc::SYS_setitimer, arguments) };
}
