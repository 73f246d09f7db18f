//! One thread's part of the heap.

use super::block::{Header, SIZE as HEADER, State};
use crate::{addresses, system};
use alloc::{collections::VecDeque, vec::Vec};

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

/// A region: blocks in use, freed ones, and space never used.
#[derive(Debug)]
pub struct Region {
    start: usize,
    /// First address never used; equals `start` before the region is mapped.
    next: usize,
    /// Payloads of free blocks, by class.
    free: Vec<Vec<usize>>,
    /// Payloads of freed blocks, oldest first, and their bytes together.
    quarantine: VecDeque<usize>,
    quarantined: usize,
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

impl Region {
    /// The region that begins at this address. Nothing is mapped yet.
    pub fn new(start: usize) -> Region {
        Region {
            start,
            next: start,
            free: Vec::new(),
            quarantine: VecDeque::new(),
            quarantined: 0,
        }
    }

    /// A block of at least `size` bytes, or 0.
    pub fn take(&mut self, size: usize) -> usize {
        if size > addresses::HEAP_REGION / 2 || !self.is_mapped() {
            return 0;
        }
        let (class, length) = class(size);
        if let Some(payload) = self.free[class].pop() {
            Header::of(payload).set_state(State::Used);
            return payload;
        }
        let payload = self.next + HEADER;
        if payload + length > self.start + addresses::HEAP_REGION {
            return 0;
        }
        self.next = payload + length;
        Header::write(payload, length, class);
        payload
    }

    fn is_mapped(&mut self) -> bool {
        if !self.free.is_empty() {
            return true;
        }
        let mapped = system::map_at(self.start, addresses::HEAP_REGION, false).is_ok();
        if mapped {
            self.free = alloc::vec![Vec::new(); CLASSES];
        }
        mapped
    }

    /// Takes a block in use back, into quarantine.
    pub fn give(&mut self, payload: usize) {
        let header = Header::of(payload);
        header.set_state(State::Freed);
        let size = header.size();
        if size >= LARGE {
            forget(payload, size);
        } else {
            // SAFETY: the payload of a block that nobody uses any more.
            unsafe { core::ptr::write_bytes(payload as *mut u8, FILL, size.min(FILLED)) };
        }
        self.quarantine.push_back(payload);
        self.quarantined += size;
        while self.quarantined > QUARANTINE {
            let Some(oldest) = self.quarantine.pop_front() else {
                break;
            };
            let header = Header::of(oldest);
            self.quarantined -= header.size();
            self.free[header.class()].push(oldest);
        }
    }

    /// Whether the address lies in a block in quarantine.
    pub fn is_freed(&self, address: usize) -> bool {
        self.quarantine.iter().any(|&payload| {
            let header = Header::of(payload);
            (payload..payload + header.size()).contains(&address)
        })
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
