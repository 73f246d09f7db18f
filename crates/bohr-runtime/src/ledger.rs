//! The piece of memory through which clones tell their template how it went. It
//! is shared by the two processes, so what a run wrote is there even if it is
//! killed right afterwards.

use crate::{
    rewind::{MOST_PAGES, MOST_RUNS},
    system,
};
use bohr_event::control::{Detail, Obstacle, Outcome, Request};
use core::{
    ops::Range,
    sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering},
};

/// Room for what a run has to say: address space, not memory.
const LENGTH: usize = 1 << 30;

/// Offset of the figures of runs that were undone.
const UNDONE: usize = 4096;
/// Offset of the list of pages that runs write to.
const LEARNT: usize = UNDONE + MOST_RUNS as usize * size_of::<Summary>();
/// Offset of the encoded part.
const BODY: usize = (LEARNT + MOST_PAGES * size_of::<AtomicUsize>()).next_multiple_of(4096);

/// The numbers that every run leaves.
#[repr(C)]
struct Figures {
    /// A run is over and writes down how it went.
    closing: AtomicBool,
    finished: AtomicBool,
    threads: AtomicU32,
    events: AtomicU64,
    begun: AtomicU64,
    switches: AtomicU64,
    hash: AtomicU64,
    length: AtomicU64,
    /// How many templates descend from each other; the last of them serves.
    depth: AtomicU32,
    /// Why a process has not become a template: a number of [`Obstacle`].
    obstacle: AtomicU32,
    /// Bytes of the request that an outpost has handed back.
    handed: AtomicU64,
    /// Runs that a clone has done with and undone.
    undone: AtomicU64,
    /// It has ended after the last of them.
    rested: AtomicBool,
    /// How many pages are known to be written to.
    learnt: AtomicU64,
}

/// The numbers of one run.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Summary {
    /// Threads that existed.
    pub threads: u32,
    /// Events executed.
    pub events: u64,
    /// Those before the moment of the image that the run began from.
    pub begun: u64,
    /// Changes of the running thread.
    pub switches: u64,
    /// Hash of the schedule.
    pub hash: u64,
}

/// What a run wrote beyond its numbers.
pub type Story = (Outcome, Option<Detail>);

/// The shared memory.
#[derive(Clone, Copy)]
pub struct Ledger(usize);

impl Ledger {
    /// Fresh shared memory.
    pub fn new() -> Result<Ledger, i32> {
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let arguments = [0, LENGTH, access as usize, flags as usize, usize::MAX, 0];
        // SAFETY: fresh memory, anywhere.
        unsafe { system::try_call(libc::SYS_mmap, arguments) }.map(Ledger)
    }

    /// Where it is.
    pub fn memory(&self) -> Range<usize> {
        self.0..self.0 + LENGTH
    }

    fn figures(&self) -> &Figures {
        // SAFETY: the mapping begins with them, is never unmapped, and zeroes are valid.
        unsafe { &*(self.0 as *const Figures) }
    }

    /// Before a process is cloned.
    pub fn clear(&self) {
        self.figures().closing.store(false, Ordering::Relaxed);
        self.figures().finished.store(false, Ordering::Relaxed);
        self.figures().obstacle.store(0, Ordering::Relaxed);
        self.figures().handed.store(0, Ordering::Relaxed);
        self.figures().undone.store(0, Ordering::Relaxed);
        self.figures().rested.store(false, Ordering::Relaxed);
    }

    /// In a run that is over: it writes down how it went, which can take a while.
    pub fn close(&self) {
        self.figures().closing.store(true, Ordering::Release);
    }

    /// Whether a run does that.
    pub fn is_closing(&self) -> bool {
        self.figures().closing.load(Ordering::Acquire)
    }

    /// In a clone: a run is over, and as if it had not been.
    pub fn add_undone(&self, summary: &Summary) {
        self.figures().closing.store(false, Ordering::Relaxed);
        let count = self.undone();
        if count < MOST_RUNS {
            // SAFETY: the mapping has room for so many.
            unsafe { self.summaries().add(count as usize).write(*summary) };
            self.figures().undone.store(count + 1, Ordering::Release);
        }
    }

    /// How many such runs there were.
    pub fn undone(&self) -> u64 {
        self.figures().undone.load(Ordering::Acquire).min(MOST_RUNS)
    }

    /// Their figures.
    pub fn each_undone(&self) -> impl Iterator<Item = Summary> {
        let summaries = self.summaries();
        // SAFETY: written by the clone, or zeroes.
        (0..self.undone() as usize).map(move |number| unsafe { summaries.add(number).read() })
    }

    fn summaries(&self) -> *mut Summary {
        (self.0 + UNDONE) as *mut Summary
    }

    /// In a clone that ends after a run that it has told of.
    pub fn rest(&self) {
        self.figures().rested.store(true, Ordering::Release);
    }

    /// Whether it has.
    pub fn has_rested(&self) -> bool {
        self.figures().rested.load(Ordering::Acquire)
    }

