//! A thread's own words: what it writes, and what is known about it, which
//! stands at the head of its first piece.

use crate::area;
use crate::register::pen;
use bohr_event::recording::{
    CHUNK, CHUNK_HEAD, CHUNK_MAGIC, ChunkWord, HeaderWord, NOBODY, Pen, Stream,
};
use core::ptr::with_exposed_provenance_mut;
use core::sync::atomic::{AtomicBool, Ordering};

/// Set in a child process, which has no part in the recording.
static DETACHED: AtomicBool = AtomicBool::new(false);

/// Words of a thread's first piece that only this file uses.
const CHILDREN: usize = 8;
const SYSTEM_NUMBER: usize = 9;
const HELD: usize = 10;
const ROUTINE: usize = 7;
/// Of each stream: the end of its piece, the next word.
const ENDS: usize = 12;
const NEXT: usize = 16;

/// What is known about a thread.
#[derive(Clone, Copy)]
pub struct Thread(*mut u64);

impl Thread {
    /// The thread that a pen belongs to, if it has been seen before.
    ///
    /// # Safety
    /// `pen` must be the pen of a live thread.
    pub unsafe fn of(pen: *mut Pen) -> Option<Thread> {
        // SAFETY: the caller's promise.
        let thread = unsafe { (*pen).thread };
        (!thread.is_null()).then_some(Thread(thread.cast()))
    }

    fn get(self, word: usize) -> u64 {
        // SAFETY: the head of a piece that stays mapped; its thread alone uses it.
        unsafe { *self.0.add(word) }
    }

    fn set(self, word: usize, value: u64) {
        // SAFETY: as above.
        unsafe { *self.0.add(word) = value };
    }

    /// The number that the system knows it by.
    pub fn system_number(self) -> i32 {
        if self.get(SYSTEM_NUMBER) == 0 {
            // SAFETY: asks for a number.
            self.set(SYSTEM_NUMBER, unsafe { libc::gettid() } as u64);
        }
        self.get(SYSTEM_NUMBER) as i32
    }

    /// What it holds of the order log, two words; nothing if both are 0.
    pub fn held(self) -> [u64; 2] {
        [self.get(HELD), self.get(HELD + 1)]
    }

    /// Changes what it holds.
    pub fn hold(self, held: [u64; 2]) {
        self.set(HELD, held[0]);
        self.set(HELD + 1, held[1]);
    }

    /// Keeps the address of what it is about to do once.
    pub fn keep_routine(self, routine: usize) {
        self.set(ROUTINE, routine as u64);
    }

    /// That address, unless somebody has taken it.
    pub fn take_routine(self) -> Option<usize> {
        let routine = self.get(ROUTINE) as usize;
        self.set(ROUTINE, 0);
        (routine != 0).then_some(routine)
    }

    /// Adds a word to a stream that no code of the program writes itself.
    pub fn append(self, stream: Stream, word: u64) {
        let which = stream as usize;
        let mut next = self.get(NEXT + which);
        if next == self.get(ENDS + which) {
            let Some(first) = self.another(stream) else {
                return;
            };
            next = first as u64;
        }
        let place: *mut u64 = with_exposed_provenance_mut(next as usize);
        // First, so that the handler of a signal that comes now takes the next place.
        self.set(NEXT + which, next + 8);
        // SAFETY: within the stream's piece, which this thread alone uses.
        unsafe { place.write_volatile(word) };
    }

    /// The first of a stream's next words: in its piece, once what is there is put by.
    /// `None` if there is no room, or if this is a child process.
    fn another(self, stream: Stream) -> Option<*mut u64> {
        if DETACHED.load(Ordering::Relaxed) {
            return None;
        }
        let which = stream as usize;
        let end = self.get(ENDS + which) as usize;
        if end == 0 {
            let piece = area::another()?;
            self.set(ENDS + which, piece as u64 + CHUNK as u64);
            let label = Label {
                thread: self.index(),
                origin: Origin {
                    parent: self.get(ChunkWord::Parent as usize),
                    child: self.get(ChunkWord::Child as usize),
                },
                stream,
            };
            // SAFETY: a new piece is this thread's alone.
            return Some(unsafe { label.write(piece) });
        }
        let piece: *mut u64 = with_exposed_provenance_mut(end - CHUNK);
        // SAFETY: the stream's piece, which this thread alone uses. Whoever reads it
        // between two of these steps finds the words that are put by, no words, or
        // those to come.
        unsafe {
            if !area::put_by(piece) {
                return None;
            }
            let first = piece.add(CHUNK_HEAD);
            first.write_volatile(0);
            first.write_bytes(0, CHUNK / 8 - CHUNK_HEAD);
            let sequence = piece.add(ChunkWord::Sequence as usize);
            sequence.write_volatile(sequence.read_volatile() + 1);
            Some(first)
        }
    }

