//! The runtime's own memory: the target may *be* an allocator, so nothing here
//! comes from its heap.
//!
//! Blocks have sizes that are powers of two; freed ones are kept in a list per
//! size and used again.

use crate::{addresses, system};
use core::{
    alloc::{GlobalAlloc, Layout},
    ptr,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
};

const SMALLEST: usize = 16;
const CLASSES: usize = 36;
const PAGE: usize = 4096;
/// Freed blocks from this class on, 8 KiB, are given back to the kernel.
const LARGE: usize = 13;

struct Arena {
    /// First address never given out; 0 before the first use.
    next: AtomicUsize,
    /// Heads of the lists of freed blocks, by the power of two of their size.
    /// The first word of a freed block links to the next.
    free: [AtomicUsize; CLASSES],
    /// Held for a few instructions. Contended only before control begins.
    busy: AtomicBool,
    /// Whether this is a run, which ends soon, and whose memory is nobody's model.
    is_run: AtomicBool,
}

#[global_allocator]
#[unsafe(link_section = "bohr_hot")]
static ARENA: Arena = Arena {
    next: AtomicUsize::new(0),
    free: [const { AtomicUsize::new(0) }; CLASSES],
    busy: AtomicBool::new(false),
    is_run: AtomicBool::new(false),
};

impl Arena {
    /// Position of the list for blocks that can hold the layout.
    fn class(layout: Layout) -> usize {
        let size = layout.size().max(layout.align()).max(SMALLEST);
        size.next_power_of_two().trailing_zeros() as usize
    }

    fn take(&self, class: usize) -> usize {
        match self.take_freed(class) {
            0 => self.take_fresh(class),
            freed => freed,
        }
    }

    /// One that was used before, or 0.
    fn take_freed(&self, class: usize) -> usize {
        let head = self.free[class].load(Ordering::Relaxed);
        if head != 0 {
            // SAFETY: `head` is a freed block of ours, its first word is the link.
            self.free[class].store(unsafe { *(head as *const usize) }, Ordering::Relaxed);
        }
        head
    }

    /// One that nobody has written to, or 0.
    fn take_fresh(&self, class: usize) -> usize {
        let size = 1 << class;
        let next = self.start();
        // A block is aligned to its size, up to a page.
        let start = next.next_multiple_of(size.min(PAGE));
        if start + size > addresses::ARENA + addresses::ARENA_LENGTH {
            return 0;
        }
        self.next.store(start + size, Ordering::Relaxed);
        start
    }

    /// Where the unused part begins; maps the arena at the first call.
    fn start(&self) -> usize {
        let next = self.next.load(Ordering::Relaxed);
        if next != 0 {
            return next;
        }
        match system::map_at(addresses::ARENA, addresses::ARENA_LENGTH, false) {
            Ok(start) => start,
            Err(_) => {
                system::say(
                    "bohr: no address space for the runtime; raise the limit (ulimit -v)\n",
                );
                system::exit(2)
            }
        }
    }

    /// Tells the kernel that the pages of a freed block are not needed: a template
    /// keeps no memory that all of its clones would have to copy. The first page
    /// has the link.
    fn give_back(&self, block: usize, class: usize) {
        if class >= LARGE && !self.is_run.load(Ordering::Relaxed) {
            let rest = [block + PAGE, (1 << class) - PAGE];
            let advice = libc::MADV_DONTNEED as usize;
            // SAFETY: whole pages of a block that nobody uses.
            let _ =
                unsafe { system::try_call(libc::SYS_madvise, [rest[0], rest[1], advice, 0, 0, 0]) };
        }
    }

    /// Leaves freed blocks alone from now on.
    fn forget_free(&self) {
        for list in &self.free {
            list.store(0, Ordering::Relaxed);
        }
    }

    fn alone<R>(&self, action: impl FnOnce() -> R) -> R {
        while self.busy.swap(true, Ordering::Acquire) {
            core::hint::spin_loop();
        }
        let result = action();
        self.busy.store(false, Ordering::Release);
        result
    }
}

// SAFETY: blocks are disjoint, large enough and aligned (sizes are powers of
// two and blocks are aligned to theirs, up to a page, which no layout exceeds).
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let class = Arena::class(layout);
        if class >= CLASSES || layout.align() > PAGE {
            return ptr::null_mut();
        }
        self.alone(|| self.take(class)) as *mut u8
    }

    /// Fresh memory is zero, and clearing it would make every page of it one that
    /// a clone has to copy.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let class = Arena::class(layout);
        if class >= CLASSES || layout.align() > PAGE {
            return ptr::null_mut();
        }
        match self.alone(|| self.take_freed(class)) as *mut u8 {
            freed if freed.is_null() => self.alone(|| self.take_fresh(class)) as *mut u8,
            freed => {
                // SAFETY: a block of ours, as long as the layout says.
                unsafe { freed.write_bytes(0, layout.size()) };
                freed
            }
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let class = Arena::class(layout);
        let list = &self.free[class];
        self.alone(|| {
            // SAFETY: the block is no longer used and at least 16 bytes long.
            unsafe { *block.cast::<usize>() = list.load(Ordering::Relaxed) };
            list.store(block as usize, Ordering::Relaxed);
            self.give_back(block as usize, class);
        });
    }
}

/// In a fresh run: takes new memory from one place rather than from blocks that
/// the template has freed, each of which lies on a page to be copied.
pub fn begin_run() {
    ARENA.alone(|| ARENA.forget_free());
    ARENA.is_run.store(true, Ordering::Relaxed);
}

/// In a process that runs will be cloned from.
pub fn begin_serving() {
    ARENA.is_run.store(false, Ordering::Relaxed);
}
