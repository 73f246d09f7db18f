//! Memory that the program has mapped in this run: what it unmaps itself leaves
//! nothing behind, and the rest can be unmapped for it. Rust's threads, for one,
//! begin with a stack for signal handlers and end by giving it back. (That of the
//! main thread is older than the run: see [`super::withheld`].)

use crate::{carrier::CarrierOnly, system};
use core::{cell::Cell, ops::Range};

/// Mappings kept; a program with more at once leaves the others behind.
const MOST: usize = 64;

const NONE: (usize, usize) = (0, 0);

/// Start and end of each.
static MAPPINGS: CarrierOnly<[Cell<(usize, usize)>; MOST]> =
    CarrierOnly::new([const { Cell::new(NONE) }; MOST]);

fn find(wanted: impl Fn(Range<usize>) -> bool) -> Option<&'static Cell<(usize, usize)>> {
    MAPPINGS.iter().find(|cell| {
        let (start, end) = cell.get();
        wanted(start..end)
    })
}

/// Whether a call concerns nothing but such a mapping.
pub fn concerns(number: i64, arguments: [usize; 6]) -> bool {
    let [start, length, _, flags, ..] = arguments;
    // Of other calls these are any numbers.
    let end = start.saturating_add(length);
    let end = end.checked_next_multiple_of(4096).unwrap_or(usize::MAX);
    match number {
        libc::SYS_mmap => {
            const KIND: i32 = libc::MAP_TYPE | libc::MAP_FIXED | libc::MAP_FIXED_NOREPLACE;
            let anonymous = flags as i32 & libc::MAP_ANONYMOUS != 0;
            anonymous
                && flags as i32 & KIND == libc::MAP_PRIVATE
                && find(|it| it.is_empty()).is_some()
        }
        libc::SYS_munmap => find(|it| it == (start..end)).is_some(),
        libc::SYS_mprotect | libc::SYS_madvise => {
            find(|it| it.start <= start && end <= it.end && !it.is_empty()).is_some()
        }
        _ => false,
    }
}

/// Such a call was answered.
pub fn note(number: i64, arguments: [usize; 6], answer: isize) {
    let [start, length, ..] = arguments;
    match number {
        libc::SYS_mmap if answer > 0 => {
            let start = answer as usize;
            if let Some(free) = find(|it| it.is_empty()) {
                free.set((start, (start + length).next_multiple_of(4096)));
            }
        }
        libc::SYS_munmap if answer == 0 => {
            if let Some(gone) = find(|it| it.start == start) {
                gone.set(NONE);
            }
        }
        _ => {}
    }
}

/// Bytes of all of them.
pub fn length() -> usize {
    let pieces = MAPPINGS.iter().map(Cell::get);
    pieces.map(|(start, end)| end - start).sum()
}

/// What was mapped so far belongs to every run: none of them may give it back and
/// leave nothing behind.
pub fn forget() {
    MAPPINGS.iter().for_each(|cell| cell.set(NONE));
}

/// Unmaps what is left.
pub fn unmap() {
    for cell in MAPPINGS.iter() {
        let (start, end) = cell.replace(NONE);
        if start < end {
            let arguments = [start, end - start, 0, 0, 0, 0];
            // SAFETY: mapped by the run, which is over.
            unsafe { system::call_in_passing(libc::SYS_munmap, arguments) };
        }
    }
}
