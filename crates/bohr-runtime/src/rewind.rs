//! Many runs in one clone: a run that has left nothing behind but memory is
//! undone by copying the pages that it has written to back, a few microseconds
//! of work where a clone takes hundreds.
//!
//! The clone stands where runs begin and keeps a copy of the pages that earlier
//! runs are known to have written to. After a run the kernel tells which pages
//! were. If there is a copy of each, all are put back, and the next run begins;
//! if not, the new ones are noted for the clones to come, and this one ends, as it
//! does when anything but memory has changed ([`crate::footprint`]).
//!
//! That work is done by a fiber of its own, on memory that nobody watches: it goes
//! on to the run, which suspends the fiber that it came from, and that is the
//! moment to which memory is put back.

mod written;

use crate::{
    addresses,
    carrier::CarrierOnly,
    engine::ENGINE,
    footprint::{mappings, withheld},
    heap,
    ledger::{Ledger, Summary},
    offspring, output, system,
};
use alloc::vec::Vec;
use bohr_fiber::{Body, Fiber, StackRegion};
use core::{cell::Cell, ops::Range, ptr};
use written::{Extent, Written, private_memory};
pub use written::{PAGE, memory};

/// Pages of which there are copies; a run that writes to more is not undone.
pub const MOST_PAGES: usize = 4096;
/// Runs of one clone.
pub const MOST_RUNS: u64 = 1024;
/// The stack of the fiber that puts memory back.
const STACK: usize = 256 << 10;

/// The fiber that puts memory back, with all that it needs. It lies in memory of
/// its own, since what it puts back is everything else.
struct Rewinder {
    fiber: Fiber,
    written: Written,
    ledger: Ledger,
    /// Runs to be done here.
    runs: u64,
    /// Runs that have been.
    done: u64,
    /// When the clone began.
    since: u64,
    /// Who stands where runs begin.
    beginning: *const Fiber,
    /// Who came to the end of the run, and what is to be told of it.
    ended: *const Fiber,
    summary: Summary,
    /// Pages with a copy, ascending.
    known: usize,
    pages: [usize; MOST_PAGES],
    /// Positions in `pages` of those that the run has written to.
    touched: [u16; MOST_PAGES],
}

/// Where the copy of the page at this position is.
fn copy_of(position: usize) -> *mut u8 {
    (addresses::COPIES + position * PAGE) as *mut u8
}

/// Null where nothing is put back.
#[unsafe(link_section = "bohr_hot")]
static REWINDER: CarrierOnly<Cell<*mut Rewinder>> = CarrierOnly::new(Cell::new(ptr::null_mut()));

/// In a clone, where runs begin: returns for each of up to `runs` runs, with the
/// number of those that have been undone.
pub fn stand(ledger: Ledger, runs: u64) -> u64 {
    let Some(fiber) = running() else {
        return 0;
    };
    let Some(rewinder) = Rewinder::prepare(ledger, runs, fiber) else {
        return 0;
    };
    REWINDER.set(rewinder);
    // SAFETY: made by `prepare`, and never unmapped.
    fiber.switch_to(unsafe { &(*rewinder).fiber });
    // SAFETY: as above. Nobody else runs now.
    let done = unsafe { (*rewinder).done };
    if done > 0 {
        output::reset();
        output::restore_offsets();
    }
    done
}

/// At the end of a run that has left nothing but memory: undoes it. Returns if
/// that is not possible.
pub fn undo(summary: Summary) {
    let rewinder = REWINDER.replace(ptr::null_mut());
    let (false, Some(fiber)) = (rewinder.is_null(), running()) else {
        return;
    };
    // SAFETY: made by `prepare`, and never unmapped; its fiber is suspended.
    unsafe {
        (*rewinder).ended = fiber;
        (*rewinder).summary = summary;
        fiber.switch_to(&(*rewinder).fiber);
    }
}

/// The fiber that this runs on.
fn running() -> Option<&'static Fiber> {
    // SAFETY: null, or the fiber of a live thread, which stays where it is.
    unsafe { ENGINE.current().fiber.get().as_ref() }
}

/// A part of the heap is used for the first time: the clones to come have it from
/// the beginning.
pub fn note_region(start: usize) {
    // SAFETY: null, or made by `prepare`.
    if let Some(rewinder) = unsafe { REWINDER.get().as_ref() } {
        rewinder.ledger.learn(start);
    }
}

