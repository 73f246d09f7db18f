//! Memory from before the run that the run gives back, as Rust's main thread does
//! with its stack for signal handlers. A process that is to undo the run needs it
//! again, so it is not unmapped but forbidden: whoever gets at it crashes all the
//! same.
//!
//! Only where the kernel would put the next mapping tells the difference; so
//! before there is one, what was withheld is carried out, and the run is not undone.

use crate::{carrier::CarrierOnly, footprint, system};
use alloc::vec::Vec;
use core::{
    cell::{Cell, RefCell},
    ops::Range,
};

/// What a run may give back; a run that gives back more leaves something behind.
const MOST: usize = 8;

const NONE: (usize, usize) = (0, 0);

/// A part of the memory from before the run, not shared with other processes.
pub struct Piece {
    /// Where.
    pub range: Range<usize>,
    /// What may be done with it, in the words of `mprotect`.
    pub access: i32,
}

impl Piece {
    /// Whether it can be written to.
    pub fn is_writable(&self) -> bool {
        self.access & libc::PROT_WRITE != 0
    }
}

/// Ascending; empty where runs are not undone.
static PIECES: CarrierOnly<RefCell<Vec<Piece>>> = CarrierOnly::new(RefCell::new(Vec::new()));

/// Start and end of what was given back.
static WITHHELD: CarrierOnly<[Cell<(usize, usize)>; MOST]> =
    CarrierOnly::new([const { Cell::new(NONE) }; MOST]);

/// In a process that will undo runs: what they may give back.
pub fn know(pieces: Vec<Piece>) {
    PIECES.replace(pieces);
}

/// Answers a call that gives back such memory.
pub fn answer(number: i64, [start, length, ..]: [usize; 6]) -> Option<isize> {
    if number != libc::SYS_munmap {
        return None;
    }
    let end = start.checked_add(length)?.checked_next_multiple_of(4096)?;
    let free = WITHHELD.iter().find(|cell| cell.get() == NONE)?;
    if start >= end || !is_known(start..end) {
        return None;
    }
    set_access(start..end, libc::PROT_NONE)?;
    free.set((start, end));
    Some(0)
}

/// Whether all of a range can be forbidden and allowed again.
fn is_known(range: Range<usize>) -> bool {
    let mut next = range.start;
    for piece in &*PIECES.borrow() {
        if piece.range.contains(&next) {
            next = piece.range.end;
        }
    }
    next >= range.end
}

fn set_access(range: Range<usize>, access: i32) -> Option<()> {
    let arguments = [range.start, range.len(), access as usize, 0, 0, 0];
    // SAFETY: memory that the program has given back, or that is what it was.
    let answer = unsafe { system::call_in_passing(libc::SYS_mprotect, arguments) };
    (answer == 0).then_some(())
}

/// Before a call that may tell withheld memory from unmapped memory.
pub fn before(number: i64) {
    let may_tell = matches!(
        number,
        libc::SYS_mmap
            | libc::SYS_mremap
            | libc::SYS_mprotect
            | libc::SYS_pkey_mprotect
            | libc::SYS_madvise
            | libc::SYS_msync
            | libc::SYS_mincore
            | libc::SYS_mlock
            | libc::SYS_mlock2
            | libc::SYS_munlock
            | libc::SYS_remap_file_pages
            | libc::SYS_shmat
            | libc::SYS_brk
    );
    if may_tell {
        carry_out();
    }
}

/// Unmaps what was withheld: from now on the run cannot be undone.
fn carry_out() {
    for cell in WITHHELD.iter() {
        let (start, end) = cell.replace(NONE);
        if start < end {
            footprint::leave();
            let arguments = [start, end - start, 0, 0, 0, 0];
            // SAFETY: as the program has asked for.
            unsafe { system::call_in_passing(libc::SYS_munmap, arguments) };
        }
    }
}

/// Undoes it. `None` if the kernel does not let us.
pub fn put_back() -> Option<()> {
    // Hot: nearly no run has given anything back.
    for cell in WITHHELD.iter().filter(|cell| cell.get() != NONE) {
        let (start, end) = cell.replace(NONE);
        for piece in &*PIECES.borrow() {
            let (start, end) = (start.max(piece.range.start), end.min(piece.range.end));
            if start < end {
                set_access(start..end, piece.access)?;
            }
        }
    }
    Some(())
}
