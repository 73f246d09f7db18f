//! What cloning a process costs that stands where runs begin: the least that a
//! run can cost, since it is a clone that does something.

use super::bohr::Bohr;
use bohr_event::ThreadIndex;
use bohr_event::control::{Checkpoints, Detailing, ForkPoint, Job};
use bohr_explore::bug_file::Invocation;
use bohr_explore::{Server, Subject, Voice, inspect_with};
use bohr_schedule::{Branch, Plan, Rule, Turn};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

/// Clones that are measured.
const CLONES: u32 = 5_000;

/// A program at the point where its runs begin.
struct Template {
    subject: Subject,
    server: Server,
}

impl Template {
    fn start(bohr: &Bohr, program: &Path) -> Result<Template, String> {
        let target = inspect_with(program, None, bohr.runtime());
        let target = target.map_err(|error| error.to_string())?;
        let subject = Subject::new(target, Invocation::default());
        let server = subject.serve(Voice::Muted, &|| true);
        let server = server.map_err(|error| error.to_string())?;
        Ok(Template { subject, server })
    }

    fn run(&mut self, job: Job) -> Result<ForkPoint, String> {
        let end = self
            .server
            .run(job, &|| true, |_| ControlFlow::Continue(()));
        end.map_err(|error| error.to_string())?;
        self.server
            .fork_point()
            .ok_or("no run was made".to_string())
    }

    fn clone_idly(&mut self) -> Result<Duration, String> {
        let time = self.server.clone_idly(CLONES);
        time.map_err(|error| error.to_string())
    }
}

/// The time of one clone, by as many processes at once as there are workers in a
/// hunt: an idle processor would take its time to wake up.
fn at_once(
    workers: usize,
    prepare: impl Fn() -> Result<Template, String>,
) -> Result<Duration, String> {
    let mut templates = (0..workers)
        .map(|_| prepare())
        .collect::<Result<Vec<Template>, String>>()?;
    let times = std::thread::scope(|scope| {
        let workers: Vec<_> = templates
            .iter_mut()
            .map(|template| scope.spawn(|| template.clone_idly()))
            .collect();
        let times = workers
            .into_iter()
            .map(|worker| worker.join().map_err(|_| "a worker panicked".to_string())?);
        times.sum::<Result<Duration, String>>()
    });
    Ok(times? / CLONES / workers as u32)
}

/// Clones per second of the program at the end of its serial part.
pub fn rate(bohr: &Bohr, program: &Path, workers: usize) -> Result<f64, String> {
    let time = at_once(workers, || {
        let mut template = Template::start(bohr, program)?;
        let job = template.subject.job(&Plan::new(Rule::Random));
        match template.run(Job { runs: 50, ..job })? {
            ForkPoint::FirstQuestion => Ok(template),
            other => Err(format!("runs begin at {other:?}")),
        }
    })?;
    Ok(workers as f64 / time.as_secs_f64())
}

/// What a checkpoint costs that is discarded at once, with so many threads alive:
/// all have begun and come out of their first critical section.
pub fn checkpoint(
    bohr: &Bohr,
    program: &Path,
    threads: u32,
    workers: usize,
) -> Result<Duration, String> {
    // Nobody is asked before there is a second thread.
    let creation = (1..threads).map(|_| ThreadIndex::MAIN);
    let beginning = (1..=threads).flat_map(|thread| [ThreadIndex(thread); 3]);
    // The last turn is to come when the checkpoint is taken.
    let turns = creation.chain(beginning).chain([ThreadIndex(1)]);
    let plan = Plan::new(Rule::Systematic(Branch {
        turns: turns.map(Turn::Thread).collect(),
        asleep: Vec::new(),
    }));
    let last = 4 * threads - 1;
    at_once(workers, || {
        let mut template = Template::start(bohr, program)?;
        let job = Job {
            details: Detailing::Always,
            checkpoints: Checkpoints::At(last),
            ..template.subject.job(&plan)
        };
        template.run(job.clone())?;
        match template.run(job)? {
            ForkPoint::Turn(turn) if turn == last => Ok(template),
            other => Err(format!("runs begin at {other:?}")),
        }
    })
}
