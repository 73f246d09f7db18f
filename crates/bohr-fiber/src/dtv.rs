//! Thread-local variables of libraries that were loaded later. They do not lie
//! beside those of the program but in blocks that the C library allocates when a
//! thread first touches them, and finds by way of a vector in the thread's
//! control block.
//!
//! ```text
//!   fs_base + 8 ──▶  [-1]  number of entries      (words of 16 bytes each)
//!                    [ 0]  generation
//!                    [ n]  block of library n, what to free with it
//! ```
//!
//! A vector of an older generation is brought up to date at the next access, by
//! the C library itself.

use alloc::vec::Vec;

type Entry = [usize; 2];

/// An entry whose block has not been allocated.
const UNALLOCATED: Entry = [usize::MAX, 0];

/// The vector of a thread as it was before anything ran in it.
#[derive(Debug)]
pub(crate) struct Vector(Vec<Entry>);

/// The vector of the thread with this FS base, and the number of its entries.
///
/// # Safety
/// It must be the FS base of a thread of this process.
unsafe fn vector(fs_base: usize) -> (*mut Entry, usize) {
    // SAFETY: the control block holds the vector in its second word, and the
    // entry before the first holds the length.
    unsafe {
        let vector = *((fs_base + 8) as *const *mut Entry);
        (vector, (*vector.sub(1))[0])
    }
}

impl Vector {
    /// That of a parked thread.
    ///
    /// # Safety
    /// As for [`vector`]; the thread must not run.
    pub(crate) unsafe fn of(fs_base: usize) -> Vector {
        // SAFETY: the vector has that many entries behind its generation.
        unsafe {
            let (vector, length) = vector(fs_base);
            Vector(core::slice::from_raw_parts(vector, length + 1).to_vec())
        }
    }

    /// Makes the thread's vector what it was, and frees the blocks that came
    /// into it since.
    ///
    /// # Safety
    /// As for [`Vector::of`], and nobody may use those blocks any more.
    pub(crate) unsafe fn restore(&self, fs_base: usize) {
        // SAFETY: as above; what is freed was allocated for this vector alone.
        unsafe {
            let (vector, length) = vector(fs_base);
            for number in 1..=length {
                let entry = vector.add(number);
                let before = self.0.get(number).copied().unwrap_or(UNALLOCATED);
                if (*entry)[1] != before[1] {
                    libc::free((*entry)[1] as *mut libc::c_void);
                }
                *entry = before;
            }
            *vector = self.0[0];
        }
    }
}
