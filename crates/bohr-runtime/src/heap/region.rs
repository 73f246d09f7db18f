//! One thread's part of the heap. Its book-keeping lies at its beginning, on
//! the page that the first blocks are on: a run touches few pages.

use super::{
    block::{Header, SIZE as HEADER, State},
    shadow,
};
use crate::{addresses, control, engine::ENGINE, system};

/// Blocks of up to this many bytes come in steps of 16.
const SMALL: usize = 1024;
const SMALL_CLASSES: usize = SMALL / 16;
/// Larger ones come in four steps per power of two, up to the size of a region.
const CLASSES: usize = SMALL_CLASSES + 4 * 22;

/// Freed bytes that wait before they are used again.
const QUARANTINE: usize = 256 << 10;
/// Freed memory is filled with this, so that its use shows.
const FILL: u8 = 0xdd;
/// At most so many bytes of a block are filled.
const FILLED: usize = 4096;
/// A freed block of at least this size gives its pages back.
const LARGE: usize = 256 << 10;

/// Memory is put onto huge pages in pieces of this size. Few programs come to the
/// second piece of a region, so in most runs no huge page has to be filled.
const PIECE: usize = 16 << 20;
const _: () = assert!(addresses::HEAP_REGION.is_multiple_of(PIECE));

/// A region: blocks in use, freed ones, and space never used. Lists are linked
/// through the first word of the headers' payloads; 0 ends them.
#[derive(Debug)]
pub struct Region {
    /// First address never used; 0 before the first block.
    next: usize,
    /// Freed blocks that wait, oldest first.
    oldest: usize,
    newest: usize,
    quarantined: usize,
    /// First free block of each class.
    free: [usize; CLASSES],
}

/// The class of blocks that hold `size` bytes, and how many they hold.
fn class(size: usize) -> (usize, usize) {
    if size <= SMALL {
        let steps = size.div_ceil(16).max(1);
        return (steps - 1, steps * 16);
    }
    // 1024 < size: the leading bit is at least bit 10.
    let power = (size - 1).ilog2() as usize;
    let step = 1usize << (power - 2);
    let quarter = (size - 1 - (1 << power)) / step;
    let class = SMALL_CLASSES + (power - 10) * 4 + quarter;
    (class, (1 << power) + (quarter + 1) * step)
}

/// The link in a free block.
fn link(payload: usize) -> &'static mut usize {
    // SAFETY: a free block's payload is ours, mapped and at least 16 bytes long.
    unsafe { &mut *(payload as *mut usize) }
}

impl Region {
    /// Maps a region and gives the book-keeping at its start.
    pub fn map(start: usize) -> bool {
        system::map_at(start, addresses::HEAP_REGION, false).is_ok()
    }

    /// The region at this address, which has been mapped.
    pub fn at(start: usize) -> &'static mut Region {
        // SAFETY: mapped regions begin with their book-keeping, zeroes at
        // first; callers hold the heap for themselves and keep no reference.
        unsafe { &mut *(start as *mut Region) }
    }

    fn start(&self) -> usize {
        core::ptr::from_ref(self) as usize
    }

    /// A block of at least `size` bytes, or 0.
    pub fn take(&mut self, size: usize) -> usize {
        if size > addresses::HEAP_REGION / 2 {
            return 0;
        }
        let (class, length) = class(size);
        let payload = self.free[class];
        if payload != 0 {
            self.free[class] = *link(payload);
            Header::of(payload).set_state(State::Used);
            shadow::mark(payload, length, false);
            return payload;
        }
        if self.next == 0 {
            self.next = (self.start() + size_of::<Region>()).next_multiple_of(HEADER);
        }
        let payload = self.next + HEADER;
        if payload + length > self.start() + addresses::HEAP_REGION {
            return 0;
        }
        use_huge_pages(self.next, payload + length);
        self.next = payload + length;
        Header::write(payload, length, class);
        payload
    }

    /// Takes a block in use back, into quarantine.
    pub fn give(&mut self, payload: usize) {
        let header = Header::of(payload);
        header.set_state(State::Freed);
        if control::is_on() {
            header.set_freed_by(ENGINE.current().index);
        }
        let size = header.size();
        shadow::mark(payload, size, true);
        if size >= LARGE {
            forget(payload, size);
        } else {
            // SAFETY: the payload of a block that nobody uses any more.
            unsafe { core::ptr::write_bytes(payload as *mut u8, FILL, size.min(FILLED)) };
        }
        *link(payload) = 0;
        match self.newest {
            0 => self.oldest = payload,
            newest => *link(newest) = payload,
        }
        self.newest = payload;
        self.quarantined += size;
        while self.quarantined > QUARANTINE && self.oldest != 0 {
            self.release_oldest();
        }
    }

    /// The oldest block in quarantine becomes free for use.
    fn release_oldest(&mut self) {
        let payload = self.oldest;
        self.oldest = *link(payload);
        if self.oldest == 0 {
            self.newest = 0;
        }
        let header = Header::of(payload);
        self.quarantined -= header.size();
        *link(payload) = self.free[header.class()];
        self.free[header.class()] = payload;
    }
}

/// Memory that is used for the first time from `from` to `to`: what lies beyond
/// the first piece of a region goes onto huge pages. To clone a process costs
/// time for every page that it has.
fn use_huge_pages(from: usize, to: usize) {
    let (start, end) = (from.next_multiple_of(PIECE), to.next_multiple_of(PIECE));
    if start < end {
        let arguments = [start, end - start, libc::MADV_HUGEPAGE as usize, 0, 0, 0];
        // SAFETY: advice about memory of the region, which is a multiple of pieces.
        unsafe { system::call(libc::SYS_madvise, arguments) };
    }
}

/// Gives the whole pages of a block back to the system; they read as zeroes.
fn forget(payload: usize, size: usize) {
    let start = payload.next_multiple_of(4096);
    let end = (payload + size) & !4095;
    let arguments = [start, end - start, libc::MADV_DONTNEED as usize, 0, 0, 0];
    // SAFETY: pages of a block that nobody uses any more.
    unsafe { system::call(libc::SYS_madvise, arguments) };
}
