//! What the explorer and the runtime inside the target say to each other.
//!
//! The explorer listens on a Unix socket with an abstract name, puts that name
//! into [`CONTROL_VARIABLE`] and starts the program with the runtime loaded.
//! The runtime connects, and both sides send *frames*: four bytes of length
//! (little endian), then that many bytes of a [`Request`] or a [`Reply`]:
//!
//! ```text
//!     runtime                               explorer
//!        ── Hello ──────────────────────────▶       as soon as it is loaded
//!           ... constructors ...
//!        ── Ready ──────────────────────────▶       at the fork point
//!        ◀────────────────────────── Run(Job) ──
//!           executes the serial part, clones a child per seed
//!        ── Runs, Runs, … ──────────────────▶       now and then, and at a failure
//!        ── Done ───────────────────────────▶
//!        ◀──────────────────── Run(Job) or end of stream: the template exits
//! ```
//!
//! A whole range of seeds is one job, so no run waits for the explorer. Bytes
//! are read with bounds and checks only: whatever comes is a value or an error.

mod image;
mod job;
mod omission;
mod point;
mod probe;
mod recorded;
mod report;
mod system_calls;
mod watch;

pub use image::{IMAGE_MAGIC, MOST_STRETCHES, Mapped, NOTE_WORDS, OpenFile, Script, Stretch};
pub use job::{Backend, Checkpoints, Detailing, Job, Limits, Output, Policy};
pub use omission::{GateReference, Omissible, Omissions, OmittedPasses, Passes};
pub use point::{ForkPoint, Obstacle};
pub use probe::{Probed, Probes, Sighting};
pub use recorded::Recorded;
pub use report::{Detail, Failure, LoadedObject, Notice, Outcome, RunReport, Step, ThreadState};
pub use system_calls::system_call_name;
pub use watch::{HELD_SYMBOL, HeldRegisters, Watch, Watched};

use alloc::{boxed::Box, string::String, vec::Vec};
use core::fmt;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// Environment variable with the abstract socket name, without the leading zero byte.
pub const CONTROL_VARIABLE: &str = "BOHR_CONTROL";

/// Environment variable that says which libraries the program gets from elsewhere when it
/// loads them itself: lines, by turns a library and what is loaded in its place.
pub const LIBRARIES_VARIABLE: &str = "BOHR_LIBRARIES";

/// Version of this conversation; both sides refuse any other.
pub const CONTROL_VERSION: u32 = 11;

/// Name of the thread that failed in a run which was held for a debugger: that
/// of a thread of the system has at most 15 bytes.
pub const FAILED_THREAD: &core::ffi::CStr = c"failed here";

/// No frame is longer: a length above it is noise, not a message.
pub const LONGEST_FRAME: u32 = 1 << 30;

/// What the explorer asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// Do these runs and report them.
    Run(Box<Job>),
    /// Clone so many processes that end at once, where runs are cloned: what a
    /// run costs before it does anything, and what discarding one costs.
    Clone(u32),
}

/// What the runtime answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// The runtime is in the process.
    Hello(Hello),
    /// The template stands at its fork point and waits for jobs.
    Ready(Ready),
    /// Some runs have ended, in the order of their seeds.
    Runs(Vec<RunReport>),
    /// The job is over: all its runs are done, or one failed and it was to stop
    /// there. They were cloned from this point.
    Done(ForkPoint),
    /// The clones that were asked for took so many nanoseconds in all.
    Cloned(u64),
    /// The job cannot be done, for this reason.
    Refused(String),
}

/// First words of the runtime.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`CONTROL_VERSION`] of the runtime.
    pub version: u32,
    /// Process id of the template.
    pub process: u32,
}

/// Where the fork server stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// Objects loaded so far; place numbers refer to them.
    pub objects: Vec<LoadedObject>,
    /// Events that lie before the fork point and belong to every run.
    pub events: u64,
    /// What stands in the way of equal runs.
    pub notices: Vec<Notice>,
}

