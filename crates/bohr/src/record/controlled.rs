//! The path log of a run under control: with store buffers, which the processor's own
//! threads cannot be made to have, or with time slices that a seed gives. The run's events are traced, and the program is
//! interpreted along them.

use super::Args;
use crate::control::{Accesses, target};
use crate::outcome::Failure;
use crate::solve::SolveError;
use bohr_event::control::{Detailing, Job, Outcome};
use bohr_event::{FailureKind, ThreadPath};
use bohr_explore::native::hooked_sites;
use bohr_explore::record::{Recorded, Recorder, Spent};
use bohr_explore::{Ran, Subject, Voice, object_of_sites};
use bohr_log::{End, LogKind, Recording, Step, ThreadLog};
use bohr_program::SiteNumber;
use bohr_schedule::{Plan, Rule};
use bohr_solve::path::{self, Ending};
use bohr_solve::retrace::{Traced, retrace};
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::time::Instant;

const ABORT: i32 = 6;

/// A program whose runs under control are recorded.
pub struct Controlled<'r> {
    recorder: &'r Recorder,
    subject: Subject,
    hooked: BTreeSet<u32>,
}

impl<'r> Controlled<'r> {
    pub fn new(args: &Args, recorder: &'r Recorder) -> Result<Controlled<'r>, Failure> {
        let (target, models) = target(&recorder.program, Accesses::OfProgram)?;
        if models.is_empty() {
            return Err(SolveError::NoModel.into());
        }
        let hooked = hooked_sites(&target.executable)?;
        let mut subject = Subject::new(target, recorder.invocation.clone());
        subject.models = models;
        subject.policy.model = args.model;
        subject.oracle.exit_code = args.expect_exit;
        Ok(Controlled {
            recorder,
            subject,
            hooked,
        })
    }

    /// The first run that is kept, and how many there were.
    pub fn record(
        &self,
        args: &Args,
        go_on: &dyn Fn() -> bool,
    ) -> Result<(Option<Recorded>, u64), Failure> {
        let mut server = self.subject.serve(Voice::Muted, go_on)?;
        let identity = &self.subject.models[0].identity;
        let object = object_of_sites(&server.ready().objects, identity);
        let rule = args
            .slices
            .map_or(Rule::Random, |mean| Rule::Slices { mean: mean.get() });
        let plan = Plan::new(rule);
        let most = match args.until_failure {
            true => args.runs.unwrap_or(u64::MAX),
            false => 1,
        };
        for run in 0..most {
            if !go_on() {
                return Ok((None, run));
            }
            let started = Instant::now();
            let job = Job {
                first_seed: args.seed.wrapping_add(run),
                details: Detailing::Always,
                trace: Detailing::Always,
                ..self.subject.job(&plan)
            };
            let ran = self.subject.run_once(&mut server, job, go_on)?;
            let end = end(&ran);
            if args.until_failure && end == End::Exit(args.expect_exit) {
                continue;
            }
            let recording = self.recording(&ran, end, object)?;
            let spent = Spent {
                time: started.elapsed(),
                ..Spent::default()
            };
            return Ok((Some(Recorded { recording, spent }), run + 1));
        }
        Ok((None, most))
    }

    fn recording(&self, ran: &Ran, end: End, object: u16) -> Result<Recording, Failure> {
        let recorder = self.recorder;
        let program = &self.subject.models[0];
        let invocation = recorder.invocation.without_secrets();
        let name = recorder.program.as_os_str().as_bytes().to_vec();
        let words = std::iter::once(name.clone()).chain(invocation.arguments.iter().cloned());
        let words: Vec<Vec<u8>> = words.collect();
        let hooked = |site: SiteNumber| self.hooked.contains(&site.as_u32());
        let (failed, ending) = failure(&end);
        let trace = traced(ran, object);
        let called = (&words[..], recorder.invocation.environment.clone());
        let played = retrace(program, called, &trace, &hooked, (&failed, ending));
        let played = played.map_err(SolveError::from)?;
        let threads = played.run.threads.iter().map(|way| {
            let steps: Vec<Step> = way.steps.iter().filter_map(step).collect();
            let path = bohr_log::encode(program, &steps).unwrap_or_default();
            let thread = way.thread.clone();
            ThreadLog {
                thread,
                path,
                ..ThreadLog::default()
            }
        });
        Ok(Recording {
            writer: env!("CARGO_PKG_VERSION").to_string(),
            bundle: recorder.bundle,
            program: name,
            arguments: invocation.arguments,
            environment: invocation.environment,
            input: invocation.input,
            good_exit: recorder.good_exit,
            kind: LogKind::Path,
            threads: threads.collect(),
            end,
            message: String::new(),
        })
    }
}

/// How a run ended, as a native one would have.
fn end(ran: &Ran) -> End {
    let failure = match &ran.outcome {
        Outcome::Exited { code } => return End::Exit(*code),
        Outcome::Failed(failure) => failure,
        _ => return End::Endless,
    };
    let number = match failure.kind {
        FailureKind::Crash { signal } => signal,
        FailureKind::Assertion | FailureKind::Abort | FailureKind::Panic => ABORT,
        FailureKind::Exit { code } => return End::Exit(code),
        FailureKind::Deadlock => return End::Standstill,
        _ => return End::Endless,
    };
    let paths = ran
        .detail
        .as_ref()
        .map_or(&[][..], |detail| &detail.threads);
    End::Signal {
        number,
        thread: paths.get(failure.thread.position()).cloned(),
        code: 0,
        address: failure.address,
    }
}

/// Who failed, and how.
fn failure(end: &End) -> (ThreadPath, Ending) {
    match end {
        End::Exit(code) => (ThreadPath::MAIN, Ending::Exited(*code)),
        End::Signal { number, thread, .. } => {
            let ending = match *number {
                ABORT => Ending::Aborted,
                _ => Ending::Crashed,
            };
            (thread.clone().unwrap_or(ThreadPath::MAIN), ending)
        }
        _ => (ThreadPath::MAIN, Ending::Aborted),
    }
}

/// The events, with the names of their threads.
fn traced(ran: &Ran, object: u16) -> Vec<Traced> {
    let paths = ran
        .detail
        .as_ref()
        .map_or(&[][..], |detail| &detail.threads);
    let event = |step: &bohr_event::control::Step| {
        let place = step.operation.place;
        let site = u32::try_from(place.offset()).ok();
        let site = site.filter(|_| place.object() == object);
        Some(Traced {
            thread: paths.get(step.thread.position())?.clone(),
            kind: step.operation.kind,
            site: site.map(SiteNumber::from_u32),
            object: step.operation.object,
        })
    };
    ran.steps().iter().filter_map(event).collect()
}

fn step(step: &path::Step) -> Option<Step> {
    match *step {
        path::Step::Enter(function) => Some(Step::Enter(function)),
        path::Step::Block(block) => Some(Step::Block(block)),
        path::Step::Return => Some(Step::Return),
        path::Step::Land => None,
    }
}
