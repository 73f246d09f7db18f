//! Which pages of this process have been written to, by the word of the kernel:
//! writes to protected pages lift the protection and leave a trace in the page
//! table (`userfaultfd` in its asynchronous mode, Linux 6.7), which a scan of
//! `/proc/self/pagemap` reads.
//!
//! The address space that a run may use is huge and nearly empty, and the kernel
//! takes longer to walk through the empty parts than through the others. But a page
//! that is written to for the first time is a fault, and the kernel counts those: if
//! there have been as many as there are written pages where there was memory before,
//! there are none anywhere else. That holds as long as each of those pages took a fault of
//! its own. Pages of files did not: whoever reads one is given those around it, and none of
//! them is protected. So a page that is still its file's does not count as written.

use crate::{
    channel,
    footprint::withheld::Piece,
    pagemap::{IS_OF_FILE, IS_WATCHED, IS_WRITTEN, PageMap, PageRegion, REGIONS},
    system,
};
use alloc::vec::Vec;
use core::ops::Range;

pub use crate::pagemap::PAGE;

const NEW_API: usize = 0xc018_aa3f;
const REGISTER: usize = 0xc020_aa00;
const API: u64 = 0xaa;
const ASYNCHRONOUS: u64 = 1 << 15;
const USER_MODE_ONLY: usize = 1;
const WRITE_PROTECTION: u64 = 1 << 1;
const PROTECT_MATCHING: u64 = 1;

/// Holes up to this length are walked through rather than left out: the kernel does
/// so in the time of a system call.
const SHORT_HOLE: usize = 256 << 20;
/// Parts of memory that are scanned one by one; those behind the last are one.
const SPANS: usize = 24;
/// A page that the kernel may treat as one, and count so.
const HUGE: usize = 2 << 20;

/// What is scanned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Where there was memory when the watch began.
    Inhabited,
    /// Everywhere.
    Whole,
}

/// Watches the private memory of this process.
pub struct Written {
    pages: PageMap,
    /// From the lowest watched address to the highest.
    span: Range<usize>,
    /// Where there was memory when the watch began, ascending; so many are used.
    inhabited: [Range<usize>; SPANS],
    spans: usize,
    /// Faults that are not first writes to pages.
    other_faults: u64,
    /// Faults before the last look at the whole.
    faults_before: u64,
    found: [PageRegion; REGIONS],
}

impl Written {
    /// Watches these ranges from now on. `None` if the kernel cannot do it, or
    /// does not let us.
    pub fn watch(ranges: &[Range<usize>]) -> Option<Written> {
        let span = ranges.first()?.start..ranges.last()?.end;
        let watcher = open(
            libc::SYS_userfaultfd,
            [libc::O_CLOEXEC as usize | USER_MODE_ONLY, 0, 0],
        )?;
        let mut api = [API, ASYNCHRONOUS, 0];
        control(watcher, NEW_API, &raw mut api as usize)?;
        for range in ranges {
            let length = range.end - range.start;
            let mut request = [range.start as u64, length as u64, WRITE_PROTECTION, 0];
            control(watcher, REGISTER, &raw mut request as usize)?;
        }
        let path = c"/proc/self/pagemap".as_ptr() as usize;
        let flags = (libc::O_RDONLY | libc::O_CLOEXEC) as usize;
        let pages = open(libc::SYS_openat, [libc::AT_FDCWD as usize, path, flags])?;
        Some(Written {
            pages: PageMap(pages),
            span,
            inhabited: [const { 0..0 }; SPANS],
            spans: 0,
            other_faults: 0,
            faults_before: 0,
            found: [PageRegion::NONE; REGIONS],
        })
    }

    /// Protects every page, so that only what is written from now on is found.
    pub fn protect(&mut self) -> Option<()> {
        let (mut inhabited, mut spans) = ([const { 0..0 }; SPANS], 0);
        self.scan(self.span.clone(), PROTECT_MATCHING, 0, |region| {
            let last = inhabited[..spans].last_mut();
            match last.filter(|last| region.start - last.end <= SHORT_HOLE || spans == SPANS) {
                Some(last) => last.end = region.end,
                None => {
                    inhabited[spans] = region;
                    spans += 1;
                }
            }
        })?;
        (self.inhabited, self.spans) = (inhabited, spans);
        Some(())
    }

