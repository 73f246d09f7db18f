//! What has to hold of a thread and of variables for a visit to count.

use crate::futex::thread;
use bohr_event::breakpoint::{Comparison, Side};
use core::ffi::c_void;

/// Where the C library keeps the owner of a mutex, as the system's number of the
/// thread.
const OWNER: u64 = 8;

/// Frames that are looked at.
const DEEPEST: u32 = 64;

/// Whether a visit of a side counts.
pub fn holds(side: &Side) -> bool {
    side.when.iter().all(compare)
        && (side.holding.is_empty() || holds_all(&side.holding))
        && side.within.iter().all(|ranges| is_within(ranges))
}

fn compare(comparison: &Comparison) -> bool {
    // SAFETY: bohr has found a variable of this size there, in the program that
    // is loaded at the addresses of its file.
    let value = unsafe {
        match comparison.size {
            1 => i64::from((comparison.address as *const i8).read_volatile()),
            2 => i64::from((comparison.address as *const i16).read_volatile()),
            4 => i64::from((comparison.address as *const i32).read_volatile()),
            _ => (comparison.address as *const i64).read_volatile(),
        }
    };
    comparison.relation.holds(value, comparison.value)
}

fn holds_all(locks: &[u64]) -> bool {
    let own = thread();
    locks.iter().all(|lock| {
        // SAFETY: bohr has found a mutex of the C library there.
        let owner = unsafe { ((lock + OWNER) as *const u32).read_volatile() };
        owner == own
    })
}

unsafe extern "C" {
    fn _Unwind_Backtrace(
        frame: extern "C" fn(*mut c_void, *mut c_void) -> i32,
        argument: *mut c_void,
    ) -> i32;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
}

struct Search<'a> {
    ranges: &'a [(u64, u64)],
    found: bool,
    left: u32,
}

/// Whether one of the thread's callers lies in one of these ranges.
fn is_within(ranges: &[(u64, u64)]) -> bool {
    let mut search = Search {
        ranges,
        found: false,
        left: DEEPEST,
    };
    // SAFETY: the callback gets the search and outlives nothing of it.
    unsafe { _Unwind_Backtrace(look, (&raw mut search).cast()) };
    search.found
}

extern "C" fn look(context: *mut c_void, search: *mut c_void) -> i32 {
    const GO_ON: i32 = 0;
    const ENOUGH: i32 = 5;
    // SAFETY: as `is_within` passes it; nobody else has it now.
    let search = unsafe { &mut *search.cast::<Search<'_>>() };
    // SAFETY: the unwinder's own context. A return address may be behind its
    // function's last instruction: look one back. The outermost frame has none.
    let address = (unsafe { _Unwind_GetIP(context) } as u64).saturating_sub(1);
    let inside = |(start, end): &(u64, u64)| (*start..*end).contains(&address);
    search.found = search.ranges.iter().any(inside);
    search.left -= 1;
    match search.found || search.left == 0 {
        true => ENOUGH,
        false => GO_ON,
    }
}
