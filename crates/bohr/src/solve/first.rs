//! All ways of solving at once. Which of them is the quickest depends on the program and
//! shows only when it is over, so the first schedule that is found is taken, and the other
//! ways are given up.

use super::order::{self, Task};
use super::{Args, SolveError, Solved, Solver, execution};
use crate::control::interruption;
use crate::outcome::Failure;
use bohr_explore::Subject;
use bohr_explore::hunt::Shard;
use bohr_log::Recording;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// How often it is looked whether anybody wants to wait.
const PAUSE: Duration = Duration::from_millis(20);

/// What a way came to.
type Told = (Solver, Result<Solved, Failure>);

/// The first schedule that is found.
pub fn solve(args: &Args, recording: &Recording, subject: &Subject) -> Result<Solved, Failure> {
    let interrupted = interruption();
    let stopped = &AtomicBool::new(false);
    let task = Task {
        args,
        recording,
        subject,
        begun: Instant::now(),
        stopped,
    };
    let told = std::thread::scope(|scope| {
        let (tell, told) = channel();
        if !args.model.has_buffers() {
            let tell = tell.clone();
            scope.spawn(move || {
                let solved = execution::solve(args, recording, subject, None, stopped);
                let _ = tell.send((Solver::Execution, solved));
            });
        }
        scope.spawn(move || by_symbols(task, &tell));
        let mut all: Vec<Told> = Vec::new();
        loop {
            if interrupted.load(Ordering::Relaxed) {
                stopped.store(true, Ordering::Relaxed);
            }
            match told.recv_timeout(PAUSE) {
                Ok(one) => {
                    stopped.fetch_or(one.1.is_ok(), Ordering::Relaxed);
                    all.push(one);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break all,
            }
        }
    });
    best(told)
}

/// The ways that need each thread to be executed symbolically.
fn by_symbols(task: Task<'_>, tell: &Sender<Told>) {
    let Task {
        args,
        recording,
        subject,
        begun,
        ..
    } = task;
    let problem = match order::problem(args, recording, subject) {
        Ok(problem) => problem,
        Err(failure) => return drop(tell.send((Solver::Order, Err(failure)))),
    };
    let seconds = begun.elapsed().as_secs_f64();
    std::thread::scope(|scope| {
        // What the constraints find is no part of what machines share.
        if args.shard == Shard::WHOLE {
            let problem = problem.clone();
            scope.spawn(move || {
                let solved = order::order_of(task, Solver::Order, problem, seconds);
                let _ = tell.send((Solver::Order, solved));
            });
        }
        let solved = order::order_of(task, Solver::Validate, problem, seconds);
        let _ = tell.send((Solver::Validate, solved));
    });
}

/// The first schedule; if there is none, the error that says most: that there can be
/// none, then what the runs of the program came to.
fn best(told: Vec<Told>) -> Result<Solved, Failure> {
    let worth = |told: &Told| match (told.0, &told.1) {
        (_, Ok(_)) => 0,
        (_, Err(failure)) => match (told.0, failure.of()) {
            (_, Some(SolveError::NoSchedule { .. })) => 1,
            (_, Some(SolveError::Contradiction { .. })) => 2,
            (Solver::Execution, _) => 3,
            (Solver::Order, _) => 4,
            _ => 5,
        },
    };
    let best = told.into_iter().min_by_key(worth);
    best.map_or_else(|| Err(SolveError::Unsolved.into()), |(_, result)| result)
}
