//! A thread's own words: what it writes, and what is known about it, which
//! stands at the head of its first piece.

use crate::area;
use bohr_event::recording::{CHUNK, CHUNK_HEAD, CHUNK_MAGIC, ChunkWord, HeaderWord, NOBODY, Pen};
use core::sync::atomic::{AtomicBool, Ordering};

/// Set in a child process, which has no part in the recording.
static DETACHED: AtomicBool = AtomicBool::new(false);

/// Words of a thread's first piece that only this file uses.
const CHILDREN: usize = 5;
const END: usize = 6;
const LATEST: usize = 7;

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
fn keeping_errno(work: impl FnOnce()) {
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
        if (next as u64) < thread.get(END) {
            next.write_volatile(1);
            (*pen).word = next;
            return;
        }
        let (first, end) = (thread.get(LATEST) == 0, thread.get(END));
        match area::another() {
            Some(piece) => {
                let origin = Origin {
                    parent: thread.get(ChunkWord::Parent as usize),
                    child: thread.get(ChunkWord::Child as usize),
                };
                let sequence = thread.get(LATEST) + 1;
                thread.set(LATEST, sequence);
                (*pen).word = label(piece, thread.index(), sequence, origin);
                thread.set(END, piece as u64 + CHUNK as u64);
            }
            None => write_nowhere(pen),
        }
        if !first {
            area::forget(end);
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
        let index = counter.fetch_add(1, Ordering::Relaxed);
        (*pen).word = label(piece, index, 0, origin);
        (*pen).thread = piece.cast();
        Thread(piece).set(END, piece as u64 + CHUNK as u64);
    }
}

/// Writes the head of a piece; its first word, empty, comes back.
///
/// # Safety
/// `piece` must be one, and nobody's.
unsafe fn label(piece: *mut u64, thread: u64, sequence: u64, origin: Origin) -> *mut u64 {
    let head = [CHUNK_MAGIC, thread, sequence, origin.parent, origin.child];
    // SAFETY: the caller's promise.
    unsafe {
        for (at, word) in head.into_iter().enumerate() {
            piece.add(at).write_volatile(word);
        }
        let first = piece.add(CHUNK_HEAD);
        first.write_volatile(1);
        first
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
