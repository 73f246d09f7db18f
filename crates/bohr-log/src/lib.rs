//! Recordings of real parallel runs (CLAP, LEAP): what a log file holds
//! ([`Recording`], [`file`]), and what the threads of the recorded run did, block
//! by block, by the program model ([`decode`]).
//!
//! No I/O: bytes in, plain data out.

#![forbid(unsafe_code)]

mod code;
pub mod decode;
pub mod file;
mod recording;

pub use code::{CodeReader, CodeWriter};
pub use decode::{DecodeError, Execution, Frame, Step, ThreadExecution, execution};
pub use file::{LogFileError, read, write};
pub use recording::{End, Input, LogKind, Recording, ThreadLog};
