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
//!
//!    12  what is asked for: [`WITH_ORDER`]
//! ```
//!
//! Every other piece belongs to one [stream](Stream) of one thread. The last one of a
//! stream is mapped into the thread's memory; one that is full is copied to a new
//! place in the file, and its memory used again:
//!
//! ```text
//!     0  magic                 2  its number in the stream    4  child of its parent
//!     1  thread                3  parent, or NOBODY           5  stream
//!    24  the words, up to the first that is 0
//! ```
//!
//! # The order log
//!
//! The order profile calls [`BEGIN_SYMBOL`] before and [`END_SYMBOL`] behind every
//! access that may be shared. Memory is divided into stripes; between the two calls
//! the thread holds those of the access, and writes down which and how often each
//! was held before ([`OrderWord`]). So the words of all threads together are, for
//! each stripe, the vector of those who came by (LEAP).

/// Version of this contract. A recorder refuses a module of another version.
pub const RECORDING_VERSION: u32 = 2;

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
pub const CHUNK_HEAD: usize = 24;

/// `void __bohr_order_begin(void *address, size_t length, void *source)`, defined by
/// the recorder: an access to so many bytes at the address comes, and one to as many
/// at the source if that is not null.
pub const BEGIN_SYMBOL: &str = "__bohr_order_begin";

/// `void __bohr_order_end(void)`: the access is over.
pub const END_SYMBOL: &str = "__bohr_order_end";

/// Asked for: the order of synchronisation.
pub const WITH_ORDER: u64 = 1;

/// What the words of a piece are.
#[repr(u64)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stream {
    /// The way that the thread went. Its first piece is where the thread is known.
    Path = 0,
    /// [`OrderWord`]s.
    Order = 1,
    /// What the thread got from outside, in the words of [`inputs`](crate::inputs).
    Inputs = 2,
}

/// How many stripes accesses are divided into.
pub const STRIPES: u64 = 1023;

/// The stripe of everything that synchronises.
pub const SYNCHRONISATION: u64 = STRIPES;

/// Bytes next to each other that are always in one stripe.
pub const STRIPE_BYTES: u64 = 64;

/// One step of a thread that others can notice.
///
/// ```text
///     63  62    61 … 52  51 … 0
///      1  more  stripe   how often the stripe was held before
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderWord {
    /// The next word belongs to the same step.
    pub more: bool,
    /// Which stripe.
    pub stripe: u64,
    /// How often it was held before.
    pub turn: u64,
}

impl OrderWord {
    /// Written by the main thread where `main` begins.
    pub const MAIN: u64 = u64::MAX;

    /// As a word.
    ///
    /// ```
    /// use bohr_event::recording::OrderWord;
    /// let word = OrderWord { more: true, stripe: 7, turn: 9 };
    /// assert_eq!(OrderWord::read(word.word()), Some(word));
    /// assert_eq!(OrderWord::read(3), None);
    /// ```
    #[must_use]
    pub fn word(self) -> u64 {
        1 << 63 | u64::from(self.more) << 62 | self.stripe << 52 | self.turn
    }

    /// What a word says; `None` if it is none.
    #[must_use]
    pub fn read(word: u64) -> Option<OrderWord> {
        (word >> 63 == 1).then_some(OrderWord {
            more: word >> 62 & 1 == 1,
            stripe: word >> 52 & 0x3ff,
            turn: word & ((1 << 52) - 1),
        })
    }
}

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
    Wishes = 12,
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
    Stream = 5,
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
