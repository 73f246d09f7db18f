//! How many more events the running thread may execute without asking, where
//! the hooks' assembly can count it down.

use crate::addresses;
use core::cell::UnsafeCell;

/// A number that hooks written in assembly and the engine share.
#[repr(transparent)]
pub struct Shared64(UnsafeCell<u64>);

// SAFETY: only the carrier reads and writes it.
unsafe impl Sync for Shared64 {}

impl Shared64 {
    const fn new(value: u64) -> Shared64 {
        Shared64(UnsafeCell::new(value))
    }

    /// Its value.
    #[inline]
    pub fn get(&self) -> u64 {
        // SAFETY: only the carrier touches it, and no reference is kept.
        unsafe { *self.0.get() }
    }

    /// Sets it.
    #[inline]
    pub fn set(&self, value: u64) {
        // SAFETY: as in `get`.
        unsafe { *self.0.get() = value }
    }
}

/// Events that the running thread may still execute on the fast path. Zero
/// sends every hook to the slow path.
#[unsafe(link_section = "bohr_hot")]
pub static GRANT: Shared64 = Shared64::new(0);

/// The site of the last event, in its lower half, if that was an access on the
/// quick path; 0 otherwise.
#[unsafe(link_section = "bohr_hot")]
pub static LAST_PLACE: Shared64 = Shared64::new(0);

/// Return address of the interposed call that is being made.
#[unsafe(link_section = "bohr_hot")]
pub static CALLER: Shared64 = Shared64::new(0);

/// The site of the instrumented call that is about to be made; 0 for none.
#[unsafe(link_section = "bohr_hot")]
pub static CALL_SITE: Shared64 = Shared64::new(0);

/// The widest vector registers that any module may use at a hook: the numbers
/// of `bohr_event::abi::Vectors`.
#[unsafe(link_section = "bohr_hot")]
pub static VECTORS: Shared64 = Shared64::new(0);

/// Added to a heap address divided by 16, it gives the address of its shadow.
#[unsafe(link_section = "bohr_hot")]
pub static SHADOW_OFFSET: Shared64 =
    Shared64::new((addresses::SHADOW - addresses::HEAP / 16) as u64);
