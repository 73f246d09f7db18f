//! The target's heap, at the same addresses in every run.
//!
//! Each thread allocates from a region of its own, chosen by its path, so that
//! removing a thread from an execution moves nobody else's objects. Freed
//! blocks wait in a quarantine before they are used again; a block that is
//! freed twice is noticed by the state in its header.
//!
//! ```text
//!   block     ┌ header: size, origin, state, class ┐ payload …
//!             address                                address + 16 (what malloc gives)
//!   aligned   the same header again right before the payload, with state
//!             `Shifted` and the distance to the real one in place of the size
//! ```

mod block;
mod region;
pub mod shadow;

pub use block::{Header, State};

use crate::{addresses, carrier::CarrierOnly, control, notices, rewind, system_calls::limits};
use alloc::collections::BTreeMap;
use block::SIZE as HEADER;
use bohr_event::{ThreadIndex, control::Notice};
use core::{
    cell::{Cell, RefCell},
    sync::atomic::{AtomicBool, Ordering},
};
use region::Region;

/// The heap: which regions exist, and from which the running thread allocates.
struct Heap {
    /// One bit per region that has been mapped.
    mapped: [Cell<u64>; addresses::HEAP_REGIONS / 64],
    /// Number of the running thread's region.
    current: Cell<usize>,
    /// Bytes of all blocks that are given out.
    in_use: Cell<usize>,
    /// Regions that belong to a thread, with the hash of its path. Apart from
    /// the regions themselves, since most threads never allocate.
    owners: RefCell<BTreeMap<usize, u64>>,
}

#[unsafe(link_section = "bohr_hot")]
static HEAP: CarrierOnly<Heap> = CarrierOnly::new(Heap {
    mapped: [const { Cell::new(0) }; addresses::HEAP_REGIONS / 64],
    current: Cell::new(0),
    in_use: Cell::new(0),
    owners: RefCell::new(BTreeMap::new()),
});

/// Held while threads of the system may run side by side: before control
/// begins, in processes that the target starts itself, and where it has made threads
/// past the C library.
#[unsafe(link_section = "bohr_hot")]
static BUSY: AtomicBool = AtomicBool::new(false);

/// Who asks for so much asks in order to be refused.
const BEYOND: usize = 1 << 40;

/// What `free` found wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misuse {
    /// The block has been freed before.
    DoubleFree,
    /// There is no block at this address, or its header was overwritten.
    NoBlock,
}

fn alone<R>(action: impl FnOnce() -> R) -> R {
    if !control::is_shared() && control::is_on() {
        return action();
    }
    while BUSY.swap(true, Ordering::Acquire) {
        core::hint::spin_loop();
    }
    let result = action();
    BUSY.store(false, Ordering::Release);
    result
}

/// Makes the running thread allocate from this region.
pub fn set_region(region: usize) {
    HEAP.current.set(region);
}

/// While it lives, allocations come from a region that belongs to no thread:
/// what bohr has the C library do on its own account must not move a block of
/// the program.
pub struct OwnAccount {
    before: usize,
}

impl OwnAccount {
    const REGION: usize = addresses::HEAP_REGIONS - 1;

    /// Begins.
    pub fn open() -> OwnAccount {
        let before = HEAP.current.get();
        HEAP.current.set(OwnAccount::REGION);
        OwnAccount { before }
    }
}

impl Drop for OwnAccount {
    fn drop(&mut self) {
        HEAP.current.set(self.before);
    }
}

/// The region of the thread with this path hash; the main thread's is number 0.
pub fn region_of(path: u64) -> usize {
    // Without the main thread's and the one of no thread.
    let places = addresses::HEAP_REGIONS - 2;
    let wanted = (path % places as u64) as usize;
    let mut owners = HEAP.owners.borrow_mut();
    // Another thread in the same place moves this one to the next; where there
    // are more threads than regions, they share.
    if owners.len() == places {
        return 1 + wanted;
    }
    let number = (0..places)
        .map(|distance| 1 + (wanted + distance) % places)
        .find(|number| owners.get(number).is_none_or(|&owner| owner == path))
        .unwrap_or(1 + wanted);
    owners.entry(number).or_insert(path);
    number
}

