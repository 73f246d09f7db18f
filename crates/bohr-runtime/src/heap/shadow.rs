//! Which parts of the heap have been freed: a byte per 16 bytes, where hooks can
//! look, and calls that lock or signal. Kept unless nobody wants to know.

use crate::{addresses, control, system};
use core::sync::atomic::{AtomicBool, Ordering};

/// Bytes of heap per byte of shadow.
const GRAIN: usize = 16;

#[unsafe(link_section = "bohr_hot")]
static KEPT: AtomicBool = AtomicBool::new(false);

/// Whether freed memory is watched from now on.
pub fn keep(kept: bool) {
    KEPT.store(kept, Ordering::Relaxed);
}

fn is_kept() -> bool {
    KEPT.load(Ordering::Relaxed) && control::is_on()
}

/// The shadow of a heap address.
fn of(address: usize) -> usize {
    addresses::SHADOW + (address - addresses::HEAP) / GRAIN
}

/// Maps the shadow of a region.
pub fn map(region: usize) -> bool {
    let length = addresses::HEAP_REGION / GRAIN;
    system::map_at(of(region), length, false).is_ok()
}

/// Marks a block as freed or in use.
pub fn mark(payload: usize, size: usize, freed: bool) {
    if is_kept() {
        // SAFETY: the shadow of every mapped region is mapped.
        unsafe {
            core::ptr::write_bytes(of(payload) as *mut u8, u8::from(freed), size / GRAIN);
        }
    }
}

/// Whether the address has been freed. It must lie in the heap.
pub fn is_freed(address: usize) -> bool {
    // SAFETY: as above; hooks have looked there before.
    is_kept() && unsafe { *(of(address) as *const u8) != 0 }
}
