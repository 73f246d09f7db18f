//! All that a run will do from here on depends on, as one number: the memory of the
//! program, what its threads hold in registers, and what each is about to do. Two moments
//! with the same number are followed by the same events under the same schedule.
//!
//! What is the runtime's own is left out, so that the number is the same with any back
//! end, traced or not: its memory, and the stacks of threads below what is the program's
//! there. What the kernel keeps is left out, too: whoever compares moments sees to it that
//! nobody has asked for anything in between ([`crate::engine`]).

use crate::{
    addresses::{ARENA, MAIN_STACK, SHADOW, TRACE},
    clock::CLOCK,
    engine::ENGINE,
    objects::OBJECTS,
    pagemap::{PAGE, PageMap, PageRegion, REGIONS},
    peek::peek,
    real, rewind, signals, system,
    thread::Thread,
    unwind::{self, Registers},
    verdict,
};
use alloc::{boxed::Box, vec, vec::Vec};
use bohr_event::{EventKind, ThreadIndex};
use core::{
    hash::{Hash, Hasher},
    ops::Range,
    slice,
    sync::atomic::{AtomicUsize, Ordering},
};

/// The number. A collision would be a coincidence of one in 2^64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(u64);

/// What the threads go on with, without the rest of the memory: quickly taken, and
/// different as soon as one of them counts in a register or on its stack.
pub struct Sketch {
    digest: Digest,
    hidden: Vec<Range<usize>>,
}

/// Sketches this moment, in which the running thread has come to an operation. `None`
/// where something cannot be told.
#[inline(never)]
pub fn sketch() -> Option<Sketch> {
    let mut digest = Digest(0x243f_6a88_85a3_08d3, 0);
    let mut hidden = vec![TRACE..MAIN_STACK, SHADOW..SHADOW_END, own_memory()?];
    hidden.extend(verdict::REPORTING.memory());
    hidden.extend(kernel_notes());
    digest.write_u64(CLOCK.looks());
    digest.mix_floating_point();
    let mut is_known = true;
    ENGINE.each_live(|thread| {
        is_known &= digest.mix_thread(thread, &mut hidden).is_some();
    });
    digest.mix_order();
    hidden.sort_unstable_by_key(|range| range.start);
    is_known.then_some(Sketch { digest, hidden })
}

impl Sketch {
    /// The number of this much.
    pub fn number(&self) -> u64 {
        self.digest.finish()
    }

    /// The fingerprint of the same moment, and how many bytes were looked at for it.
    pub fn whole(mut self) -> Option<(Fingerprint, usize)> {
        self.digest.mix_memory(&self.hidden)?;
        Some((Fingerprint(self.digest.0), self.digest.1))
    }
}

/// Behind the shadow of the heap.
const SHADOW_END: usize = crate::addresses::HEAP;
const _: () = assert!(TRACE < ARENA && ARENA < MAIN_STACK && SHADOW < SHADOW_END);

/// The runtime's own data.
fn own_memory() -> Option<Range<usize>> {
    let (start, end) = OBJECTS.runtime_range();
    let end = (end as usize).checked_next_multiple_of(PAGE)?;
    (start != 0).then_some(start as usize..end)
}

/// Where the kernel notes on which processor the carrier runs: the restartable sequences
/// of the C library, which are in the storage of the main thread.
fn kernel_notes() -> Option<Range<usize>> {
    /// Bytes of `struct rseq` that the kernel writes.
    const LENGTH: usize = 32;
    /// Looked up once: the loader counts look-ups, in memory that is compared.
    static OFFSET: AtomicUsize = AtomicUsize::new(0);
    if OFFSET.load(Ordering::Relaxed) == 0 {
        OFFSET.store(real::constant(c"__rseq_offset")?, Ordering::Relaxed);
    }
    let offset = OFFSET.load(Ordering::Relaxed);
    let main = ENGINE.thread(ThreadIndex::MAIN).handle.get() as usize;
    let start = main.wrapping_add(offset);
    Some(start..start + LENGTH)
}

/// What has been seen so far, and how many bytes of that are pages with content.
struct Digest(u64, usize);

