//! Connections that threads made or were asked for: at solving time, nobody is there.
//! Those of the program to itself are its own.

use crate::opening::opened;
use crate::outside::{self, LISTENERS, is_own, note, result};
use crate::real::real;
use crate::thread::{keeping_errno, known};
use bohr_event::inputs::Question;
use core::mem;
use libc::{c_int, c_void};

/// Where a socket waits for connections.
fn with_place<R>(descriptor: c_int, action: impl FnOnce(&[u8]) -> R) -> R {
    // SAFETY: plain data, which the call fills.
    unsafe {
        let mut place: libc::sockaddr_storage = mem::zeroed();
        let mut length = size_of_val(&place) as u32;
        if libc::getsockname(descriptor, (&raw mut place).cast(), &raw mut length) != 0 {
            length = 0;
        }
        let length = size_of_val(&place).min(length as usize);
        action(outside::bytes((&raw const place).cast(), length))
    }
}

/// Shadows the C library's.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn listen(descriptor: c_int, most: c_int) -> c_int {
    let real = real!(fn listen(c_int, c_int) -> c_int);
    // Before anybody can connect.
    keeping_errno(|| with_place(descriptor, |place| LISTENERS.listens(place)));
    // SAFETY: passes on what the program passed.
    unsafe { real(descriptor, most) }
}

/// Shadows the C library's. A connection that is still being made is answered like
/// one that is not: by its error.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn connect(
    descriptor: c_int,
    address: *const c_void,
    length: u32,
) -> c_int {
    let real = real!(fn connect(c_int, *const c_void, u32) -> c_int);
    // SAFETY: passes on what the program passed.
    unsafe {
        // Before whoever waits can know of it.
        let to_itself = LISTENERS.connects(outside::bytes(address, length as usize));
        if to_itself {
            keeping_errno(|| is_own(descriptor));
        }
        let returned = real(descriptor, address, length);
        if !to_itself && known().is_some() {
            let result = result(returned as isize);
            keeping_errno(|| note(Question::Open, result, &[]));
        }
        returned
    }
}

/// Shadows the C library's.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn accept(
    descriptor: c_int,
    address: *mut c_void,
    length: *mut u32,
) -> c_int {
    let real = real!(fn accept(c_int, *mut c_void, *mut u32) -> c_int);
    // SAFETY: passes on what the program passed, and reads what it got.
    unsafe {
        let room = outside::room(length);
        let new = real(descriptor, address, length);
        accepted((descriptor, new), address, length, room)
    }
}

/// Shadows the C library's.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn accept4(
    descriptor: c_int,
    address: *mut c_void,
    length: *mut u32,
    flags: c_int,
) -> c_int {
    let real = real!(fn accept4(c_int, *mut c_void, *mut u32, c_int) -> c_int);
    // SAFETY: passes on what the program passed, and reads what it got.
    unsafe {
        let room = outside::room(length);
        let new = real(descriptor, address, length, flags);
        accepted((descriptor, new), address, length, room)
    }
}

unsafe fn accepted(
    (listener, new): (c_int, c_int),
    address: *const c_void,
    length: *const u32,
    room: u32,
) -> c_int {
    let mut to_itself = false;
    keeping_errno(|| to_itself = with_place(listener, |place| LISTENERS.visits(place)));
    if to_itself {
        keeping_errno(|| is_own(new));
        return new;
    }
    let peer = match new {
        // SAFETY: as the call has left them.
        0.. => unsafe { outside::address(address, length, room) },
        _ => &[],
    };
    opened(new, peer)
}
