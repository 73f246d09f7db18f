//! The heap functions. They never go to the C library's: a block that was given
//! out before control began is freed under control.

use super::{caller, interpose};
use crate::{
    control,
    engine::{ENGINE, operation},
    heap::{self, Misuse},
    objects::{self, OBJECTS},
    probe, verdict,
};
use bohr_event::{EventKind, FailureKind, Operation};
use core::{ffi::c_void, ptr};

/// Alignment of ordinary blocks.
const USUAL: usize = 16;

/// Heap calls are events where they come from an instrumented site: only there
/// can what others do with a block be told from what its owner does. Calls from
/// inside a library are none: a switch there could leave its locks taken.
fn note(kind: EventKind, address: usize, size: usize, place: u64) {
    if objects::is_site(place) && control::is_on() {
        ENGINE.step(Operation {
            size: u32::try_from(size).unwrap_or(u32::MAX),
            ..operation(kind, address, place)
        });
    }
}

fn allocate(size: usize, alignment: usize, place: u64) -> *mut c_void {
    let address = heap::allocate(size, alignment);
    if address == 0 {
        // SAFETY: `errno` is always there.
        unsafe { *libc::__errno_location() = libc::ENOMEM };
    } else {
        given_out(address, size, place);
    }
    address as *mut c_void
}

fn given_out(address: usize, size: usize, place: u64) {
    if control::is_on() {
        // Which block is next, the heap knows, and not the program.
        ENGINE.note_strange();
        probe::allocated(address, size.max(1));
        note(EventKind::Alloc, address, size, place);
    }
}

fn zeroed(size: usize, place: u64) -> *mut c_void {
    let block = allocate(size, USUAL, place);
    if !block.is_null() {
        // SAFETY: a fresh block of at least this size.
        unsafe { ptr::write_bytes(block.cast::<u8>(), 0, size) };
    }
    block
}

fn give_back(block: *mut c_void, place: u64) {
    if block.is_null() {
        return;
    }
    let usable = heap::usable(block as usize);
    note(EventKind::Free, block as usize, usable, place);
    match heap::release(block as usize) {
        // Who frees it again is not who freed it, even if both meant to at once.
        Err(misuse) => refuse(misuse, block as usize, place),
        Ok(()) if control::is_on() => probe::freed(block as usize, usable),
        Ok(()) => {}
    }
}

fn refuse(misuse: Misuse, address: usize, place: u64) {
    if !control::is_on() {
        crate::system::say("bohr: free of an address that is no heap block\n");
        crate::system::exit(134);
    }
    let (kind, message) = match misuse {
        Misuse::DoubleFree => (FailureKind::DoubleFree, "a heap block was freed twice"),
        Misuse::NoBlock => (
            FailureKind::Abort,
            "free of an address that is no heap block, or its header was overwritten",
        ),
    };
    verdict::fail_at(kind, message, Some(OBJECTS.place(place)), address)
}

unsafe fn resize(block: *mut c_void, size: usize, place: u64) -> *mut c_void {
    if block.is_null() {
        return allocate(size, USUAL, place);
    }
    let usable = heap::usable(block as usize);
    // Growing within the block and small shrinking stay in place.
    if size <= usable && size >= usable / 2 && usable > 0 {
        heap::resize_within(block as usize, size);
        return block;
    }
    let moved = allocate(size, USUAL, place);
    if !moved.is_null() {
        // SAFETY: both blocks have that many bytes and do not overlap.
        unsafe { ptr::copy_nonoverlapping(block.cast::<u8>(), moved.cast(), usable.min(size)) };
        give_back(block, place);
    }
    moved
}

interpose! {
    fn malloc(size: usize) -> *mut c_void {
        allocate(size, USUAL, caller())
    }

    fn calloc(count: usize, size: usize) -> *mut c_void {
        let place = caller();
        match count.checked_mul(size) {
            Some(total) => zeroed(total, place),
            None => allocate(usize::MAX, USUAL, place),
        }
    }

    fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
        // SAFETY: the program passes null or a block.
        unsafe { resize(block, size, caller()) }
    }

    fn reallocarray(block: *mut c_void, count: usize, size: usize) -> *mut c_void {
        let place = caller();
        let total = count.saturating_mul(size);
        // SAFETY: the program passes null or a block.
        unsafe { resize(block, total, place) }
    }

    fn free(block: *mut c_void) {
        give_back(block, caller());
    }

    fn cfree(block: *mut c_void) {
        give_back(block, caller());
    }

    fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void {
        allocate(size, alignment.next_power_of_two().max(USUAL), caller())
    }

    fn memalign(alignment: usize, size: usize) -> *mut c_void {
        allocate(size, alignment.next_power_of_two().max(USUAL), caller())
    }

    fn posix_memalign(block: *mut *mut c_void, alignment: usize, size: usize) -> i32 {
        let place = caller();
        if !alignment.is_power_of_two() || !alignment.is_multiple_of(size_of::<usize>()) {
            return libc::EINVAL;
        }
        let found = heap::allocate(size, alignment.max(USUAL));
        if found == 0 {
            return libc::ENOMEM;
        }
        given_out(found, size, place);
        // SAFETY: the program wants the block there.
        unsafe { *block = found as *mut c_void };
        0
    }

    fn valloc(size: usize) -> *mut c_void {
        allocate(size, 4096, caller())
    }

    fn pvalloc(size: usize) -> *mut c_void {
        allocate(size.next_multiple_of(4096), 4096, caller())
    }

    fn malloc_usable_size(block: *mut c_void) -> usize {
        heap::usable(block as usize)
    }
}
