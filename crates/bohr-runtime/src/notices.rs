//! Things that bohr does not control and that happened in this process.

use alloc::vec::Vec;
use bohr_event::control::Notice;
use core::sync::atomic::{AtomicU32, Ordering};

/// One bit per notice.
#[unsafe(link_section = "bohr_hot")]
static SEEN: AtomicU32 = AtomicU32::new(0);

/// It happened.
pub fn note(notice: Notice) {
    SEEN.fetch_or(1 << notice as u8, Ordering::Relaxed);
}

/// All that happened.
pub fn list() -> Vec<Notice> {
    let seen = SEEN.load(Ordering::Relaxed);
    Notice::ALL
        .into_iter()
        .filter(|&notice| seen & 1 << notice as u8 != 0)
        .collect()
}

/// Whether it happened.
pub fn is_noted(notice: Notice) -> bool {
    SEEN.load(Ordering::Relaxed) & 1 << notice as u8 != 0
}
