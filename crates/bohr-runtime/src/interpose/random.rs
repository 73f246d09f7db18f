//! Randomness from the system: the same in every run.

use super::interpose;
use crate::{carrier::CarrierOnly, control, engine::ENGINE, given, real::real};
use core::{cell::Cell, ffi::c_void, slice};

/// State of a generator that only has to be the same everywhere (SplitMix64).
#[unsafe(link_section = "bohr_hot")]
static STATE: CarrierOnly<Cell<u64>> = CarrierOnly::new(Cell::new(0));

fn next() -> u64 {
    STATE.set(STATE.get().wrapping_add(0x9e37_79b9_7f4a_7c15));
    let mut mixed = STATE.get();
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Fills the buffer.
///
/// # Safety
/// The buffer must be writable for that many bytes.
pub unsafe fn fill(buffer: *mut c_void, length: usize) {
    ENGINE.note_strange();
    // SAFETY: the caller vouches for it.
    let buffer = unsafe { slice::from_raw_parts_mut(buffer.cast::<u8>(), length) };
    if let Some(given) = given::random(length) {
        buffer.copy_from_slice(&given);
        return;
    }
    for chunk in buffer.chunks_mut(8) {
        chunk.copy_from_slice(&next().to_le_bytes()[..chunk.len()]);
    }
}

interpose! {
    fn getrandom(buffer: *mut c_void, length: usize, flags: u32) -> isize {
        if !control::is_on() {
            let get = real!(fn getrandom(*mut c_void, usize, u32) -> isize);
            // SAFETY: passes on what the program passed.
            return unsafe { get(buffer, length, flags) };
        }
        // SAFETY: the program wants the bytes there.
        unsafe { fill(buffer, length) };
        length as isize
    }

    fn getentropy(buffer: *mut c_void, length: usize) -> i32 {
        if !control::is_on() {
            let get = real!(fn getentropy(*mut c_void, usize) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { get(buffer, length) };
        }
        // SAFETY: the program wants the bytes there.
        unsafe { fill(buffer, length) };
        0
    }

    fn arc4random() -> u32 {
        if !control::is_on() {
            let get = real!(fn arc4random() -> u32);
            // SAFETY: passes on the call.
            return unsafe { get() };
        }
        given::number().unwrap_or_else(next) as u32
    }

    fn arc4random_buf(buffer: *mut c_void, length: usize) {
        if !control::is_on() {
            let get = real!(fn arc4random_buf(*mut c_void, usize));
            // SAFETY: passes on what the program passed.
            return unsafe { get(buffer, length) };
        }
        // SAFETY: the program wants the bytes there.
        unsafe { fill(buffer, length) }
    }

    fn arc4random_uniform(bound: u32) -> u32 {
        if !control::is_on() {
            let get = real!(fn arc4random_uniform(u32) -> u32);
            // SAFETY: passes on what the program passed.
            return unsafe { get(bound) };
        }
        match (given::number(), bound) {
            (Some(number), _) => number as u32,
            (None, 0) => 0,
            (None, bound) => (next() % u64::from(bound)) as u32,
        }
    }

    // std::random_device::_M_getval, which asks the processor if it can.
    fn _ZNSt13random_device9_M_getvalEv(device: *mut c_void) -> u32 {
        if !control::is_on() {
            let get = real!(fn _ZNSt13random_device9_M_getvalEv(*mut c_void) -> u32);
            // SAFETY: passes on what the program passed.
            return unsafe { get(device) };
        }
        given::number().unwrap_or_else(next) as u32
    }

    fn rand() -> i32 {
        let own = real!(fn rand() -> i32);
        let given = if control::is_on() { given::number() } else { None };
        // SAFETY: passes on the call.
        given.map_or_else(|| unsafe { own() }, |number| number as i32)
    }

    fn random() -> i64 {
        let own = real!(fn random() -> i64);
        let given = if control::is_on() { given::number() } else { None };
        // SAFETY: passes on the call.
        given.map_or_else(|| unsafe { own() }, |number| number as i64)
    }
}
