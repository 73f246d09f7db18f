//! What a program that writes down its path, the library that is loaded into it
//! for that, and bohr agree on.
//!
//! The path profile of a program defines one hidden [`PathModule`], and for every
//! thread a [`Pen`]. Its constructor calls the weak symbol [`REGISTER_SYMBOL`]. A
//! thread appends bits to the word that its pen points to; when the next bits may
//! not fit, it calls the recorder, which moves the pen. The words lie in a file
//! that is mapped shared: what was written is there, however the program ends.
//!
//! # The file
//!
//! bohr makes it, long enough for anything; only what is written takes space. It
//! consists of pieces of [`CHUNK`] bytes. The first is the [header](HEADER_MAGIC),
//! in words of 64 bits:
//!
//! ```text
//!     0  magic                 3  signal, 0 if none     6  address of a fault
//!     1  pieces in use         4  thread that got it    7  1 if space ran out
//!     2  threads               5  its program counter   8  hash of the bundle
//! ```
//!
//! Every other piece belongs to one thread:
//!
//! ```text
//!     0  magic                 2  its number in the thread
//!     1  thread                3  parent, or NOBODY     4  child of its parent
//!     8  the words, up to the first that is 0
//! ```

/// Version of this contract. A recorder refuses a module of another version.
pub const RECORDING_VERSION: u32 = 1;

/// First field of every [`PathModule`].
pub const PATH_MAGIC: u64 = u64::from_le_bytes(*b"bohr-way");

/// `void __bohr_record(struct PathModule *)`, defined by the recorder.
pub const REGISTER_SYMBOL: &str = "__bohr_record";

/// Names the file.
pub const RECORDING_VARIABLE: &str = "BOHR_RECORDING";

/// Bytes of a piece.
pub const CHUNK: usize = 64 * 1024;

/// First word of the header.
pub const HEADER_MAGIC: u64 = u64::from_le_bytes(*b"bohr-rec");

/// First word of every other piece.
pub const CHUNK_MAGIC: u64 = u64::from_le_bytes(*b"bohr-thr");

/// Words of a piece before those that threads write.
pub const CHUNK_HEAD: usize = 8;

/// Stands for the parent of a thread that nobody has seen being created; the
/// main thread is one.
pub const NOBODY: u64 = u64::MAX;

/// Words of the header.
#[allow(missing_docs, reason = "the picture above tells")]
#[repr(usize)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderWord {
    Magic = 0,
    Chunks = 1,
    Threads = 2,
    Signal = 3,
    Thread = 4,
    Counter = 5,
    Address = 6,
    Full = 7,
    Bundle = 8,
}

/// Words of a piece.
#[allow(missing_docs, reason = "the picture above tells")]
#[repr(usize)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkWord {
    Magic = 0,
    Thread = 1,
    Sequence = 2,
    Parent = 3,
    Child = 4,
}

/// What a path profile tells the recorder about itself.
#[repr(C)]
#[derive(Debug)]
pub struct PathModule {
    /// [`PATH_MAGIC`].
    pub magic: u64,
    /// [`RECORDING_VERSION`].
    pub version: u32,
    /// Nothing.
    pub unused: u32,
    /// Hash of the bundle that the module was made from.
    pub program: [u8; 32],
    /// Where to put `void full(struct Pen *)`: the word is full.
    pub full: *mut Option<unsafe extern "C" fn(*mut Pen)>,
    /// The pen of the calling thread.
    pub pen: unsafe extern "C" fn() -> *mut Pen,
}

/// What a thread writes with: part of its thread-local storage.
#[repr(C)]
#[derive(Debug)]
pub struct Pen {
    /// The word that it writes. Before the thread has written anything: a full one
    /// that is everybody's, so that the first who looks for room calls `full`.
    pub word: *mut u64,
    /// A word to write to where nobody reads it.
    pub nowhere: u64,
    /// What the recorder knows about the thread; null in the beginning.
    pub thread: *mut (),
}
