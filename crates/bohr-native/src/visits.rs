//! How often each thread has come by a place.

use crate::futex::thread;
use core::sync::atomic::{AtomicU64, Ordering};

/// Threads that are told apart; those that do not fit have never come.
const MOST_THREADS: usize = 512;

/// By thread: its number in the upper half, the count in the lower.
pub struct VisitsByThread([AtomicU64; MOST_THREADS]);

impl VisitsByThread {
    pub const fn new() -> VisitsByThread {
        VisitsByThread([const { AtomicU64::new(0) }; MOST_THREADS])
    }

    /// Counts a visit of this thread, and says which of its visits it is; 0 if
    /// there are too many threads.
    pub fn count(&self) -> u64 {
        let own = u64::from(thread());
        for probe in 0..MOST_THREADS {
            let slot = &self.0[(own as usize + probe) % MOST_THREADS];
            let found = slot.load(Ordering::Relaxed);
            let free = found == 0;
            let taken = || {
                let mine = own << 32 | 1;
                slot.compare_exchange(0, mine, Ordering::Relaxed, Ordering::Relaxed)
            };
            if free && taken().is_ok() {
                return 1;
            }
            // Nobody else writes where this thread's number stands.
            let found = slot.load(Ordering::Relaxed);
            if found >> 32 == own {
                slot.store(found + 1, Ordering::Relaxed);
                return (found + 1) & u64::from(u32::MAX);
            }
        }
        0
    }
}
