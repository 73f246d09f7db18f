//! Memory for stacks.

use crate::FiberError;
use core::ptr;

/// A piece of memory for one thread's stack. The page below it is left
/// unmapped, so that running over the end faults. It is never given back: the
/// parked thread lives on it as long as the process.
#[derive(Debug)]
pub struct StackRegion {
    start: usize,
    length: usize,
}

impl StackRegion {
    const PAGE: usize = 4096;

    /// Anywhere.
    ///
    /// # Errors
    /// If the system has no memory left.
    pub fn map(length: usize) -> Result<StackRegion, FiberError> {
        // The first page stays inaccessible.
        let whole = Self::memory(0, length + Self::PAGE, libc::PROT_NONE, 0)?;
        Self::memory(whole + Self::PAGE, length, Self::ACCESS, libc::MAP_FIXED)
            .map(|start| StackRegion { start, length })
    }

    /// At `start`, which must be free; the caller leaves a gap below it.
    ///
    /// # Errors
    /// If something lies there already, or the system has no memory left.
    pub fn map_at(start: usize, length: usize) -> Result<StackRegion, FiberError> {
        Self::memory(start, length, Self::ACCESS, libc::MAP_FIXED_NOREPLACE)
            .map(|start| StackRegion { start, length })
    }

    /// At `start`, above a gap of `gap` bytes that nobody can get into; all that
    /// must be free. Where the kernel can forbid single pages (Linux 6.13), stacks
    /// that follow each other are one mapping: a clone of the process has less to
    /// copy.
    ///
    /// # Errors
    /// If something lies there already, or the system has no memory left.
    pub fn map_above_gap(
        start: usize,
        length: usize,
        gap: usize,
    ) -> Result<StackRegion, FiberError> {
        let below = start - gap;
        Self::memory(below, gap + length, Self::ACCESS, libc::MAP_FIXED_NOREPLACE)?;
        let forbidden = ptr::without_provenance_mut(below);
        // SAFETY: part of what was just mapped, and nobody knows it yet.
        unsafe {
            if libc::madvise(forbidden, gap, Self::FORBID) != 0 {
                libc::munmap(forbidden, gap);
            }
        }
        Ok(StackRegion { start, length })
    }

    /// `MADV_GUARD_INSTALL`.
    const FORBID: i32 = 102;

    const ACCESS: i32 = libc::PROT_READ | libc::PROT_WRITE;

    fn memory(start: usize, length: usize, access: i32, place: i32) -> Result<usize, FiberError> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | place;
        // SAFETY: asks for fresh memory; `MAP_FIXED` only within what `map` has just got.
        let memory = unsafe {
            libc::mmap(
                ptr::without_provenance_mut(start),
                length,
                access,
                flags,
                -1,
                0,
            )
        };
        if memory == libc::MAP_FAILED {
            // SAFETY: `errno` is always there.
            return Err(FiberError::NoStack(unsafe { *libc::__errno_location() }));
        }
        Ok(memory as usize)
    }

    /// Lowest address.
    #[must_use]
    pub fn start(&self) -> usize {
        self.start
    }

    /// Size in bytes.
    #[must_use]
    pub fn length(&self) -> usize {
        self.length
    }

    /// First address behind it.
    #[must_use]
    pub fn end(&self) -> usize {
        self.start + self.length
    }
}
