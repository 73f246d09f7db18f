//! What threads read from files, pipes and sockets, by the names of the C library;
//! [`crate::streams`] sees what it reads for its own buffers.

use crate::outside::{self, leads_outside, note, result};
use crate::real::real;
use crate::thread::known;
use bohr_event::inputs::Question;
use core::slice;
use libc::{c_int, c_void, iovec, msghdr};

/// Pieces of one transfer that are looked at; more, and the answer is not kept.
const MOST_PIECES: usize = 64;

/// A thread has read into a buffer.
///
/// # Safety
/// The buffer must be as a call has left it that returned this.
pub unsafe fn has_read(descriptor: c_int, buffer: *const c_void, length: usize, returned: isize) {
    // SAFETY: the caller's promise.
    unsafe { came(descriptor, (buffer, length), returned, &[]) }
}

/// The same, with the address of who sent it.
unsafe fn came(
    descriptor: c_int,
    (buffer, length): (*const c_void, usize),
    returned: isize,
    sender: &[u8],
) {
    if known().is_some() {
        let result = result(returned);
        crate::thread::keeping_errno(|| {
            if leads_outside(descriptor) {
                // A message that was cut off returns more than there is.
                let read = length.min(returned.max(0) as usize);
                // SAFETY: the caller's promise.
                let bytes = unsafe { outside::bytes(buffer, read) };
                note(Question::Read, result, &[bytes, sender]);
            }
        });
    }
}

/// A thread has read into several pieces.
unsafe fn came_in_pieces(
    descriptor: c_int,
    (pieces, count): (*const iovec, usize),
    returned: isize,
) {
    if known().is_none() || !leads_outside(descriptor) {
        return;
    }
    let result = result(returned);
    let mut rest = returned.max(0) as usize;
    let mut all: [&[u8]; MOST_PIECES] = [&[]; MOST_PIECES];
    // SAFETY: the program has passed so many pieces.
    let pieces = unsafe { slice::from_raw_parts(pieces, count.min(MOST_PIECES)) };
    for (bytes, piece) in all.iter_mut().zip(pieces) {
        let length = piece.iov_len.min(rest);
        // SAFETY: the call has filled the pieces one after the other.
        *bytes = unsafe { outside::bytes(piece.iov_base, length) };
        rest -= length;
    }
    note(Question::Read, result, &all[..pieces.len()]);
}

/// Shadows functions of the C library that fill one buffer.
macro_rules! shadow_reads {
    ($(fn $name:ident($($argument:ident: $kind:ty),*);)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name(
            descriptor: c_int,
            buffer: *mut c_void,
            length: usize
            $(, $argument: $kind)*
        ) -> isize {
            let real = real!(fn $name(c_int, *mut c_void, usize $(, $kind)*) -> isize);
            // SAFETY: passes on what the program passed, and reads what it got.
            unsafe {
                let returned = real(descriptor, buffer, length $(, $argument)*);
                has_read(descriptor, buffer, length, returned);
                returned
            }
        }
    )*};
}

shadow_reads! {
    fn read();
    fn pread(offset: i64);
    fn pread64(offset: i64);
    fn recv(flags: c_int);
    // What checked builds call.
    fn __read_chk(room: usize);
    fn __pread_chk(offset: i64, room: usize);
    fn __pread64_chk(offset: i64, room: usize);
    fn __recv_chk(room: usize, flags: c_int);
}

/// Shadows functions of the C library that fill several.
macro_rules! shadow_vectors {
    ($(fn $name:ident($($argument:ident: $kind:ty),*);)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name(
            descriptor: c_int,
            pieces: *const iovec,
            count: c_int
            $(, $argument: $kind)*
        ) -> isize {
            let real = real!(fn $name(c_int, *const iovec, c_int $(, $kind)*) -> isize);
            // SAFETY: passes on what the program passed, and reads what it got.
            unsafe {
                let returned = real(descriptor, pieces, count $(, $argument)*);
                let count = count.max(0) as usize;
                crate::thread::keeping_errno(|| {
                    came_in_pieces(descriptor, (pieces, count), returned);
                });
                returned
            }
        }
    )*};
}

shadow_vectors! {
    fn readv();
    fn preadv(offset: i64);
    fn preadv64(offset: i64);
}

/// Shadows the C library's.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn recvmsg(
    descriptor: c_int,
    message: *mut msghdr,
    flags: c_int,
) -> isize {
    let real = real!(fn recvmsg(c_int, *mut msghdr, c_int) -> isize);
    // SAFETY: passes on what the program passed, and reads what it got.
    unsafe {
        let returned = real(descriptor, message, flags);
        crate::thread::keeping_errno(|| {
            let pieces = ((*message).msg_iov.cast_const(), (*message).msg_iovlen);
            came_in_pieces(descriptor, pieces, returned);
        });
        returned
    }
}

/// Shadows functions of the C library that tell who sent it.
macro_rules! shadow_senders {
    ($(fn $name:ident($($argument:ident: $kind:ty),*);)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name(
            descriptor: c_int,
            buffer: *mut c_void,
            length: usize,
            $($argument: $kind,)*
            flags: c_int,
            sender: *mut c_void,
            sender_length: *mut u32,
        ) -> isize {
            let real = real!(
                fn $name(c_int, *mut c_void, usize, $($kind,)* c_int, *mut c_void, *mut u32) -> isize
            );
            // SAFETY: passes on what the program passed, and reads what it got.
            unsafe {
                let room = outside::room(sender_length);
                let returned =
                    real(descriptor, buffer, length, $($argument,)* flags, sender, sender_length);
                let told = match returned {
                    0.. => outside::address(sender, sender_length, room),
                    _ => &[],
                };
                came(descriptor, (buffer, length), returned, told);
                returned
            }
        }
    )*};
}

shadow_senders! {
    fn recvfrom();
    fn __recvfrom_chk(room: usize);
}
