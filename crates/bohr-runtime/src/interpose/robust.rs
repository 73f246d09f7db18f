//! Robust mutexes: the kernel marks those that a thread holds when it ends. No
//! fiber's thread ends for the kernel, so the runtime does it.

use crate::{
    engine::{ENGINE, operation},
    system,
};
use bohr_event::EventKind;

/// What the kernel keeps per thread: `struct robust_list_head`.
#[repr(C)]
struct Head {
    next: usize,
    /// From a list entry to the mutex's word.
    offset: isize,
    pending: usize,
}

/// Longest list that is walked, as in the kernel.
const LONGEST: usize = 2048;
/// Bits of a futex that hold the number of its owner.
pub const OWNER: u32 = 0x3fff_ffff;
/// The owner has ended without unlocking.
pub const OWNER_DIED: u32 = 0x4000_0000;
/// Somebody waits: the owner has to ask the kernel when it unlocks.
pub const WAITERS: u32 = 0x8000_0000;

/// The running thread ends: marks what it still holds. Whoever finds the mark
/// knows what the thread did, so each is a release.
pub fn give_up_locks(place: u64) {
    let thread = ENGINE.current();
    // SAFETY: live threads have a fiber.
    let parked = unsafe { thread.fiber.get().as_ref() }.and_then(|fiber| fiber.parked());
    let head = parked.map_or_else(carrier_list, |parked| parked.robust_list());
    // SAFETY: registered with the kernel by the C library, null only without one.
    let Some(list) = (unsafe { (head as *const Head).as_ref() }) else {
        return;
    };
    let mut entry = list.next & !1;
    for _ in 0..LONGEST {
        if entry == head || entry == 0 {
            return;
        }
        let word = entry.wrapping_add_signed(list.offset) as *mut u32;
        // SAFETY: the list consists of mutexes that the thread holds.
        unsafe {
            let next = *(entry as *const usize) & !1;
            if *word & OWNER == thread.owner_number.get() as u32 {
                ENGINE.step(operation(EventKind::Release, word as usize, place));
                *word = *word & WAITERS | OWNER_DIED;
            }
            entry = next;
        }
    }
}

/// The carrier's own list.
fn carrier_list() -> usize {
    let (mut head, mut length) = (0usize, 0usize);
    let arguments = [0, &raw mut head as usize, &raw mut length as usize, 0, 0, 0];
    // SAFETY: writes both.
    unsafe { system::call(libc::SYS_get_robust_list, arguments) };
    head
}