/// The region with this number, mapped at its first use; `None` if there is no
/// address space for it.
fn region(number: usize) -> Option<&'static mut Region> {
    let start = addresses::HEAP + number * addresses::HEAP_REGION;
    let (word, bit) = (&HEAP.mapped[number / 64], 1 << (number % 64));
    if word.get() & bit == 0 {
        if !Region::map(start) || !shadow::map(start) {
            return None;
        }
        word.set(word.get() | bit);
        rewind::note_region(start);
    }
    Some(Region::at(start))
}

/// Has the region around an address ready, if it is one of the heap.
pub fn map_ahead(address: usize) {
    if addresses::in_heap(address) {
        // Where there is no address space, its first use will tell.
        region((address - addresses::HEAP) / addresses::HEAP_REGION);
    }
}

/// A block of at least `size` bytes, aligned to `alignment`, a power of two.
/// Gives 0 if there is no memory left.
pub fn allocate(size: usize, alignment: usize) -> usize {
    let extra = if alignment > HEADER { alignment } else { 0 };
    let Some(total) = size.checked_add(extra) else {
        return 0;
    };
    if !limits::leave_room(total) {
        return 0;
    }
    let payload = alone(|| {
        let payload = region(HEAP.current.get()).map_or(0, |region| region.take(total));
        if payload != 0 {
            let size = Header::of(payload).size();
            HEAP.in_use.set(HEAP.in_use.get() + size);
        }
        payload
    });
    if payload == 0 {
        if size < BEYOND {
            notices::note(Notice::HeapLimit);
        }
        return payload;
    }
    Header::of(payload).set_asked(size);
    if extra == 0 {
        return payload;
    }
    let aligned = payload.next_multiple_of(alignment);
    if aligned != payload {
        Header::shift(payload, aligned);
    }
    aligned
}

/// Gives a block back.
pub fn release(payload: usize) -> Result<(), Misuse> {
    let payload = origin(payload)?;
    let number = (payload - addresses::HEAP) / addresses::HEAP_REGION;
    alone(|| {
        let region = region(number).ok_or(Misuse::NoBlock)?;
        let size = Header::of(payload).size();
        HEAP.in_use.set(HEAP.in_use.get().saturating_sub(size));
        region.give(payload);
        Ok(())
    })
}

/// Bytes that the program has in blocks.
pub fn in_use() -> usize {
    HEAP.in_use.get()
}

/// The address that the block behind `payload` really begins at.
fn origin(payload: usize) -> Result<usize, Misuse> {
    if !addresses::in_heap(payload) || !payload.is_multiple_of(HEADER) {
        return Err(Misuse::NoBlock);
    }
    let header = Header::of(payload);
    match header.state() {
        Some(State::Used) => Ok(payload),
        Some(State::Freed) => Err(Misuse::DoubleFree),
        Some(State::Shifted) => {
            let payload = payload.wrapping_sub(header.size());
            match Header::of(payload).state() {
                Some(State::Used) => Ok(payload),
                Some(State::Freed) => Err(Misuse::DoubleFree),
                _ => Err(Misuse::NoBlock),
            }
        }
        None => Err(Misuse::NoBlock),
    }
}

/// How many bytes may be used from `payload` on; 0 if there is no block.
pub fn usable(payload: usize) -> usize {
    match origin(payload) {
        Ok(start) => Header::of(start).size() - (payload - start),
        Err(_) => 0,
    }
}

/// The program wants another size of a block whose usable bytes suffice.
pub fn resize_within(payload: usize, size: usize) {
    if let Ok(start) = origin(payload) {
        Header::of(start).set_asked(size);
    }
}

/// Of the block in quarantine that the address lies in: how many bytes the program
/// had asked for, and the thread that freed it. Slow: for the end of a failing run.
pub fn freed_block(address: usize) -> Option<(usize, ThreadIndex)> {
    if !addresses::in_heap(address) || !shadow::is_freed(address) {
        return None;
    }
    let mut payload = address & !(HEADER - 1);
    while shadow::is_freed(payload - HEADER) {
        payload -= HEADER;
    }
    let header = Header::of(payload);
    Some((header.asked(), header.freed_by()))
}
