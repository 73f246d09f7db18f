//! Where the runs of a job are cloned from.

use super::system_call_name;
use core::fmt;
use serde::{Deserialize, Serialize};

/// What all runs of a job have in common was executed once, up to here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ForkPoint {
    /// Nothing: every run begins at `main`.
    Main(Option<Obstacle>),
    /// The serial part: every run begins where the first thread is created, or
    /// where the strategy is first asked anything else.
    FirstQuestion,
    /// This many turns of the plan, which the plans of earlier jobs prescribed, too.
    Turn(u32),
    /// The moment that an image was taken at.
    Image,
}

/// Why the serial part of a program has to be executed in every run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Obstacle {
    /// The program ended, or failed, without creating a thread.
    NoThread,
    /// A pipe, socket or the like is open: what one run takes from it, others miss.
    Stream,
    /// A file is open for writing, or was: runs would find what earlier ones wrote.
    Writing,
    /// Memory is shared, and runs would see each other's changes.
    SharedMemory,
    /// Another process was started, and only its parent can wait for it.
    Process,
    /// A system call with this number was made, and what it did to the world may
    /// have to be done for every run.
    SystemCall(u32),
    /// The kernel does not show system calls, so nobody knows.
    Unseen,
}

impl Obstacle {
    /// As one number, for memory that processes share.
    #[must_use]
    pub fn number(self) -> u32 {
        match self {
            Obstacle::NoThread => 1,
            Obstacle::Stream => 2,
            Obstacle::Writing => 3,
            Obstacle::SharedMemory => 4,
            Obstacle::Process => 5,
            Obstacle::Unseen => 6,
            Obstacle::SystemCall(number) => 16 + number,
        }
    }

    /// The obstacle with this number.
    #[must_use]
    pub fn from_number(number: u32) -> Option<Obstacle> {
        Some(match number {
            1 => Obstacle::NoThread,
            2 => Obstacle::Stream,
            3 => Obstacle::Writing,
            4 => Obstacle::SharedMemory,
            5 => Obstacle::Process,
            6 => Obstacle::Unseen,
            16.. => Obstacle::SystemCall(number - 16),
            _ => return None,
        })
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Obstacle::NoThread => out.write_str("it ends without creating a thread"),
            Obstacle::Stream => out.write_str("it has a pipe or socket open"),
            Obstacle::Writing => out.write_str("it writes files"),
            Obstacle::SharedMemory => out.write_str("it shares memory"),
            Obstacle::Process => out.write_str("it has started processes"),
            Obstacle::SystemCall(number) => match system_call_name(*number) {
                Some(name) => write!(out, "it has called {name}"),
                None => write!(out, "it has made system call {number}"),
            },
            Obstacle::Unseen => out.write_str("this kernel does not show its system calls"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn system_calls_are_told_by_name() {
        let told = |number| format!("{}", Obstacle::SystemCall(number));
        assert_eq!(told(53), "it has called socketpair");
        assert_eq!(told(9999), "it has made system call 9999");
    }

    #[test]
    fn numbers_name_their_obstacle() {
        let named = (0..400).filter_map(|number| Some((number, Obstacle::from_number(number)?)));
        for (number, obstacle) in named {
            assert_eq!(obstacle.number(), number);
        }
        assert_eq!(Obstacle::from_number(0), None);
    }
}
