//! What a block is about, in half a kilobyte: enough to pass over it when
//! looking for a thread or a variable that is not in it.

use crate::format::{FILTER_BYTES, FLAG_WIDE};
use bohr_event::ThreadIndex;
use core::ops::Range;

/// Bytes in a line: the filter knows no finer.
const LINE: u64 = 64;

/// Accesses over more lines are not entered one by one.
const MOST_LINES: u64 = 16;

/// Which threads and which addresses can occur in a block. Errs on the side of yes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    pub(crate) threads: u64,
    pub(crate) flags: u32,
    pub(crate) lines: [u8; FILTER_BYTES],
}

impl Summary {
    /// Of a block without events. Line 0 is always in: the object 0 of events
    /// that touch nothing need not be entered.
    pub(crate) fn empty() -> Summary {
        let mut summary = Summary {
            threads: 0,
            flags: 0,
            lines: [0; FILTER_BYTES],
        };
        summary.add_object(0, 1);
        summary
    }

    #[inline(always)]
    pub(crate) fn add_thread(&mut self, thread: ThreadIndex) {
        self.threads |= 1 << (thread.0 % 64);
    }

    #[inline(always)]
    pub(crate) fn add_object(&mut self, object: u64, size: u32) {
        let first = object / LINE;
        let last = object.saturating_add(u64::from(size.max(1)) - 1) / LINE;
        if last - first >= MOST_LINES {
            self.flags |= FLAG_WIDE;
            return;
        }
        for line in first..=last {
            let bit = bit(line);
            self.lines[bit / 8] |= 1 << (bit % 8);
        }
    }

    /// Whether the thread can have events here.
    #[must_use]
    pub fn may_have_thread(&self, thread: ThreadIndex) -> bool {
        self.threads >> (thread.0 % 64) & 1 == 1
    }

    /// Whether some event here can touch one of these addresses.
    #[must_use]
    pub fn may_touch(&self, addresses: &Range<u64>) -> bool {
        if addresses.is_empty() {
            return false;
        }
        let (first, last) = (addresses.start / LINE, (addresses.end - 1) / LINE);
        self.flags & FLAG_WIDE != 0
            || last - first >= 8 * FILTER_BYTES as u64
            || (first..=last).any(|line| {
                let bit = bit(line);
                self.lines[bit / 8] >> (bit % 8) & 1 == 1
            })
    }
}

/// The bit of a line.
#[inline(always)]
fn bit(line: u64) -> usize {
    // Mixed twice: lines at regular distances would crowd together otherwise.
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mixed = line.wrapping_mul(ODD);
    ((mixed ^ mixed >> 32).wrapping_mul(ODD) >> 52) as usize % (8 * FILTER_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_in_is_found(objects in prop::collection::vec((any::<u64>(), 0u32..3000), 0..40), thread: u32) {
            let mut summary = Summary::empty();
            summary.add_thread(ThreadIndex(thread));
            prop_assert!(summary.may_have_thread(ThreadIndex(thread)));
            for &(object, size) in &objects {
                summary.add_object(object, size);
                let end = object.saturating_add(u64::from(size.max(1)));
                prop_assert!(summary.may_touch(&(object..end.max(object + 1))) || object == u64::MAX);
                prop_assert!(summary.may_touch(&(end - 1..end)));
            }
        }
    }

    #[test]
    fn most_of_what_is_not_in_is_not_found() {
        let mut summary = Summary::empty();
        (0..200u64).for_each(|index| summary.add_object(0x7000_0000 + index * 256, 8));
        let found = (0..1000u64)
            .filter(|index| {
                let at = 0x9000_0000 + index * 64;
                summary.may_touch(&(at..at + 8))
            })
            .count();
        assert!(found < 100, "{found} of 1000");
        assert!(!summary.may_have_thread(ThreadIndex(0)));
    }
}
