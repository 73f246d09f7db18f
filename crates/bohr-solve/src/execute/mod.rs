//! One thread's instructions, executed on numbers and terms.
//!
//! Where the thread goes is told by a [`Guide`]: the recorded way, or the values
//! themselves. What memory and the other threads answer is up to a [`World`]. So the
//! same code finds out what a recorded thread computed and, with a world in which
//! everything is known, is an interpreter of programs with threads.
//!
//! One concern per file: `thread` steps, `compute` does arithmetic, `access` moves
//! values in and out of memory, `constant` places globals, `call` enters and leaves
//! functions, `library` stands for C's functions, `outside` for those that ask the world,
//! `threads` for those about threads.

mod access;
mod call;
mod compute;
mod constant;
mod format;
mod guide;
mod intrinsic;
mod library;
mod outside;
mod readiness;
mod text;
mod thread;
mod threads;

pub(crate) use constant::Code;
pub(crate) use guide::Guide;
pub(crate) use thread::{Progress, Thread};
pub(crate) use threads::{handle_of, of_handle};

use crate::event::{Action, Buffered, Spot};
use crate::term::{Scalar, Terms};
use bohr_event::MemoryOrder;
use bohr_program::interpret::arithmetic::Incomputable;

/// Why execution does not go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    /// Something that is not modelled.
    NotModelled(String),
    /// Memory at this address does not exist.
    Fault(u64),
    /// The program did what none may.
    Undefined(String),
    /// The recorded way does not fit the code or the values.
    OffPath(String),
    /// Another thread has to do something first; the instruction begins again.
    Blocked,
    /// The thread is over.
    Ended(End),
}

/// How a thread was over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Its routine returned.
    Returned,
    /// By `abort` or a failed assertion.
    Aborted,
    /// It ended the process.
    Exited(Scalar),
    /// The recorded way goes no further.
    Unknown,
}

impl From<Incomputable> for Halt {
    fn from(error: Incomputable) -> Halt {
        match error {
            Incomputable::NotModelled(what) => Halt::NotModelled(what),
            Incomputable::Undefined(what) => Halt::Undefined(what.into()),
        }
    }
}

/// What every step gives.
pub(crate) type Step<T> = Result<T, Halt>;

pub(crate) fn not_modelled<T>(what: impl Into<String>) -> Step<T> {
    Err(Halt::NotModelled(what.into()))
}

/// An access or operation that is about to happen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    /// The thread's position.
    pub(crate) thread: usize,
    /// The instruction.
    pub(crate) spot: Spot,
    /// The memory order of an atomic access.
    pub(crate) order: MemoryOrder,
    /// How many operations of its own it is; none, if it is a part of what a function
    /// of the library does that nobody sees.
    pub(crate) counts: u32,
    /// What it has to do with its thread's store buffer; of a function of the library,
    /// what it writes says more.
    pub(crate) buffer: Buffered,
}

/// Memory, and the other threads.
pub(crate) trait World {
    fn terms(&mut self) -> &mut Terms;

    /// What comes before a thread's routine, or before `main`, is over.
    fn begins(&mut self) {}

    /// Accesses from now on belong to one event.
    fn begin(&mut self, moment: Moment);

    /// They are over.
    fn finish(&mut self);

    fn load(&mut self, address: Scalar, size: u32) -> Step<Scalar>;

    fn store(&mut self, address: Scalar, size: u32, value: Scalar) -> Step<()>;

    /// An object begins to exist.
    fn add(&mut self, address: u64, size: u64) -> Step<()>;

    /// Something other than an access.
    fn act(&mut self, moment: Moment, action: Action) -> Step<()>;

    /// Something that could not be had at once is left as it was.
    fn look(&mut self, moment: Moment) {
        let _ = moment;
    }

    /// A thread is created, to run a function with these arguments; its handle.
    fn fork(&mut self, moment: Moment, routine: Scalar, arguments: Vec<Scalar>) -> Step<u64>;

    /// The thread with this handle has to have ended; what its routine returned.
    fn join(&mut self, moment: Moment, handle: Scalar) -> Step<Scalar>;

    /// Something has to be 1 for the thread to go where it goes.
    fn demand(&mut self, spot: Spot, holds: Scalar) -> Step<()>;

    /// An address as a number, if it can only be one that the thread can go on with.
    fn settle(&mut self, spot: Spot, address: Scalar) -> Step<Scalar> {
        let _ = spot;
        Ok(address)
    }

    /// Whether an operation on something at an unknown address may be left out for now:
    /// the next execution will know more.
    fn puts_off(&mut self, spot: Spot, what: &str) -> bool {
        let _ = (spot, what);
        false
    }

    /// How many have to come to a barrier.
    fn set_barrier(&mut self, barrier: u64, count: u32);
    fn barrier(&self, barrier: u64) -> u32;

    /// What a semaphore begins with.
    fn set_semaphore(&mut self, semaphore: u64, value: u64);
}
