//! The second fork point: the serial part of the program is executed once, up to
//! the first question that the strategy would be asked, which for nearly all
//! programs is the creation of their first thread. Up to there all runs of a job
//! are equal, whatever their seeds.
//!
//! If what the serial part did cannot be shared, the process is no template but
//! a run like any other.

use crate::{
    carrier::CarrierOnly,
    channel::Channel,
    child,
    engine::ENGINE,
    ledger::Ledger,
    obstacles, offspring, output,
    server::{self, Server, Side, Task},
    system,
};
use bohr_event::control::{ForkPoint, Reply, Request};
use core::cell::Cell;

/// What a second template needs.
#[derive(Clone, Copy)]
pub struct Serial {
    /// The job that it was made for.
    pub task: &'static Task,
    /// To the explorer.
    pub channel: Channel,
    /// For what runs leave.
    pub ledger: Ledger,
}

/// In a second template, until the first question.
#[unsafe(link_section = "bohr_hot")]
static SERIAL: CarrierOnly<Cell<Option<Serial>>> = CarrierOnly::new(Cell::new(None));

/// Makes a clone of the template execute the serial part.
pub fn begin(serial: Serial) {
    SERIAL.set(Some(serial));
    child::begin_serial(serial.task, serial.ledger);
}

/// Whether this is the serial part, which runs share.
#[inline]
pub fn is_going_on() -> bool {
    SERIAL.get().is_some()
}

/// Called before the strategy is asked anything, and before a thread is created.
/// In a second template this serves, and returns in each run.
#[inline]
pub fn end() {
    if let Some(serial) = SERIAL.take() {
        serve(serial);
    }
}

#[cold]
fn serve(serial: Serial) {
    let Serial {
        mut task,
        channel,
        ledger,
    } = serial;
    if let Some(obstacle) = obstacles::find() {
        ledger.note_obstacle(obstacle);
        channel.close();
        ENGINE.follow(task.plan.strategy(task.seed(0)));
        return;
    }
    ledger.note_fork();
    offspring::start_ticking();
    output::note_offsets();
    output::keep();
    let mut server = Server::new(channel, ledger);
    let shape = server::shape(&task.job);
    loop {
        let point = ForkPoint::FirstQuestion;
        if server.runs(task, 0, point, child::resume) == Side::Run {
            return;
        }
        task = loop {
            let Request::Run(job) = channel.receive();
            if !server::fits(&shape, &job) {
                ledger.hand_over(&Request::Run(job));
                system::exit(0);
            }
            match Task::new(job) {
                Ok(task) => break task,
                Err(reason) => channel.send(&Reply::Refused(reason)),
            }
        };
    }
}