/// Why bytes are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlError {
    /// The length is above [`LONGEST_FRAME`].
    TooLong(u32),
    /// The bytes of a frame are no message of this version.
    Malformed,
}

impl fmt::Display for ControlError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ControlError::TooLong(length) => write!(
                out,
                "a control frame of {length} bytes was announced, the longest is {LONGEST_FRAME}"
            ),
            ControlError::Malformed => out.write_str(
                "a control frame is no message of this version: is the runtime of another version?",
            ),
        }
    }
}

impl core::error::Error for ControlError {}

/// The bytes of a whole frame, length included.
///
/// # Panics
/// If the message is longer than [`LONGEST_FRAME`].
#[must_use]
pub fn frame<T: Serialize>(message: &T) -> Vec<u8> {
    let mut bytes = postcard::to_extend(message, alloc::vec![0; 4])
        .expect("messages hold nothing that cannot be written");
    let length = u32::try_from(bytes.len() - 4).unwrap_or(u32::MAX);
    assert!(length <= LONGEST_FRAME, "a control frame is too long");
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    bytes
}

/// How many bytes follow these four.
///
/// # Errors
/// If no message is that long.
pub fn frame_length(header: [u8; 4]) -> Result<usize, ControlError> {
    let length = u32::from_le_bytes(header);
    if length > LONGEST_FRAME {
        return Err(ControlError::TooLong(length));
    }
    Ok(length as usize)
}

/// The message in the body of a frame.
///
/// ```
/// use bohr_event::control::{Hello, Reply, frame, frame_length, message};
/// let hello = Reply::Hello(Hello { version: 2, process: 4711 });
/// let bytes = frame(&hello);
/// let length = frame_length(bytes[..4].try_into().unwrap()).unwrap();
/// assert_eq!(message::<Reply>(&bytes[4..4 + length]), Ok(hello));
/// ```
///
/// # Errors
/// If the bytes are none, or if any are left over.
pub fn message<T: DeserializeOwned>(body: &[u8]) -> Result<T, ControlError> {
    match postcard::take_from_bytes(body) {
        Ok((message, [])) => Ok(message),
        _ => Err(ControlError::Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reply() -> impl Strategy<Value = Reply> {
        let report = (any::<u64>(), any::<i32>(), any::<Option<u64>>());
        (report, prop::collection::vec(any::<u8>(), 0..200)).prop_map(
            |((seed, code, trace), output)| {
                Reply::Runs(alloc::vec![RunReport {
                    seed,
                    outcome: Outcome::Exited { code },
                    events: output.len() as u64,
                    switches: 0,
                    threads: 1,
                    hash: seed,
                    begun: 0,
                    rewound: true,
                    detail: Some(Detail {
                        output,
                        ..Detail::default()
                    }),
                    trace,
                }])
            },
        )
    }

    proptest! {
        #[test]
        fn frames_round_trip(reply in reply()) {
            let bytes = frame(&reply);
            let length = frame_length(bytes[..4].try_into().unwrap()).unwrap();
            prop_assert_eq!(length, bytes.len() - 4);
            prop_assert_eq!(message::<Reply>(&bytes[4..]), Ok(reply));
        }

        #[test]
        fn any_bytes_are_a_message_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(reply) = message::<Reply>(&bytes) {
                prop_assert_eq!(message::<Reply>(&frame(&reply)[4..]), Ok(reply));
            }
        }

        #[test]
        fn a_cut_message_is_refused(reply in reply(), cut in 1usize..8) {
            let bytes = frame(&reply);
            let end = bytes.len().saturating_sub(cut).max(4);
            prop_assert_eq!(message::<Reply>(&bytes[4..end]), Err(ControlError::Malformed));
        }
    }

    #[test]
    fn an_absurd_length_is_refused() {
        assert_eq!(
            frame_length([0xff; 4]),
            Err(ControlError::TooLong(u32::MAX))
        );
    }
}
