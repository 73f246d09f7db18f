//! Where a trace is written: memory that can grow.

use alloc::vec::Vec;

/// Memory that the writer fills from the front. In the runtime it is a mapping
/// shared with a file, grown by system calls; on the host a vector will do.
pub trait Medium {
    /// All of it: at least as long as the last successful [`Medium::grow`] asked for.
    fn bytes(&mut self) -> &mut [u8];

    /// Makes it at least so long; what is new is zero, what was there stays.
    /// `false` if it cannot grow that far: the writer then counts what it loses.
    fn grow(&mut self, length: usize) -> bool;
}

impl Medium for Vec<u8> {
    #[inline(always)]
    fn bytes(&mut self) -> &mut [u8] {
        self
    }

    fn grow(&mut self, length: usize) -> bool {
        if length > self.len() {
            self.resize(length, 0);
        }
        true
    }
}
