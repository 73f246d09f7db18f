//! What the runtime tells about the runs it made.

use super::{Passes, Probed, Watched};
use crate::{EventKind, FailureKind, Operation, PlaceNumber, Schedule, ThreadIndex, ThreadPath};
use alloc::{string::String, vec::Vec};
use core::fmt;
use serde::{Deserialize, Serialize};

/// A part of the address space that places are told by. Its position in the
/// list of objects is the upper part of its place numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LoadedObject {
    /// Native code; offsets are from the load address.
    Code {
        /// Path of the file.
        path: String,
        /// Load address.
        start: u64,
        /// First address behind it.
        end: u64,
    },
    /// The sites of an instrumented object; offsets are its site numbers.
    Sites {
        /// Hash of the bundle: names the program model.
        program: [u8; 32],
        /// How many.
        count: u32,
    },
}

/// How one run went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    /// Which.
    pub seed: u64,
    /// Its end.
    pub outcome: Outcome,
    /// Events executed.
    pub events: u64,
    /// How many of them lie before the moment of the image that it began from; the
    /// trace begins behind them.
    pub begun: u64,
    /// Changes of the running thread.
    pub switches: u64,
    /// Threads that existed in the run, the main thread included.
    pub threads: u32,
    /// Hash of the sequence of segments and choices: equal for equal schedules.
    pub hash: u64,
    /// Whether it was undone, so that its process could go on with the next.
    pub rewound: bool,
    /// As the job asked for it.
    pub detail: Option<Detail>,
    /// Where in the job's [store](super::Job::store) the run's trace begins. It
    /// is there even if the run was killed, and says itself whether it is whole.
    pub trace: Option<u64>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Outcome {
    /// The program ended by itself.
    Exited {
        /// Exit code.
        code: i32,
    },
    /// The runtime saw it fail.
    Failed(Failure),
    /// The strategy ended it, for the reason that `bohr-schedule` wrote.
    Stopped(Vec<u8>),
    /// The trace could not be written: no room on the disk.
    NoRoom,
    /// The runtime made a mistake; a bug in bohr.
    Broken(String),
    /// The program needs what bohr does not do, so nobody can tell how it would have
    /// ended; what that is.
    Unsupported(String),
}

/// What the runtime knows about a failure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// Which way.
    pub kind: FailureKind,
    /// The failing thread; for a deadlock the last that blocked.
    pub thread: ThreadIndex,
    /// The place of the failing instruction or call.
    pub place: Option<PlaceNumber>,
    /// The address that faulted or was misused, 0 if none.
    pub address: u64,
    /// What the program said, for people.
    pub message: String,
    /// Every thread that was alive.
    pub states: Vec<ThreadState>,
}

/// A thread at the moment of a failure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThreadState {
    /// Which.
    pub thread: ThreadIndex,
    /// What it was about to do, or did last if it is the failing one.
    pub operation: Operation,
    /// Whether it could go on.
    pub enabled: bool,
    /// Who has what it waits for, where that is known.
    pub holder: Option<ThreadIndex>,
    /// Its stack, innermost first, as code places: return addresses, and one byte
    /// into the instruction that was interrupted.
    pub frames: Vec<PlaceNumber>,
}

/// All that is kept of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Detail {
    /// Paths by thread index.
    pub threads: Vec<ThreadPath>,
    /// The schedule as it was executed, without anchors: those need the events.
    pub schedule: Schedule<PlaceNumber>,
    /// Segments that did not fit and are missing at the end of `schedule`.
    pub segments_lost: u64,
    /// Captured output.
    pub output: Vec<u8>,
    /// Of a run that its strategy stopped: where every thread stood, and what it
    /// was about to do.
    pub standing: Vec<ThreadState>,
    /// What the strategy reported.
    pub learnt: Vec<u8>,
    /// Objects loaded in this run, in place of those of [`Ready`].
    pub objects: Vec<LoadedObject>,
    /// What stood in the way of control.
    pub notices: Vec<Notice>,
    /// Threads whose bodies were left out, of those that the job names.
    pub left_out: Vec<ThreadIndex>,
    /// Passes through gates that the job names or has counted.
    pub passes: Vec<Passes>,
    /// What the job's probes have seen.
    pub probed: Probed,
    /// How far the thread came that the job has watched.
    pub watched: Option<Watched>,
}

/// One executed event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Who.
    pub thread: ThreadIndex,
    /// What.
    pub operation: Operation,
}

/// Something that bohr does not control and that can make runs differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Notice {
    /// Addresses of the program and its libraries change from start to start.
    RandomAddresses = 0,
    /// The program started a process of its own, which runs uncontrolled.
    Process = 1,
    /// The program waited for something outside: input from a pipe or socket
    /// that nobody in the program writes to.
    OutsideInput = 2,
    /// Memory is shared with other processes, or a file is mapped shared.
    SharedMemory = 3,
    /// A pipe or socket is open across the fork point, so runs share its content.
    SharedStream = 4,
    /// A blocking call was made inside a library where it cannot be seen.
    HiddenBlocking = 5,
    /// A thread ran before control began.
    EarlyThread = 6,
    /// A thread was made by `clone`, past the C library.
    HiddenThread = 7,
    /// A file is open for writing across the fork point, so runs share its content.
    SharedFile = 8,
    /// The program was refused memory that the system would have given it.
    HeapLimit = 9,
    /// The program writes files, or takes names or ports, that its other runs see.
    Outlasting = 10,
}

impl Notice {
    /// Every notice, by its number.
    pub const ALL: [Notice; 11] = [
        Notice::RandomAddresses,
        Notice::Process,
        Notice::OutsideInput,
        Notice::SharedMemory,
        Notice::SharedStream,
        Notice::HiddenBlocking,
        Notice::EarlyThread,
        Notice::HiddenThread,
        Notice::SharedFile,
        Notice::HeapLimit,
        Notice::Outlasting,
    ];
}

impl fmt::Display for Notice {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Notice::RandomAddresses => "addresses are random in this environment",
            Notice::Process => "the program starts processes, which run uncontrolled",
            Notice::OutsideInput => "the program waits for input from outside",
            Notice::SharedMemory => "the program shares memory with other processes",
            Notice::SharedStream => "a pipe or socket is shared by all runs",
            Notice::HiddenBlocking => "a library blocks where bohr cannot see it",
            Notice::EarlyThread => {
                "a thread was started before `main`: it is not under control, and what it has \
                 not done by then it does not do in the runs"
            }
            Notice::HiddenThread => {
                "the program or a library makes threads by `clone`, which run uncontrolled"
            }
            Notice::SharedFile => "a file that was opened for writing is shared by all runs",
            Notice::Outlasting => {
                "the program writes files, or takes names or ports, that its other runs see: \
                 they are made one at a time, and meet what earlier ones have left"
            }
            Notice::HeapLimit => {
                "the program was refused memory: under control malloc gives at most 2 GiB at once, \
                 and 4 GiB to a thread"
            }
        })
    }
}

impl Step {
    /// Whether this is the first event of its thread.
    #[must_use]
    pub fn is_start(&self) -> bool {
        self.operation.kind == EventKind::Start
    }
}
