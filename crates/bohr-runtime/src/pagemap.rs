//! What the kernel tells about the pages of this process: a scan of
//! `/proc/self/pagemap` (Linux 6.7) skips the empty parts of a huge address space.

use crate::system;
use core::ops::Range;

/// A page of memory.
pub const PAGE: usize = 4096;
/// Regions of one scan; a longer list takes more scans.
pub const REGIONS: usize = 512;

const SCAN: usize = 0xc060_6610;
/// Category of pages that have been written to since they were protected.
pub const IS_WRITTEN: u64 = 1 << 1;
/// Category of pages whose writes are watched.
pub const IS_WATCHED: u64 = 1;
/// Category of pages that are still those of a file. Of private memory, a page that was
/// written to is none: the write has made a copy.
pub const IS_OF_FILE: u64 = 1 << 2;
/// Category of pages that have never been written to.
const IS_ZERO: u64 = 1 << 5;
/// Categories of pages with content: holes are not meant.
pub const IS_THERE: u64 = 1 << 3 | 1 << 4; // present, or swapped out

/// What the kernel tells of neighbouring pages.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PageRegion {
    start: u64,
    end: u64,
    categories: u64,
}

impl PageRegion {
    /// Room for an answer.
    pub const NONE: PageRegion = PageRegion {
        start: 0,
        end: 0,
        categories: 0,
    };
}

/// The kernel's `struct pm_scan_arg`.
#[repr(C)]
struct ScanArguments {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    regions: u64,
    regions_length: u64,
    most_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_any: u64,
    return_mask: u64,
}

/// `/proc/self/pagemap`, opened.
#[derive(Clone, Copy)]
pub struct PageMap(pub i32);

impl PageMap {
    /// Hands out where there are pages in `range` that have content, all the categories
    /// `wanted` and none of those `unwanted`, ascending. `None` if the kernel cannot tell.
    pub fn scan(
        self,
        found: &mut [PageRegion; REGIONS],
        range: Range<usize>,
        flags: u64,
        [wanted, unwanted]: [u64; 2],
        mut take: impl FnMut(Range<usize>),
    ) -> Option<()> {
        let mut start = range.start;
        while start < range.end {
            let mut arguments = ScanArguments {
                size: size_of::<ScanArguments>() as u64,
                flags,
                start: start as u64,
                end: range.end as u64,
                walk_end: 0,
                regions: found.as_mut_ptr() as u64,
                regions_length: REGIONS as u64,
                most_pages: 0,
                category_inverted: unwanted,
                category_mask: wanted | unwanted,
                category_any: IS_THERE,
                return_mask: IS_THERE | IS_WRITTEN,
            };
            let address = &raw mut arguments as usize;
            let call = [self.0 as usize, SCAN, address, 0, 0, 0];
            // SAFETY: reads and writes the arguments and the regions; protection that
            // the flags ask for changes no content.
            let count = unsafe { system::try_call(libc::SYS_ioctl, call) }.ok()?;
            for region in found.get(..count)? {
                take(region.start as usize..region.end as usize);
            }
            start = arguments.walk_end as usize;
        }
        Some(())
    }

    /// The same for pages whose content is this process's own.
    pub fn scan_own(
        self,
        found: &mut [PageRegion; REGIONS],
        range: Range<usize>,
        take: impl FnMut(Range<usize>),
    ) -> Option<()> {
        self.scan(found, range, 0, [0, IS_OF_FILE | IS_ZERO], take)
    }
}