    /// Its number.
    pub fn index(self) -> u64 {
        self.get(ChunkWord::Thread as usize)
    }

    /// The number that its next child gets, from 1 on.
    pub fn next_child(self) -> u64 {
        let number = self.get(CHILDREN) + 1;
        self.set(CHILDREN, number);
        number
    }
}

/// Who a thread is: its parent's number, and which child of it.
#[derive(Clone, Copy)]
pub struct Origin {
    pub parent: u64,
    pub child: u64,
}

/// Of a thread that nobody has seen being created.
pub const UNKNOWN: Origin = Origin {
    parent: NOBODY,
    child: 0,
};

/// Does something and leaves the program's `errno` as it was.
pub fn keeping_errno(work: impl FnOnce()) {
    // SAFETY: every thread has its own.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { *place };
    work();
    // SAFETY: as above.
    unsafe { *place = before };
}

/// Called by instrumented code whose word is full.
///
/// # Safety
/// `pen` must be the calling thread's.
pub unsafe extern "C" fn full(pen: *mut Pen) {
    // SAFETY: the caller's promise.
    keeping_errno(|| unsafe { move_on(pen) });
}

/// # Safety
/// `pen` must be the calling thread's.
unsafe fn move_on(pen: *mut Pen) {
    // SAFETY: the caller's promise.
    unsafe {
        let Some(thread) = Thread::of(pen) else {
            begin(pen, UNKNOWN);
            return;
        };
        let nowhere = &raw mut (*pen).nowhere;
        if DETACHED.load(Ordering::Relaxed) || (*pen).word == nowhere {
            write_nowhere(pen);
            return;
        }
        let next = (*pen).word.add(1);
        if (next as u64) < thread.get(ENDS) {
            next.write_volatile(1);
            (*pen).word = next;
            return;
        }
        match thread.another(Stream::Path) {
            Some(first) => {
                first.write_volatile(1);
                (*pen).word = first;
            }
            None => write_nowhere(pen),
        }
    }
}

/// # Safety
/// `pen` must be the calling thread's.
unsafe fn write_nowhere(pen: *mut Pen) {
    // SAFETY: the caller's promise.
    unsafe {
        (*pen).nowhere = 1;
        (*pen).word = &raw mut (*pen).nowhere;
    }
}

/// Gives a thread its first piece.
///
/// # Safety
/// `pen` must be the calling thread's, which has written nothing yet.
pub unsafe fn begin(pen: *mut Pen, origin: Origin) {
    let counter = area::header(HeaderWord::Threads);
    let piece = area::another().filter(|_| !DETACHED.load(Ordering::Relaxed));
    // SAFETY: the caller's promise; a new piece is this thread's alone.
    unsafe {
        let Some((piece, counter)) = piece.zip(counter) else {
            write_nowhere(pen);
            return;
        };
        let label = Label {
            thread: counter.fetch_add(1, Ordering::Relaxed),
            origin,
            stream: Stream::Path,
        };
        let first = label.write(piece);
        first.write_volatile(1);
        (*pen).word = first;
        (*pen).thread = piece.cast();
        Thread(piece).set(ENDS, piece as u64 + CHUNK as u64);
    }
}

/// What the head of a piece tells.
struct Label {
    thread: u64,
    origin: Origin,
    stream: Stream,
}

impl Label {
    /// Writes it; where the words go comes back.
    ///
    /// # Safety
    /// `piece` must be one, and nobody's.
    unsafe fn write(&self, piece: *mut u64) -> *mut u64 {
        let head = [
            CHUNK_MAGIC,
            self.thread,
            0,
            self.origin.parent,
            self.origin.child,
            self.stream as u64,
        ];
        // SAFETY: the caller's promise.
        unsafe {
            for (at, word) in head.into_iter().enumerate() {
                piece.add(at).write_volatile(word);
            }
            piece.add(CHUNK_HEAD)
        }
    }
}

/// The calling thread, if it is known.
pub fn known() -> Option<Thread> {
    // SAFETY: the calling thread's pen.
    let thread = pen().and_then(|pen| unsafe { Thread::of(pen) });
    thread.filter(|_| !DETACHED.load(Ordering::Relaxed))
}

/// The calling thread, which is made known if it was not.
pub fn current() -> Option<Thread> {
    let pen = pen().filter(|_| !DETACHED.load(Ordering::Relaxed))?;
    // SAFETY: the calling thread's pen, which has written nothing if it is unknown.
    unsafe {
        if Thread::of(pen).is_none() {
            keeping_errno(|| begin(pen, UNKNOWN));
        }
        Thread::of(pen)
    }
}

/// In a new process: it shares the file with its parent and must not write there.
///
/// # Safety
/// `pen` must be the calling thread's, the only one of its process.
pub unsafe fn detach(pen: *mut Pen) {
    DETACHED.store(true, Ordering::Relaxed);
    // SAFETY: the caller's promise.
    unsafe { write_nowhere(pen) };
}
