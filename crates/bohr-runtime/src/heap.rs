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

pub use block::{Header, State};

use crate::{addresses, carrier::CarrierOnly};
use alloc::vec::Vec;
use block::SIZE as HEADER;
use core::{
    cell::{Cell, RefCell},
    sync::atomic::{AtomicBool, Ordering},
};
use region::Region;

/// The heap: its regions and who allocates from which.
struct Heap {
    /// By region number; regions are mapped at first use.
    regions: RefCell<Vec<Region>>,
    /// Number of the running thread's region.
    current: Cell<usize>,
    /// Path hashes of the threads that regions belong to.
    owners: RefCell<Vec<u64>>,
}

static HEAP: CarrierOnly<Heap> = CarrierOnly::new(Heap {
    regions: RefCell::new(Vec::new()),
    current: Cell::new(0),
    owners: RefCell::new(Vec::new()),
});

/// Held while threads of the system may run side by side: before control
/// begins, and in processes that the target starts itself.
static BUSY: AtomicBool = AtomicBool::new(false);

/// What `free` found wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misuse {
    /// The block has been freed before.
    DoubleFree,
    /// There is no block at this address, or its header was overwritten.
    NoBlock,
}

fn alone<R>(action: impl FnOnce() -> R) -> R {
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

/// The region of the thread with this path hash. The main thread's hash is 0
/// and its region number 0.
pub fn region_of(path: u64) -> usize {
    let mut owners = HEAP.owners.borrow_mut();
    if owners.is_empty() {
        owners.resize(addresses::HEAP_REGIONS, 0);
    }
    let places = addresses::HEAP_REGIONS - 1;
    let wanted = (path % places as u64) as usize;
    // Another thread in the same place moves this one to the next.
    for distance in 0..places {
        let region = 1 + (wanted + distance) % places;
        if owners[region] == 0 || owners[region] == path {
            owners[region] = path;
            return region;
        }
    }
    // More threads than regions: share.
    1 + wanted
}

/// A block of at least `size` bytes, aligned to `alignment`, a power of two.
/// Gives 0 if there is no memory left.
pub fn allocate(size: usize, alignment: usize) -> usize {
    let extra = if alignment > HEADER { alignment } else { 0 };
    let Some(total) = size.checked_add(extra) else {
        return 0;
    };
    let payload = alone(|| with_region(HEAP.current.get(), |region| region.take(total)));
    if payload == 0 || extra == 0 {
        return payload;
    }
    let aligned = payload.next_multiple_of(alignment);
    if aligned != payload {
        Header::shift(payload, aligned);
    }
    aligned
}

fn with_region<R>(number: usize, action: impl FnOnce(&mut Region) -> R) -> R {
    let mut regions = HEAP.regions.borrow_mut();
    while regions.len() <= number {
        let start = addresses::HEAP + regions.len() * addresses::HEAP_REGION;
        regions.push(Region::new(start));
    }
    action(&mut regions[number])
}

/// Gives a block back.
pub fn release(payload: usize) -> Result<(), Misuse> {
    let payload = origin(payload)?;
    let number = (payload - addresses::HEAP) / addresses::HEAP_REGION;
    alone(|| with_region(number, |region| region.give(payload)));
    Ok(())
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

/// Whether the address lies in a block that has been freed and not been given
/// out again. Says no where it cannot tell.
pub fn is_freed(address: usize) -> bool {
    if !addresses::in_heap(address) {
        return false;
    }
    let number = (address - addresses::HEAP) / addresses::HEAP_REGION;
    let regions = HEAP.regions.borrow();
    regions
        .get(number)
        .is_some_and(|region| region.is_freed(address))
}