    /// Runs write to this page.
    pub fn learn(&self, page: usize) {
        let count = self.learnt_count();
        if count < MOST_PAGES && !self.learnt().any(|known| known == page) {
            self.pages()[count].store(page, Ordering::Relaxed);
            let count = count as u64 + 1;
            self.figures().learnt.store(count, Ordering::Release);
        }
    }

    /// The pages that runs are known to write to.
    pub fn learnt(&self) -> impl Iterator<Item = usize> {
        let pages = self.pages()[..self.learnt_count()].iter();
        pages.map(|page| page.load(Ordering::Relaxed))
    }

    /// How many.
    pub fn learnt_count(&self) -> usize {
        let count = self.figures().learnt.load(Ordering::Acquire) as usize;
        count.min(MOST_PAGES)
    }

    fn pages(&self) -> &[AtomicUsize; MOST_PAGES] {
        // SAFETY: the mapping has room for them, and any bytes are valid.
        unsafe { &*((self.0 + LEARNT) as *const _) }
    }

    /// A template of this depth serves from now on.
    pub fn set_depth(&self, depth: u32) {
        self.figures().depth.store(depth, Ordering::Release);
    }

    /// The depth of the template that serves.
    pub fn depth(&self) -> u32 {
        self.figures().depth.load(Ordering::Acquire)
    }

    /// In what was to be an outpost: it is a run.
    pub fn note_obstacle(&self, obstacle: Obstacle) {
        let number = obstacle.number();
        self.figures().obstacle.store(number, Ordering::Relaxed);
    }

    /// Why it is.
    pub fn obstacle(&self) -> Option<Obstacle> {
        Obstacle::from_number(self.figures().obstacle.load(Ordering::Relaxed))
    }

    /// In an outpost at its end: a request that it cannot serve.
    pub fn hand_over(&self, request: &Request) {
        let length = postcard::to_slice(request, self.body()).map_or(0, |used| used.len());
        self.figures()
            .handed
            .store(length as u64, Ordering::Release);
    }

    /// That request, if there is one.
    pub fn handed(&self) -> Option<Request> {
        let length = self.figures().handed.swap(0, Ordering::Acquire) as usize;
        let bytes = self
            .body()
            .get(..length)
            .filter(|bytes| !bytes.is_empty())?;
        postcard::from_bytes(bytes).ok()
    }

    #[expect(
        clippy::mut_from_ref,
        reason = "the memory belongs to two processes that take turns"
    )]
    fn body(&self) -> &mut [u8] {
        // SAFETY: the mapping is that long, one process uses it at a time, and
        // callers keep no reference.
        unsafe { core::slice::from_raw_parts_mut((self.0 + BODY) as *mut u8, LENGTH - BODY) }
    }

    /// At the end of a run, in the run.
    pub fn write(&self, summary: Summary, outcome: &Outcome, detail: &Option<Detail>) {
        let figures = self.figures();
        let mut length = 0;
        if detail.is_some() || !matches!(outcome, Outcome::Exited { .. }) {
            length = self.write_body(outcome, detail);
        }
        figures.threads.store(summary.threads, Ordering::Relaxed);
        figures.events.store(summary.events, Ordering::Relaxed);
        figures.begun.store(summary.begun, Ordering::Relaxed);
        figures.switches.store(summary.switches, Ordering::Relaxed);
        figures.hash.store(summary.hash, Ordering::Relaxed);
        figures.length.store(length, Ordering::Relaxed);
        figures.finished.store(true, Ordering::Release);
    }

    fn write_body(&self, outcome: &Outcome, detail: &Option<Detail>) -> u64 {
        if let Ok(used) = postcard::to_slice(&(outcome, detail), self.body()) {
            return used.len() as u64;
        }
        let lost = (outcome, None::<Detail>);
        postcard::to_slice(&lost, self.body()).map_or(0, |used| used.len() as u64)
    }

    /// After a run, in the template: `None` if the run did not come to its end.
    pub fn read(&self) -> Option<(Summary, Option<Story>)> {
        let figures = self.figures();
        if !figures.finished.load(Ordering::Acquire) {
            return None;
        }
        let summary = Summary {
            threads: figures.threads.load(Ordering::Relaxed),
            events: figures.events.load(Ordering::Relaxed),
            begun: figures.begun.load(Ordering::Relaxed),
            switches: figures.switches.load(Ordering::Relaxed),
            hash: figures.hash.load(Ordering::Relaxed),
        };
        Some((summary, self.read_body()))
    }

    fn read_body(&self) -> Option<Story> {
        let length = self.figures().length.load(Ordering::Relaxed) as usize;
        if length == 0 || length > LENGTH - BODY {
            return None;
        }
        let story = postcard::from_bytes(&self.body()[..length]).ok();
        self.release(length);
        story
    }

    /// Gives pages of a long report back, so that memory does not stay at its peak.
    fn release(&self, length: usize) {
        if length > 1 << 20 {
            let arguments = [
                self.0 + BODY,
                LENGTH - BODY,
                libc::MADV_REMOVE as usize,
                0,
                0,
                0,
            ];
            // SAFETY: drops content that has been read.
            unsafe { system::call(libc::SYS_madvise, arguments) };
        }
    }
}
