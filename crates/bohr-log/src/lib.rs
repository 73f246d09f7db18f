//! Recordings of real parallel runs (CLAP, LEAP): what a log file holds
//! ([`Recording`], [`file`]), and what the threads of the recorded run did, block
//! by block, by the program model ([`decode`]).
//!
//! No I/O: bytes in, plain data out.

#![forbid(unsafe_code)]

mod code;
pub mod decode;
mod encode;
pub mod file;
mod order;
pub mod raw;
mod recording;

pub use code::{CodeReader, CodeWriter};
pub use decode::{
    DecodeError, Execution, Frame, Step, ThreadExecution, choices, execution, visits,
};
pub use encode::encode;
pub use file::{LogFileError, read, write};
pub use order::{OrderError, Pace, merge};
pub use recording::{End, LogKind, Recording, ThreadLog};
