//! Outposts: templates that stand further on in the program than `main`, so that
//! what many runs have in common is executed once.
//!
//! The first stands at the end of the serial part, before the first question that
//! the strategy would be asked, which for nearly all programs is the creation of
//! their first thread. Up to there all runs of a job are equal, whatever their
//! seeds.
//!
//! Others stand at decisions along the plan of a search, whose next plans will
//! begin with the same turns. A run that has come far enough along its plan stays
//! where it is, clones itself to go on, and serves the jobs that follow while their
//! plans lead to it. A job that does not goes back to where the outpost was cloned
//! from.
//!
//! If what was done up to there cannot be shared, the process is no outpost but a
//! run like any other.

use crate::{
    arena,
    carrier::CarrierOnly,
    channel::Channel,
    child, elsewhere,
    engine::ENGINE,
    ledger::Ledger,
    obstacles, offspring, output,
    server::{Next, Server},
    system,
    task::Task,
};
use bohr_event::control::{Checkpoints, ForkPoint, Request};
use bohr_schedule::Position;
use core::cell::Cell;

/// Outposts in a row after which the way from one to the next doubles. A long run
/// is to be covered by few: the kernel makes the clones of a process dearer with
/// every ancestor that it shares memory with.
const ROW: u32 = 4;

/// What a process needs that may become an outpost.
#[derive(Clone, Copy)]
pub struct Candidate {
    /// The job that it was cloned for.
    pub task: &'static Task,
    /// To the explorer.
    pub channel: Channel,
    /// For what runs leave.
    pub ledger: Ledger,
    /// How many templates it descends from.
    pub depth: u32,
    /// When it was cloned, in ticks.
    pub since: u64,
}

#[derive(Clone, Copy)]
enum Hope {
    /// Until the first question.
    Serial(Candidate),
    /// Until the plan prescribes nothing more.
    Turn(Candidate),
}

#[unsafe(link_section = "bohr_hot")]
static HOPE: CarrierOnly<Cell<Option<Hope>>> = CarrierOnly::new(Cell::new(None));

/// Makes a clone of the first template execute the serial part.
pub fn begin_serial(candidate: Candidate, trace: u64) {
    HOPE.set(Some(Hope::Serial(candidate)));
    child::begin_serial(candidate.task, candidate.ledger, trace);
}

/// In a run: others may be cloned from it.
pub fn hope(candidate: Candidate) {
    HOPE.set(Some(Hope::Turn(candidate)));
}

/// Whether this process may become an outpost: whether what it does is to be
/// watched.
#[inline]
pub fn is_hoped_for() -> bool {
    HOPE.get().is_some()
}

/// Called before the strategy is asked anything, and before a thread is created.
/// At the end of the serial part this serves, and returns in each run.
#[inline]
pub fn first_question() {
    if let Some(Hope::Serial(candidate)) = HOPE.get() {
        HOPE.set(None);
        end_serial(candidate);
    }
}

#[cold]
fn end_serial(candidate: Candidate) {
    match obstacles::find() {
        None => elsewhere::with_room(|| stand(&candidate, ForkPoint::FirstQuestion)),
        Some(obstacle) => {
            candidate.ledger.note_obstacle(obstacle);
            candidate.channel.close();
            let task = candidate.task;
            ENGINE.follow(task.plan.strategy(task.seed(0)));
        }
    }
}

/// Called before a decision, with how far along its plan the run is. Where this
/// becomes an outpost, it serves, and returns in each run.
#[cold]
pub fn turn(position: Option<Position>) {
    let Some(Hope::Turn(candidate)) = HOPE.get() else {
        return;
    };
    let Some(position) = position else {
        // From here on the run is its own.
        return give_up(candidate);
    };
    if is_wanted(&candidate, position) {
        HOPE.set(None);
        match obstacles::find() {
            None => elsewhere::with_room(|| stand(&candidate, ForkPoint::Turn(position.0))),
            Some(_) => give_up(candidate),
        }
    }
}

fn is_wanted(candidate: &Candidate, position: Position) -> bool {
    match candidate.task.job.checkpoints {
        Checkpoints::Never => false,
        Checkpoints::At(turn) => position == Position(turn),
        Checkpoints::Every(way) => {
            let way = way.saturating_mul(1 << (candidate.depth / ROW).min(32));
            system::ticks().wrapping_sub(candidate.since) >= way
        }
    }
}

fn give_up(candidate: Candidate) {
    HOPE.set(None);
    candidate.channel.close();
}

/// Serves the job that brought the process here and those after it that lead
/// here.
pub fn stand(candidate: &Candidate, point: ForkPoint) {
    let Candidate {
        task: own,
        channel,
        ledger,
        ..
    } = *candidate;
    let depth = candidate.depth + 1;
    ledger.set_depth(depth);
    arena::begin_serving();
    offspring::adopt();
    offspring::start_ticking();
    output::note();
    output::keep();
    let mut server = Server::new(channel, ledger, depth);
    let mut task = own;
    loop {
        let mut handed = match server.runs(task, 0, point) {
            Next::Run => return,
            Next::Job(handed) => handed,
        };
        // The way here is told by the job that led here.
        if !core::ptr::eq(task, own) {
            task.forget();
        }
        task = loop {
            let job = match handed.take().unwrap_or_else(|| channel.receive()) {
                Request::Clone(count) => {
                    server.clone_idly(count);
                    continue;
                }
                Request::Run(job) => job,
            };
            match Task::new(job) {
                Ok(task) if own.leads_to(task, point) => break task,
                Ok(task) => {
                    ledger.hand_over(&Request::Run(task.job.clone()));
                    system::exit(0);
                }
                Err(reason) => server.refuse(reason),
            }
        };
    }
}