impl Rewinder {
    fn prepare(ledger: Ledger, runs: u64, beginning: &'static Fiber) -> Option<*mut Rewinder> {
        ledger.learnt().for_each(heap::map_ahead);
        let pieces = private_memory()?;
        let writable = pieces.iter().filter(|piece| piece.is_writable());
        let memory: Vec<Range<usize>> = writable.map(|piece| piece.range.clone()).collect();
        let body = Body {
            run: serve,
            finish,
            argument: 0,
        };
        let stack = StackRegion::map_at(addresses::REWINDER_STACK, STACK).ok()?;
        let length = size_of::<Rewinder>().next_multiple_of(PAGE);
        let own = system::map_at(addresses::REWINDER, length, false).ok()? as *mut Rewinder;
        system::map_at(addresses::COPIES, MOST_PAGES * PAGE, false).ok()?;
        let written = Written::watch(&memory)?;
        let fiber = Fiber::aside(stack, body).ok()?;
        // SAFETY: fresh memory, as long as is needed; zeroes are valid in what is
        // not set here.
        unsafe {
            (&raw mut (*own).fiber).write(fiber);
            (&raw mut (*own).written).write(written);
            (&raw mut (*own).ledger).write(ledger);
            (*own).runs = runs.min(MOST_RUNS);
            (*own).since = system::monotonic();
            (*own).beginning = beginning;
            (*own).know(ledger.learnt().collect(), &memory);
        }
        withheld::know(pieces);
        Some(own)
    }

    /// Notes which pages to copy: those learnt that there are.
    fn know(&mut self, mut learnt: Vec<usize>, memory: &[Range<usize>]) {
        learnt.sort_unstable();
        learnt.dedup();
        let there = |page: &usize| memory.iter().any(|range| range.contains(page));
        for page in learnt.into_iter().filter(there) {
            self.pages[self.known] = page;
            self.known += 1;
        }
    }

    /// The moment to which memory is put back.
    fn begin(&mut self) -> Option<()> {
        self.written.protect()?;
        for (position, &page) in self.pages[..self.known].iter().enumerate() {
            // SAFETY: the page is memory of this process, and the copy ours.
            unsafe { ptr::copy_nonoverlapping(page as *const u8, copy_of(position), PAGE) };
        }
        Some(())
    }

    /// Finds the pages that the run has written to; how many there are with a copy,
    /// and whether there are others.
    fn find_touched(&mut self, extent: Extent) -> Option<(usize, bool)> {
        let known = &self.pages[..self.known];
        let (mut position, mut touched, mut strange) = (0, 0, false);
        let (ledger, list) = (self.ledger, &mut self.touched);
        self.written.each(extent, |page| {
            while known.get(position).is_some_and(|&other| other < page) {
                position += 1;
            }
            match known.get(position) == Some(&page) {
                true => {
                    list[touched] = position as u16;
                    touched += 1;
                }
                false => {
                    strange = true;
                    ledger.learn(page);
                }
            }
        })?;
        Some((touched, strange))
    }

    /// Puts memory back. `None` if that is not possible; then nothing is changed.
    fn rewind(&mut self) -> Option<()> {
        let (mut touched, mut strange) = self.find_touched(Extent::Inhabited)?;
        if strange || !self.written.are_all(touched) {
            (touched, strange) = self.find_touched(Extent::Whole)?;
            self.written.note_all(touched);
        }
        if strange {
            return None;
        }
        mappings::unmap();
        withheld::put_back()?;
        for &position in &self.touched[..touched] {
            let position = usize::from(position);
            let page = self.pages[position] as *mut u8;
            // SAFETY: the page was written to, so it can be; nobody runs but this
            // fiber, whose own memory is not among the pages.
            unsafe { ptr::copy_nonoverlapping(copy_of(position), page, PAGE) };
        }
        Some(())
    }

    fn is_over(&self) -> bool {
        self.done == self.runs || system::monotonic() - self.since > offspring::TICK
    }
}

/// What the fiber does.
extern "C-unwind" fn serve(_: usize) {
    // SAFETY: `prepare` has made it before the fiber was.
    let rewinder = unsafe { &mut *(addresses::REWINDER as *mut Rewinder) };
    let possible = rewinder.begin().is_some();
    loop {
        // SAFETY: the fiber of a live thread, suspended at the moment to which
        // memory was put back.
        rewinder.fiber.switch_to(unsafe { &*rewinder.beginning });
        rewinder.done += 1;
        if rewinder.is_over() {
            rewinder.ledger.add_undone(&rewinder.summary);
            rewinder.ledger.rest();
            system::exit(0);
        }
        if !possible || rewinder.rewind().is_none() {
            // SAFETY: it has just suspended itself, and is as it was.
            rewinder.fiber.switch_to(unsafe { &*rewinder.ended });
        }
        rewinder.ledger.add_undone(&rewinder.summary);
    }
}

extern "C" fn finish(_: usize, _: bool) -> ! {
    system::exit(0)
}