    /// Hands out the pages that have been written to, ascending. `None` if the
    /// kernel fails.
    pub fn each(&mut self, extent: Extent, mut take: impl FnMut(usize)) -> Option<()> {
        let mut take_region = |region: Range<usize>| region.step_by(PAGE).for_each(&mut take);
        match extent {
            Extent::Whole => {
                self.faults_before = faults().unwrap_or(0);
                self.scan(self.span.clone(), 0, IS_OF_FILE, &mut take_region)?;
            }
            Extent::Inhabited => {
                for number in 0..self.spans {
                    self.scan(
                        self.inhabited[number].clone(),
                        0,
                        IS_OF_FILE,
                        &mut take_region,
                    )?;
                }
            }
        }
        Some(())
    }

    /// Whether so many written pages are all there are.
    pub fn are_all(&self, count: usize) -> bool {
        count < HUGE / PAGE
            && faults().is_some_and(|faults| faults == self.other_faults + count as u64)
    }

    /// So many written pages are all that the look at the whole has found: the other
    /// faults before it were others. What is written to meanwhile, if only by the kernel,
    /// must not count among them: its page would from then on stand for one that nobody
    /// has looked at.
    pub fn note_all(&mut self, count: usize) {
        self.other_faults = self.faults_before.wrapping_sub(count as u64);
    }

    fn scan(
        &mut self,
        range: Range<usize>,
        flags: u64,
        unwanted: u64,
        take: impl FnMut(Range<usize>),
    ) -> Option<()> {
        let wanted = [IS_WRITTEN | IS_WATCHED, unwanted];
        self.pages.scan(&mut self.found, range, flags, wanted, take)
    }
}

/// Faults of this process, which has one thread, so far.
fn faults() -> Option<u64> {
    // SAFETY: all zeroes are a valid account.
    let mut usage: libc::rusage = unsafe { core::mem::zeroed() };
    let arguments = [
        libc::RUSAGE_THREAD as usize,
        &raw mut usage as usize,
        0,
        0,
        0,
        0,
    ];
    // SAFETY: writes the account.
    unsafe { system::try_call(libc::SYS_getrusage, arguments) }.ok()?;
    Some((usage.ru_minflt + usage.ru_majflt) as u64)
}

/// A descriptor that the program does not meet.
fn open(number: i64, [first, second, third]: [usize; 3]) -> Option<i32> {
    // SAFETY: makes a descriptor; a path is a C string.
    let descriptor = unsafe { system::try_call(number, [first, second, third, 0, 0, 0]) };
    let descriptor = channel::move_up(descriptor.ok()? as i32).ok()?;
    if descriptor < channel::LOWEST_DESCRIPTOR as i32 {
        // It would take a number that the program is to have.
        system::close(descriptor);
        return None;
    }
    Some(descriptor)
}

fn control(descriptor: i32, request: usize, argument: usize) -> Option<usize> {
    let arguments = [descriptor as usize, request, argument, 0, 0, 0];
    // SAFETY: the requests above read and write the structures that they are
    // given, and protection that is lifted by the first write changes no content.
    unsafe { system::try_call(libc::SYS_ioctl, arguments) }.ok()
}

/// The private memory of this process.
pub fn private_memory() -> Option<Vec<Piece>> {
    memory(|kind| kind == b'p')
}

/// The memory of this process that is of a kind: `p` is private, `s` shared.
pub fn memory(is_meant: impl Fn(u8) -> bool) -> Option<Vec<Piece>> {
    let text = system::file(c"/proc/self/maps").ok()?;
    let lines = text.split(|&byte| byte == b'\n');
    let pieces = lines.filter_map(|line| {
        let mut words = line.split(|&byte| byte == b' ');
        let addresses = core::str::from_utf8(words.next()?).ok()?;
        let &[read, write, execute, kind] = words.next()? else {
            return None;
        };
        if !is_meant(kind) {
            return None;
        }
        let (start, end) = addresses.split_once('-')?;
        let address = |text| usize::from_str_radix(text, 16).ok();
        let permission = |letter, flag| if letter == b'-' { 0 } else { flag };
        Some(Piece {
            range: address(start)?..address(end)?,
            access: permission(read, libc::PROT_READ)
                | permission(write, libc::PROT_WRITE)
                | permission(execute, libc::PROT_EXEC),
        })
    });
    Some(pieces.collect())
}
