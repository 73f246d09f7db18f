//! The file that traces are written to, as memory that grows. All runs of a job
//! use one file, one behind the other.

use crate::{addresses, channel, descriptors, system};
use alloc::ffi::CString;
use bohr_trace::Medium;
use core::{cell::Cell, ptr};

const PAGE: u64 = 4096;

/// By how much a file grows: a part of what is there, within these bounds. What
/// is not written to takes no room on disk.
const LEAST_GROWTH: usize = 1 << 20;
const MOST_GROWTH: usize = 64 << 20;

/// Opens the file that the explorer named.
pub fn open(path: &str) -> Result<i32, i32> {
    let path = CString::new(path).map_err(|_| libc::EINVAL)?;
    let flags = (libc::O_RDWR | libc::O_CLOEXEC) as usize;
    let arguments = [
        libc::AT_FDCWD as usize,
        path.as_ptr() as usize,
        flags,
        0,
        0,
        0,
    ];
    // SAFETY: reads the path.
    let file = unsafe { system::try_call(libc::SYS_openat, arguments) }?;
    channel::move_up(file as i32)
}

/// Closes it.
pub fn close(file: i32) {
    system::close(file);
}

/// Where the next trace begins.
pub fn end_of(file: i32) -> u64 {
    let length = descriptors::status(file).map_or(0, |status| status.st_size as u64);
    length.next_multiple_of(PAGE)
}

/// A part of the file, mapped. Its end is that of the file.
pub struct Store {
    file: i32,
    /// Where in the file it begins.
    offset: u64,
    /// Where in memory.
    start: usize,
    /// Bytes that the file has from `offset` on.
    length: usize,
}

/// Which half of the address space for traces is in use: a clone needs both for
/// a moment.
static HALF: crate::carrier::CarrierOnly<Cell<usize>> =
    crate::carrier::CarrierOnly::new(Cell::new(0));

impl Store {
    /// Maps the file from `offset` on; `None` if there is no address space.
    pub fn map(file: i32, offset: u64) -> Option<Store> {
        HALF.set(1 - HALF.get());
        let start = addresses::TRACE + HALF.get() * addresses::TRACE_HALF;
        let access = (libc::PROT_READ | libc::PROT_WRITE) as usize;
        let flags = libc::MAP_SHARED | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
        let arguments = [
            start,
            addresses::TRACE_HALF,
            access,
            flags as usize,
            file as usize,
            offset as usize,
        ];
        // SAFETY: `MAP_FIXED_NOREPLACE` never touches what is there.
        unsafe { system::try_call(libc::SYS_mmap, arguments) }.ok()?;
        Some(Store {
            file,
            offset,
            start,
            length: 0,
        })
    }

    /// Gives the address space back. The file keeps what was written.
    pub fn unmap(self) {
        let arguments = [self.start, addresses::TRACE_HALF, 0, 0, 0, 0];
        // SAFETY: nothing refers to it any more.
        unsafe { system::call(libc::SYS_munmap, arguments) };
    }
}

impl Medium for Store {
    #[inline(always)]
    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: mapped, as far as the file goes; nobody else in this process
        // uses it, and the explorer does not look before the run is over.
        unsafe {
            core::slice::from_raw_parts_mut(
                ptr::with_exposed_provenance_mut(self.start),
                self.length,
            )
        }
    }

    fn grow(&mut self, length: usize) -> bool {
        if length <= self.length {
            return true;
        }
        let more = (length / 4).clamp(LEAST_GROWTH, MOST_GROWTH);
        let wanted = (length + more).next_multiple_of(PAGE as usize);
        let end = self.offset as usize + wanted;
        let fits = wanted <= addresses::TRACE_HALF;
        // SAFETY: makes a file of ours longer.
        let grown = fits
            && unsafe {
                system::try_call(libc::SYS_ftruncate, [self.file as usize, end, 0, 0, 0, 0]).is_ok()
            };
        if grown {
            self.length = wanted;
        }
        grown
    }
}