impl Hasher for Digest {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.write_u64(u64::from_ne_bytes(*word));
        }
        for &byte in rest {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, value: u64) {
        let mixed = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ mixed >> 29;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl Digest {
    /// The stack of the old floating-point unit, which neither hooks nor switches touch.
    fn mix_floating_point(&mut self) {
        #[repr(align(16))]
        struct Area([u8; 512]);
        let mut area = Area([0; 512]);
        // SAFETY: writes 512 bytes to an aligned address.
        unsafe { core::arch::x86_64::_fxsave64(area.0.as_mut_ptr()) };
        // Control, status and tags, but not where the last instruction was.
        self.write(&area.0[..5]);
        self.write(&area.0[32..160]);
    }

    /// What a thread goes on with; hides what of its stack is not the program's.
    fn mix_thread(&mut self, thread: &Thread, hidden: &mut Vec<Range<usize>>) -> Option<()> {
        if thread.queue.is_some() {
            return None;
        }
        let pending = ENGINE.pending(thread.index);
        pending.hash(self);
        thread.index.hash(self);
        thread.wait.get().hash(self);
        (thread.woken.get(), thread.token.get()).hash(self);
        (thread.mask.get(), thread.signals.get()).hash(self);
        let cancel = &thread.cancel;
        (cancel.requested.get(), cancel.disabled.get()).hash(self);
        let lowest = match pending.kind {
            EventKind::Start => verdict::registers(thread)?.stack_pointer(),
            _ => self.mix_registers(thread)?,
        };
        let (start, end) = thread.stack.get();
        // Whoever is on another stack than its own has frames there that nobody knows.
        (start..end).contains(&lowest).then_some(())?;
        hidden.push(start..lowest);
        // What is in use of it, which may be little, tells most moments apart.
        self.mix_pages(lowest..end);
        Some(())
    }

    /// What a thread that has come into the runtime holds in registers; from where on its
    /// stack is the program's.
    fn mix_registers(&mut self, thread: &Thread) -> Option<usize> {
        let registers = match thread.index == ENGINE.current().index {
            true => Registers::here(),
            false => verdict::registers(thread)?,
        };
        let bounds = [thread.stack.get(), thread.alternate.get().bounds()];
        let entrance = unwind::entrance(registers, &bounds)?;
        entrance.values.hash(self);
        for address in entrance.vectors.step_by(size_of::<u64>()) {
            // SAFETY: on the stack of the thread, saved by its hook.
            self.write_u64(unsafe { *(address as *const u64) });
        }
        Some(entrance.lowest)
    }

    /// Who has waited longest.
    fn mix_order(&mut self) {
        let mut order = Vec::new();
        ENGINE.each_live(|thread| order.push((thread.since.get(), thread.index)));
        order.sort_unstable();
        for (_, thread) in order {
            thread.hash(self);
        }
        signals::has_handlers().hash(self);
    }

    /// The content of all memory that can be written to, but for what is hidden.
    fn mix_memory(&mut self, hidden: &[Range<usize>]) -> Option<()> {
        let pieces = rewind::memory(|_| true)?;
        let path = c"/proc/self/pagemap".as_ptr() as usize;
        let flags = (libc::O_RDONLY | libc::O_CLOEXEC) as usize;
        let open = [libc::AT_FDCWD as usize, path, flags, 0, 0, 0];
        // SAFETY: opens a file for reading.
        let file = unsafe { system::try_call(libc::SYS_openat, open) }.ok()? as i32;
        let mut found = Box::new([PageRegion::NONE; REGIONS]);
        let readable = |access: i32| access & libc::PROT_READ != 0;
        let told = pieces
            .into_iter()
            .filter(|piece| piece.is_writable() && readable(piece.access))
            .try_for_each(|piece| {
                visible(piece.range, hidden, |range| {
                    let (first, last) = (range.start & !(PAGE - 1), range.end);
                    let pages = first..last.next_multiple_of(PAGE);
                    PageMap(file).scan(&mut found, pages, 0, [0, 0], |there| {
                        let (start, end) = (there.start.max(first), there.end.min(last));
                        self.mix_pages(start.max(range.start)..end);
                    })
                })
            });
        system::close(file);
        told
    }

    /// Content that is there. Pages of nothing but zeroes count as if they were not:
    /// whether they are there is the kernel's business.
    fn mix_pages(&mut self, range: Range<usize>) {
        let mut start = range.start;
        while start < range.end {
            let end = (start + 1).next_multiple_of(PAGE).min(range.end);
            // Pages that are forbidden one by one are told as if they were there.
            if peek(start, 1).is_some() {
                // SAFETY: memory that can be read, and nobody else runs.
                let bytes = unsafe { slice::from_raw_parts(start as *const u8, end - start) };
                self.mix_page(start, bytes);
            }
            start = end;
        }
    }

    fn mix_page(&mut self, start: usize, bytes: &[u8]) {
        if bytes.iter().any(|&byte| byte != 0) {
            self.1 += bytes.len();
            self.write_u64(start as u64);
            self.write(bytes);
        }
    }
}

/// Hands out the parts of a range that are not hidden; these are ascending.
fn visible(
    range: Range<usize>,
    hidden: &[Range<usize>],
    mut take: impl FnMut(Range<usize>) -> Option<()>,
) -> Option<()> {
    let mut start = range.start;
    for gap in hidden {
        if gap.start >= range.end {
            break;
        }
        if gap.start > start {
            take(start..gap.start)?;
        }
        start = start.max(gap.end);
    }
    match start < range.end {
        true => take(start..range.end),
        false => Some(()),
    }
}
